/**
 * What a client gets from a cell of three member processes on this machine: acquire and release through the public
 * API, next to the bare quorum round over TCP, measured in the same run by turns. `--json` prints figures, `--reps N`
 * other repetitions than 3 (the median counts), `--seconds S` per measurement, `--at-once 1,64,256`, `--profile DIR`
 * leaves CPU profiles of all processes there. Exit 1 if a target is missed.
 */
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { load, median, Part, startCell } from './parts/processes.mjs';

const PER_SECOND_TARGET = 60_000;
const PER_SECOND_AT_ONCE = 64;
const ALONE_RATIO_TARGET = 2;
const MAX_TERM_MS = 2000;
const WARM_UP_SECONDS = 1.5;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    reps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '1,64,256' },
    profile: { type: 'string' },
  },
});
const reps = Number(values.reps);
const seconds = Number(values.seconds);
const crowds = values['at-once'].split(',').map(Number);
if (![reps, ...crowds].every((number) => Number.isInteger(number) && number > 0) || !(seconds > 0)) {
  process.stderr.write('bench:cell: --reps and --at-once take positive whole numbers, --seconds a positive number\n');
  process.exit(64);
}

const loadBefore = load();
const echoes = Array.from({ length: 3 }, () => new Part('echo.mjs'));
const bare = new Part('bare-rounds.mjs');
await bare.ask('open', { ports: await Promise.all(echoes.map((echo) => echo.ask('listen'))) });
const cell = await startCell({ maxTerm: MAX_TERM_MS, profileDir: values.profile });
const client = new Part('client.mjs', { profileDir: values.profile });
await client.ask('connect', cell.reach);

/** @typedef {{ perSecond: number, p50Us: number, p99Us: number }} Figures */
/** @typedef {Figures & { done: number, cpuUs: number, messagesPerWrite: number }} Run */

/** A run of the client, with what all members spent on it: unlike rates, that hardly depends on what else the machine does. */
async function runLeases(/** @type {number} */ atOnce) {
  const spentUs = () => Promise.all(cell.parts.map((part) => part.ask('cpuUs')));
  const before = await spentUs();
  /** @type {Run} */
  const run = await client.ask('run', { atOnce, seconds });
  const after = await spentUs();
  const membersUs = after.reduce((sum, us, i) => sum + us - before[i], 0);
  return { ...run, clientCpuUs: run.cpuUs / run.done, memberCpuUs: membersUs / cell.parts.length / run.done };
}

/** @param {readonly Figures[]} runs @returns {Figures} */
const medians = (runs) => ({
  perSecond: Math.round(median(runs.map((run) => run.perSecond))),
  p50Us: Math.round(median(runs.map((run) => run.p50Us)) * 10) / 10,
  p99Us: Math.round(median(runs.map((run) => run.p99Us)) * 10) / 10,
});
/** @param {number} ratio */
const round = (ratio) => Math.round(ratio * 100) / 100;

const rows = [];
for (const atOnce of crowds) {
  await bare.ask('run', { atOnce, seconds: WARM_UP_SECONDS });
  await client.ask('run', { atOnce, seconds: WARM_UP_SECONDS });
  /** @type {Figures[]} */
  const bareRuns = [];
  const leaseRuns = [];
  for (let rep = 0; rep < reps; rep++) {
    bareRuns.push(await bare.ask('run', { atOnce, seconds }));
    leaseRuns.push(await runLeases(atOnce));
  }
  const [rounds, leases] = [medians(bareRuns), medians(leaseRuns)];
  // One acquire and its release are two rounds.
  const ofBareRate = round((2 * leases.perSecond) / rounds.perSecond);
  const cpuUs = {
    client: round(median(leaseRuns.map((run) => run.clientCpuUs))),
    member: round(median(leaseRuns.map((run) => run.memberCpuUs))),
  };
  const messagesPerWrite = round(median(leaseRuns.map((run) => run.messagesPerWrite)));
  rows.push({ atOnce, leases, rounds, messagesPerWrite, p50Ratio: round(leases.p50Us / rounds.p50Us), ofBareRate, cpuUs });
}
await Promise.all([client.stop(), cell.stop(), bare.stop(), ...echoes.map((echo) => echo.stop())]);

const alone = rows.find(({ atOnce }) => atOnce === 1);
const many = rows.find(({ atOnce }) => atOnce === PER_SECOND_AT_ONCE);
const isMet = (alone?.p50Ratio ?? 0) <= ALONE_RATIO_TARGET && (many?.leases.perSecond ?? Infinity) >= PER_SECOND_TARGET;

if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  const targets = { perSecondAt64: PER_SECOND_TARGET, p50RatioAlone: ALONE_RATIO_TARGET };
  process.stdout.write(`${JSON.stringify({ ...machine, reps, seconds, targets, isMet, rows }, null, 2)}\n`);
} else {
  const number = new Intl.NumberFormat('en-US');
  process.stdout.write(
    `acquire and release of one client process, 3 member processes, next to bare quorum rounds over TCP; median of ${reps}\n` +
      `(${cpus()[0]?.model}, ${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})\n` +
      'at once   leases/s  acquire p50       p99    bare rounds/s       p50       p99   p50 ratio  of the bare rate  CPU a lease: client  member  messages a write\n',
  );
  for (const { atOnce, leases, rounds, p50Ratio, ofBareRate, cpuUs, messagesPerWrite } of rows) {
    process.stdout.write(
      [
        String(atOnce).padStart(7),
        number.format(leases.perSecond).padStart(10),
        `${number.format(leases.p50Us)} us`.padStart(12),
        `${number.format(leases.p99Us)} us`.padStart(9),
        number.format(rounds.perSecond).padStart(16),
        `${number.format(rounds.p50Us)} us`.padStart(9),
        `${number.format(rounds.p99Us)} us`.padStart(9),
        String(p50Ratio).padStart(11),
        String(ofBareRate).padStart(17),
        `${cpuUs.client} us`.padStart(20),
        `${cpuUs.member} us`.padStart(7),
        String(messagesPerWrite).padStart(17),
      ].join(' ') + '\n',
    );
  }
  process.stdout.write(
    `targets: ${number.format(PER_SECOND_TARGET)} a second at ${PER_SECOND_AT_ONCE}; alone, acquire p50 within ${ALONE_RATIO_TARGET} bare rounds: ${isMet ? 'met' : 'MISSED'}\n`,
  );
}
process.exitCode = isMet ? 0 : 1;
