/**
 * Three durable members and eight processes that claim, while members are killed with -9 and brought back all the time, one of them once with its directory deleted.
 * The histories of all processes are judged by `tenure check`; whatever was granted is claimed once more by another process, which must be refused; and at the
 * end `next` of every process comes back. `--seconds S` other than 60, `--claimers N`, `--seed N`, `--json`. Exit 1 if anything of this is not so.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { Part } from './parts/processes.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    claimers: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const [seconds, claimers, seed] = [Number(values.seconds), Number(values.claimers), Number(values.seed)];
if (!(seconds > 0) || ![claimers, seed].every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench:claims-chaos: --seconds takes a positive number, --claimers and --seed positive whole ones\n');
  process.exit(64);
}
const SPACE = 'numbers';
const LAST_SIZE = 10;

const cell = await DurableCell.start({ maxTerm: 1000, keepVotes: true });
const histories = join(cell.folder, 'histories');
const begun = await connect({ ...cell.reach, secret: cell.secret });
await begun.bootstrap({ only: 'claims' });
await begun.close();
const parts = await Promise.all(
  Array.from({ length: claimers }, async (_, i) => {
    const part = new Part('claimer.mjs', { args: [String(i)] });
    await part.ask('connect', { ...cell.reach, name: `claimer-${i}`, history: `${histories}/` });
    return part;
  }),
);

let [kills, robberies] = [0, 0];
let random = seed;
const draw = (/** @type {number} */ bound) => (random = (random * 48_271) % 2_147_483_647) % bound;
/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let isOver = false;
const killing = (async () => {
  const began = performance.now();
  while (!isOver) {
    const id = ['a', 'b', 'c'][draw(3)] ?? 'a';
    const isRobbed = robberies === 0 && performance.now() - began > (seconds * 1000) / 3;
    await cell.kill(id, isRobbed);
    kills++;
    if (isRobbed) robberies++;
    await sleep(draw(300));
    await cell.up(id);
    await sleep(100 + draw(700));
  }
})();
const work = await Promise.all(parts.map((part, i) => part.ask('claimForLong', { space: SPACE, seconds, seed: seed * 1000 + i + 1 })));
isOver = true;
await killing;

const last = await Promise.all(parts.map((part) => part.ask('next', { space: SPACE, size: LAST_SIZE })));
await Promise.all(parts.map((part) => part.ask('close')));
await Promise.all(parts.map((part) => part.stop()));

const files = readdirSync(histories).map((name) => join(histories, name));
const bin = fileURLToPath(new URL('../bin/tenure.js', import.meta.url));
const checked = spawnSync(process.execPath, [bin, 'check', '--json', ...files], { encoding: 'utf8', maxBuffer: 2 ** 28 });
const { records, violations } = JSON.parse(checked.stdout || '{"records":0,"violations":[{"message":"the histories cannot be judged"}]}');

/** What was granted, by space. @type {Map<string, { from: number, to: number }[]>} */
const granted = new Map();
for (const line of files.flatMap((file) => readFileSync(file, 'utf8').split('\n'))) {
  if (!line.includes('"allotted"')) continue;
  const { space, from, to } = JSON.parse(line);
  granted.set(space, [...(granted.get(space) ?? []), { from, to }]);
}
const auditor = new Part('claimer.mjs', { args: ['auditor'] });
await auditor.ask('connect', cell.reach);
const forgotten = [];
for (const [space, blocks] of granted) forgotten.push(...(await auditor.ask('forgotten', { space, blocks })));
const disks = await cell.parts.get('a')?.ask('disks');
await auditor.stop();
await cell.stop();
rmSync(cell.folder, { recursive: true, force: true });

const sum = (/** @type {'granted' | 'refused' | 'calledOff' | 'ids'} */ what) => work.reduce((total, one) => total + one[what], 0);
const claims = { granted: sum('granted'), refused: sum('refused'), calledOff: sum('calledOff'), ids: sum('ids') };
const isFine = checked.status === 0 && violations.length === 0 && forgotten.length === 0 && last.length === claimers && robberies === 1;
if (values.json) {
  process.stdout.write(
    `${JSON.stringify({ seconds, claimers, seed, kills, robberies, claims, records, violations, forgotten, last, disks, isFine })}\n`,
  );
} else {
  process.stdout.write(
    `${claimers} processes claimed for ${seconds} s; members were killed ${kills} times, ${robberies} of them with its directory deleted\n` +
      `${claims.granted} claims granted, ${claims.refused} refused, ${claims.calledOff} called off, ${claims.ids} ids\n` +
      `${records} records of ${files.length} histories, ${violations.length} violations (at most once, and what is granted was claimed)\n` +
      `${forgotten.length} of ${[...granted.values()].flat().length} grants could be had again\n` +
      `next came back to ${last.length} of ${claimers} processes at the end, after ${Math.round(Math.max(...last.map(({ ms }) => ms)))} ms at most\n` +
      `disks: ${disks?.map((/** @type {any} */ one) => `${one.id} ${one.claims?.phase}, generation ${one.claims?.generation}`).join('; ')}\n` +
      `${isFine ? 'as it must be' : 'NOT as it must be'}\n`,
  );
}
process.exitCode = isFine ? 0 : 1;
