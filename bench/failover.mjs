/**
 * How long a waiter waits for a lease whose holder is gone: killed (kill -9), with a term of 2 s, and after a clean
 * release. Holder, waiter and members are processes of their own; instants are wall clock of one machine. A round trip
 * is what an acquire of a free name takes, measured between releases after the same pause: idle processes wake slowly. `--json`, `--reps N`; exit 1 if a target is missed.
 */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, median, Part, startCell } from './parts/processes.mjs';

const TERM_MS = 2000;
/** The default. Members keep a dead holder's lease for its term as the slowest holder's clock counts it. */
const RATE_ERROR = 0.1;
const KEPT_MS = (TERM_MS * (1 + RATE_ERROR)) / (1 - RATE_ERROR);
/** Of the term: what a waiter may wait longer than the dead holder's lease lasts. */
const LATE_PART_MAX = 0.1;
const RELEASE_ROUND_TRIPS_MAX = 2;
const SETTLE_MS = 100;
const RELEASES = 50;

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, reps: { type: 'string', default: '5' } } });
const reps = Number(values.reps);
if (!Number.isInteger(reps) || reps < 1) {
  process.stderr.write('bench:failover: --reps takes a positive whole number\n');
  process.exit(64);
}

const loadBefore = load();
const cell = await startCell({ maxTerm: TERM_MS, rateError: RATE_ERROR });
/** A client process that is connected. */
async function startClient() {
  const part = new Part('client.mjs');
  await part.ask('connect', cell.reach);
  return part;
}
const nowMs = () => performance.timeOrigin + performance.now();
/** @param {number} ms */
const tenths = (ms) => Math.round(ms * 10) / 10;

const waiter = await startClient();
const { p50Us: busyRttUs } = await waiter.ask('run', { atOnce: 1, seconds: 2 });

const killed = [];
for (let rep = 0; rep < reps; rep++) {
  const name = `failover/killed-${rep}`;
  const holder = await startClient();
  await holder.ask('hold', { name, term: TERM_MS });
  const waiting = waiter.ask('hold', { name, term: TERM_MS });
  // Spread over the holder's renewals: how much of the term is left at the kill is a matter of luck.
  await sleep(SETTLE_MS + (rep * TERM_MS) / 3 / reps);
  const killedAt = nowMs();
  await holder.kill();
  const { at } = await waiting;
  await waiter.ask('release');
  killed.push(at - killedAt);
}

const released = [];
const roundTrips = [];
const holder = await startClient();
await holder.ask('run', { atOnce: 1, seconds: 1 });
for (let rep = 0; rep < RELEASES; rep++) {
  const name = `failover/released-${rep}`;
  await holder.ask('hold', { name, term: TERM_MS });
  const waiting = waiter.ask('hold', { name, term: TERM_MS });
  await sleep(SETTLE_MS / 2);
  const { calledAt } = await holder.ask('release');
  const { at } = await waiting;
  await waiter.ask('release');
  released.push(at - calledAt);
  await sleep(SETTLE_MS / 2);
  roundTrips.push(await waiter.ask('roundTripUs', { name: `failover/free-${rep}` }));
}
const rttUs = median(roundTrips);
await Promise.all([holder.stop(), waiter.stop(), cell.stop()]);

const limitMs = KEPT_MS + TERM_MS * LATE_PART_MAX + rttUs / 1000;
const kill = { medianMs: tenths(median(killed)), longestMs: tenths(Math.max(...killed)), limitMs: tenths(limitMs) };
const releasedUs = median(released) * 1000;
const release = {
  medianUs: Math.round(releasedUs),
  longestUs: Math.round(Math.max(...released) * 1000),
  roundTrips: tenths(releasedUs / rttUs),
  roundTripsMax: RELEASE_ROUND_TRIPS_MAX,
};
const isMet = kill.longestMs <= kill.limitMs && release.roundTrips <= release.roundTripsMax;

if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  process.stdout.write(
    `${JSON.stringify({ ...machine, termMs: TERM_MS, reps, rttUs: Math.round(rttUs), busyRttUs: Math.round(busyRttUs), kill, release, isMet }, null, 2)}\n`,
  );
} else {
  process.stdout.write(
    [
      `from the end of a holder to the grant of a waiter, term ${TERM_MS} ms (${cpus()[0]?.model}, ${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})`,
      `kill -9        median ${kill.medianMs} ms, longest ${kill.longestMs} ms of ${reps}; limit ${kill.limitMs} ms: the term as members keep it (${tenths(KEPT_MS)} ms), a tenth, a round trip`,
      `clean release  median ${release.medianUs} us, longest ${release.longestUs} us of ${RELEASES}; ${release.roundTrips} round trips; limit ${release.roundTripsMax}`,
      `round trip     median ${Math.round(rttUs)} us after the same pause, ${Math.round(busyRttUs)} us when busy (an acquire of a free name)`,
      isMet ? 'met' : 'MISSED',
      '',
    ].join('\n'),
  );
}
process.exitCode = isMet ? 0 : 1;
