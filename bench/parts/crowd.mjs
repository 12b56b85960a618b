/** Many clients in one process, all after one resource; what they do is told as records of a history. */
import { performance } from 'node:perf_hooks';
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell[]} */
const cells = [];
/** Of a lifetime of this process: wall clock with the grain of the monotonic one. */
const nowUs = () => Math.floor((performance.timeOrigin + performance.now()) * 1000);

serve({
  /** @param {{ count: number, first: number, reach: import('../../dist/api/index.js').ConnectOptions }} details */
  async connect({ count, first, reach }) {
    // A few at a time: a thousand handshakes at once would time each other out.
    for (let i = 0; i < count; i += 20) {
      const batch = Array.from({ length: Math.min(20, count - i) }, (_, j) => connect({ ...reach, name: `crowd-${first + i + j}` }));
      cells.push(...(await Promise.all(batch)));
    }
    await Promise.all(cells.map((cell) => cell.ready()));
  },

  /**
   * Each client asks, holds for a moment, gives back and asks again until the time is over; then each is served once more or not at all.
   * @param {{ resource: string, seconds: number, first: number }} details
   */
  async run({ resource, seconds, first }) {
    /** @type {import('../../dist/check/index.js').HistoryRecord[]} */
    const history = [];
    const until = performance.now() + seconds * 1000;
    await Promise.all(
      cells.map(async (cell, i) => {
        const who = { node: `crowd-${first + i}`, incarnation: cell.incarnation };
        let requests = 0;
        do {
          const request = ++requests;
          history.push({ at: nowUs(), ...who, kind: 'requested', resource, request });
          const onQueued = () => void history.push({ at: nowUs(), ...who, kind: 'queued', resource, request });
          const lease = await cell.acquire(resource, { onQueued });
          const remainingUs = Math.floor(lease.remainingMs() * 1000);
          history.push({ at: nowUs(), ...who, kind: 'granted', resource, request, token: lease.token, remainingUs });
          history.push({ at: nowUs(), ...who, kind: 'ended', resource, token: lease.token, reason: 'released' });
          await lease.release();
        } while (performance.now() < until);
      }),
    );
    return history;
  },
});
