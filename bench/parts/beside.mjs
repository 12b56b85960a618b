/**
 * What an honest client notices of a greedy one: its acquires of other names, timed undisturbed and then disturbed, in one run
 * on one cell. Two figures of the same minute can be compared on a machine that is busy otherwise; two runs cannot.
 */
import { Part, quantile, startCell } from './processes.mjs';

/** @typedef {{ p50: number, p99: number, longest: number, acquires: number }} Spread */

/** @param {readonly number[]} ms @returns {Spread} */
function spread(ms) {
  const round = (/** @type {number} */ value) => Math.round(value * 100) / 100;
  return {
    p50: round(quantile(ms, 0.5)),
    p99: round(quantile(ms, 0.99)),
    longest: round(ms.reduce((longest, one) => Math.max(longest, one), 0)),
    acquires: ms.length,
  };
}

/**
 * `disturb` resolves when the disturbance stands; what it returns ends it and tells what came of it.
 * @template Outcome
 * @param {{
 *   maxTerm: number,
 *   seconds: number,
 *   disturb: (cell: Awaited<ReturnType<typeof startCell>>) => Promise<() => Promise<Outcome>>,
 *   profileDir?: string | undefined,
 * }} options
 */
export async function measureBeside({ maxTerm, seconds, disturb, profileDir }) {
  const cell = await startCell({ maxTerm, profileDir });
  const honest = new Part('honest.mjs');
  await honest.ask('connect', cell.reach);
  // The first acquires of a process are of code that was never run.
  await honest.ask('measure', { seconds: 1 });
  const undisturbed = await honest.ask('measure', { seconds });
  let isStanding = false;
  const begun = performance.now();
  const disturbance = disturb(cell).finally(() => (isStanding = true));
  /** @type {number[]} */
  const whileItRises = [];
  while (!isStanding) whileItRises.push(...(await honest.ask('measure', { seconds: 0.5 })).tookMs);
  const end = await disturbance;
  const roseMs = Math.round(performance.now() - begun);
  const disturbed = await honest.ask('measure', { seconds });
  const memberMb = Math.round(Math.max(...(await Promise.all(cell.parts.map((part) => part.ask('memory'))))) / 1048576);
  const outcome = await end();
  const { lost, voting } = await honest.ask('standing');
  await Promise.all([honest.stop(), cell.stop()]);
  return {
    undisturbed: spread(undisturbed.tookMs),
    rising: spread(whileItRises),
    disturbed: spread(disturbed.tookMs),
    roseMs,
    lost: /** @type {number} */ (lost),
    /** How many of the three members vote when it is over: an honest client does not notice the loss of one. */
    voting: /** @type {number} */ (voting),
    memberMb,
    outcome,
  };
}
