/**
 * One of several processes that read and write under leases of a store. What it does is noted at once, in a journal of its own, by the machine's monotonic clock: a hold before
 * anything is done under it, and its end before it is given back. So a journal whose process was killed lacks nothing but what was never done.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStorage } from '../../dist/api/index.js';
import { notify, serve } from './processes.mjs';

const STEPS_MAX = 6;
const STEP_MS_MAX = 20;

/** @type {Awaited<ReturnType<typeof openStorage>> | null} */
let storage = null;

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

serve({
  /** Holds the lease for a while; false if it did not get it. @param {{ url: string, mode: 'shared' | 'exclusive', journal: string, waitMs: number }} details */
  async hold({ url, mode, journal, waitMs }) {
    storage ??= await openStorage(url);
    const note = (/** @type {object} */ what) => appendFileSync(journal, `${JSON.stringify(what)}\n`);
    const lease = await storage.acquire('shared', { mode, wait: waitMs }).catch(() => null);
    if (lease === null) return false;
    const { token } = lease;
    let [at, remainingUs] = [nowUs(), Math.floor(lease.remainingMs() * 1000)];
    if (remainingUs > 0) {
      note({ kind: 'granted', at, token, mode, remainingUs });
      notify(mode);
      for (let steps = 1 + Math.random() * STEPS_MAX; steps > 0 && lease.valid; steps--) {
        [at, remainingUs] = [nowUs(), Math.floor(lease.remainingMs() * 1000)];
        if (remainingUs > 0) note({ kind: 'used', at, token, mode, remainingUs });
        await sleep(Math.random() * STEP_MS_MAX);
      }
      // One that ran out meanwhile ended then, not now.
      const now = nowUs();
      const isOver = !lease.valid;
      note({
        kind: 'ended',
        at: isOver ? Math.min(now, at + Math.max(0, remainingUs)) : now,
        token,
        reason: isOver ? 'deadline' : 'released',
      });
    }
    await lease.release();
    return true;
  },
});
