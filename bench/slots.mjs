/**
 * Many processes share worker ids of a cell and are killed (SIGKILL) at random: no id is used by two at once, nor again within its quarantine, and the tokens of each id rise. The clock starts when all
 * processes are connected; then they all ask at once. `--processes N`, `--slots N`, `--seconds N`, `--kills N`, `--term MS`, `--quarantine MS`, `--patience SECONDS`, `--json`; `--careless` asks for no
 * quarantine, and must fail. Exit 1 if an id came too soon, or none was used twice; exit 2 if the machine is too slow for so many processes. Progress goes to stderr.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, median, Part, startCell } from './parts/processes.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '200' },
    slots: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string', default: '40' },
    term: { type: 'string', default: '5000' },
    quarantine: { type: 'string', default: '2000' },
    patience: { type: 'string', default: '300' },
    careless: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const numbers = [values.processes, values.slots, values.seconds, values.kills, values.term, values.quarantine, values.patience].map(Number);
const [processes = 0, slots = 0, seconds = 0, kills = 0, termMs = 0, quarantineMs = 0, patience = 0] = numbers;
if (!numbers.every((number) => Number.isInteger(number) && number > 0)) {
  const names = '--processes, --slots, --seconds, --kills, --term, --quarantine and --patience';
  process.stderr.write(`bench/slots.mjs: ${names} take positive whole numbers\n`);
  process.exit(64);
}
/** So many are started at once: each takes a while of the processor. */
const STARTS_AT_ONCE = 4;
const PROGRESS_MS = 2000;
const TOO_SLOW = 2;

/** @typedef {{ slot: number, from: number, to: number, token?: number }} Use */

const beganMs = performance.now();
/** @type {Use[]} */
const uses = [];
/** What each process uses, as far as it has said. @type {Map<Part, { slot: number, from: number, until: number }>} */
const using = new Map();
/** Processes that were killed, and whose lane has not noticed it yet. @type {Set<Part>} */
const dead = new Set();
/** Why processes got no id, or ended by themselves, and how often. @type {Map<string, number>} */
const misses = new Map();
let [starting, connected, asking, killed] = [0, 0, 0, 0];
/** How many waited for an id, each time it was looked. @type {number[]} */
const waited = [];

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

function secondsSince(/** @type {number} */ sinceMs) {
  return Math.round((performance.now() - sinceMs) / 1000);
}

function miss(/** @type {string} */ why) {
  misses.set(why, (misses.get(why) ?? 0) + 1);
}

const progress = setInterval(() => {
  const state = `${connected} of ${processes} processes connected, ${using.size} use an id, ${asking - using.size} wait`;
  process.stderr.write(`${secondsSince(beganMs)} s: ${state}; ${uses.length} uses, ${killed} killed; load ${load()}\n`);
}, PROGRESS_MS);
const deadline = setTimeout(() => {
  const advice = 'Give fewer (--processes), longer terms (--term) or more time (--patience)';
  process.stderr.write(
    `bench/slots.mjs: not done after ${patience} s, with ${connected} of ${processes} processes connected: this machine is too slow for so many. ${advice}\n`,
  );
  process.exit(TOO_SLOW);
}, patience * 1000);

const cell = await startCell({ maxTerm: termMs + quarantineMs });

