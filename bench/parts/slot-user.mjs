/**
 * One of many processes that use worker ids. It says which id it has, since when and until when it may use it, and when it has given it back, by the machine's monotonic clock. It loads the library as
 * CommonJS: that takes a fifth of the processor time that the modules take, and two hundred of these start on one machine.
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { notify, serve } from './processes.mjs';

/** @type {Pick<typeof import('../../dist/api/index.js'), 'connect'>} */
const { connect } = createRequire(import.meta.url)('../../dist/cjs/api/index.js');

/** @type {Awaited<ReturnType<typeof connect>> | null} */
let cell = null;

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

/**
 * Until when an id may be used at least. The clock is read before the lease is asked: a pause in between makes the answer earlier, never later. A lease that is over was usable until `knownUs`, at least.
 * @param {{ remainingMs(): number }} lease @param {number} knownUs
 */
function usableUntil(lease, knownUs) {
  const now = nowUs();
  const leftUs = Math.floor(lease.remainingMs() * 1000);
  return leftUs > 0 ? now + leftUs : knownUs;
}

serve({
  /** @param {{ reach: import('../../dist/api/index.js').ConnectOptions }} details */
  async connect({ reach }) {
    cell ??= await connect(reach);
  },

  /**
   * Uses one id for a while; says why if it got none.
   * @param {{ slots: number, termMs: number, quarantineMs: number, useMs: number, waitMs: number }} details
   */
  async use({ slots, termMs, quarantineMs, useMs, waitMs }) {
    if (cell === null) throw new Error('it is not connected');
    const options = { slots, quarantine: quarantineMs, term: termMs, wait: waitMs };
    /** @type {unknown} */
    let failure;
    const lease = await cell.acquire('worker-ids', options).catch((/** @type {unknown} */ error) => {
      failure = error;
      return null;
    });
    if (lease === null) return { missed: failure instanceof Error && 'code' in failure ? String(failure.code) : String(failure) };
    const { slot, token } = lease;
    const from = nowUs();
    let until = usableUntil(lease, from);
    if (until <= from) {
      await lease.release();
      return { missed: 'its lease was over before it was used' };
    }
    notify(`${slot} ${from} ${until}`);
    // Told again after a renewal: of a process that is killed, the bench knows only what it was told.
    for (let leftMs = Math.random() * useMs; leftMs > 0; leftMs -= termMs / 2) {
      await sleep(Math.min(leftMs, termMs / 2));
      if (!lease.valid) break;
      until = usableUntil(lease, until);
      notify(`${slot} ${from} ${until}`);
    }
    const to = nowUs();
    // The clock is read before the lease is looked at: what is valid after it was valid then.
    const use = { slot, token, from, to: lease.valid ? to : until };
    await lease.release();
    return use;
  },
});
