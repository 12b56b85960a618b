/**
 * What leases lose beside claims on one cell: the client of `bench:cell` acquires and releases, in pairs of turns that follow each other, without and with
 * - the service of claims, which nobody uses: members without data directories, and with them;
 * - a process that claims at a stated rate (`--rate`, 100 a second);
 * - in its place, three processes that know nothing of the cell and write to data directories as often as members do for these claims;
 * - a process that claims as fast as it goes, one claim after the other;
 * - in its place, a process that knows nothing of the cell and takes as much CPU as that one did: what remains between the two is what members do for claims;
 * - a process that takes as much CPU as that one and, for its claims, the members did: what remains is what claims cost besides CPU.
 * The median of the ratios counts. `--json` prints figures, `--reps N` other pairs than 5, `--seconds S` per turn. Exit 1 if the idle service or claims at the
 * stated rate cost more than the target.
 */
import { availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { load, median, Part } from './parts/processes.mjs';

const LOST_TARGET = 0.05;
const LEASES_AT_ONCE = 64;
const CLAIM_SIZE = 1000;
const WARM_UP_SECONDS = 1.5;
/** What runs beside leases begins before them and ends after them. */
const MARGIN_SECONDS = 0.1;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    reps: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    rate: { type: 'string', default: '100' },
  },
});
const [reps, seconds, rate] = [Number(values.reps), Number(values.seconds), Number(values.rate)];
if (!Number.isInteger(reps) || !(reps > 0) || !(seconds > 0) || !(rate > 0)) {
  process.stderr.write('bench:claims-leases: --reps takes a positive whole number, --seconds and --rate positive numbers\n');
  process.exit(64);
}

const loadBefore = load();
const plain = await DurableCell.start({ maxTerm: 2000, inMemory: true });
const cell = await DurableCell.start({ maxTerm: 2000, keepVotes: false });
const begun = await connect({ ...cell.reach, secret: cell.secret });
await begun.bootstrap({ only: 'claims' });
await begun.close();
const claimer = new Part('claimer.mjs');
await claimer.ask('connect', cell.reach);
const burner = new Part('burner.mjs');
const flushers = cell.ids.map(() => new Part('flusher.mjs'));
await Promise.all(flushers.map((part) => part.ask('open')));
const [plainLeaser, leaser] = [new Part('client.mjs'), new Part('client.mjs')];
await plainLeaser.ask('connect', plain.reach);
await leaser.ask('connect', cell.reach);

/** @typedef {{ perSecond: number, claimsPerSecond: number, besideShare: number, memberUs: number }} Turn */

/** CPU of all members of the cell. */
async function membersUs() {
  const spent = await Promise.all([...cell.parts.values()].map((part) => part.ask('cpuUs')));
  return spent.reduce((sum, us) => sum + us, 0);
}

/** Leases of one client, beside what `parts` are asked to do meanwhile. @param {readonly Part[]} [parts] @param {string} [question] @param {object} [details] @returns {Promise<Turn>} */
async function turn(parts = [], question = '', details = {}) {
  const working = Promise.all(parts.map((part) => part.ask(question, { ...details, seconds: seconds + 2 * MARGIN_SECONDS })));
  await new Promise((resolve) => setTimeout(resolve, MARGIN_SECONDS * 1000));
  const memberBefore = await membersUs();
  const run = await leaser.ask('run', { atOnce: LEASES_AT_ONCE, seconds });
  const memberUs = (await membersUs()) - memberBefore;
  const done = await working;
  const besideShare = done.reduce((sum, { cpuShare }) => sum + cpuShare, 0);
  return {
    perSecond: run.perSecond,
    memberUs: memberUs / run.done,
    claimsPerSecond: done[0]?.perSecond ?? 0,
    besideShare,
  };
}

/** @returns {Promise<Turn>} */
const withoutService = async () => ({
  perSecond: (await plainLeaser.ask('run', { atOnce: LEASES_AT_ONCE, seconds })).perSecond,
  claimsPerSecond: 0,
  besideShare: 0,
  memberUs: 0,
});
/** CPU of all members a lease, beside nothing. @type {number[]} */
const aloneUs = [];
const alone = async () => {
  const one = await turn();
  aloneUs.push(one.memberUs);
  return one;
};
const ownRanges = { space: 'beside', size: CLAIM_SIZE };
/** What claims as fast as they go took of one core in each turn: their process, and it with what members did for them. */
const shares = { claimer: /** @type {number[]} */ ([]), all: /** @type {number[]} */ ([]) };

