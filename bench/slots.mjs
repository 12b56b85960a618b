/**
 * Many processes share worker ids of a cell and are killed (SIGKILL) at random: no id is used by two at once, nor again within its quarantine, and the tokens of each id rise. `--processes N`, `--slots N`,
 * `--seconds N`, `--kills N`, `--term MS`, `--quarantine MS`, `--json`; exit 1 if an id came too soon, or none was used twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, Part, startCell } from './parts/processes.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '200' },
    slots: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string', default: '40' },
    term: { type: 'string', default: '1000' },
    quarantine: { type: 'string', default: '500' },
    json: { type: 'boolean', default: false },
  },
});
const numbers = [values.processes, values.slots, values.seconds, values.kills, values.term, values.quarantine].map(Number);
const [processes = 0, slots = 0, seconds = 0, kills = 0, termMs = 0, quarantineMs = 0] = numbers;
if (!numbers.every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench/slots.mjs: --processes, --slots, --seconds, --kills, --term and --quarantine take positive whole numbers\n');
  process.exit(64);
}
/** So many are started at once: each takes a while of the processor. */
const STARTS_AT_ONCE = 4;

/** @typedef {{ slot: number, from: number, to: number, token?: number }} Use */

const cell = await startCell({ maxTerm: termMs + quarantineMs });
/** @type {Use[]} */
const uses = [];
/** Who uses what, as far as it has said. @type {Map<Part, { slot: number, from: number }>} */
const using = new Map();
let [killed, starting, failures, lastFailure] = [0, 0, 0, ''];

function nowUs() {
  return Math.floor(Number(process.hrtime.bigint() / 1000n));
}

/** A process that is connected: whoever is not yet takes no part. */
async function begin() {
  while (starting >= STARTS_AT_ONCE) await sleep(20);
  starting++;
  /** @type {Part} */
  const part = new Part('slot-user.mjs', {
    onNotice: (notice) => {
      const [slot = 0, from = 0] = notice.split(' ').map(Number);
      using.set(part, { slot, from });
    },
  });
  await part.ask('nothing');
  starting--;
  return part;
}

const question = { reach: cell.reach, slots, termMs, quarantineMs, useMs: termMs, waitMs: 4 * termMs };
let endMs = Infinity;

async function lane() {
  let part = await begin();
  ready++;
  while (performance.now() < endMs) {
    try {
      const use = await part.ask('use', question);
      if (use !== null) uses.push(use);
      using.delete(part);
      await sleep(Math.random() * termMs);
    } catch (error) {
      if (!dead.delete(part)) {
        // Two cores do not serve so many at once: whoever could not connect in time takes no part, and another does.
        lastFailure = error instanceof Error ? error.message : String(error);
        failures++;
        const use = using.get(part);
        if (use !== undefined) uses.push({ ...use, to: nowUs() });
        using.delete(part);
        await part.stop();
      }
      part = await begin();
    }
  }
  await part.stop();
}

/** @type {Set<Part>} */
const dead = new Set();

/** Somebody that uses an id now. What it did before this instant it did; after it, nothing. */
function killOne() {
  const [part, use] = [...using][Math.floor(Math.random() * using.size)] ?? [];
  if (part === undefined || use === undefined) return;
  using.delete(part);
  uses.push({ ...use, to: nowUs() });
  dead.add(part);
  killed++;
  void part.kill();
}

let ready = 0;
const lanes = Array.from({ length: processes }, async () => await lane());
while (ready < processes) await sleep(50);
const startedMs = performance.now();
endMs = startedMs + seconds * 1000;
const killer = setInterval(killOne, (seconds * 1000) / kills);
await Promise.all(lanes);
clearInterval(killer);
await cell.stop();

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
  failures,
  lastFailure,
  violations,
  loadAfter: load(),
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(`${processes} processes on ${slots} worker ids, quarantine ${quarantineMs} ms: ${violations.length} violations`);
  console.log(
    `${uses.length} uses of ${last.size} ids, ${again} of an id that was used before, the soonest after ${Math.round(result.soonestMs)} ms; ${killed} processes killed; load ${result.loadAfter}`,
  );
  if (failures > 0) console.log(`${failures} processes gave up, the last because: ${lastFailure.split('\n')[0]}`);
  for (const line of violations.slice(0, 20)) console.log(`  ${line}`);
}
process.exitCode = violations.length === 0 && again > 0 ? 0 : 1;
