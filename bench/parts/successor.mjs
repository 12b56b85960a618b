/** Whoever comes next: waits for leases, and tells when it got each, on the monotonic clock of the machine. */
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell} */
let cell;

serve({
  async connect(options) {
    cell = await connect(options);
    await cell.ready();
  },

  /** @param {{ name: string, term: number }} details */
  async take({ name, term }) {
    const lease = await cell.acquire(name, { term });
    const at = process.hrtime.bigint();
    await lease.release();
    return String(at);
  },
});
