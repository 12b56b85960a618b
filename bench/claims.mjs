/**
 * What claims cost: unique ids a second of one process, and durable claims a second of three member processes, next to what one flush of a data directory takes and
 * to a PostgreSQL sequence with the same block size, measured in the same run by turns.
 * `--json` prints figures, `--reps N` other repetitions than 3 (the median counts), `--seconds S` per measurement, `--size N` integers a claim other than 1000.
 * Exit 1 if a target is missed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DataDir } from '../dist/runtime/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { load, median, Part, quantile } from './parts/processes.mjs';
import { program, startPostgres } from './parts/servers.mjs';

const IDS_TARGET = 1_000_000;
const CROWDS = [1, 64];

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    reps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    size: { type: 'string', default: '1000' },
  },
});
const [reps, seconds, size] = [Number(values.reps), Number(values.seconds), Number(values.size)];
if (![reps, size].every((number) => Number.isInteger(number) && number > 0) || !(seconds > 0)) {
  process.stderr.write('bench:claims: --reps and --size take positive whole numbers, --seconds a positive number\n');
  process.exit(64);
}

/** @typedef {{ perSecond: number, p50Us: number, p99Us: number }} Figures */
/** @param {readonly Figures[]} runs @returns {Figures} */
const medians = (runs) => ({
  perSecond: Math.round(median(runs.map((run) => run.perSecond))),
  p50Us: Math.round(median(runs.map((run) => run.p50Us))),
  p99Us: Math.round(median(runs.map((run) => run.p99Us))),
});

const loadBefore = load();
const cell = await DurableCell.start({ maxTerm: 2000, keepVotes: false });
const begun = await connect({ ...cell.reach, secret: cell.secret });
await begun.bootstrap({ only: 'claims' });
await begun.close();
const claimer = new Part('claimer.mjs');
await claimer.ask('connect', cell.reach);
const flushing = await openFlushes();
const sequence = program('postgres') === null ? null : await openSequence();

/** One write after the other to a data directory, as a member does for a claim. */
async function openFlushes() {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-flush-'));
  const dir = await DataDir.open({ path: folder, cell: 'bench', member: 'a', incarnation: /** @type {any} */ (1), sections: ['claims'] });
  const { disk } = dir.section('claims');
  const value = new Uint8Array(60);
  return {
    /** @returns {Promise<Figures>} */
    async run() {
      /** @type {number[]} */
      const latencies = [];
      const began = performance.now();
      for (let now = began; now - began < seconds * 1000; now = performance.now()) {
        await new Promise((resolve) => disk.write(`place/${latencies.length % 16}`, value, resolve));
        latencies.push(performance.now() - now);
      }
      return figures(latencies, performance.now() - began);
    },
    async close() {
      await dir.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `atOnce` connections, each takes one block of the sequence after the other. */
async function openSequence() {
  const server = await startPostgres();
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ host: '127.0.0.1', port: server.port, user: 'postgres', database: 'postgres', max: Math.max(...CROWDS) });
  await pool.query(`create sequence blocks increment by ${size} start 1`);
  return {
    /** @param {number} atOnce @returns {Promise<Figures>} */
    async run(atOnce) {
      const clients = await Promise.all(Array.from({ length: atOnce }, () => pool.connect()));
      /** @type {number[]} */
      const latencies = [];
      const began = performance.now();
      const until = began + seconds * 1000;
      await Promise.all(
        clients.map(async (client) => {
          for (let now = performance.now(); now < until; now = performance.now()) {
            await client.query("select nextval('blocks')");
            latencies.push(performance.now() - now);
          }
        }),
      );
      const tookMs = performance.now() - began;
      for (const client of clients) client.release();
      return figures(latencies, tookMs);
    },
    async close() {
      await pool.end();
      await server.stop();
    },
  };
}

/** @param {readonly number[]} latencies @param {number} tookMs @returns {Figures} */
function figures(latencies, tookMs) {
  return { perSecond: (latencies.length / tookMs) * 1000, p50Us: quantile(latencies, 0.5) * 1000, p99Us: quantile(latencies, 0.99) * 1000 };
}

/** @param {'for await' | 'take'} how */
async function idsASecond(how) {
  const runs = [];
  for (let rep = 0; rep < reps; rep++) runs.push((await claimer.ask('ids', { space: `ids-${how}`, seconds, how })).perSecond);
  return Math.round(median(runs));
}

const ids = { forAwait: await idsASecond('for await'), take: await idsASecond('take') };
const rows = [];
for (const atOnce of CROWDS) {
  const runs = { claims: /** @type {Figures[]} */ ([]), flushes: /** @type {Figures[]} */ ([]), sequence: /** @type {Figures[]} */ ([]) };
  for (let rep = 0; rep < reps; rep++) {
    runs.claims.push(await claimer.ask('ranges', { space: 'ranges', atOnce, size, seconds }));
    runs.flushes.push(await flushing.run());
    if (sequence) runs.sequence.push(await sequence.run(atOnce));
  }
  const claims = medians(runs.claims);
  const flush = medians(runs.flushes);
  const flushPart = Math.round((flush.p50Us / claims.p50Us) * 100) / 100;
  rows.push({ atOnce, claims, flush, flushPart, sequence: sequence ? medians(runs.sequence) : null });
}

await claimer.stop();
await flushing.close();
await sequence?.close();
await cell.stop();

const isMet = ids.forAwait >= IDS_TARGET;
if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  const targets = { idsPerSecond: IDS_TARGET };
  process.stdout.write(`${JSON.stringify({ ...machine, reps, seconds, size, targets, isMet, ids, rows }, null, 2)}\n`);
} else {
  const number = new Intl.NumberFormat('en-US');
  process.stdout.write(
    `claims of one process, 3 member processes with data directories; median of ${reps}\n` +
      `(${cpus()[0]?.model}, ${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})\n` +
      `unique ids a second: ${number.format(ids.forAwait)} by for await, ${number.format(ids.take)} by take()\n` +
      `at once   claims of ${size} a second   p50       p99   one flush p50   of a claim   PostgreSQL sequence, increment ${size}: a second   p50\n`,
  );
  for (const { atOnce, claims, flush, flushPart, sequence: other } of rows) {
    process.stdout.write(
      [
        String(atOnce).padStart(7),
        number.format(claims.perSecond).padStart(24),
        `${number.format(claims.p50Us)} us`.padStart(12),
        `${number.format(claims.p99Us)} us`.padStart(10),
        `${number.format(flush.p50Us)} us`.padStart(12),
        `${Math.round(flushPart * 100)} %`.padStart(10),
        (other ? number.format(other.perSecond) : 'not installed').padStart(44),
        (other ? `${number.format(other.p50Us)} us` : '').padStart(12),
      ].join(' ') + '\n',
    );
  }
  process.stdout.write(`targets: ${number.format(IDS_TARGET)} ids a second: ${isMet ? 'met' : 'MISSED'}\n`);
}
process.exitCode = isMet ? 0 : 1;
