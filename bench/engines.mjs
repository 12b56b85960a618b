/**
 * What the engines cost, counted on virtual time: messages and round trips of one client with three members for an
 * acquire, a renewal, a look-up, a release, and for a lease that changes hands. Counts, not timings: every machine gets the
 * same. Then what an engine does when clocks are
 * wrong, holders stand still and members restart, and who wins when all ask at once. Prints the tables of docs/engines.md; `--json` for the numbers, `--write` puts tables and plots into docs/.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseEngine } from '../dist/api/index.js';
import { testCell } from '../dist/api/testing.js';
import { bars } from './parts/bars.mjs';
import { lines } from './parts/lines.mjs';
import { afterRestarts, AHEAD_MS, contests, PAUSES_S, RATES_PPM, SKEWS_MS, underDrift, underPauses, underSkew } from './parts/trouble.mjs';

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
for (const engine of ENGINES) {
  counted.push({
    ...(await count(engine)),
    skew: underSkew(engine),
    drift: underDrift(engine),
    pauses: await underPauses(engine),
    restarts: [await afterRestarts(engine, 1), await afterRestarts(engine, 2)],
  });
}
const FAIR = 'flease:4,skew=500ms';
const PLAIN = 'paxoslease:skewed,skew=500ms';
const wins = { [FAIR]: contests(FAIR), [PLAIN]: contests(PLAIN) };

/** @param {{ least: number, median: number } | null} gap */
const gapText = (gap) => (gap === null ? 'refused' : `${gap.median} (${gap.least})`);
/** @param {number} trips */
const roundTrips = (trips) => `${trips} round trip${trips === 1 ? '' : 's'}`;
/** @param {readonly string[]} head @param {readonly (readonly (string | number)[])[]} rows */
const tableOf = (head, rows) => [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** By the names of the places in docs/engines.md. @type {Record<string, string>} */
const tables = {
  counted: tableOf(
    ['Engine', 'acquire', 'renew', 'look-up', 'release', 'waiting, a second', 'handed over after a release', 'taken over after a crash'],
    counted.map((one) => [
      `\`${one.engine}\``,
      `${one.acquireMessages} messages, ${roundTrips(one.acquireTrips)}`,
      `${one.renewMessages} messages`,
      `${one.lookMessages} messages, ${roundTrips(one.lookTrips)}`,
      `${one.releaseMessages} messages, ${roundTrips(one.releaseTrips)}`,
      `${one.waitMessages} messages`,
      `${one.handOverMs} ms`,
      `${one.takeOverMs} ms`,
    ]),
  ),
  skew: tableOf(
    ['Engine', ...SKEWS_MS.map((ms) => (ms === 0 ? 'the same' : `${Math.abs(ms)} ms ${ms < 0 ? 'behind' : 'ahead'}`))],
    counted.map(({ engine, skew }) => [`\`${engine}\``, ...skew.map(gapText)]),
  ),
  drift: tableOf(
    ['Engine', ...RATES_PPM.map((ppm) => `${ppm / 10_000} %`)],
    counted.map(({ engine, drift }) => [`\`${engine}\``, ...drift.map(({ slow, fast }) => `${gapText(slow)}; ${gapText(fast)}`)]),
  ),
  pauses: tableOf(
    ['Engine', ...PAUSES_S.map((seconds) => `${seconds} s`)],
    counted.map(({ engine, pauses }) => [`\`${engine}\``, ...pauses.map((share) => `${share} %`)]),
  ),
  restarts: tableOf(
    ['Engine', 'one of three', 'two of three'],
    counted.map(({ engine, restarts }) => [`\`${engine}\``, ...restarts.map((ms) => `${ms} ms`)]),
  ),
  fairness: tableOf(
    ['Ballots', ...AHEAD_MS.map((ms) => (ms === 0 ? 'on time' : `${ms} ms ahead`))],
    [
      ['buckets of time, then chance (`flease`)', ...(wins[FAIR] ?? []).map((share) => `${share} %`)],
      ['plain time (`paxoslease:skewed`)', ...(wins[PLAIN] ?? []).map((share) => `${share} %`)],
    ],
  ),
};

if (values.write) {
  const docs = fileURLToPath(new URL('../docs/', import.meta.url));
  const names = counted.map(({ engine }) => engine);
  /** @param {(one: (typeof counted)[number]) => readonly (number | null)[]} pick */
  const series = (pick) => counted.map((one) => ({ name: one.engine, values: pick(one) }));
  const of = (/** @type {string} */ name, /** @type {(one: (typeof counted)[number]) => number} */ pick) => ({
    name,
    values: counted.map(pick),
  });
  const ahead = AHEAD_MS.map((ms) => (ms === 0 ? 'a clock on time' : `${ms} ms ahead`));
  const plots = {
    messages: bars(
      'Messages for one lease, three members',
      names,
      [of('acquire', (one) => one.acquireMessages), of('renew', (one) => one.renewMessages), of('release', (one) => one.releaseMessages)],
      '',
    ),
    'take-over': bars(
      'From the crash of a holder to the next one, term 10 s',
      names,
      [of('after a crash', (one) => one.takeOverMs)],
      ' ms',
    ),
    skew: lines(
      'Nobody holds it after a crash, by how far the holder’s clock is off',
      'ms by which it is ahead; allowed: 500',
      SKEWS_MS,
      series(({ skew }) => skew.map((gap) => gap?.median ?? null)),
      ' ms',
    ),
    drift: lines(
      'Nobody holds it after a crash, by how wrong clock rates are',
      '% by which the holder’s clock is fast and the others’ slow',
      RATES_PPM.map((ppm) => ppm / 10_000),
      series(({ drift }) => drift.map(({ fast }) => fast?.median ?? null)),
      ' ms',
    ),
    pauses: lines(
      'Holders that lost their lease in a pause, term 10 s',
      'seconds for which the holder stood still',
      PAUSES_S,
      series(({ pauses }) => pauses),
      ' %',
    ),
    restarts: bars(
      'A free lease cannot be had after members were started anew',
      names,
      [of('one of three', ({ restarts }) => restarts[0] ?? 0), of('two of three', ({ restarts }) => restarts[1] ?? 0)],
      ' ms',
    ),
    fairness: bars(
      'Contests won when three ask at once',
      ahead,
      [
        { name: 'buckets of time', values: wins[FAIR] ?? [] },
        { name: 'plain time', values: wins[PLAIN] ?? [] },
      ],
      ' %',
    ),
  };
  for (const [name, plot] of Object.entries(plots)) writeFileSync(`${docs}engines-${name}.svg`, plot);
  const page = `${docs}engines.md`;
  let text = readFileSync(page, 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const [start, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
    const [from, to] = [text.indexOf(start) + start.length, text.indexOf(end)];
    if (to < from) throw new Error(`docs/engines.md has no place for the table "${name}"`);
    text = `${text.slice(0, from)}${table}\n${text.slice(to)}`;
  }
  writeFileSync(page, text);
}
console.log(values.json ? JSON.stringify({ engines: counted, wins }, null, 2) : Object.values(tables).join('\n\n'));
