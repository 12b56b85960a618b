// `npm run mutate`: breaks the product by one line at a time, in a copy of the tree, and sees whether the tests named
// for that line notice. The list is test/mutations/*.json. `--only NAME` (or a part of names) runs some, `--json` prints
// one object, `--lanes N` says how many copies work at once. Exit 0: all are killed or explained; 1: the list or the
// tests are not in order (a patch that no longer fits, tests that fail without it); 2: a survivor nobody has explained.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * @typedef {{ name: string, file: string, find: string, replace: string, breaks: string, tests: string[], title?: string, build?: boolean, explained?: string }} Mutation
 * @typedef {'killed' | 'killed-wide' | 'survived' | 'explained' | 'unexplained-death' | 'stale' | 'broken-net'} Verdict
 * @typedef {{ name: string, file: string, verdict: Verdict, ms: number, why: string | null }} Outcome
 * @typedef {{ tests: readonly string[], title: string | undefined, build: boolean }} Net
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const LIST = join(root, 'test', 'mutations');
/** A test run that takes longer hangs: the mutation was noticed. */
const RUN_MS_MAX = 240_000;
const TEST_MS_MAX = 30_000;
/** What is tried when the named tests notice nothing, by the layer of the file. */
const WIDER = new Map([
  ['kernel', ['test/kernel', 'test/core']],
  ['core', ['test/core', 'test/sim/scripts.test.ts', 'test/api']],
  ['wire', ['test/wire', 'test/transport']],
  ['transport', ['test/transport', 'test/api']],
  ['store', ['test/store']],
  ['runtime', ['test/runtime', 'test/api']],
  ['api', ['test/api', 'test/examples']],
  ['cli', ['test/cli/run.test.ts', 'test/cli/run-lost.test.ts', 'test/cli/run-guards.test.ts']],
]);

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    lanes: { type: 'string', default: '2' },
  },
});

const lanes = Number(values.lanes);
if (!Number.isInteger(lanes) || lanes < 1 || lanes > 16) {
  console.error(`mutate: --lanes is a number from 1 to 16, not ${values.lanes}`);
  process.exit(64);
}
const mutations = readList().filter(({ name }) => values.only.length === 0 || values.only.some((part) => name.includes(part)));
if (mutations.length === 0) {
  console.error(`mutate: no mutation is called ${values.only.join(' or ')}; they are in test/mutations`);
  process.exit(64);
}

const folder = mkdtempSync(join(tmpdir(), 'tenure-mutate-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130));

/** Whether a net holds without any mutation; each is tried once. @type {Map<string, Promise<boolean>>} */
const sound = new Map();
/** @type {Outcome[]} */
const outcomes = [];
const waiting = [...mutations];
const began = performance.now();
await Promise.all(Array.from({ length: Math.min(lanes, mutations.length) }, (_, lane) => work(copyOfTree(lane))));
outcomes.sort((a, b) => (a.name < b.name ? -1 : 1));
report();

/** @returns {Mutation[]} */
function readList() {
  return readdirSync(LIST)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(join(LIST, file), 'utf8')));
}

/** What is tracked or new, and the packages and the build of this tree: tests find all they need, and nothing here is touched. @param {number} lane */
function copyOfTree(lane) {
  const tree = join(folder, `lane-${lane}`);
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  for (const path of new Set(listed.split('\0'))) {
    if (path === '' || !existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    cpSync(join(root, path), join(tree, path));
  }
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'), 'junction');
  if (existsSync(join(root, 'dist'))) cpSync(join(root, 'dist'), join(tree, 'dist'), { recursive: true });
  return tree;
}

/** @param {string} tree */
async function work(tree) {
  for (let mutation = waiting.shift(); mutation; mutation = waiting.shift()) {
    const started = performance.now();
    const [verdict, why] = await judge(tree, mutation);
    const { name, file } = mutation;
    outcomes.push({ name, file, verdict, ms: Math.round(performance.now() - started), why });
    if (!values.json) console.log(`${verdict.padEnd(17)} ${name}${why === null ? '' : `: ${why}`}`);
  }
}

/** @param {string} tree @param {Mutation} mutation @returns {Promise<[Verdict, string | null]>} */
async function judge(tree, { file, find, replace, tests, title, build = false, explained }) {
  const path = join(tree, file);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const found = text.split(find).length - 1;
  if (found !== 1) return ['stale', `its text is ${found === 0 ? 'not' : `${found} times`} in ${file}`];
  const named = { tests, title, build };
  const wider = { tests: WIDER.get(file.split('/')[1] ?? '') ?? ['test'], title: undefined, build };
  const survives = async (/** @type {Net} */ net) => {
    writeFileSync(
      path,
      text.replace(find, () => replace),
    );
    try {
      return await passes(tree, net);
    } finally {
      writeFileSync(path, text);
      // What was built of it must not stay either.
      if (net.build) await builds(tree);
    }
  };
  if (!(await isSound(tree, named))) return ['broken-net', `${tests.join(' ')} fails without it`];
  if (!(await survives(named))) return explained === undefined ? ['killed', null] : ['unexplained-death', 'it is said to change nothing'];
  if (explained !== undefined) return ['explained', explained];
  if (!(await isSound(tree, wider))) return ['survived', `${tests.join(' ')} does not notice, and the wider tests fail without it`];
  return (await survives(wider))
    ? ['survived', `neither ${tests.join(' ')} nor the wider tests notice`]
    : ['killed-wide', `${tests.join(' ')} does not notice, other tests do: name them`];
}

/** @param {string} tree @param {Net} net */
function isSound(tree, net) {
  const key = JSON.stringify(net);
  const known = sound.get(key) ?? passes(tree, net);
  sound.set(key, known);
  return known;
}

/** @param {string} tree @param {Net} net */
async function passes(tree, { tests, title, build }) {
  if (build && !(await builds(tree))) return false;
  const named = title === undefined ? [] : ['-t', title];
  return run(tree, ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', `--testTimeout=${TEST_MS_MAX}`, ...named, ...tests]);
}

/** The commands that tests start are bundled. @param {string} tree */
async function builds(tree) {
  return (await run(tree, ['node_modules/typescript/bin/tsc', '-b'])) && run(tree, ['scripts/bundle.mjs']);
}

/** Whether the command ends well, and in time. @param {string} tree @param {string[]} args @returns {Promise<boolean>} */
function run(tree, args) {
  return new Promise((resolve) => {
    // At full size: a test that plays less may miss a mutation.
    const env = { ...process.env, TENURE_TEST_SIZE: 'full' };
    const child = spawn(process.execPath, args, { cwd: tree, env, stdio: 'ignore', detached: true });
    const timer = setTimeout(() => {
      // Its workers are of its group.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, RUN_MS_MAX);
    child.once('close', (status) => {
      clearTimeout(timer);
      resolve(status === 0);
    });
  });
}

function report() {
  const count = (/** @type {Verdict[]} */ ...verdicts) => outcomes.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const survivors = count('survived');
  const disorders = count('stale', 'broken-net', 'unexplained-death');
  const killed = count('killed', 'killed-wide');
  const ms = Math.round(performance.now() - began);
  if (values.json)
    console.log(
      JSON.stringify({ mutations: outcomes.length, killed, explained: count('explained'), survivors, disorders, ms, outcomes }, null, 2),
    );
  else {
    console.log(
      `${killed} killed, ${count('explained')} explained, ${survivors} survived, ${disorders} not in order, in ${(ms / 1000).toFixed(0)} s`,
    );
  }
  process.exitCode = survivors > 0 ? 2 : disorders > 0 ? 1 : 0;
}
