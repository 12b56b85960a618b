/**
 * How long `tenure run NAME -- command` takes to start its command, from a shell's point of view, against an empty Node
 * program: both are started in turn many times, and the medians compared. A third is started without the compiled code that an
 * earlier start has kept, as on a machine where nothing could be written. Members are processes of their own on loopback.
 * `--json`, `--reps N`; exit 1 if the target is missed.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { load, median, quantile, startCell } from './parts/processes.mjs';

const TERM_MS = 2000;
/** An empty `node` start is the unit: what nobody can save. */
const RATIO_MAX = 2;

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, reps: { type: 'string', default: '40' } } });
const reps = Number(values.reps);
if (!Number.isInteger(reps) || reps < 1) {
  process.stderr.write('bench:start: --reps takes a positive whole number\n');
  process.exit(64);
}

const folder = mkdtempSync(join(tmpdir(), 'tenure-start-'));
// The cheapest there is: a module takes longer.
const empty = join(folder, 'empty.cjs');
const secret = join(folder, 'secret');
writeFileSync(empty, '');
const bin = fileURLToPath(new URL('../bin/tenure.js', import.meta.url));

const loadBefore = load();
const cell = await startCell({ maxTerm: TERM_MS });
writeFileSync(secret, cell.reach.clientSecret);
const members = Object.entries(cell.reach.members).map(([id, address]) => `${id}=${address}`);
const env = { ...process.env, TENURE_CELL: cell.reach.cell, TENURE_MEMBERS: members.join(','), TENURE_SECRET_FILE: secret };

/**
 * When it first said something, and when it was over, in milliseconds from its start.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [more]
 * @returns {Promise<{ startedMs: number, endedMs: number }>}
 */
function time(args, more = {}) {
  return new Promise((resolve, reject) => {
    const at = performance.now();
    let startedMs = NaN;
    const child = spawn(process.execPath, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.once('data', () => (startedMs = performance.now() - at));
    child.once('close', (code) => {
      if (code === 0) resolve({ startedMs, endedMs: performance.now() - at });
      else reject(new Error(`${args.join(' ')} ended with ${code}`));
    });
  });
}

const command = [bin, 'run', 'start', '--', 'echo', 'here'];
const nodeMs = [];
const startMs = [];
const wholeMs = [];
const uncachedMs = [];
await time(command);
for (let rep = 0; rep < reps; rep++) {
  nodeMs.push((await time([empty])).endedMs);
  const { startedMs, endedMs } = await time(command);
  startMs.push(startedMs);
  wholeMs.push(endedMs);
  uncachedMs.push((await time(command, { NODE_DISABLE_COMPILE_CACHE: '1' })).startedMs);
}
await cell.stop();
rmSync(folder, { recursive: true, force: true });

/** @param {number} value */
const hundredths = (value) => Math.round(value * 100) / 100;
const result = {
  reps,
  nodeMs: hundredths(median(nodeMs)),
  commandStartsMs: hundredths(median(startMs)),
  commandStartsMsP90: hundredths(quantile(startMs, 0.9)),
  wholeMs: hundredths(median(wholeMs)),
  ratio: hundredths(median(startMs) / median(nodeMs)),
  uncachedMs: hundredths(median(uncachedMs)),
  uncachedRatio: hundredths(median(uncachedMs) / median(nodeMs)),
  wholeRatio: hundredths(median(wholeMs) / median(nodeMs)),
  ratioMax: RATIO_MAX,
  machine: { cpu: cpus()[0]?.model ?? '?', cores: availableParallelism(), node: process.version, loadBefore },
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(`an empty node start          ${result.nodeMs} ms`);
  console.log(
    `the command starts after     ${result.commandStartsMs} ms (p90 ${result.commandStartsMsP90} ms), ${result.ratio} times that`,
  );
  console.log(`all is over after            ${result.wholeMs} ms, ${result.wholeRatio} times that`);
  console.log(`without kept code it starts  ${result.uncachedMs} ms, ${result.uncachedRatio} times that`);
  console.log(`${reps} starts each, in turn; ${result.machine.cores} cores, load ${loadBefore}, node ${process.version}`);
}
process.exitCode = result.ratio <= RATIO_MAX ? 0 : 1;
