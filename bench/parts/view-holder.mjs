/** Clients that hold leases, and take others, while the members of their cell change; each writes its history to a folder. */
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell[]} */
const cells = [];
/** @type {string[]} */
const lost = [];
/** What was held until the end. */
let isOver = false;
let turns = 0;
/** @type {string[]} */
const failures = [];

serve({
  /** @param {{ count: number, first: number, held: number, reach: import('../../dist/api/index.js').ConnectOptions, folder: string }} details */
  async hold({ count, first, held, reach, folder }) {
    for (let i = 0; i < count; i++) {
      const cell = await connect({ ...reach, name: `holder-${first + i}`, history: folder });
      cells.push(cell);
      await cell.ready();
      const names = Array.from({ length: held }, (_, j) => `held/${first + i}/${j}`);
      await Promise.all(
        names.map(async (name) => {
          const lease = await cell.acquire(name);
          const tell = () => `${new Date().toISOString().slice(11, 23)} in view ${cell.view?.epoch}: ${lease.signal.reason?.message ?? ''}`;
          lease.signal.addEventListener('abort', () => isOver || lost.push(tell()));
        }),
      );
    }
  },

  /** Everyone takes turns with a few names that all want, until it is over. @param {{ names: number }} details */
  contend({ names }) {
    for (const [i, cell] of cells.entries()) {
      const work = async () => {
        while (!isOver) {
          try {
            await cell.using(`turn/${(i + turns) % names}`, { wait: '30s' }, () => new Promise((resolve) => setTimeout(resolve, 20)));
            turns++;
          } catch (error) {
            if (!isOver) failures.push(error instanceof Error ? error.message : String(error));
          }
        }
      };
      void work();
    }
  },

  async end() {
    isOver = true;
    await Promise.all(cells.map((cell) => cell.close({ timeout: '2s' })));
    return { lost, turns, failures };
  },
});
