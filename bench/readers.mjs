/**
 * Readers and writers, each a process of its own, take one lease on a directory and are killed (SIGKILL) at random: no writer may ever hold it beside anybody. Their journals, by one clock, are
 * put together to one history, and the referees judge it. With `--cell` they do so in a cell of three members, three writers and five readers unless told otherwise, and what they read and write is
 * one fenced file: nobody may see half a write, and whoever writes after its lease was another's is refused. `--plain` (plain registers), `--readers N`, `--writers N`, `--seconds N`, `--kills N`, `--term MS`, `--delta MS`, `--json`; exit 1 if a
 * referee objects, or nobody read or wrote. It takes longer where the machine is too busy for any of that.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { DeadlineReferee, ExclusionReferee, FencingReferee, Panel } from '../dist/check/index.js';
import { spanUs } from '../dist/kernel/index.js';
import { initParameters, openStore } from '../dist/store/index.js';
import { load, Part, startCell } from './parts/processes.mjs';

const { values } = parseArgs({
  options: {
    cell: { type: 'boolean', default: false },
    plain: { type: 'boolean', default: false },
    readers: { type: 'string' },
    writers: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string', default: '30' },
    term: { type: 'string', default: '1000' },
    delta: { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
  },
});
const numbers = [
  values.readers ?? (values.cell ? 5 : 8),
  values.writers ?? (values.cell ? 3 : 2),
  values.seconds,
  values.kills,
  values.term,
  values.delta,
].map(Number);
const [readers = 0, writers = 0, seconds = 0, kills = 0, termMs = 0, deltaMs = 0] = numbers;
if (!numbers.every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench/readers.mjs: --readers, --writers, --seconds, --kills, --term and --delta take positive whole numbers\n');
  process.exit(64);
}

/** Whoever is killed is killed so soon after it has got what it asked for. */
const KILL_AFTER_MS_MAX = 60;
/** On plain registers a reader's lease runs out, and a writer waits for the last: now and then no reader asks for so long, or no writer would ever get it. */
const lullMs = Math.ceil(2.5 * (termMs + 6 * deltaMs));

const folder = mkdtempSync(join(tmpdir(), 'tenure-readers-'));
mkdirSync(join(folder, 'store'));
const url = `${pathToFileURL(join(folder, 'store')).href}${values.plain ? '?swap=off' : ''}`;
const cell = values.cell ? await startCell({ maxTerm: termMs }) : null;
if (cell === null) {
  const store = await openStore(url, { create: 'init' });
  await initParameters(store, { maxTermUs: spanUs(termMs * 1000), deltaUs: spanUs(deltaMs * 1000) });
  await store.close();
}
/** What each process needs to know. */
const place = cell === null ? { url } : { reach: cell.reach, folder: join(folder, 'file') };

const startedMs = performance.now();
const endMs = startedMs + seconds * 1000;
/** On a machine that is busy with other things it goes on until somebody has read and somebody has written, but not for ever. */
const PATIENCE_MS = 120_000;
const had = { shared: 0, exclusive: 0 };
/** What was seen of the file, by what the processes call it. */
const seen = { 'half a write': 0, 'late accepted': 0, 'late refused': 0, 'holder refused': 0 };

function isOver() {
  const now = performance.now();
  return (
    now >= endMs && ((had.shared > 0 && had.exclusive > 0 && (cell === null || seen['late refused'] > 0)) || now >= endMs + PATIENCE_MS)
  );
}

const killEveryMs = (seconds * 1000) / kills;
let [lives, killed] = [0, 0];
let nextKillMs = startedMs + killEveryMs;
/** When the process of a journal was killed, and which start it was. @type {Map<string, number>} */
const deaths = new Map();

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

function isLull() {
  return values.plain && Math.floor((performance.now() - startedMs) / lullMs) % 2 === 1;
}

/** One process after the other, each until it is killed. @param {'shared' | 'exclusive'} mode */
async function lane(mode) {
  /** @type {{ part: Part, journal: string } | null} */
  let life = null;
  while (!isOver()) {
    if (mode === 'shared' && isLull()) {
      await sleep(20);
      continue;
    }
    if (life === null || deaths.has(life.journal)) life = begin();
    const { part, journal } = life;
    try {
      await part.ask('hold', { ...place, mode, journal, waitMs: mode === 'shared' ? lullMs / 2 : 2 * lullMs });
      await sleep(Math.random() * (mode === 'shared' ? 30 : termMs / 4));
    } catch (error) {
      if (!deaths.has(journal)) throw error;
      life = null;
    }
  }
  if (life !== null && !deaths.has(life.journal)) await life.part.stop();
}

