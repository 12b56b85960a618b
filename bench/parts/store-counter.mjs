/**
 * One of several processes that count in one plain file, each time under a lease of a store. A lease does not fence a file: whoever holds it looks at its deadline
 * before it writes, and leaves a margin. What it does is noted in a journal of its own, with instants of the machine's monotonic clock.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStorage } from '../../dist/api/index.js';
import { readCount, writeCount } from './count-file.mjs';
import { notify, serve } from './processes.mjs';

const WORK_MS_MAX = 12;
/** The part of its term that must be left when the file is written. */
const MARGIN = 1 / 10;

/** @type {Awaited<ReturnType<typeof openStorage>> | null} */
let storage = null;

serve({
  /** Adds one to the count; false if it did not get to it. @param {{ url: string, termMs: number, file: string, journal: string, id: string }} details */
  async count({ url, termMs, file, journal, id }) {
    storage ??= await openStorage(url);
    const note = (/** @type {(string | number | bigint)[]} */ ...words) => appendFileSync(journal, `${words.join(' ')}\n`);
    notify('asks');
    const lease = await storage.acquire('counter');
    const from = process.hrtime.bigint();
    note('from', id, from, from + BigInt(Math.floor(lease.remainingMs() * 1e6)), lease.token);
    notify('holds');
    const { count, ids } = readCount(file);
    await sleep(Math.random() * WORK_MS_MAX);
    const isInTime = !lease.signal.aborted && lease.remainingMs() > termMs * MARGIN;
    if (isInTime) writeCount(file, count + 1, [id, ...ids]);
    note(isInTime ? 'wrote' : 'left', id, process.hrtime.bigint());
    await lease.release();
    return isInTime;
  },
});
