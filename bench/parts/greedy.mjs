/** A greedy client: more waiters or watches than anybody needs, by the ordinary API. It tells how many were refused, and with which codes. */
import { setImmediate as turn } from 'node:timers/promises';
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

/** So many calls are made in one turn of the event loop. */
const BATCH = 500;

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
/** @type {Record<string, number>} */
const codes = {};
const count = (/** @type {unknown} */ error) => {
  const code = String(/** @type {{ code?: string }} */ (error)?.code ?? error);
  codes[code] = (codes[code] ?? 0) + 1;
};
/** Those that were refused one by one are too many to be told of one by one. */
process.on('warning', () => undefined);

serve({
  /** @param {import('../../dist/api/index.js').ConnectOptions} reach */
  async connect(reach) {
    cell = await connect(reach);
    await cell.ready();
  },

  /** @param {{ name: string }} details */
  async hold({ name }) {
    await cell.acquire(name);
  },

  /**
   * Resolves when each stands in line or was refused.
   * @param {{ name: string, waiters: number }} details
   */
  async wait({ name, waiters }) {
    /** @type {Promise<void>[]} */
    const placed = [];
    for (let i = 0; i < waiters; i++) {
      placed.push(
        new Promise((resolve) => {
          cell.acquire(name, { onQueued: resolve }).catch((error) => {
            count(error);
            resolve();
          });
        }),
      );
      if (i % BATCH === 0) await turn();
    }
    await Promise.all(placed);
    return codes;
  },

  /** @param {{ first: number, watches: number }} details */
  async watch({ first, watches }) {
    for (let i = 0; i < watches; i++) {
      try {
        const watch = cell.watch(`watched/${first + i}/`);
        void (async () => {
          try {
            for await (const change of watch) void change;
          } catch (error) {
            count(error);
          }
        })();
      } catch (error) {
        count(error);
      }
      if (i % BATCH === 0) await turn();
    }
    return codes;
  },

  codes: () => codes,
});
