/**
 * How many events a second the simulator delivers on one core, with the referees on: `npm run bench:sim`.
 * An event is a step of a core: a message, a command, a wake or a completion. `--json` prints one object.
 */
import { availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { runChunk, kits } from '../dist/sim/index.js';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, reps: { type: 'string', default: '7' } } });
const reps = Number(values.reps);
if (!Number.isInteger(reps) || reps < 1) {
  process.stderr.write('usage: node bench/sim.mjs [--json] [--reps N]\n');
  process.exit(64);
}

/** Runs of each protocol that take about a second together. */
const WORKLOADS = [
  { protocol: 'quorum', runs: 100 },
  { protocol: 'register', runs: 200 },
  { protocol: 'toy', runs: 800 },
];
const SEED = 1;

const results = WORKLOADS.map(({ protocol, runs }) => {
  const simulation = kits.find(({ name }) => name === protocol);
  if (!simulation) throw new Error(`no protocol ${protocol}`);
  // The compiler's warm-up is not what is measured.
  runChunk(simulation, null, SEED + 1, 0, Math.ceil(runs / 2), false);
  const rates = [];
  let events = 0;
  for (let rep = 0; rep < reps; rep++) {
    const startedMs = performance.now();
    events = runChunk(simulation, null, SEED, 0, runs, false).events;
    rates.push(Math.round(events / ((performance.now() - startedMs) / 1000)));
  }
  rates.sort((a, b) => a - b);
  return { protocol, runs, events, median: rates[Math.floor(reps / 2)] ?? 0, min: rates[0] ?? 0, max: rates.at(-1) ?? 0 };
});

if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() };
  process.stdout.write(`${JSON.stringify({ ...machine, reps, eventsPerSecond: results })}\n`);
} else {
  process.stdout.write(`events a second on one core, referees on; median of ${reps} (slowest to fastest)\n`);
  for (const { protocol, runs, events, median, min, max } of results) {
    const figures = [median, min, max].map((rate) => rate.toLocaleString('en-US'));
    process.stdout.write(`${protocol.padEnd(10)} ${figures[0]}  (${figures[1]} to ${figures[2]})  ${events} events in ${runs} runs\n`);
  }
}
