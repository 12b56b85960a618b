/**
 * A cell of three members whose members and terms change under load: to five, two replaced, the longest term halved and doubled, three voters for a name,
 * back to three. Clients hold leases meanwhile and take turns with others. With `--chaos` the process that changes the cell is killed -9 again and again, and members
 * are killed and started anew at random. Referees judge the clients' histories; at the end a removed member is started with its old configuration, and must be
 * told. Before all that comes the same load without a change, for `--control SECONDS`: leases that are lost there, or while a process stood still for most of a term, tell of the machine.
 * `--held N` leases by `--clients N` clients, `--max-term MS`, `--json`, `--verbose`; exit 1 if any of it does not hold.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { joinCell } from '../dist/api/index.js';
import { gatherHistories, parseHistory, WallClockReferee } from '../dist/check/index.js';
import { freePorts, load, Part } from './parts/processes.mjs';

const PROCESSES = 5;
const TURN_NAMES = 8;
/** All processes read the clock of one machine; what is left is how finely they keep to it. */
const CLOCK_BOUND_US = 3000;
const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    chaos: { type: 'boolean', default: false },
    held: { type: 'string', default: '1000' },
    clients: { type: 'string', default: '50' },
    'max-term': { type: 'string', default: '3000' },
    control: { type: 'string', default: '30' },
  },
});
const [held, clients, maxTerm] = [Number(values.held), Number(values.clients), Number(values['max-term'])];
const controlMs = Number(values.control) * 1000;
if (
  ![held, clients, maxTerm].every((number) => Number.isInteger(number) && number > 0) ||
  !(controlMs >= 0) ||
  clients < PROCESSES ||
  held < clients
) {
  process.stderr.write(`bench:members: --clients from ${PROCESSES} on, --held from as many on, --max-term in milliseconds\n`);
  process.exit(64);
}
const tell = (/** @type {string} */ text) => values.verbose && process.stderr.write(`${new Date().toISOString().slice(11, 23)} ${text}\n`);

const loadBefore = load();
const folder = mkdtempSync(join(tmpdir(), 'tenure-members-'));
const ports = await freePorts(IDS.length);
const addresses = Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
const first = Object.fromEntries(['a', 'b', 'c'].map((id) => [id, addresses[id] ?? '']));
const reach = { cell: 'bench', members: first, clientSecret: SECRETS.clientSecret };

/** @type {Map<string, Part>} */
const members = new Map();
/** Starts a member, or starts it anew, as a supervisor does: always in the same way. @param {string} id */
async function start(id) {
  const part = new Part('durable-member.mjs');
  members.set(id, part);
  const own = { self: id, listen: addresses[id], dataDir: join(folder, 'data', id), members: first, maxTerm, ...SECRETS };
  await part.ask('join', { cell: 'bench', ...own });
  return part;
}
await Promise.all(Object.keys(first).map(start));
await Promise.all([...members.values()].map((part) => part.ask('ready')));

const share = Math.floor(clients / PROCESSES);
const holders = Array.from({ length: PROCESSES }, (_, i) => ({ part: new Part('view-holder.mjs'), first: i * share }));
const histories = join(folder, 'histories');
mkdirSync(histories);
await Promise.all(
  holders.map(({ part, first: from }) =>
    part.ask('hold', { count: share, first: from, held: Math.floor(held / clients), reach, folder: histories }),
  ),
);
await Promise.all(holders.map(({ part }) => part.ask('contend', { names: TURN_NAMES })));

/** The longest that any process stood still since this was last asked. */
async function longestStall(/** @type {readonly number[]} */ ofHolders) {
  const ofMembers = await Promise.all([...members.values()].map((part) => part.ask('stalled').catch(() => 0)));
  return Math.max(...ofHolders, ...ofMembers);
}

const before = await Promise.all(holders.map(({ part }) => part.ask('mark')));
await longestStall(before.map(({ stallMs }) => stallMs));
await new Promise((resolve) => setTimeout(resolve, controlMs));
/** @type {{ lost: string[], stallMs: number }[]} */
const control = await Promise.all(holders.map(({ part }) => part.ask('mark')));
const lostBefore = control.reduce((sum, { lost: some }) => sum + some.length, 0);
const stallBeforeMs = await longestStall(control.map(({ stallMs }) => stallMs));
tell(`without a change: ${lostBefore} lost in ${values.control} s, no process stood still for more than ${stallBeforeMs} ms`);

let kills = 0;
let restarts = 0;
/** @param {object} wanted */
async function change(wanted) {
  for (;;) {
    const part = new Part('view-changer.mjs', { onNotice: tell });
    const options = { cell: 'bench', members: first, secret: SECRETS.secret };
    const asked = part.ask('change', { reach: options, change: wanted });
    const timer = values.chaos && Math.random() < 0.6 ? setTimeout(() => void part.kill(), Math.random() * maxTerm * 2) : null;
    try {
      const view = await asked;
      if (timer) clearTimeout(timer);
      await part.stop();
      tell(`view ${view.epoch}: ${view.members.join('')}, ${view.replication} voters, ${view.maxTermMs} ms`);
      return view;
    } catch (error) {
      if (timer === null) throw error;
      kills++;
      tell('the changing process was killed');
    }
  }
}

