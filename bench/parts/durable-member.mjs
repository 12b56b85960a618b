/** A member with a data directory, which does not wait until it votes: it may be killed before. */
import { joinCell } from '../../dist/api/index.js';
import { costs } from './costs.mjs';
import { serve, Stalls } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
const stalls = new Stalls();

serve({
  async join(options) {
    cell = await joinCell(options);
  },
  ready: () => cell.ready(),
  /** For how long it stood still at most, since it was last asked. */
  stalled: () => stalls.take(),
  /** This member takes its full part in broadcast. */
  logReady: () => cell.broadcast().ready(),
  close: () => cell.close(),
  costs,
  /** How far its disk for claims is, and those of the others. */
  disks: async () => (await cell.status()).map(({ id, claims }) => ({ id, claims })),
  cpuUs() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
});
