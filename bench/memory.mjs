/**
 * What millions of live leases cost: memory, look-ups, the longest pauses, and what comes back when they end. Each
 * scenario runs in processes of its own (`bench/core-memory.mjs`, `bench/tables.mjs`). `--json` prints figures, `--count N` another number of
 * leases; exit 1 if a target is missed, which at other counts than ten million is only told. `--engine paxoslease:relative` (or any other that
 * `parseEngine` reads) tells what a lease costs in that engine's core, of a million leases, and nothing else: it has no tables and no targets.
 */
import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const COUNT = 10_000_000;
/** Without tables a lease takes so much that ten million do not fit everywhere. */
const COUNT_OF_OTHERS = 1_000_000;
const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, count: { type: 'string' }, engine: { type: 'string', default: 'quorum' } },
});
const count = Number(values.count ?? (values.engine === 'quorum' ? COUNT : COUNT_OF_OTHERS));
if (!(Number.isInteger(count) && count > 0)) {
  process.stderr.write('bench:memory: --count takes a positive whole number\n');
  process.exit(64);
}

/**
 * @typedef {{ bytesPerLease: number, bytesPerLeaseTables: number, bytesPerLeaseCounted: number, lookupsPerSecond: number, growingLongestMs: number,
 *   growingMeanNs: number, endingLongestMs: number, endingMeanNs: number, collectionMs: number, collectionLongestMs: number,
 *   returnedShare: number, bytesKept: number }} Figures
 */

/** @param {string} file @param {string} scenario */
async function run(file, scenario) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', path, scenario, String(count), values.engine]);
  return JSON.parse(stdout);
}

if (values.engine !== 'quorum') {
  const [acceptor, all] = [await run('core-memory.mjs', 'acceptor'), await run('core-memory.mjs', 'all-roles')];
  const bytes = { acceptor: Math.round(acceptor.bytesPerLease), allRoles: Math.round(all.bytesPerLease) };
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ count, engine: values.engine, node: process.version, bytes }, null, 2)}\n`
      : `${count.toLocaleString('en')} live leases with names of 16 bytes, ${values.engine}, Node ${process.version}: ${bytes.acceptor} bytes a lease in an acceptor, ${bytes.allRoles} in all roles together\n`,
  );
  process.exit();
}

/**
 * @param {string} scenario
 * @returns {Promise<Figures>}
 */
async function measure(scenario) {
  const core = await run('core-memory.mjs', scenario);
  const tables = await run('tables.mjs', scenario);
  return { ...tables, bytesPerLease: core.bytesPerLease, bytesPerLeaseTables: tables.bytesPerLease };
}

/** @type {{ title: string, unit: string, key: keyof Figures, digits: number, atMost?: number, atLeast?: number, atMostAll?: number }[]} */
const ROWS = [
  { title: 'resident memory per lease, whole core', unit: 'bytes', key: 'bytesPerLease', digits: 1, atMost: 72, atMostAll: 140 },
  { title: '  the tables alone', unit: 'bytes', key: 'bytesPerLeaseTables', digits: 1 },
  { title: '  of it in tables, by their own count', unit: 'bytes', key: 'bytesPerLeaseCounted', digits: 1 },
  { title: 'look-ups by wire name', unit: 'per second', key: 'lookupsPerSecond', digits: 0, atLeast: 800_000 },
  { title: 'longest pause while growing', unit: 'ms', key: 'growingLongestMs', digits: 2, atMost: 20 },
  { title: '  mean time to add one', unit: 'ns', key: 'growingMeanNs', digits: 0 },
  { title: 'longest pause while ending', unit: 'ms', key: 'endingLongestMs', digits: 2, atMost: 20 },
  { title: '  mean time to end one', unit: 'ns', key: 'endingMeanNs', digits: 0 },
  { title: 'full garbage collection, median of 5', unit: 'ms', key: 'collectionMs', digits: 2, atMost: 10 },
  { title: '  longest of 5', unit: 'ms', key: 'collectionLongestMs', digits: 2 },
  { title: 'share of memory returned after all ended', unit: '', key: 'returnedShare', digits: 3 },
  { title: 'kept by the empty tables', unit: 'bytes', key: 'bytesKept', digits: 0 },
];

const acceptor = await measure('acceptor');
const all = await measure('all-roles');
const rows = ROWS.map((row) => {
  const atMostAll = row.atMostAll ?? row.atMost ?? Infinity;
  const isMet =
    acceptor[row.key] <= (row.atMost ?? Infinity) &&
    all[row.key] <= atMostAll &&
    Math.min(acceptor[row.key], all[row.key]) >= (row.atLeast ?? 0);
  const hasTarget = row.atMost !== undefined || row.atLeast !== undefined;
  return { ...row, acceptor: acceptor[row.key], all: all[row.key], isMet, hasTarget };
});
const missed = rows.filter((row) => !row.isMet).map((row) => row.title);

if (values.json) {
  process.stdout.write(
    `${JSON.stringify({ count, node: process.version, cpu: cpus()[0]?.model, acceptor, allRoles: all, missed }, null, 2)}\n`,
  );
} else {
  /** @param {number} value @param {number} digits */
  const format = (value, digits) => value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  /** @param {(typeof rows)[number]} row */
  const target = ({ atMost, atMostAll, atLeast, digits: _digits }) => {
    if (atLeast !== undefined) return `>= ${format(atLeast, 0)}`;
    if (atMost === undefined) return '';
    return atMostAll === undefined ? `<= ${atMost}` : `<= ${atMost}, ${atMostAll}`;
  };
  const lines = rows.map((row) =>
    [
      row.title.padEnd(42),
      format(row.acceptor, row.digits).padStart(12),
      format(row.all, row.digits).padStart(14),
      ` ${row.unit.padEnd(10)}`,
      target(row).padEnd(12),
      row.hasTarget ? (row.isMet ? 'met' : 'MISSED') : '',
    ]
      .join(' ')
      .trimEnd(),
  );
  process.stdout.write(`${format(count, 0)} live leases with names of 16 bytes, Node ${process.version}\n\n`);
  process.stdout.write(`${''.padEnd(42)} ${'acceptor'.padStart(12)} ${'all roles'.padStart(14)}  ${''.padEnd(10)} target\n`);
  process.stdout.write(`${lines.join('\n')}\n\nAll roles: acceptor, holder and learner of every lease, and an entry in a calendar.\n`);
}
if (missed.length > 0 && count === COUNT) process.exitCode = 1;
