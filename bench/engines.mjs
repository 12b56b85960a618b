/**
 * What the engines cost, counted on virtual time: messages and round trips of one client with three members for an
 * acquire, a renewal, a look-up, a release, and for a lease that changes hands. Counts, not timings: every machine gets the
 * same. Prints the tables of docs/engines.md; `--json` for the numbers, `--write` puts tables and plots into docs/.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseEngine } from '../dist/api/index.js';
import { testCell } from '../dist/api/testing.js';
import { bars } from './parts/bars.mjs';

const ENGINES = ['quorum', 'flease:4,skew=500ms', 'paxoslease:relative', 'paxoslease:skewed,skew=500ms'];
const TERM_MS = 10_000;
/** On its way, a message of a test cell takes half a millisecond. */
const ROUND_TRIP_MS = 1;
const RUNS = 20;
const STEP_MS = 1;

/** @typedef {Awaited<ReturnType<import('../dist/api/testing.js').TestCell['client']>>} Client */
/** @typedef {{ messages: number, trips: number }} Cost */

/** @param {Client} client */
function messagesOf(client) {
  return client.members().reduce((sum, { stats }) => sum + (stats?.messagesIn ?? 0) + (stats?.messagesOut ?? 0), 0);
}

/** @param {number[]} values */
function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** @param {number} value */
function rounded(value) {
  return Math.round(value * 10) / 10;
}

/**
 * @param {string} text
 * @param {number} seed
 */
async function countOne(text, seed) {
  const cell = await testCell({ engine: parseEngine(text), maxTerm: TERM_MS, seed });
  const [one, two, three] = [await cell.client(), await cell.client(), await cell.client()];

  /**
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<[T, Cost]>}
   */
  const cost = async (act) => {
    await cell.advance(5);
    const [messages, startMs] = [messagesOf(one), cell.now()];
    const result = await act();
    const trips = (cell.now() - startMs) / ROUND_TRIP_MS;
    // Late answers of the third member count as well.
    await cell.advance(5);
    return [result, { messages: messagesOf(one) - messages, trips }];
  };

  const [lease, acquire] = await cost(() => one.acquire('x'));
  const [, look] = await cost(() => one.holder('x'));
  const { renewals } = one.counters();
  const before = messagesOf(one);
  await cell.advance(TERM_MS * 2);
  const renew = (messagesOf(one) - before) / (one.counters().renewals - renewals);

  // Another waits for ten seconds; then it is handed over.
  const waiting = two.acquire('x');
  let grantedMs = NaN;
  const granted = waiting.then((next) => {
    grantedMs = cell.now();
    return next;
  });
  await cell.advance(1000);
  const waitedFrom = messagesOf(two);
  await cell.advance(10_000);
  const waitMessages = (messagesOf(two) - waitedFrom) / 10;
  let releasedMs = NaN;
  const [, release] = await cost(() => {
    releasedMs = cell.now();
    return lease.release();
  });
  while (Number.isNaN(grantedMs)) await cell.advance(STEP_MS);
  await granted;
  const handOverMs = grantedMs - releasedMs;

  // And this one dies right after a grant, while a third waits.
  grantedMs = NaN;
  const later = (async () => {
    await three.acquire('x');
    grantedMs = cell.now();
  })();
  await cell.advance(50);
  const crashedMs = cell.now();
  cell.crash(two);
  while (Number.isNaN(grantedMs)) await cell.advance(10);
  await later;
  const takeOverMs = grantedMs - crashedMs;
  await cell.close();
  return { acquire, look, renew, release, waitMessages, handOverMs, takeOverMs };
}

/** @param {string} text */
async function count(text) {
  const runs = [];
  for (let seed = 1; seed <= RUNS; seed++) runs.push(await countOne(text, seed));
  /** @param {(run: (typeof runs)[number]) => number} pick */
  const of = (pick) => rounded(median(runs.map(pick)));
  return {
    engine: text,
    acquireMessages: of((run) => run.acquire.messages),
    acquireTrips: of((run) => run.acquire.trips),
    lookMessages: of((run) => run.look.messages),
    lookTrips: of((run) => run.look.trips),
    renewMessages: of((run) => run.renew),
    releaseMessages: of((run) => run.release.messages),
    releaseTrips: of((run) => run.release.trips),
    waitMessages: of((run) => run.waitMessages),
    handOverMs: of((run) => run.handOverMs),
    takeOverMs: of((run) => run.takeOverMs),
  };
}

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } } });
const counted = [];
for (const engine of ENGINES) counted.push(await count(engine));

const table = [
  '| Engine | acquire | renew | look-up | release | waiting, a second | handed over after a release | taken over after a crash |',
  '|---|---|---|---|---|---|---|---|',
  ...counted.map(
    (one) =>
      `| \`${one.engine}\` | ${one.acquireMessages} messages, ${one.acquireTrips} round trips | ${one.renewMessages} messages | ` +
      `${one.lookMessages} messages, ${one.lookTrips} round trips | ${one.releaseMessages} messages, ${one.releaseTrips} round trips | ` +
      `${one.waitMessages} messages | ${one.handOverMs} ms | ${one.takeOverMs} ms |`,
  ),
].join('\n');

if (values.write) {
  const docs = fileURLToPath(new URL('../docs/', import.meta.url));
  const names = counted.map(({ engine }) => engine);
  const acquire = { name: 'acquire', values: counted.map((one) => one.acquireMessages) };
  const renew = { name: 'renew', values: counted.map((one) => one.renewMessages) };
  const release = { name: 'release', values: counted.map((one) => one.releaseMessages) };
  writeFileSync(`${docs}engines-messages.svg`, bars('Messages for one lease, three members', names, [acquire, renew, release], ''));
  const takeOver = { name: 'after a crash', values: counted.map((one) => one.takeOverMs) };
  writeFileSync(`${docs}engines-take-over.svg`, bars('From the crash of a holder to the next one, term 10 s', names, [takeOver], ' ms'));
  const page = `${docs}engines.md`;
  const [start, end] = ['<!-- counted -->\n', '\n<!-- /counted -->'];
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(start) + start.length, text.indexOf(end)];
  writeFileSync(page, `${text.slice(0, from)}${table}${text.slice(to)}`);
}
console.log(values.json ? JSON.stringify(counted, null, 2) : table);
