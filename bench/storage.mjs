/**
 * Acquire and release of a free name on a store, next to what people use there otherwise, by turns in one run: on a directory proper-lockfile, on
 * PostgreSQL advisory locks. Each pair is measured where changes are synced to a disk and where they are not, which tells what syncing costs.
 * `--only TEXT`, `--rounds N`, `--times N` (of each in a round), `--folder FOLDER`, `--json`; exit 1 if a target is missed.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import lockfile from 'proper-lockfile';
import { openStorage } from '../dist/api/index.js';
import { load, median, quantile } from './parts/processes.mjs';
import { startPostgres } from './parts/servers.mjs';

/** @typedef {() => Promise<void>} Turn takes a lock and gives it back */
/** @typedef {{ ours: Turn, theirs: Turn, close: () => Promise<void> }} Pair */
/** @typedef {{ name: string, rival: string, isTarget: boolean, open: () => Promise<Pair> }} Contest */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '9' },
    times: { type: 'string', default: '100' },
    folder: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
});
const [rounds = 0, times = 0] = [values.rounds, values.times].map(Number);
if (![rounds, times].every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench:storage: --rounds and --times take positive whole numbers\n');
  process.exit(64);
}
/** A file system in memory: nothing is synced to anywhere. */
const MEMORY = '/dev/shm';

/** @param {{ folder: string, settings: string, fresh?: boolean }} where @returns {Promise<Pair>} */
async function directory({ folder, settings, fresh = false }) {
  const own = mkdtempSync(join(folder, 'tenure-bench-'));
  const theirs = mkdtempSync(join(folder, 'tenure-bench-'));
  const file = join(theirs, 'file');
  writeFileSync(file, '');
  const storage = await openStorage(`${pathToFileURL(own).href}${settings}`);
  let names = 0;
  return {
    ours: async () => await (await storage.acquire(fresh ? `bench/${names++}` : 'bench')).release(),
    theirs: async () => await (await lockfile.lock(fresh ? join(theirs, String(names++)) : file, { realpath: !fresh }))(),
    close: async () => {
      await storage.close();
      for (const each of [own, theirs]) rmSync(each, { recursive: true, force: true });
    },
  };
}

/** Takes an advisory lock and gives it back. @param {pg.Client} client */
async function advisoryLocks(client) {
  return async () => {
    await client.query('SELECT pg_advisory_lock(1)');
    await client.query('SELECT pg_advisory_unlock(1)');
  };
}

/** The least that a record costs which outlives its writer: a row is changed twice, each time on the condition that it is what it was. @param {pg.Client} client */
async function bareUpdates(client) {
  await client.query("CREATE TABLE bare (key text PRIMARY KEY, value int NOT NULL); INSERT INTO bare VALUES ('bench', 0)");
  let value = 0;
  return async () => {
    for (const next of [value + 1, value + 2]) {
      await client.query({ name: 'bare', text: 'UPDATE bare SET value = $2 WHERE key = $1 AND value = $2 - 1', values: ['bench', next] });
    }
    value += 2;
  };
}

/** @param {string} folder @param {(client: pg.Client) => Promise<Turn>} rival @returns {Promise<Pair>} */
async function postgres(folder, rival) {
  const server = await startPostgres([], undefined, folder);
  const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
  const storage = await openStorage(url);
  const client = new pg.Client(url);
  await client.connect();
  return {
    ours: async () => await (await storage.acquire('bench')).release(),
    theirs: await rival(client),
    close: async () => {
      await storage.close();
      await client.end();
      await server.stop();
    },
  };
}

const { folder } = values;
/** @type {Contest[]} */
const CONTESTS = [
  {
    name: 'directory, not synced',
    rival: 'proper-lockfile',
    isTarget: true,
    open: async () => await directory({ folder, settings: '?sync=off' }),
  },
  {
    name: 'directory, not synced, a new name each time',
    rival: 'proper-lockfile',
    isTarget: false,
    open: async () => await directory({ folder, settings: '?sync=off', fresh: true }),
  },
  {
    name: 'directory, synced',
    rival: 'proper-lockfile (syncs nothing)',
    isTarget: false,
    open: async () => await directory({ folder, settings: '' }),
  },
  {
    name: 'PostgreSQL on disk',
    rival: 'advisory locks (sync nothing)',
    isTarget: false,
    open: async () => await postgres(folder, advisoryLocks),
  },
  ...(existsSync(MEMORY)
    ? [
        { name: 'PostgreSQL in memory', rival: 'advisory locks', isTarget: true, open: async () => await postgres(MEMORY, advisoryLocks) },
        {
          name: 'PostgreSQL in memory, bare',
          rival: 'two updates of a row',
          isTarget: false,
          open: async () => await postgres(MEMORY, bareUpdates),
        },
      ]
    : []),
];

/** How long each of so many turns took, in microseconds. @param {Turn} turn */
async function timed(turn) {
  const tookUs = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await turn();
    tookUs.push((performance.now() - began) * 1000);
  }
  return tookUs;
}

/** @param {Contest} contest */
async function measure({ name, rival, isTarget, open }) {
  const pair = await open();
  try {
    for (const turn of [pair.ours, pair.theirs]) await timed(turn);
    /** @type {{ ours: number[], theirs: number[] }} */
    const took = { ours: [], theirs: [] };
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
      const ours = await timed(pair.ours);
      const theirs = await timed(pair.theirs);
      took.ours.push(...ours);
      took.theirs.push(...theirs);
      ratios.push(median(ours) / median(theirs));
    }
    return { name, rival, ours: spread(took.ours), theirs: spread(took.theirs), ratio: Math.round(median(ratios) * 100) / 100, isTarget };
  } finally {
    await pair.close();
  }
}

/** @param {readonly number[]} tookUs */
function spread(tookUs) {
  return { p50Us: Math.round(median(tookUs)), p99Us: Math.round(quantile(tookUs, 0.99)) };
}

const loadBefore = load();
const rows = [];
for (const contest of CONTESTS.filter(({ name }) => name.includes(values.only))) {
  const row = await measure(contest);
  rows.push(row);
  if (values.json) continue;
  const { name, rival, ours, theirs, ratio, isTarget } = row;
  const target = isTarget ? (ratio <= 1 ? ', target met' : ', TARGET MISSED: at most 1') : '';
  console.log(`${name}: ${ours.p50Us} us (p99 ${ours.p99Us}), ${rival}: ${theirs.p50Us} us (p99 ${theirs.p99Us}); ${ratio} times${target}`);
}
const machine = { cpu: cpus()[0]?.model ?? '?', cores: availableParallelism(), node: process.version, loadBefore };
if (values.json) console.log(JSON.stringify({ rounds, times, rows, machine }));
else console.log(`median of ${rounds} rounds of ${times} each, by turns; ${machine.cores} cores, load before ${loadBefore}`);
process.exitCode = rows.some(({ ratio, isTarget }) => isTarget && ratio > 1) ? 1 : 0;
