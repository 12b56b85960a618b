/**
 * What a log costs: messages a second and latency of one client process, for 3 and 5 member processes, 100 bytes and 1 KiB a message, members in memory and with data directories; next
 * to puts into three etcd servers (their files in memory, or on the same disk), measured in the same run by turns. `--json` prints figures, `--reps N` other repetitions than 3 (the median
 * counts), `--seconds S` per measurement, `--at-once N` publishers other than 1024, `--only SUBSTRING` takes the rows whose name has it, `--profile DIR` leaves CPU profiles of all
 * processes there, `--node-args='--FLAG …'` gives flags of Node to members and to the client processes of both sides. Exit 1 if a log of three members takes fewer than ten times as many messages a second as etcd takes puts.
 */
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { startEtcd } from './parts/etcd.mjs';
import { load, median, Part } from './parts/processes.mjs';

const RATIO_TARGET = 10;
const MEMBERS = [3, 5];
const BYTES = [100, 1024];
const WARM_UP_SECONDS = 1;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    reps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '1024' },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
    'node-args': { type: 'string', default: '' },
  },
});
const [reps, seconds, atOnce] = [Number(values.reps), Number(values.seconds), Number(values['at-once'])];
if (![reps, atOnce].every((number) => Number.isInteger(number) && number > 0) || !(seconds > 0)) {
  process.stderr.write('bench:broadcast: --reps and --at-once take positive whole numbers, --seconds a positive number\n');
  process.exit(64);
}

const nodeArgs = values['node-args'].split(' ').filter((word) => word !== '');

/** @typedef {{ perSecond: number, p50Us: number, p99Us: number }} Figures */
/** @param {readonly Figures[]} runs @returns {Figures} */
const medians = (runs) => ({
  perSecond: Math.round(median(runs.map((run) => run.perSecond))),
  p50Us: Math.round(median(runs.map((run) => run.p50Us))),
  p99Us: Math.round(median(runs.map((run) => run.p99Us))),
});

/** What is measured, with whatever takes the messages running: one message at a time, and many at once. */
class Subject {
  /** @type {Map<number, { alone: Figures[], crowd: Figures[] }>} */
  #runs = new Map(BYTES.map((bytes) => [bytes, { alone: [], crowd: [] }]));

  /** @param {string} name @param {boolean} inMemory @param {Part} part @param {() => Promise<unknown>} stop */
  constructor(name, inMemory, part, stop) {
    this.name = name;
    this.inMemory = inMemory;
    this.part = part;
    this.stop = stop;
  }

  /** Nothing of it runs while another is measured but what idles. */
  async measure() {
    for (const bytes of BYTES) {
      const runs = this.#runs.get(bytes);
      runs?.alone.push(await this.part.ask('run', { atOnce: 1, bytes, seconds }));
      runs?.crowd.push(await this.part.ask('run', { atOnce, bytes, seconds }));
    }
  }

  rows() {
    return [...this.#runs].map(([bytes, { alone, crowd }]) => ({
      name: this.name,
      inMemory: this.inMemory,
      bytes,
      alone: medians(alone),
      crowd: medians(crowd),
    }));
  }
}

/** @param {number} count @param {boolean} inMemory */
async function logOf(count, inMemory) {
  const name = `log, ${count} members`;
  const cell = await DurableCell.start({ maxTerm: 2000, count, inMemory, profileDir: values.profile, nodeArgs });
  const begun = await connect({ ...cell.reach, secret: cell.secret });
  await begun.bootstrap({ only: 'broadcast' });
  await begun.close();
  const part = new Part('publisher.mjs', { args: [String(count), String(inMemory)], profileDir: values.profile, nodeArgs });
  await part.ask('connect', cell.reach);
  return new Subject(name, inMemory, part, async () => {
    await part.stop();
    await cell.stop();
  });
}

/** @param {boolean} inMemory */
async function etcd(inMemory) {
  const servers = await startEtcd({ inMemory });
  if (servers === null) return null;
  const part = new Part('etcd-putter.mjs', { nodeArgs });
  await part.ask('connect', servers);
  return new Subject('etcd, 3 servers', inMemory, part, async () => {
    await part.stop();
    await servers.stop();
  });
}

const loadBefore = load();
const rows = [];
for (const inMemory of [true, false]) {
  const makers = [
    ...MEMBERS.map((count) => ({ name: `log, ${count} members`, make: () => logOf(count, inMemory) })),
    { name: 'etcd', make: () => etcd(inMemory) },
  ];
  const kind = inMemory ? 'memory' : 'disk';
  const subjects = [];
  for (const { name, make } of makers) if (`${name}, ${kind}`.includes(values.only)) subjects.push(await make());
  const present = subjects.filter((subject) => subject !== null);
  // Each size takes other ways through the code of either side; the first seconds of a size are its compiler's.
  for (const { part } of present) for (const bytes of BYTES) await part.ask('run', { atOnce, bytes, seconds: WARM_UP_SECONDS });
  for (let rep = 0; rep < reps; rep++) for (const subject of present) await subject.measure();
  for (const subject of present) {
    rows.push(...subject.rows());
    await subject.stop();
  }
}

/** How many times as many messages a second as etcd takes puts, by row; null where there is no etcd to compare with. */
const ratios = rows.map(({ inMemory, bytes, crowd }) => {
  const other = rows.find((row) => row.name.startsWith('etcd') && row.inMemory === inMemory && row.bytes === bytes);
  return other ? Math.round((crowd.perSecond / other.crowd.perSecond) * 10) / 10 : null;
});
const judged = ratios.filter((ratio, i) => ratio !== null && rows[i]?.name === 'log, 3 members');
const isMet = judged.every((ratio) => (ratio ?? 0) >= RATIO_TARGET);
if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  const told = rows.map((row, i) => ({ ...row, toEtcd: ratios[i] }));
  process.stdout.write(`${JSON.stringify({ ...machine, reps, seconds, atOnce, target: RATIO_TARGET, isMet, rows: told }, null, 2)}\n`);
} else {
  const number = new Intl.NumberFormat('en-US');
  process.stdout.write(
    `one client process, medians of ${reps} (${cpus()[0]?.model}, ${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})\n` +
      `                       kept in   bytes    alone p50       p99   ${String(atOnce).padStart(6)} at once, a second        p50        p99   of etcd\n`,
  );
  for (const [i, { name, inMemory, bytes, alone, crowd }] of rows.entries()) {
    process.stdout.write(
      [
        name.padEnd(22),
        (inMemory ? 'memory' : 'disk').padEnd(6),
        String(bytes).padStart(7),
        `${number.format(alone.p50Us)} us`.padStart(12),
        `${number.format(alone.p99Us)} us`.padStart(9),
        number.format(crowd.perSecond).padStart(26),
        `${number.format(crowd.p50Us)} us`.padStart(10),
        `${number.format(crowd.p99Us)} us`.padStart(10),
        (ratios[i] === null ? '' : `${ratios[i]} x`).padStart(9),
      ].join(' ') + '\n',
    );
  }
  process.stdout.write(
    `target: three members take ${RATIO_TARGET} times as many messages a second as etcd takes puts: ${isMet ? 'met' : 'MISSED'}\n`,
  );
}
process.exitCode = isMet ? 0 : 1;
