/** Many clients in one process, all after one resource; each writes its history to a folder. */
import { performance } from 'node:perf_hooks';
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell[]} */
const cells = [];
serve({
  /** @param {{ count: number, first: number, reach: import('../../dist/api/index.js').ConnectOptions, folder: string }} details */
  async connect({ count, first, reach, folder }) {
    // A few at a time: a thousand handshakes at once would time each other out.
    for (let i = 0; i < count; i += 20) {
      const batch = Array.from({ length: Math.min(20, count - i) }, (_, j) =>
        connect({ ...reach, name: `crowd-${first + i + j}`, history: folder }),
      );
      cells.push(...(await Promise.all(batch)));
    }
    await Promise.all(cells.map((cell) => cell.ready()));
  },

  /**
   * Each client asks, holds for a moment, gives back and asks again until the time is over; then each is served once more or not at all.
   * @param {{ resource: string, seconds: number }} details
   */
  async run({ resource, seconds }) {
    const until = performance.now() + seconds * 1000;
    await Promise.all(
      cells.map(async (cell) => {
        do await cell.using(resource, () => undefined);
        while (performance.now() < until);
        await cell.close();
      }),
    );
  },
});
