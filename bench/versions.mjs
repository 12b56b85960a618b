/**
 * A cell of an earlier version is upgraded while it runs: `npm run bench:versions -- OTHER`, where OTHER is a worktree of an earlier commit that was built. Three members
 * of that version with data directories that keep votes, a client of it and one of this version; then member after member is closed and started anew by this version, in the
 * same directory. At each stage: both clients keep leases and take turns, what earlier members do not know is refused by a code that names them, or works without
 * them. Exit 1 if a lease is lost, two hold one, a token does not rise, or anything else is told.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePorts } from './parts/processes.mjs';

const IDS = ['a', 'b', 'c'];
const HELD = 50;
const TURNS = 200;
const MAX_TERM_MS = 2000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean', default: false } } });
const [other] = positionals;
if (other === undefined) {
  process.stderr.write('usage: node bench/versions.mjs OTHER_TREE [--json]\n');
  process.exit(64);
}
/** @typedef {typeof import('../dist/api/index.js')} Api */
/** @type {(tree: string) => Promise<Api>} */
const apiOf = (tree) => import(join(tree, 'dist/api/index.js'));
const [before, now] = await Promise.all([apiOf(resolve(other)), apiOf(fileURLToPath(new URL('..', import.meta.url)))]);

const folder = mkdtempSync(join(tmpdir(), 'tenure-versions-'));
const ports = await freePorts(IDS.length);
const members = Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
const reach = { cell: 'bench', members, clientSecret: 'a secret of all clients' };
/** @param {Api} api @param {string} self */
const joined = (api, self) =>
  api.joinCell({ ...reach, self, secret: 'a secret of members only', maxTerm: MAX_TERM_MS, dataDir: join(folder, self), keepVotes: true });

const cells = await Promise.all(IDS.map((id) => joined(before, id)));
await Promise.all(cells.map((cell) => cell.ready()));
const clients = [
  { name: 'the earlier client', cell: await before.connect(reach) },
  { name: 'the client of this version', cell: await now.connect(reach) },
];
await Promise.all(clients.map(({ cell }) => cell.ready()));

/** @type {string[]} */
const faults = [];
/** Who has left of its own accord. @type {Set<string>} */
const gone = new Set();
for (const { name, cell } of clients) {
  const names = Array.from({ length: HELD }, (_, i) => `held/${name}/${i}`);
  for (const lease of await Promise.all(names.map((one) => cell.acquire(one))))
    lease.signal.addEventListener('abort', () => gone.has(name) || faults.push(`${name} lost ${lease.name}: ${lease.signal.reason}`));
}
/** @param {typeof clients[number] | undefined} client */
async function leave(client) {
  if (client === undefined || gone.has(client.name)) return;
  gone.add(client.name);
  await client.cell.close();
}

let [holders, lastToken, turns] = [0, 0, 0];
/** Both clients want one name, by turns: never both, and tokens rise. */
async function takeTurns() {
  const work = async (/** @type {typeof clients[number]} */ { name, cell }) => {
    for (let i = 0; i < TURNS / clients.length; i++) {
      const lease = await cell.acquire('turn', { wait: '30s' });
      if (holders++ > 0) faults.push(`${name} holds 'turn' beside the other`);
      if (lease.token <= lastToken) faults.push(`the token ${lease.token} of ${name} is not above ${lastToken}`);
      lastToken = lease.token;
      turns++;
      await new Promise((done) => setImmediate(done));
      holders--;
      await lease.release();
    }
  };
  await Promise.all(clients.map(work));
}

/** What a call came to: its code and whom it names, or that it worked. @param {() => Promise<unknown>} call */
async function outcome(call) {
  try {
    await call();
    return 'works';
  } catch (error) {
    const { code, details } = /** @type {{ code?: string, details?: { members?: string } }} */ (error);
    return `${code}: ${details?.members ?? ''}`;
  }
}

const client = /** @type {import('../dist/api/index.js').Cell} */ (clients[1]?.cell);
/** @type {Record<string, string>[]} */
const stages = [];
for (let upgraded = 0; upgraded <= IDS.length; upgraded++) {
  if (upgraded > 0) {
    const i = upgraded - 1;
    await cells[i]?.close();
    cells[i] = await joined(now, IDS[i] ?? '');
    await cells[i]?.ready();
  }
  await takeTurns();
  // Once a view has changed, earlier versions are refused.
  if (upgraded === IDS.length) await leave(clients[0]);
  const [name, admin] = [`stage-${upgraded}`, cells[0]];
  const isNew = upgraded > 0;
  stages.push({
    earlier: IDS.slice(upgraded).join(', '),
    shared: await outcome(async () => (await client.acquire(name, { mode: 'shared' })).release()),
    slots: await outcome(async () => (await client.acquire(`${name}/ids`, { slots: 4 })).release()),
    change: isNew && admin ? await outcome(() => admin.changeMembers({ maxTerm: MAX_TERM_MS * 2 })) : 'not known',
  });
}
// Renewed for more than a term since the last stage.
await new Promise((done) => setTimeout(done, MAX_TERM_MS * 3));

const refusals = ['TENURE_UNSUPPORTED: a, b, c', 'TENURE_UNSUPPORTED: b, c', 'works', 'works'];
const changes = ['not known', 'TENURE_UNSUPPORTED: b, c', 'TENURE_UNSUPPORTED: c', 'works'];
for (const [i, stage] of stages.entries()) {
  for (const part of ['shared', 'slots'])
    if (stage[part] !== refusals[i]) faults.push(`${part} with earlier members ${stage.earlier}: ${stage[part]}, not ${refusals[i]}`);
  if (stage.change !== changes[i]) faults.push(`a change with earlier members ${stage.earlier}: ${stage.change}, not ${changes[i]}`);
}
await Promise.all(clients.map(leave));
await Promise.all(cells.map((cell) => cell.close()));
rmSync(folder, { recursive: true, force: true });

if (values.json) process.stdout.write(`${JSON.stringify({ held: HELD * clients.length, turns, stages, faults }, null, 2)}\n`);
else {
  for (const { earlier, shared, slots, change } of stages)
    process.stdout.write(`earlier members ${earlier.padEnd(8)} shared ${shared}; slots ${slots}; a change of terms ${change}\n`);
  process.stdout.write(
    `${HELD * clients.length} leases kept and ${turns} turns of an earlier and a new client, through three restarts by another version\n`,
  );
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  process.stdout.write(faults.length === 0 ? 'met\n' : 'MISSED\n');
}
process.exit(faults.length === 0 ? 0 : 1);
