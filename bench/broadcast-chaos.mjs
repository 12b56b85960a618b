/**
 * Three members and processes that publish and read, while one member after the other is killed with -9 and brought back. `--mode durable`; `robbed`, where one of them once loses its directory;
 * or `memory`, where there are no directories and the next is killed when the last one is ready again; all three, one after the other, unless told otherwise. Every reader must have read the
 * same sequence, what was acknowledged must be in it at its position, and the histories of all processes are judged by `tenure check`. `--seconds S` other than 60 for each, `--publishers N`,
 * `--seed N`, `--json`. Exit 1 if anything of this is not so.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { Part } from './parts/processes.mjs';

const MODES = ['durable', 'robbed', 'memory'];
const { values } = parseArgs({
  options: {
    mode: { type: 'string', multiple: true, default: MODES },
    seconds: { type: 'string', default: '60' },
    publishers: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const [seconds, publishers, seed] = [Number(values.seconds), Number(values.publishers), Number(values.seed)];
const isSense = seconds > 0 && [publishers, seed].every((number) => Number.isInteger(number) && number > 0);
if (!isSense || !values.mode.every((mode) => MODES.includes(mode))) {
  process.stderr.write(
    `bench:broadcast-chaos: --mode is one of ${MODES.join(', ')}; --seconds takes a positive number, --publishers and --seed positive whole ones\n`,
  );
  process.exit(64);
}

const AT_ONCE = 16;
const PAUSE_MS = 10;
let random = seed;
const draw = (/** @type {number} */ bound) => (random = (random * 48_271) % 2_147_483_647) % bound;
/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {string} mode */
async function run(mode) {
  const inMemory = mode === 'memory';
  const cell = await DurableCell.start({ maxTerm: 1000, inMemory, keepVotes: !inMemory, history: 'histories' });
  const histories = join(cell.folder, 'histories');
  const begun = await connect({ ...cell.reach, secret: cell.secret });
  await begun.bootstrap({ only: 'broadcast' });
  await begun.close();
  const parts = await Promise.all(
    Array.from({ length: publishers }, async (_, i) => {
      const part = new Part('publisher.mjs', { args: [String(i)] });
      await part.ask('connect', { ...cell.reach, name: `publisher-${i}`, history: `${histories}/` });
      await part.ask('follow');
      return part;
    }),
  );

  let [kills, robberies, isOver] = [0, 0, false];
  const killing = (async () => {
    const began = performance.now();
    for (let turn = draw(3); !isOver; turn++) {
      const id = cell.ids[turn % cell.ids.length] ?? 'a';
      const isRobbed = mode === 'robbed' && robberies === 0 && performance.now() - began > (seconds * 1000) / 3;
      await cell.kill(id, isRobbed);
      kills++;
      if (isRobbed) robberies++;
      await sleep(draw(500));
      await cell.up(id);
      // Without disks, what a majority remembers is all there is; and whoever lost its directory is without a disk, too.
      if (inMemory || isRobbed) await cell.parts.get(id)?.ask('logReady');
      await sleep(500 + draw(2000));
    }
  })();
  const work = await Promise.all(
    parts.map((part, i) => part.ask('publishForLong', { name: `p${i}`, seconds, atOnce: AT_ONCE, pauseMs: PAUSE_MS })),
  );
  isOver = true;
  await killing;

  const last = Math.max(...(await Promise.all(parts.map((part) => part.ask('last')))));
  const verdicts = await Promise.all(parts.map((part) => part.ask('verdict', { last })));
  await Promise.all(parts.map((part) => part.ask('close')));
  await Promise.all(parts.map((part) => part.stop()));
  await Promise.all([...cell.parts.values()].map((part) => part.ask('close')));

  const files = readdirSync(histories).map((name) => join(histories, name));
  const bin = fileURLToPath(new URL('../bin/tenure.js', import.meta.url));
  const checked = spawnSync(process.execPath, [bin, 'check', '--json', ...files], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const { records, violations } = JSON.parse(checked.stdout || '{"records":0,"violations":[{"message":"the histories cannot be judged"}]}');
  await cell.stop();

  /** @type {{ position: number, text: string }[][]} */
  const sequences = verdicts.map(({ read }) => read);
  const acknowledged = work.reduce((total, one) => total + one.acknowledged, 0);
  const lost = verdicts.flatMap((verdict) => verdict.lost);
  const failures = verdicts.flatMap(({ failure }) => failure ?? []);
  const isOne = areOne(sequences);
  const waitMsMax = Math.max(...work.map((one) => one.waitMsMax));
  const isFine =
    checked.status === 0 && violations.length === 0 && lost.length === 0 && failures.length === 0 && isOne && acknowledged > 0 && kills > 0;
  return {
    mode,
    kills,
    robberies,
    acknowledged,
    waitMsMax,
    read: sequences.map(({ length }) => length),
    isOne,
    lost,
    failures,
    records,
    files: files.length,
    violations,
    isFine,
  };
}

/** Whether each is a beginning of the longest, each message is there once, and its position one more than that of the message before it. @param {readonly { position: number, text: string }[][]} sequences */
function areOne(sequences) {
  const longest = sequences.reduce((one, other) => (other.length > one.length ? other : one), []);
  const isCounted = longest.every(({ position }, at) => position === at + 1);
  const isOnce = new Set(longest.map(({ text }) => text)).size === longest.length;
  return (
    isCounted &&
    isOnce &&
    sequences.every((sequence) =>
      sequence.every(({ position, text }, at) => position === longest[at]?.position && text === longest[at]?.text),
    )
  );
}

const runs = [];
for (const mode of values.mode) runs.push(await run(mode));
const isFine = runs.every((one) => one.isFine);
if (values.json) process.stdout.write(`${JSON.stringify({ seconds, publishers, seed, runs, isFine })}\n`);
else {
  for (const { mode, kills, robberies, acknowledged, waitMsMax, read, isOne, lost, failures, records, files, violations } of runs) {
    process.stdout.write(
      `${mode}: ${publishers} processes published for ${seconds} s; members were killed ${kills} times${robberies > 0 ? ', once with the directory deleted' : ''}\n` +
        `  ${acknowledged} messages acknowledged, ${lost.length} of them lost; the longest wait ${waitMsMax} ms\n` +
        `  read: ${read.join(', ')} messages, ${isOne ? 'each sequence a beginning of the same' : 'NOT one sequence'}${failures.map((failure) => `\n  ${failure}`).join('')}\n` +
        `  ${records} records of ${files} histories, ${violations.length} violations\n`,
    );
  }
  process.stdout.write(`${isFine ? 'as it must be' : 'NOT as it must be'}\n`);
}
process.exitCode = isFine ? 0 : 1;