/** @type {{ name: string, without: () => Promise<Turn>, beside: () => Promise<Turn> }[]} */
const pairs = [
  { name: 'the service, unused', without: withoutService, beside: alone },
  { name: `claims, ${rate} a second`, without: alone, beside: () => turn([claimer], 'paced', { ...ownRanges, perSecond: rate }) },
  { name: 'as many writes, no claims', without: alone, beside: () => turn(flushers, 'flush', { perSecond: rate }) },
  {
    name: 'claims, as fast as they go',
    without: alone,
    async beside() {
      const one = await turn([claimer], 'ranges', { ...ownRanges, atOnce: 1 });
      shares.claimer.push(one.besideShare);
      shares.all.push(one.besideShare + ((one.memberUs - median(aloneUs)) * one.perSecond) / 1e6);
      return one;
    },
  },
  { name: 'as much CPU as their process', without: alone, beside: () => turn([burner], 'burn', { share: median(shares.claimer) }) },
  { name: 'as much CPU as all of it', without: alone, beside: () => turn([burner], 'burn', { share: median(shares.all) }) },
];

for (const one of [plainLeaser, leaser]) await one.ask('run', { atOnce: LEASES_AT_ONCE, seconds: WARM_UP_SECONDS });
await claimer.ask('ranges', { ...ownRanges, atOnce: 1, seconds: WARM_UP_SECONDS });
const measured = pairs.map(({ name }) => ({ name, without: /** @type {Turn[]} */ ([]), beside: /** @type {Turn[]} */ ([]) }));
const began = performance.now();
for (let rep = 0; rep < reps; rep++) {
  for (const [i, { without, beside }] of pairs.entries()) {
    const into = measured[i];
    // Which comes first changes from pair to pair: what drifts favours neither.
    if (rep % 2 === 0) into?.without.push(await without());
    into?.beside.push(await beside());
    if (rep % 2 === 1) into?.without.push(await without());
  }
}
const tookSeconds = Math.round((performance.now() - began) / 1000);
await Promise.all(flushers.map((part) => part.ask('close')));
await Promise.all([claimer, burner, plainLeaser, leaser, ...flushers].map((part) => part.stop()));
await Promise.all([plain.stop(), cell.stop()]);

/** @param {readonly Turn[]} turns @param {keyof Turn} what */
const medianOf = (turns, what) => median(turns.map((one) => one[what]));
const rows = measured.map(({ name, without, beside }) => {
  const ratios = without.map((one, i) => (beside[i]?.perSecond ?? NaN) / one.perSecond);
  return {
    name,
    without: Math.round(medianOf(without, 'perSecond')),
    beside: Math.round(medianOf(beside, 'perSecond')),
    lost: Math.round((1 - median(ratios)) * 1000) / 1000,
    claimsPerSecond: Math.round(medianOf(beside, 'claimsPerSecond')),
    besideShare: Math.round(medianOf(beside, 'besideShare') * 100) / 100,
    memberUsPerLease: {
      without: Math.round(medianOf(without, 'memberUs') * 10) / 10,
      beside: Math.round(medianOf(beside, 'memberUs') * 10) / 10,
    },
  };
});
const isMet = rows.slice(0, 2).every(({ lost }) => lost < LOST_TARGET);

if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  process.stdout.write(`${JSON.stringify({ ...machine, reps, seconds, rate, target: LOST_TARGET, isMet, rows }, null, 2)}\n`);
} else {
  const number = new Intl.NumberFormat('en-US');
  process.stdout.write(
    `acquire and release, ${LEASES_AT_ONCE} at once, 3 member processes; medians of ${reps} pairs of turns of ${seconds} s, in ${tookSeconds} s\n` +
      `(${cpus()[0]?.model}, ${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})\n` +
      'beside                          without a second   with it     lost   claims a second   its CPU   CPU of members a lease\n',
  );
  for (const { name, without, beside, lost, claimsPerSecond, besideShare, memberUsPerLease } of rows) {
    process.stdout.write(
      [
        name.padEnd(28),
        number.format(without).padStart(19),
        number.format(beside).padStart(9),
        `${(lost * 100).toFixed(1)} %`.padStart(8),
        number.format(claimsPerSecond).padStart(17),
        besideShare.toFixed(2).padStart(9),
        `${memberUsPerLease.without || '-'} us -> ${memberUsPerLease.beside} us`.padStart(24),
      ].join(' ') + '\n',
    );
  }
  process.stdout.write(
    `target: the service unused, and ${rate} claims a second, each cost less than ${LOST_TARGET * 100} %: ${isMet ? 'met' : 'MISSED'}\n`,
  );
}
process.exitCode = isMet ? 0 : 1;
