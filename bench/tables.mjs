/**
 * One scenario of the tables in one process, because resident memory belongs to a process: millions of leases
 * come, are looked up, and end. Started by `bench/memory.mjs`, or alone: `node --expose-gc bench/tables.mjs acceptor
 * 10000000` after `npx tsc -b src/core`. Prints one line of JSON.
 */
import { performance } from 'node:perf_hooks';
import { Calendar, HoldTable, LearnTable, LeaseTable, NameTable } from '../dist/core/tables/index.js';

const NAME_BYTES = 16;
const WIDTH_US = 100_000;
const TERM_US = 15_000_000;
const LOOKUPS = 1_000_000;

const scenario = process.argv[2] ?? 'acceptor';
const count = Number(process.argv[3] ?? 10_000_000);
const { gc } = globalThis;
if (gc === undefined || !['acceptor', 'all-roles'].includes(scenario) || !(count > 0)) {
  process.stderr.write('usage: node --expose-gc bench/tables.mjs acceptor|all-roles [COUNT]\n');
  process.exit(64);
}

/**
 * `lease/` and ten digits.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} number
 */
function writeName(bytes, start, number) {
  for (let i = 0; i < 6; i++) bytes[start + i] = 'lease/'.charCodeAt(i);
  let rest = number;
  for (let i = NAME_BYTES - 1; i >= 6; i--) {
    bytes[start + i] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Twice: what the first collection finds free, its helpers may still be giving back. */
async function settle() {
  gc?.();
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  gc?.();
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  return process.memoryUsage.rss();
}

/** @param {boolean} isEverything */
function build(isEverything) {
  const names = new NameTable();
  const leases = new LeaseTable(names);
  const holds = new HoldTable(names);
  const learned = new LearnTable(names);
  const calendar = new Calendar(WIDTH_US);
  const bytes = new Uint8Array(NAME_BYTES);
  return {
    names,
    /** @param {number} number */
    add(number) {
      writeName(bytes, 0, number);
      const id = names.intern(bytes, 0, NAME_BYTES);
      const dueUs = (number * 7919) % TERM_US;
      leases.add(id, number % 1000, number, 1e15 + number, 1.7e15 + number, dueUs);
      if (!isEverything) return;
      holds.add(id, number, 1.7e15 + number, 1e15 + number, dueUs, 1.7e12 + number, 15_000, 1);
      learned.add(id, number % 1000, 1.7e15 + number, dueUs);
      calendar.schedule(id, dueUs);
    },
    /** @param {number} id */
    end(id) {
      leases.remove(id);
      if (!isEverything) return;
      holds.remove(id);
      learned.remove(id);
    },
    /** Entries of the calendar go as they come due, as they would in a core. */
    drain: () => calendar.take(TERM_US, () => undefined, 1000),
    bytes: () => names.bytes + leases.bytes + (isEverything ? holds.bytes + learned.bytes + calendar.bytes : 0),
  };
}

/**
 * Does one thing at a time; the longest and the mean time of one, in milliseconds and nanoseconds. A collection that
 * falls into it counts: it stops the process just the same.
 * @param {number} times
 * @param {(index: number) => void} act
 */
function timeEach(times, act) {
  let longestMs = 0;
  const begun = performance.now();
  let before = begun;
  for (let i = 0; i < times; i++) {
    act(i);
    const now = performance.now();
    if (now - before > longestMs) longestMs = now - before;
    before = now;
  }
  return { longestMs, meanNs: ((before - begun) * 1e6) / times };
}

/**
 * The compiler has seen everything before anything is measured; a server that has run for a second has, too. Few names,
 * collected after each round: memory that warming up leaves behind would be used by what is measured, and not counted.
 */
function warmUp() {
  const few = 6000;
  const bytes = new Uint8Array(NAME_BYTES);
  for (let round = 0; round < 40; round++) {
    const tables = build(scenario === 'all-roles');
    timeEach(few, (i) => tables.add(i));
    for (let i = 0; i < few; i++) {
      writeName(bytes, 0, i);
      tables.names.find(bytes, 0, NAME_BYTES);
    }
    timeEach(few, (i) => tables.end(i));
    while (tables.drain());
    gc?.();
  }
}

/** @param {NameTable} names */
function lookupsPerSecond(names) {
  const wire = new Uint8Array(LOOKUPS * NAME_BYTES);
  let random = 12_345;
  for (let i = 0; i < LOOKUPS; i++) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    writeName(wire, i * NAME_BYTES, Math.floor((random / 2 ** 32) * count));
  }
  const rounds = [];
  for (let round = 0; round < 5; round++) {
    const begun = performance.now();
    let found = 0;
    for (let start = 0; start < wire.length; start += NAME_BYTES) if (names.find(wire, start, start + NAME_BYTES) >= 0) found++;
    rounds.push((LOOKUPS * 1000) / (performance.now() - begun));
    if (found !== LOOKUPS) throw new Error(`${LOOKUPS - found} names were not found`);
  }
  return rounds.toSorted((a, b) => a - b)[2] ?? 0;
}

warmUp();
const rssBefore = await settle();
const tables = build(scenario === 'all-roles');
const growing = timeEach(count, (i) => tables.add(i));
const rssFull = await settle();
const bytesCounted = tables.bytes();
const collections = Array.from({ length: 5 }, () => {
  const begun = performance.now();
  gc();
  return performance.now() - begun;
});
const lookups = lookupsPerSecond(tables.names);
const ending = timeEach(count, (i) => tables.end(i));
while (tables.drain());
const rssAfter = await settle();
process.stdout.write(
  `${JSON.stringify({
    scenario,
    count,
    bytesPerLease: (rssFull - rssBefore) / count,
    bytesPerLeaseCounted: bytesCounted / count,
    lookupsPerSecond: lookups,
    growingLongestMs: growing.longestMs,
    growingMeanNs: growing.meanNs,
    endingLongestMs: ending.longestMs,
    endingMeanNs: ending.meanNs,
    collectionMs: collections.toSorted((a, b) => a - b)[2],
    collectionLongestMs: Math.max(...collections),
    returnedShare: (rssFull - rssAfter) / (rssFull - rssBefore),
    bytesKept: tables.bytes(),
  })}\n`,
);