/** Members are killed and started anew, one at a time: the others make a majority. */
let isRestless = values.chaos;
async function restartAtRandom() {
  while (isRestless) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * maxTerm * 2));
    const ids = [...members.keys()];
    const id = ids[Math.floor(Math.random() * ids.length)];
    if (!isRestless || id === undefined) return;
    tell(`${id} is killed and started anew`);
    await members.get(id)?.kill();
    restarts++;
    const part = await start(id).catch(() => null);
    await Promise.race([part?.ask('ready').catch(() => {}), new Promise((resolve) => setTimeout(resolve, maxTerm * 6))]);
  }
}
const began = performance.now();
const restless = restartAtRandom();

await Promise.all(['d', 'e'].map(start));
await change({ add: { d: addresses['d'], e: addresses['e'] } });
await Promise.all(['f', 'g'].map(start));
await change({ replace: { member: 'a', by: 'f', address: addresses['f'] } });
await change({ replace: { member: 'b', by: 'g', address: addresses['g'] } });
for (const id of ['a', 'b']) {
  await members.get(id)?.kill();
  members.delete(id);
}
await change({ maxTerm: Math.round(maxTerm / 2) });
await change({ maxTerm: maxTerm * 2 });
await change({ replication: 3 });
const last = await change({ remove: ['d', 'e'] });
const tookMs = performance.now() - began;
isRestless = false;
await restless;

/** A removed member with its configuration of before: it has no directory any more. */
const old = await joinCell({ cell: 'bench', self: 'a', members: first, maxTerm, ...SECRETS });
const told = await new Promise((resolve) => {
  old.once('failure', ({ code }) => resolve(code));
  setTimeout(() => resolve('nothing'), 20_000).unref();
});
await old.close();

/** @type {{ lost: string[], turns: number, failures: string[], stallMs: number, leapMs: number }[]} */
const ends = await Promise.all(holders.map(({ part }) => part.ask('end')));
const leapMs = Math.max(...ends.map((end) => end.leapMs));
const stallMs = await longestStall(ends.map((end) => end.stallMs));
await Promise.all([...holders.map(({ part }) => part.stop()), ...[...members.values()].map((part) => part.stop())]);

const { records } = gatherHistories(readdirSync(histories).map((file) => parseHistory(readFileSync(join(histories, file), 'utf8'))));
const referee = new WallClockReferee(CLOCK_BOUND_US);
const violations = [...records.flatMap((record) => referee.observe(record) ?? []), ...referee.finish()];
rmSync(folder, { recursive: true, force: true });
const lost = ends.flatMap((end) => end.lost);
/** In which view leases were lost, and between when. @type {Map<string, { count: number, from: string, to: string }>} */
const lostIn = new Map();
for (const line of lost.toSorted()) {
  const [at = '', view = ''] = line.split(/ in view |, /);
  const earlier = lostIn.get(view);
  lostIn.set(view, { count: (earlier?.count ?? 0) + 1, from: earlier?.from ?? at, to: at });
}
const failures = ends.flatMap((end) => end.failures);
const turns = ends.reduce((sum, end) => sum + end.turns, 0);
const isRight = last.members.join('') === 'cfg' && last.replication === 3 && last.maxTermMs === maxTerm * 2;
const result = {
  chaos: values.chaos,
  clients,
  held,
  maxTermMs: maxTerm,
  loadBefore,
  seconds: Math.round(tookMs / 1000),
  views: last.epoch,
  lost: lost.length,
  lostIn: Object.fromEntries(lostIn),
  longestStallMs: stallMs,
  wallLeapMs: leapMs,
  control: { seconds: controlMs / 1000, lost: lostBefore, longestStallMs: stallBeforeMs },
  turns,
  turnsFailed: failures.length,
  changersKilled: kills,
  membersRestarted: restarts,
  violations: violations.length,
  removedIsTold: told,
  isMet: isRight && violations.length === 0 && told === 'TENURE_REMOVED' && turns > 0 && (values.chaos || lost.length === 0),
};
if (values.json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
else {
  process.stdout.write(
    [
      `${held} leases held by ${clients} clients through ${result.views} views in ${result.seconds} s${values.chaos ? ', with kills' : ''} (load before ${loadBefore}, Node ${process.version})`,
      `leases lost      ${result.lost}; ${lostBefore} in ${values.control} s of the same load without a change`,
      `stood still      ${stallMs} ms at most, any process; ${stallBeforeMs} ms without a change; the shortest term is ${Math.round(maxTerm / 2)} ms`,
      `wall clock       went ahead of the monotonic one by ${leapMs} ms at most; a leap of a term ends all leases (rule 12)`,
      `held twice       ${result.violations}, or a token that did not rise, in ${records.length} records`,
      `turns meanwhile  ${turns}, failed ${result.turnsFailed}`,
      ...(values.chaos ? [`killed           ${kills} times whoever changed the cell, ${restarts} times a member`] : []),
      `a removed member is told ${told}`,
      ...[...lostIn].map(([view, { count, from, to }]) => `${count} lost in view ${view}, from ${from} to ${to}`),
      ...[...violations.map(({ message }) => message), ...lost, ...failures].slice(0, 8),
      result.isMet ? 'met' : 'MISSED',
      '',
    ].join('\n'),
  );
}
process.exit(result.isMet ? 0 : 1);
