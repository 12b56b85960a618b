/** An honest client beside whatever disturbs the cell: a few leases that it keeps, and acquires of other names that it times. */
import { setTimeout as pause } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

const KEPT = 10;
const PAUSE_MS = 2;

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
let lost = 0;
let rounds = 0;
serve({
  /** @param {import('../../dist/api/index.js').ConnectOptions} reach */
  async connect(reach) {
    cell = await connect({ ...reach, name: 'honest' });
    await cell.ready();
    for (let i = 0; i < KEPT; i++) {
      const lease = await cell.acquire(`honest/kept/${i}`);
      lease.signal.addEventListener('abort', () => lost++, { once: true });
    }
  },

  /**
   * How long each acquire of a name that nobody else wants took.
   * @param {{ seconds: number }} details
   */
  async measure({ seconds }) {
    const tookMs = [];
    const until = performance.now() + seconds * 1000;
    const round = rounds++;
    for (let i = 0; performance.now() < until; i++) {
      const begun = performance.now();
      const lease = await cell.acquire(`honest/${round}/${i}`);
      tookMs.push(performance.now() - begun);
      await lease.release();
      await pause(PAUSE_MS);
    }
    return { tookMs, lost };
  },

  /** What it has lost so far, and how many members vote. */
  async standing() {
    const members = await cell.status();
    return { lost, voting: members.filter(({ silentForMs }) => silentForMs === 0).length };
  },
});
