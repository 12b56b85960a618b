/** Clients that hold leases, and take others, while the members of their cell change; each writes its history to a folder. */
import { connect } from '../../dist/api/index.js';
import { serve, Stalls, WallLeaps } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell[]} */
const cells = [];
/** @type {string[]} */
let lost = [];
/** What is to be taken again. @type {(() => Promise<void>)[]} */
const missing = [];
const stalls = new Stalls();
const leaps = new WallLeaps();
/** What was held until the end. */
let isOver = false;
let turns = 0;
/** @type {string[]} */
const failures = [];

/** @param {import('../../dist/api/index.js').Cell} cell @param {string} name */
async function take(cell, name) {
  const lease = await cell.acquire(name);
  lease.signal.addEventListener('abort', () => {
    if (isOver) return;
    const at = new Date().toISOString().slice(11, 23);
    lost.push(`${at} in view ${cell.view?.epoch}, stood still for ${stalls.longestMs} ms: ${lease.signal.reason?.message ?? ''}`);
    missing.push(() => take(cell, name));
  });
}

serve({
  /** @param {{ count: number, first: number, held: number, reach: import('../../dist/api/index.js').ConnectOptions, folder: string }} details */
  async hold({ count, first, held, reach, folder }) {
    for (let i = 0; i < count; i++) {
      const cell = await connect({ ...reach, name: `holder-${first + i}`, history: folder });
      cells.push(cell);
      await cell.ready();
      const names = Array.from({ length: held }, (_, j) => `held/${first + i}/${j}`);
      await Promise.all(names.map((name) => take(cell, name)));
    }
  },

  /** What was lost since, and for how long this process stood still at most. What was lost is taken again. */
  async mark() {
    const told = { lost, stallMs: stalls.take() };
    lost = [];
    await Promise.all(missing.splice(0).map((again) => again()));
    return told;
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
    return { lost, turns, failures, stallMs: stalls.take(), leapMs: leaps.largestMs };
  },
});
