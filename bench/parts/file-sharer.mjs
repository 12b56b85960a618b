/**
 * One of several processes that read and write one file under leases of a cell. What it does is noted at once, in a journal of its own, by the machine's monotonic clock: a hold before
 * anything is done under it, and its end before it is given back. A writer that has given its lease back tries to write once more when others have been there: that is too late.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, FencedFile } from '../../dist/api/index.js';
import { notify, serve } from './processes.mjs';

const HOLD_MS_MAX = 40;
/** All lines of a whole file are the same. */
const LINES = 2000;
const LATE_TRIES = 200;

/** @type {Awaited<ReturnType<typeof connect>> | null} */
let cell = null;

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

/** @param {FencedFile} file @param {number} token */
async function writeLate(file, token) {
  for (let tries = 0; tries < LATE_TRIES; tries++) {
    if ((await file.marks()).seen > token) {
      notify((await file.write(token, 'too late')) ? 'late accepted' : 'late refused');
      return;
    }
    await sleep(HOLD_MS_MAX);
  }
}

serve({
  /** Holds the lease for a while; false if it did not get it. @param {{ reach: import('../../dist/api/index.js').ConnectOptions, folder: string, mode: 'shared' | 'exclusive', journal: string, waitMs: number }} details */
  async hold({ reach, folder, mode, journal, waitMs }) {
    cell ??= await connect(reach);
    const note = (/** @type {object} */ what) => appendFileSync(journal, `${JSON.stringify(what)}\n`);
    const lease = await cell.acquire('file', { mode, wait: waitMs }).catch(() => null);
    if (lease === null) return false;
    const file = new FencedFile(folder);
    const { token } = lease;
    const [at, remainingUs] = [nowUs(), Math.floor(lease.remainingMs() * 1000)];
    if (remainingUs <= 0) return false;
    note({ kind: 'granted', at, token, mode, remainingUs });
    notify(mode);
    if (mode === 'exclusive') {
      if (!(await file.write(token, `${token}\n`.repeat(LINES))) && lease.valid) notify('holder refused');
    } else {
      const lines = await file.read(token).then(
        (bytes) => (bytes === null ? [] : Buffer.from(bytes).toString().trimEnd().split('\n')),
        () => null,
      );
      if (lines === null && lease.valid) notify('holder refused');
      if (lines !== null && lines.length > 0 && (lines.length !== LINES || new Set(lines).size !== 1)) notify('half a write');
    }
    await sleep(Math.random() * HOLD_MS_MAX);
    const [now, leftUs] = [nowUs(), Math.floor(lease.remainingMs() * 1000)];
    if (leftUs > 0) note({ kind: 'used', at: now, token, mode, remainingUs: leftUs });
    // One that ran out meanwhile ended then, not now.
    const end = nowUs();
    note(
      lease.valid
        ? { kind: 'ended', at: end, token, reason: 'released' }
        : { kind: 'ended', at: Math.min(end, at + remainingUs), token, reason: 'deadline' },
    );
    await lease.release();
    if (mode === 'exclusive') await writeLate(file, token);
    return true;
  },
});
