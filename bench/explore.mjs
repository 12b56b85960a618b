/**
 * How many distinct states a second the explorer finds, and in how many bytes it keeps each: `npm run bench:explore`.
 * The world is the one of `tenure explore quorum` without crashes, to its end. `--json` prints one object.
 */
import { availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { kits } from '../dist/sim/index.js';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, reps: { type: 'string', default: '3' } } });
const reps = Number(values.reps);
if (!Number.isInteger(reps) || reps < 1) {
  process.stderr.write('usage: node bench/explore.mjs [--json] [--reps N]\n');
  process.exit(64);
}

const quorum = kits.find(({ name }) => name === 'quorum')?.exploring;
if (!quorum) throw new Error('quorum has no small world');
const limits = { maxStates: Infinity, isOver: () => false };
// The compiler's warm-up is not what is measured.
quorum.explore({ ...quorum.usual, crashes: 0, renewals: 0, instants: 1 }, null, limits);

const rates = [];
let outcome = null;
for (let rep = 0; rep < reps; rep++) {
  const startedMs = performance.now();
  outcome = quorum.explore({ ...quorum.usual, crashes: 0 }, null, limits);
  rates.push(Math.round(outcome.states / ((performance.now() - startedMs) / 1000)));
}
rates.sort((a, b) => a - b);
const { states, transitions, visitedBytes, frontierBytes } = outcome;
const figures = {
  states,
  transitions,
  statesPerSecond: rates[Math.floor(reps / 2)],
  slowest: rates[0],
  fastest: rates.at(-1),
  visitedBytesPerState: Math.round((visitedBytes / states) * 10) / 10,
  bytesPerState: Math.round(((visitedBytes + frontierBytes) / states) * 10) / 10,
};
if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() };
  process.stdout.write(`${JSON.stringify({ ...machine, reps, ...figures })}\n`);
} else {
  const count = (value) => value.toLocaleString('en-US');
  process.stdout.write(
    `${count(figures.statesPerSecond)} states a second on one core; median of ${reps} (${count(figures.slowest)} to ${count(figures.fastest)})\n` +
      `${count(states)} states, ${count(transitions)} transitions; ${figures.visitedBytesPerState} bytes a state in the table of visited states, ` +
      `${figures.bytesPerState} with the states that wait\n`,
  );
}
