/** What engines do when clocks are wrong, holders stand still and members restart; and who wins when all ask at once. Counts on virtual time. */
import { parseEngine } from '../../dist/api/index.js';
import { testCell } from '../../dist/api/testing.js';
import { ClockedCell } from './clocked-cell.mjs';

const TERM_MS = 10_000;
const TERM_US = TERM_MS * 1000;
const RATE_PPM = 1000;
const RUNS = 20;
const CONTESTS = 300;
const LONG_US = 100_000_000;
export const SKEWS_MS = [-600, -400, -200, 0, 200, 400, 600];
export const RATES_PPM = [0, 1000, 10_000, 50_000];
export const PAUSES_S = [2, 4, 6, 7, 8, 9, 10, 12];
/** ε of the engines that are compared, in three clocks: on time, half of it ahead, all of it ahead. */
export const AHEAD_MS = [0, 250, 500];

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/**
 * From the end of a crashed holder's lease, by its own clocks, to the next grant: below zero two would hold it. Null if nobody was granted anything.
 * @param {string} engine
 * @param {number} seed
 * @param {number} rateErrorPpm
 * @param {import('./clocked-cell.mjs').ClockOptions} holders
 * @param {import('./clocked-cell.mjs').ClockOptions} others
 */
function gapMs(engine, seed, rateErrorPpm, holders, others) {
  const cell = new ClockedCell(engine, { maxTermUs: TERM_US, rateErrorPpm, seed, clocks: [others, others, others, holders, others] });
  const [holder, next] = [cell.client(0), cell.client(1)];
  cell.acquire(holder, 0);
  cell.runUntil(() => holder.said.length > 0, cell.nowUs + TERM_US);
  if (!holder.first('granted')) return null;
  cell.acquire(next, LONG_US);
  cell.runUntil(() => false, cell.nowUs + 50_000);
  holder.isGone = true;
  const endUs = cell.endOf(holder);
  cell.runUntil(() => next.first('granted') !== undefined, cell.nowUs + LONG_US);
  const granted = next.first('granted');
  return granted ? (granted.atUs - endUs) / 1000 : null;
}

/** @param {(seed: number) => number | null} one */
function gaps(one) {
  const found = Array.from({ length: RUNS }, (_, i) => one(i + 1));
  const granted = found.filter((gap) => gap !== null);
  return granted.length < RUNS ? null : { least: Math.round(Math.min(...granted)), median: Math.round(median(granted)) };
}

/** The holder's clock is so far from the others'. @param {string} engine */
export function underSkew(engine) {
  return SKEWS_MS.map((ms) => gaps((seed) => gapMs(engine, seed, RATE_PPM, { offsetUs: ms * 1000 }, {})));
}

/** The cell was told of this rate error, and clocks are as wrong as that: the holder's slow and the others' fast, or the other way round. @param {string} engine */
export function underDrift(engine) {
  return RATES_PPM.map((ppm) => ({
    slow: gaps((seed) => gapMs(engine, seed, ppm, { ppm: -ppm }, { ppm })),
    fast: gaps((seed) => gapMs(engine, seed, ppm, { ppm }, { ppm: -ppm })),
  }));
}

/** The share of holders that have lost their lease after a pause, at any moment between two renewals, while another waits. @param {string} text */
export async function underPauses(text) {
  const shares = [];
  for (const seconds of PAUSES_S) {
    let lost = 0;
    for (let seed = 1; seed <= RUNS; seed++) {
      const cell = await testCell({ engine: parseEngine(text), maxTerm: TERM_MS, seed });
      const [one, two] = [await cell.client(), await cell.client()];
      const lease = await one.acquire('x');
      const waiting = two.acquire('x').catch(() => null);
      await cell.advance(TERM_MS + (seed * TERM_MS) / RUNS);
      cell.stall(one, seconds * 1000);
      await cell.advance(seconds * 1000 + 100);
      if (!lease.valid) lost++;
      await cell.close();
      await waiting;
    }
    shares.push(Math.round((100 * lost) / RUNS));
  }
  return shares;
}

/** How long a free lease cannot be had after so many of three members were started anew. @param {string} text @param {number} restarts */
export async function afterRestarts(text, restarts) {
  const cell = await testCell({ engine: parseEngine(text), maxTerm: TERM_MS });
  const client = await cell.client();
  const fromMs = cell.now();
  for (const id of cell.memberIds.slice(0, restarts)) await cell.restart(id);
  let grantedMs = NaN;
  const asking = (async () => {
    await client.acquire('x');
    grantedMs = cell.now();
  })();
  while (Number.isNaN(grantedMs)) await cell.advance(10);
  await asking;
  await cell.close();
  return Math.round(grantedMs - fromMs);
}

/** Three clients ask at the same instant, their clocks apart within ε: the share of contests each of them wins, in percent. @param {string} engine */
export function contests(engine) {
  const wins = AHEAD_MS.map(() => 0);
  for (let contest = 0; contest < CONTESTS; contest++) {
    const members = AHEAD_MS.map(() => ({ offsetUs: (AHEAD_MS[1] ?? 0) * 1000 }));
    const clocks = [...members, ...AHEAD_MS.map((ms) => ({ offsetUs: ms * 1000 }))];
    const cell = new ClockedCell(engine, { maxTermUs: TERM_US, rateErrorPpm: RATE_PPM, seed: contest + 1, clocks });
    // Buckets of time begin at any moment of a contest.
    cell.runUntil(() => false, cell.nowUs + cell.random.below(TERM_US));
    const clients = AHEAD_MS.map((_, i) => cell.client(i));
    // Whoever is asked for first must not matter either.
    for (let i = 0; i < clients.length; i++) cell.acquire(/** @type {any} */ (clients[(i + contest) % clients.length]), TERM_US);
    cell.runUntil(() => clients.some((client) => client.first('granted') !== undefined), cell.nowUs + TERM_US);
    const winner = clients.findIndex((client) => client.first('granted') !== undefined);
    wins[winner] = (wins[winner] ?? 0) + 1;
  }
  return wins.map((count) => Math.round((100 * count) / CONTESTS));
}
