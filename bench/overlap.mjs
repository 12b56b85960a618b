/**
 * Does a command of `tenure run` still act when another holds its lease? `tenure run` and its guards are killed (kill -9) and
 * stopped (SIGSTOP), alone and in pairs, with terms of 2 s and less; the command ignores every signal, stays in its group or
 * leaves it. Its last act is compared with the grant of the next holder, both on the monotonic clock of this machine.
 * `--terms 500,1000,2000`, `--reps N`, `--at-once N`, `--only TEXT`, `--json`; exit 2 if a promised 0 is not 0.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { load, Part, startCell } from './parts/processes.mjs';

/** @typedef {'run' | 'switch' | 'last resort'} Target */
/** @typedef {{ deed: 'kill' | 'stop', target: Target }} Fault */
/** @typedef {{ faults: readonly Fault[], isPromised: boolean }} Trouble all at the same moment, in this order */
/** @typedef {'group' | 'setsid' | 'double fork'} Place where the process that acts is */
/** @typedef {{ trouble: Trouble, place: Place, cgroup: 'auto' | 'off', termMs: number }} Case */

const { values } = parseArgs({
  options: {
    terms: { type: 'string', default: '500,1000,2000' },
    reps: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const terms = values.terms.split(',').map(Number);
const [reps = 0, atOnce = 0] = [values.reps, values['at-once']].map(Number);
if (![...terms, reps, atOnce].every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench:overlap: --terms, --reps and --at-once take positive whole numbers\n');
  process.exit(64);
}

const BIN = fileURLToPath(new URL('../bin/tenure.js', import.meta.url));
const ACTOR = fileURLToPath(new URL('parts/actor.mjs', import.meta.url));
/** What outlives the grant by so much is not ended by anybody. */
const RUNS_ON_MS = 1500;
const MOMENT_MS = 5;
/** So many tries are repeated because a lease was lost to a busy machine before anything was done. */
const SPOILED_MAX = 200;

/** The leader ignores what can be ignored, and stays until it is killed; the process that acts is its child, or was. */
const COMMANDS = /** @type {Record<Place, string>} */ ({
  group: 'trap "" TERM INT HUP; "$NODE" "$ACTOR" "$FILE" & while :; do sleep 1; done',
  setsid: 'trap "" TERM INT HUP; setsid "$NODE" "$ACTOR" "$FILE" & while :; do sleep 1; done',
  'double fork': 'trap "" TERM INT HUP; (setsid "$NODE" "$ACTOR" "$FILE" &); while :; do sleep 1; done',
});
/** How the guards are told from other processes that `tenure run` has started. */
const WORDS = { switch: /\bswitch(?:\.js|$)/, 'last resort': /kill -9/ };

/** @param {Fault['deed']} deed @param {Target} target @returns {Fault} */
const fault = (deed, target) => ({ deed, target });
const DEEDS = /** @type {const} */ (['kill', 'stop']);
/** @type {Trouble[]} */
const TROUBLES = [
  ...DEEDS.map((deed) => ({ faults: [fault(deed, 'run')], isPromised: true })),
  ...DEEDS.flatMap((first) =>
    DEEDS.flatMap((second) => [
      { faults: [fault(first, 'run'), fault(second, 'switch')], isPromised: true },
      { faults: [fault(second, 'switch'), fault(first, 'run')], isPromised: true },
      { faults: [fault(first, 'run'), fault(second, 'last resort')], isPromised: true },
    ]),
  ),
  // The kernel lets the last resort go on when tenure run dies, if there is a setpriv that can order it.
  { faults: [fault('stop', 'switch'), fault('stop', 'last resort'), fault('kill', 'run')], isPromised: existsSync('/usr/bin/setpriv') },
  ...DEEDS.map((deed) => ({ faults: [fault(deed, 'last resort'), fault(deed, 'switch'), fault(deed, 'run')], isPromised: false })),
];

const folder = mkdtempSync(join(tmpdir(), 'tenure-overlap-'));
const secret = join(folder, 'secret');
const loadBefore = load();
const cell = await startCell({ maxTerm: Math.max(...terms) });
writeFileSync(secret, cell.reach.clientSecret);
const env = {
  ...process.env,
  TENURE_CELL: cell.reach.cell,
  TENURE_MEMBERS: Object.entries(cell.reach.members)
    .map(([id, address]) => `${id}=${address}`)
    .join(','),
  TENURE_SECRET_FILE: secret,
  NODE: process.execPath,
  ACTOR,
};

/** @param {number} pid @returns {string[]} what follows the name of its program in its line of /proc */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** @param {number} pid */
const isThere = (pid) => !['', 'Z', 'X'].includes(statOf(pid)[0] ?? '');

/** @param {number} parent @param {RegExp} words */
async function childOf(parent, words) {
  for (;;) {
    const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && statOf(Number(entry))[1] === String(parent));
    const found = pids.find((pid) => words.test(commandLine(pid)));
    if (found !== undefined) return Number(found);
    if (!isThere(parent)) throw new Error(`tenure run ended before it had a child like ${words}`);
    await sleep(MOMENT_MS);
  }
}

/** @param {string} pid */
function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** @param {string} file @returns {{ actedAt: bigint, pid: number } | null} */
function actOf(file) {
  try {
    const [at = '', pid = ''] = readFileSync(file, 'latin1').trim().split(/ +/);
    return pid === '' ? null : { actedAt: BigInt(at), pid: Number(pid) };
  } catch {
    return null;
  }
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, which may be what it was signalled for.
  }
}

/** What must not outlive this program, whatever ends it: the processes of each try under way. @type {Set<Set<number>>} */
const underWay = new Set();
/** @type {Set<number>} */
const guards = new Set();
/** Guards that live go on: they find `tenure run` gone, clear up and end. @param {Set<number>} started */
function sweep(started) {
  for (const pid of started) send(pid, guards.has(pid) ? 'SIGCONT' : 'SIGKILL');
  underWay.delete(started);
}
process.on('exit', () => underWay.forEach(sweep));
for (const ending of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(ending, () => process.exit(130));

let tries = 0;
/**
 * How long the command acted after the grant of the next holder, in milliseconds; negative if it had ended before. Null if the
 * lease was lost before anything was done: a machine may be too busy to renew it.
 * @param {Case} wanted @param {Part} successor
 */
async function overlapOf({ trouble, place, cgroup, termMs }, successor) {
  const name = `overlap/${tries++}`;
  const file = join(folder, String(tries));
  const args = [BIN, 'run', name, '--term', `${termMs}ms`, '--cgroup', cgroup, '--', 'sh', '-c', COMMANDS[place]];
  const run = spawn(process.execPath, args, { env: { ...env, FILE: file }, stdio: 'ignore' });
  const ended = new Promise((resolve) => run.once('exit', resolve));
  const pids = /** @type {Record<Target, number>} */ ({ run: run.pid ?? 0 });
  const started = new Set([pids.run]);
  underWay.add(started);
  try {
    started.add(-(await childOf(pids.run, /ACTOR/)));
    while (actOf(file) === null && isThere(pids.run)) await sleep(MOMENT_MS);
    const actor = actOf(file)?.pid;
    if (actor === undefined) return null;
    started.add(actor);
    const granted = successor.ask('take', { name, term: termMs });
    // Anywhere between two renewals.
    await sleep(Math.random() * termMs);
    // Known only now: on a busy machine a guard may have been replaced meanwhile.
    for (const target of /** @type {const} */ (['switch', 'last resort'])) {
      pids[target] = await childOf(pids.run, WORDS[target]);
      guards.add(pids[target]);
      started.add(pids[target]);
    }
    const isLost = run.exitCode !== null;
    if (!isLost) for (const { deed, target } of trouble.faults) send(pids[target], deed === 'kill' ? 'SIGKILL' : 'SIGSTOP');
    const grantedAt = BigInt(await granted);
    const giveUpAt = performance.now() + RUNS_ON_MS;
    while (isThere(actor) && performance.now() < giveUpAt) await sleep(MOMENT_MS);
    const runsOn = isThere(actor);
    const last = actOf(file)?.actedAt ?? grantedAt;
    if (isLost) return null;
    return runsOn ? Infinity : Number(last - grantedAt) / 1e6;
  } catch (error) {
    if (isThere(pids.run)) throw error;
    return null;
  } finally {
    sweep(started);
    await ended;
  }
}

/** @type {Case[]} */
const cases = terms.flatMap((termMs) =>
  TROUBLES.flatMap((trouble) =>
    /** @type {const} */ ([
      ['group', 'off'],
      ['setsid', 'off'],
      ['setsid', 'auto'],
      ['double fork', 'auto'],
    ]).map(([place, cgroup]) => ({ trouble, place, cgroup, termMs })),
  ),
);
/** @param {Case} wanted */
const isPromised = ({ trouble, place, cgroup }) => trouble.isPromised && (place === 'group' || cgroup === 'auto');
/** @param {Case} wanted */
const titleOf = ({ trouble, place, cgroup }) =>
  `${trouble.faults.map(({ deed, target }) => `${deed} ${target}`).join(', ')}; ${place}; cgroup ${cgroup}`;

/** @param {Case & { overlaps: readonly number[] }} result */
function rowOf(result) {
  return {
    term: result.termMs,
    trouble: result.trouble.faults.map(({ deed, target }) => `${deed} ${target}`).join(', '),
    place: result.place,
    cgroup: result.cgroup,
    promised: isPromised(result),
    tries: result.overlaps.length,
    overlaps: result.overlaps.filter((ms) => ms > 0).length,
    runsOn: result.overlaps.filter((ms) => ms === Infinity).length,
    /** The nearest that a command which ended came to its successor; above 0 it met it. */
    latestMs: Math.round(Math.max(...result.overlaps.filter((ms) => ms !== Infinity))),
  };
}

/** @param {ReturnType<typeof rowOf>} row */
function lineOf({ term, trouble, place, cgroup, promised, tries: count, overlaps, runsOn, latestMs }) {
  const said = [String(term).padStart(5), trouble.padEnd(42), place.padEnd(11), `cgroup ${cgroup}`.padEnd(11)].join('  ');
  const ended = Number.isFinite(latestMs) ? (latestMs > 0 ? `${latestMs} ms late` : `${-latestMs} ms before`) : '';
  const found = `${overlaps} of ${count} overlap${runsOn > 0 ? `, ${runsOn} run on` : ''}`;
  return `${said}  ${found.padEnd(26)}${ended.padEnd(15)}${promised ? (overlaps > 0 ? 'PROMISED 0' : 'promised 0') : ''}`.trimEnd();
}

const chosen = cases.filter((wanted) => `${titleOf(wanted)}; term ${wanted.termMs}`.includes(values.only));
/** @type {(Case & { overlaps: number[] })[]} */
const results = chosen.map((wanted) => ({ ...wanted, overlaps: [] }));
const queue = Array.from({ length: reps }, () => results).flat();
let spoiled = 0;
const startedMs = performance.now();
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    const successor = new Part('successor.mjs');
    await successor.ask('connect', cell.reach);
    for (let next = queue.shift(); next; next = queue.shift()) {
      const overlapMs = await overlapOf(next, successor);
      if (overlapMs !== null) next.overlaps.push(overlapMs);
      else if (++spoiled <= SPOILED_MAX) queue.push(next);
      if (!values.json && overlapMs !== null && next.overlaps.length === reps) console.log(lineOf(rowOf(next)));
    }
    await successor.stop();
  }),
);
await cell.stop();
rmSync(folder, { recursive: true, force: true });

const rows = results.map(rowOf);
// What could not be tried shows nothing, and is no better than what is broken.
const broken = rows.filter(({ promised, overlaps, tries: count }) => promised && (overlaps > 0 || count === 0));
const machine = { cpu: cpus()[0]?.model ?? '?', cores: availableParallelism(), node: process.version, loadBefore };
const seconds = Math.round((performance.now() - startedMs) / 1000);
if (values.json) console.log(JSON.stringify({ rows, broken: broken.length, seconds, machine }));
else {
  console.log(`${rows.length} rows, ${broken.length} broken promises; ${seconds} s, ${machine.cores} cores, load before ${loadBefore}`);
}
process.exitCode = broken.length > 0 ? 2 : 0;