function begin() {
  const journal = join(folder, `journal-${++lives}`);
  const part = new Part(cell === null ? 'sharer.mjs' : 'file-sharer.mjs', {
    onNotice: (mode) => {
      if (Object.hasOwn(seen, mode)) {
        seen[/** @type {keyof typeof seen} */ (mode)]++;
        return;
      }
      had[mode === 'shared' ? 'shared' : 'exclusive']++;
      if (performance.now() < nextKillMs) return;
      nextKillMs += killEveryMs;
      setTimeout(() => void kill(part, journal), Math.random() * KILL_AFTER_MS_MAX);
    },
  });
  return { part, journal };
}

/** Dead from when it is waited for: until then it may have noted something. @param {Part} part @param {string} journal */
async function kill(part, journal) {
  if (deaths.has(journal)) return;
  deaths.set(journal, Infinity);
  killed++;
  await part.kill();
  deaths.set(journal, nowUs());
}

await Promise.all([
  ...Array.from({ length: readers }, async () => await lane('shared')),
  ...Array.from({ length: writers }, async () => await lane('exclusive')),
]);

/** @typedef {import('../dist/check/index.js').HistoryRecord} HistoryRecord */

/** All that happened, in order. @returns {HistoryRecord[]} */
function historyOf() {
  /** @type {HistoryRecord[]} */
  const all = [];
  for (const name of readdirSync(folder).filter((one) => one.startsWith('journal-'))) {
    const incarnation = Number(name.slice('journal-'.length));
    const who = { node: incarnation, incarnation };
    const lines = readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1);
    for (const line of lines) all.push({ ...who, resource: 'shared', request: 1, ...JSON.parse(line) });
    const diedAt = deaths.get(join(folder, name));
    if (diedAt !== undefined) all.push({ ...who, kind: 'crashed', at: diedAt });
  }
  // What ends at the same instant ends first.
  return all.sort((a, b) => a.at - b.at || Number(b.kind === 'ended') - Number(a.kind === 'ended'));
}

const history = historyOf();
const panel = new Panel([new ExclusionReferee(), new FencingReferee(), new DeadlineReferee()]);
let [together, open] = [0, 0];
const grants = { shared: 0, exclusive: 0 };
for (const record of history) {
  panel.observe(record);
  if (record.kind === 'granted') grants[record.mode ?? 'exclusive']++;
  if (record.kind === 'granted' && record.mode === 'shared') together = Math.max(together, ++open);
  if (record.kind === 'ended') open = Math.max(0, open - 1);
}
const violations = panel.finish(history.at(-1)?.at ?? 0).map(({ property, message }) => `${property}: ${message}`);
for (const what of /** @type {const} */ (['half a write', 'late accepted', 'holder refused']))
  if (seen[what] > 0) violations.push(`${what}: ${seen[what]} times`);
if (cell !== null && seen['late refused'] === 0) violations.push('nobody came too late: the fence was not tried');
await cell?.stop();
rmSync(folder, { recursive: true, force: true });
const result = {
  path: cell === null ? (values.plain ? 'plain registers' : 'compare-and-set') : 'a cell of three',
  overlaps: violations.filter((line) => line.startsWith('exclusion')).length,
  lateRefused: seen['late refused'],
  readers,
  writers,
  grants,
  together,
  kills: killed,
  violations,
  seconds: Math.round((performance.now() - startedMs) / 100) / 10,
  loadAfter: load(),
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(
    `${cell === null ? `a directory (${result.path})` : result.path}, ${readers} readers and ${writers} writers: ${violations.length} violations`,
  );
  if (cell !== null)
    console.log(
      `overlaps=${result.overlaps}, halves=${seen['half a write']}, ${result.lateRefused} late writes refused, ${seen['late accepted']} accepted`,
    );
  console.log(
    `${grants.shared} shared and ${grants.exclusive} exclusive grants, up to ${together} readers together, ${killed} processes killed; ${result.seconds} s, load ${result.loadAfter}`,
  );
  for (const line of violations) console.log(`  ${line}`);
}
process.exitCode = violations.length === 0 && grants.shared > 0 && grants.exclusive > 0 ? 0 : 1;
