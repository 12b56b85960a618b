/**
 * How many decisions an acceptor makes in a second on one core, in memory, without sockets: bytes of a proposal are
 * decoded, the core decides, its reply becomes bytes. `--json` prints figures, `--count N` another number of names,
 * `--rounds N` more rounds (the median counts); exit 1 if a target is missed, which with fewer names is only told.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { ACCEPTED, deriveTiming, PROPOSE, QuorumCore, QuorumMessage, REFUSED, RELEASE, RELEASED, RENEWS } from '../dist/core/index.js';
import { ByteReader, ByteWriter, quorumCodec } from '../dist/wire/index.js';

const COUNT = 1_000_000;
const TARGET = 1_000_000;
const WARM_UP = 100_000;
const WALL_US = 1_800_000_000_000_000;
/** A driver looks after its timers between batches of packets. */
const BATCH = 1000;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    count: { type: 'string', default: String(COUNT) },
    rounds: { type: 'string', default: '3' },
  },
});
const count = Number(values.count);
const rounds = Number(values.rounds);
if (![count, rounds].every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench:core: --count and --rounds take positive whole numbers\n');
  process.exit(64);
}

/** Frames one after the other in one buffer, as they would come from a socket. */
class Frames {
  writer = new ByteWriter(1 << 20);
  /** @type {number[]} */
  ends = [];
  #codec = quorumCodec();

  /** @param {QuorumMessage} message */
  add(message) {
    this.#codec.encode(message, this.writer);
    this.ends.push(this.writer.length);
  }
}

/** An acceptor and what surrounds it; the clock moves a microsecond with every message. */
class Bench {
  replies = 0;
  /** @type {Record<number, number>} */
  kinds = {};
  #core = new QuorumCore(
    { memberKeys: [1, 2, 3], timing: deriveTiming({ maxTermUs: 15_000_000, rateErrorPpm: 1000, rttUs: 2000 }) },
    { self: 0, incarnation: 77, restarted: false, diskKept: false },
  );
  #codec = quorumCodec();
  #reader = new ByteReader();
  #writer = new ByteWriter();
  #step = {
    monoUs: 1_000_000,
    wallUs: WALL_US,
    choose: () => 0,
    /** @param {number} _to @param {QuorumMessage} reply */
    send: (_to, reply) => {
      this.#writer.reset();
      this.#codec.encode(reply, this.#writer);
      this.replies++;
      this.kinds[reply.kind] = (this.kinds[reply.kind] ?? 0) + 1;
    },
    read: () => {},
    write: () => {},
    swap: () => {},
    erase: () => {},
    list: () => {},
    emit: () => {},
  };

  /** @param {Frames} frames */
  run({ writer: { bytes }, ends }) {
    let start = 0;
    for (let i = 0; i < ends.length; i++) {
      const end = ends[i];
      this.#reader.reset(bytes, start, end);
      const message = this.#codec.decode(this.#reader);
      this.#step.monoUs++;
      this.#step.wallUs++;
      this.#core.receive(5, message, this.#step);
      if (i % BATCH === 0 && this.#core.wakeAt <= this.#step.monoUs) this.#core.wake(this.#step);
      start = end;
    }
  }
}

/**
 * @param {number} names
 * @param {{ owner: number, later: number, flags?: number, pairs?: boolean }} how
 */
function proposals(names, { owner, later, flags = 0, pairs = false }) {
  const frames = new Frames();
  const message = new QuorumMessage();
  const encoder = new TextEncoder();
  for (let i = 0; i < names; i++) {
    const name = encoder.encode(`job/${String(i).padStart(12, '0')}`);
    message.kind = PROPOSE;
    message.owner = owner;
    message.lease = i;
    message.ballot = WALL_US + later + 2 * i;
    message.token = WALL_US + 2 * i;
    message.termUs = 15_000_000;
    message.flags = flags;
    message.setName(name, 0, name.length);
    message.setMeta(undefined);
    frames.add(message);
    if (!pairs) continue;
    message.kind = RELEASE;
    frames.add(message);
  }
  return frames;
}

const LATER = 4 * count;
/** What is done before the clock starts, what is measured, and which replies must come of it. */
const SCENARIOS = [
  { title: 'new leases', before: [], measured: { owner: 9001, later: 0 }, replies: [ACCEPTED] },
  {
    title: 'renewals',
    before: [{ owner: 9001, later: 0 }],
    measured: { owner: 9001, later: LATER, flags: RENEWS },
    replies: [ACCEPTED],
  },
  { title: 'refused: held', before: [{ owner: 9001, later: 0 }], measured: { owner: 9002, later: LATER }, replies: [REFUSED] },
  { title: 'acquire and release', before: [], measured: { owner: 9001, later: 0, pairs: true }, replies: [ACCEPTED, RELEASED] },
];

/**
 * @param {typeof SCENARIOS[number]} scenario
 * @param {number} names
 */
function measure({ title, before, measured, replies }, names) {
  const bench = new Bench();
  for (const how of before) bench.run(proposals(names, how));
  const frames = proposals(names, measured);
  bench.replies = 0;
  bench.kinds = {};
  const began = performance.now();
  bench.run(frames);
  const seconds = (performance.now() - began) / 1000;
  for (const kind of replies) {
    if (bench.kinds[kind] !== names) throw new Error(`${title}: ${bench.kinds[kind] ?? 0} replies of kind ${kind}, not ${names}`);
  }
  return bench.replies / seconds;
}

const rows = SCENARIOS.map((scenario) => {
  measure(scenario, Math.min(count, WARM_UP));
  const rates = Array.from({ length: rounds }, () => measure(scenario, count)).sort((a, b) => a - b);
  const perSecond = Math.round(rates[Math.floor(rates.length / 2)]);
  return {
    title: scenario.title,
    perSecond,
    lowest: Math.round(rates[0]),
    highest: Math.round(rates[rates.length - 1]),
    isMet: perSecond >= TARGET,
  };
});
const isMet = rows.every((row) => row.isMet);

if (values.json) {
  process.stdout.write(
    `${JSON.stringify({ node: process.version, cpu: cpus()[0]?.model, names: count, rounds, target: TARGET, isMet, rows }, null, 2)}\n`,
  );
} else {
  const number = new Intl.NumberFormat('en-US');
  const lines = rows.map(({ title, perSecond, lowest, highest, isMet: met }) =>
    [
      title.padEnd(22),
      number.format(perSecond).padStart(12),
      `${number.format(lowest)} to ${number.format(highest)}`.padStart(26),
      met ? '  met' : '  MISSED',
    ].join(' '),
  );
  process.stdout.write(
    `decisions a second of one acceptor, ${number.format(count)} names, median of ${rounds} (${cpus()[0]?.model}, Node ${process.version})\n`,
  );
  process.stdout.write(`${lines.join('\n')}\ntarget: ${number.format(TARGET)}\n`);
}
process.exitCode = isMet || count < COUNT ? 0 : 1;
