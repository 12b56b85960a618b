/** A client of the benches' cell: everything through the public API. */
import { performance } from 'node:perf_hooks';
import { connect } from '../../dist/api/index.js';
import { quantile, serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
/** @type {import('../../dist/api/index.js').Lease | null} */
let held = null;
/** Wall clock with the grain of the monotonic one: instants of several processes of one machine can be compared. */
const nowMs = () => performance.timeOrigin + performance.now();
/** To all members so far. */
function sent() {
  const stats = cell.members().map((member) => member.stats);
  const sum = (/** @type {'messagesOut' | 'writes'} */ what) => stats.reduce((total, one) => total + (one?.[what] ?? 0), 0);
  return { messages: sum('messagesOut'), writes: sum('writes') };
}

serve({
  async connect(options) {
    cell = await connect(options);
    await cell.ready();
  },

  /**
   * `atOnce` workers, each acquires and releases a name of its own.
   * @param {{ atOnce: number, seconds: number }} details
   */
  async run({ atOnce, seconds }) {
    /** @type {number[]} */
    const latencies = [];
    const sentBefore = sent();
    const cpuBefore = process.cpuUsage();
    const began = performance.now();
    const until = began + seconds * 1000;
    await Promise.all(
      Array.from({ length: atOnce }, async (_, worker) => {
        const name = `bench/worker-${worker}`;
        for (let now = performance.now(); now < until; now = performance.now()) {
          const lease = await cell.acquire(name);
          latencies.push(performance.now() - now);
          await lease.release();
        }
      }),
    );
    const tookMs = performance.now() - began;
    const cpu = process.cpuUsage(cpuBefore);
    const sentAfter = sent();
    return {
      perSecond: (latencies.length / tookMs) * 1000,
      p50Us: quantile(latencies, 0.5) * 1000,
      p99Us: quantile(latencies, 0.99) * 1000,
      messagesPerWrite: (sentAfter.messages - sentBefore.messages) / (sentAfter.writes - sentBefore.writes),
      done: latencies.length,
      cpuUs: cpu.user + cpu.system,
    };
  },

  /** @param {{ name: string, term: number }} details */
  async hold({ name, term }) {
    held = await cell.acquire(name, { term });
    return { at: nowMs(), deadline: performance.timeOrigin + held.deadline };
  },

  /** When `release` was called, and when it was done. */
  async release() {
    const calledAt = nowMs();
    await held?.release();
    return { calledAt, doneAt: nowMs() };
  },

  /** What an acquire of a free name takes. @param {{ name: string }} details */
  async roundTripUs({ name }) {
    const began = performance.now();
    const lease = await cell.acquire(name);
    const tookUs = (performance.now() - began) * 1000;
    await lease.release();
    return tookUs;
  },
});
