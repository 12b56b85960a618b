/**
 * Many processes decide the same keys and are killed at random: on one store that compares and sets, on three units that do, on three plain ones. Every
 * process that lives long enough to hear of a decision must hear of the same. `--processes N`, `--keys N`, `--delta MS`, `--term MS`, `--json`; exit 1 if two differ.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { spanUs } from '../dist/kernel/index.js';
import { initParameters, openStore } from '../dist/store/index.js';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '20' },
    keys: { type: 'string', default: '5' },
    delta: { type: 'string', default: '100' },
    term: { type: 'string', default: '2000' },
    json: { type: 'boolean', default: false },
  },
});
const [processes = 0, keyCount = 0, deltaMs = 0, termMs = 0] = [values.processes, values.keys, values.delta, values.term].map(Number);
/** Of all processes so many are killed, each at some instant of this time. */
const KILLED = 1 / 2;
const KILLED_WITHIN_MS = 8000;

const PART = fileURLToPath(new URL('parts/decider.mjs', import.meta.url));

/** @param {string} folder @param {string} settings */
function unitsIn(folder, settings) {
  const units = ['a', 'b', 'c'].map((name) => join(folder, name));
  for (const unit of units) mkdirSync(unit);
  return `replicated:?${units.map((unit) => `unit=${pathToFileURL(unit).href}${settings}`).join('&')}`;
}

/** @type {Readonly<Record<string, (folder: string) => string>>} */
const PLACES = {
  'one store': (folder) => pathToFileURL(folder).href,
  'three units that compare and set': (folder) => unitsIn(folder, ''),
  'three plain units': (folder) => unitsIn(folder, '?swap=off'),
};

/** What one process heard, key by key. @param {string} url @param {string} own @param {readonly string[]} keys @param {boolean} isDoomed */
async function heardBy(url, own, keys, isDoomed) {
  const child = spawn(process.execPath, [PART, url, own, ...keys], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part));
  const timer = isDoomed ? setTimeout(() => child.kill('SIGKILL'), Math.random() * KILLED_WITHIN_MS) : undefined;
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  const lines = text.split('\n').filter((line) => line !== '');
  return { heard: lines.map((line) => line.split(' ')), isKilled: signal !== null, isWrong: signal === null && code !== 0 };
}

/** @param {string} name @param {(folder: string) => string} makeUrl */
async function decideOn(name, makeUrl) {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-decide-'));
  try {
    const url = makeUrl(folder);
    const store = await openStore(url, { create: 'init' });
    await initParameters(store, { maxTermUs: spanUs(termMs * 1000), deltaUs: spanUs(deltaMs * 1000) });
    await store.close();
    const keys = Array.from({ length: keyCount }, (_, key) => `key-${key}`);
    const startedMs = performance.now();
    const ends = await Promise.all(
      Array.from({ length: processes }, (_, number) => heardBy(url, `p${number}`, keys, Math.random() < KILLED)),
    );
    // Whoever comes last hears of everything.
    ends.push(await heardBy(url, 'last', keys, false));
    const decided = keys.map((key) => new Set(ends.flatMap(({ heard }) => heard.filter(([of]) => of === key).map(([, value]) => value))));
    return {
      name,
      processes,
      killed: ends.filter(({ isKilled }) => isKilled).length,
      failed: ends.filter(({ isWrong }) => isWrong).length,
      keys: keyCount,
      answers: ends.reduce((sum, { heard }) => sum + heard.length, 0),
      values: decided.map(({ size }) => size),
      seconds: Math.round((performance.now() - startedMs) / 100) / 10,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const results = [];
for (const [name, makeUrl] of Object.entries(PLACES)) {
  const result = await decideOn(name, makeUrl);
  results.push(result);
  if (!values.json) {
    console.log(
      `${name}: ${result.processes} processes, ${result.killed} killed, ${result.failed} failed; ${result.answers} answers on ${result.keys} keys, values per key: ${result.values.join(' ')}; ${result.seconds} s`,
    );
  }
}
if (values.json) console.log(JSON.stringify(results));
process.exitCode = results.every(({ values: all, failed }) => failed === 0 && all.every((count) => count === 1)) ? 0 : 1;
