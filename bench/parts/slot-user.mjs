/** One of many processes that use worker ids: it says which it has and when it has given it back, by the machine's monotonic clock. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../dist/api/index.js';
import { notify, serve } from './processes.mjs';

/** @type {Awaited<ReturnType<typeof connect>> | null} */
let cell = null;

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

serve({
  /** Uses one id for a while; null if it got none. @param {{ reach: import('../../dist/api/index.js').ConnectOptions, slots: number, termMs: number, quarantineMs: number, useMs: number, waitMs: number }} details */
  async use({ reach, slots, termMs, quarantineMs, useMs, waitMs }) {
    cell ??= await connect(reach);
    const lease = await cell.acquire('worker-ids', { slots, quarantine: quarantineMs, term: termMs, wait: waitMs }).catch(() => null);
    const [from, leftUs] = [nowUs(), Math.floor((lease?.remainingMs() ?? 0) * 1000)];
    if (lease === null || leftUs <= 0) return null;
    notify(`${lease.slot} ${from}`);
    await sleep(Math.random() * useMs);
    // One that ran out meanwhile was used until then at least.
    const to = lease.valid ? nowUs() : from + leftUs;
    await lease.release();
    return { slot: lease.slot, token: lease.token, from, to };
  },
});
