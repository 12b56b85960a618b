/**
 * Sixty-four processes call `next(100)` in one space at the same instant: all are served. Prints how many requests each took, how long, and how many integers were
 * skipped. `--processes N` other than 64, `--size N` other than 100, `--rounds N` other than 3, `--json`. Exit 1 if one was not served, or two got the same.
 */
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { load, Part, quantile } from './parts/processes.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '64' },
    size: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const [processes, size, rounds] = [Number(values.processes), Number(values.size), Number(values.rounds)];
if (![processes, size, rounds].every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench:claims-crowd: --processes, --size and --rounds take positive whole numbers\n');
  process.exit(64);
}

const loadBefore = load();
const cell = await DurableCell.start({ maxTerm: 2000, keepVotes: true });
const begun = await connect({ ...cell.reach, secret: cell.secret });
await begun.bootstrap({ only: 'claims' });
await begun.close();
const parts = Array.from({ length: processes }, (_, i) => new Part('claimer.mjs', { args: [String(i)] }));
for (const part of parts) await part.ask('connect', cell.reach);

const rows = [];
for (let round = 0; round < rounds; round++) {
  /** @type {{ from: number, to: number, attempts: number, ms: number }[]} */
  const blocks = await Promise.all(parts.map((part) => part.ask('next', { space: 'crowd', size })));
  const sorted = blocks.toSorted((a, b) => a.from - b.from);
  const isOnce = sorted.every(({ from }, i) => i === 0 || from > (sorted[i - 1]?.to ?? -1));
  const span = (sorted.at(-1)?.to ?? 0) - (sorted[0]?.from ?? 0) + 1;
  const attempts = blocks.map((one) => one.attempts).toSorted((a, b) => a - b);
  rows.push({ served: blocks.length, isOnce, attempts, skipped: span - processes * size, ms: blocks.map(({ ms }) => ms) });
}
await Promise.all(parts.map((part) => part.stop()));
await cell.stop();

const isFine = rows.every(({ served, isOnce }) => served === processes && isOnce);
if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  process.stdout.write(`${JSON.stringify({ ...machine, processes, size, isFine, rows })}\n`);
} else {
  process.stdout.write(
    `${processes} processes call next(${size}) at once, ${rounds} times (${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})\n`,
  );
  for (const { served, attempts, skipped, ms } of rows) {
    const counts = [...new Set(attempts)].map((tries) => `${attempts.filter((one) => one === tries).length} × ${tries}`);
    process.stdout.write(
      `${served} served; requests each: ${counts.join(', ')} (median ${quantile(attempts, 0.5)}, most ${attempts.at(-1)}); ` +
        `${skipped} integers skipped among ${processes * size}; last after ${Math.round(Math.max(...ms))} ms\n`,
    );
  }
  process.stdout.write(`${isFine ? 'all were served, nothing twice' : 'NOT as it must be'}\n`);
}
process.exitCode = isFine ? 0 : 1;