/** A process that is connected. */
async function begin() {
  while (starting >= STARTS_AT_ONCE) await sleep(20);
  starting++;
  /** @type {Part} */
  const part = new Part('slot-user.mjs', {
    onNotice: (notice) => {
      const [slot = 0, from = 0, until = 0] = notice.split(' ').map(Number);
      if (!dead.has(part)) using.set(part, { slot, from, until });
    },
  });
  try {
    await part.ask('connect', { reach: cell.reach });
    connected++;
    return part;
  } catch (error) {
    miss(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
    await part.stop();
    return null;
  } finally {
    starting--;
  }
}

async function beginAtLast() {
  for (;;) {
    const part = await begin();
    if (part !== null) return part;
  }
}

const wish = { slots, termMs, quarantineMs: values.careless ? 0 : quarantineMs, useMs: termMs, waitMs: 4 * termMs };

/** Uses one id, or waits in vain for one. False if the process is gone. @param {Part} part */
async function useOne(part) {
  asking++;
  try {
    const { missed, ...use } = await part.ask('use', wish);
    // A process that was killed before its answer came was counted as it was killed.
    if (missed !== undefined) miss(missed);
    else if (!dead.has(part)) uses.push(use);
    return !dead.delete(part);
  } catch (error) {
    if (!dead.delete(part)) {
      miss(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
      const use = using.get(part);
      if (use !== undefined) uses.push({ ...use, to: Math.min(nowUs(), use.until) });
      await part.stop();
    }
    return false;
  } finally {
    using.delete(part);
    asking--;
  }
}

/** One process after the other: another takes the place of one that was killed. @param {Part} first @param {number} endMs */
async function lane(first, endMs) {
  let part = first;
  while (performance.now() < endMs) {
    if (await useOne(part)) await sleep(Math.random() * termMs);
    else {
      connected--;
      part = await beginAtLast();
    }
  }
  await part.stop();
}

/** Kills a process that uses an id. It used it until this instant, or until the end of its lease, and not after. */
function killOne() {
  const [part, use] = [...using][Math.floor(Math.random() * using.size)] ?? [];
  if (part === undefined || use === undefined) return;
  using.delete(part);
  uses.push({ ...use, to: Math.min(nowUs(), use.until) });
  dead.add(part);
  killed++;
  void part.kill();
}

const parts = await Promise.all(Array.from({ length: processes }, beginAtLast));
const connectedAfterS = secondsSince(beganMs);
const endMs = performance.now() + seconds * 1000;
const killer = setInterval(killOne, (seconds * 1000) / kills);
const sampler = setInterval(() => waited.push(asking - using.size), 250);
const lanes = parts.map(async (part) => await lane(part, endMs));
while (performance.now() < endMs) await sleep(50);
clearInterval(killer);
clearInterval(sampler);
await Promise.all(lanes);
await cell.stop();
clearInterval(progress);
clearTimeout(deadline);

/** @type {string[]} */
const violations = [];
/** @type {Map<number, Use>} */
const last = new Map();
let [again, soonestUs] = [0, Infinity];
for (const use of uses.sort((a, b) => a.from - b.from)) {
  const before = last.get(use.slot);
  if (before !== undefined) {
    again++;
    const restedUs = use.from - before.to;
    soonestUs = Math.min(soonestUs, restedUs);
    if (restedUs < quarantineMs * 1000) violations.push(`id ${use.slot} was used again after ${restedUs / 1000} ms`);
    if (use.token !== undefined && before.token !== undefined && use.token <= before.token)
      violations.push(`the token of id ${use.slot} fell`);
  }
  if (use.slot < 0 || use.slot >= slots) violations.push(`there is no id ${use.slot}`);
  last.set(use.slot, { ...use, to: Math.max(use.to, before?.to ?? 0) });
}
const result = {
  processes,
  slots,
  uses: uses.length,
  again,
  ids: last.size,
  soonestMs: soonestUs / 1000,
  quarantineMs,
  kills: killed,
  waiting: { median: median(waited), most: Math.max(...waited) },
  misses: Object.fromEntries(misses),
  connectedAfterS,
  tookS: secondsSince(beganMs),
  violations,
  loadAfter: load(),
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(`${processes} processes on ${slots} worker ids, quarantine ${quarantineMs} ms: ${violations.length} violations`);
  console.log(
    `${uses.length} uses of ${last.size} ids, ${again} of an id that was used before, the soonest after ${Math.round(result.soonestMs)} ms; ${killed} processes killed`,
  );
  console.log(
    `All were connected after ${connectedAfterS} s, then ${result.waiting.median} waited at a time, ${result.waiting.most} at most; ${result.tookS} s in all; load ${result.loadAfter}`,
  );
  for (const [why, count] of misses) console.log(`${count} times no id: ${why}`);
  for (const line of violations.slice(0, 20)) console.log(`  ${line}`);
}
process.exitCode = violations.length === 0 && again > 0 ? 0 : 1;
