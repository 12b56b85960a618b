// `npm run mutate`: breaks the product by one line at a time, in a copy of the tree, and sees whether the tests named
// for that line notice. The list is test/mutations/*.json. `--only NAME` (or a part of names) runs some, `--json` prints
// one object, `--lanes N` says how many copies work at once, `--wide` tries the tests of the whole layer where those that are
// named notice nothing: it may be that only the wrong ones are named. Exit 0: all are killed or explained; 1: the list or the
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
 * @typedef {{ tests: readonly string[], title?: string | undefined }} Net
 * @typedef {{ fullName: string, status: string, duration?: number | null, failureMessages: string[] }} Tested
 * @typedef {{ name: string, status: string, startTime: number, endTime: number, message?: string, assertionResults: Tested[] }} TestedFile as the JSON reporter says it
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const LIST = join(root, 'test', 'mutations');
/** What takes longer than the least, and so many times as long as without the mutation, hangs: the mutation was noticed. */
const TIMES_MAX = 10;
const RUN_MS = { min: 60_000, max: 240_000 };
const TEST_MS = { min: 10_000, max: 60_000 };
/** The run of all nets without a mutation. */
const SHARED = { runMs: 3_600_000, testMs: TEST_MS.max };
/** Most of a short run is to compile what no mutation has touched. What was compiled is known by its path and its text. */
const CACHED = '--experimental.fsModuleCache=true';
const CACHE_PATH = '--experimental.fsModuleCachePath';
/** What `--wide` tries when the named tests notice nothing, by the layer of the file. */
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
    wide: { type: 'boolean', default: false },
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
/** Leaders of the groups that are under way: a run has workers. @type {Set<number>} */
const underWay = new Set();
process.on('exit', () => {
  for (const group of underWay) process.kill(-group, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130));

/** Whether a net holds without any mutation; each is tried once. @type {Map<string, Promise<boolean>>} */
const sound = new Map();
/** How long files and their tests take without any mutation. @type {Map<string, { fileMs: number, tests: Tested[] }>} */
const usual = new Map();
/** Trees whose build is that of the code without any mutation. @type {Set<string>} */
const built = new Set();
/** @type {Outcome[]} */
const outcomes = [];
const waiting = [...mutations];
const began = performance.now();
const trees = Array.from({ length: Math.min(lanes, mutations.length) }, (_, lane) => copyOfTree(lane));
if (trees[0] !== undefined) await tryNets(trees[0]);
await Promise.all(trees.map(work));
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
async function judge(tree, { file, find, replace, tests, title, build, explained }) {
  const path = join(tree, file);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const found = text.split(find).length - 1;
  if (found !== 1) return ['stale', `its text is ${found === 0 ? 'not' : `${found} times`} in ${file}`];
  const named = { tests, title };
  const wider = { tests: WIDER.get(file.split('/')[1] ?? '') ?? ['test'] };
  /** Which test notices it, and how; null if it survives. */
  const noticedBy = async (/** @type {Net} */ net) => {
    writeFileSync(
      path,
      text.replace(find, () => replace),
    );
    try {
      return build && !(await builds(tree)) ? 'it does not build' : await failureOf(tree, net);
    } finally {
      writeFileSync(path, text);
      // What was built of it must not stay either.
      if (build) unbuild(tree);
    }
  };
  if (build) await buildSound(tree);
  if (!(await isSound(tree, named))) return ['broken-net', `${tests.join(' ')} fails without it`];
  const killer = await noticedBy(named);
  if (killer !== null)
    return explained === undefined ? ['killed', killer] : ['unexplained-death', `it is said to change nothing: ${killer}`];
  if (explained !== undefined) return ['explained', explained];
  if (!values.wide) return ['survived', `${tests.join(' ')} does not notice`];
  if (!(await isSound(tree, wider))) return ['survived', `${tests.join(' ')} does not notice, and the wider tests fail without it`];
  const other = await noticedBy(wider);
  return other === null
    ? ['survived', `neither ${tests.join(' ')} nor the wider tests notice`]
    : ['killed-wide', `${tests.join(' ')} does not notice, other tests do: ${other}`];
}

/**
 * Tries the nets of all mutations in two runs: test files that are named as a whole, and titles in other files. What is not
 * shown to hold by these is tried again by itself.
 * @param {string} tree
 */
async function tryNets(tree) {
  const nets = mutations.map(({ tests, title }) => ({ tests, title }));
  if (mutations.some(({ build }) => build)) await buildSound(tree);
  const whole = new Set(nets.flatMap(({ tests, title }) => (title === undefined ? tests : [])));
  const parts = nets.filter(({ tests, title }) => title !== undefined && !tests.every((file) => whole.has(file)));
  const titles = [...new Set(parts.map(({ title }) => title))].join('|');
  const tested = [
    ...(await outcomesOf(tree, { tests: [...whole] }, SHARED)).tested,
    ...(await outcomesOf(tree, { tests: [...new Set(parts.flatMap(({ tests }) => tests))], title: titles }, SHARED)).tested,
  ];
  for (const { name, startTime, endTime, assertionResults: tests } of tested)
    usual.set(name.slice(tree.length + 1), { fileMs: endTime - startTime, tests });
  for (const net of nets) if (holds(net, tested)) sound.set(keyOf(net), Promise.resolve(true));
}

/**
 * How the run ends, and what becomes of each test that was run.
 * @param {string} tree @param {Net} net @param {{ runMs: number, testMs: number }} limits @param {readonly string[]} flags
 * @returns {Promise<{ endsWell: boolean, tested: TestedFile[] }>}
 */
async function outcomesOf(tree, { tests, title }, { runMs, testMs }, flags = []) {
  if (tests.length === 0) return { endsWell: true, tested: [] };
  const file = `${tree}-outcomes.json`;
  const named = title === undefined ? [] : ['-t', title];
  const reporter = ['--reporter=json', `--outputFile=${file}`];
  rmSync(file, { force: true });
  const limits = [`--testTimeout=${testMs}`, ...flags];
  const endsWell = await run(
    tree,
    ['node_modules/vitest/vitest.mjs', 'run', CACHED, `${CACHE_PATH}=${tree}-cache`, ...limits, ...reporter, ...named, ...tests],
    runMs,
  );
  return { endsWell, tested: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).testResults : [] };
}

/** The first test that fails, and how; null if none does. @param {string} tree @param {Net} net @returns {Promise<string | null>} */
async function failureOf(tree, net) {
  const isMeant = new RegExp(net.title ?? '');
  const meant = net.tests.flatMap((file) => usual.get(file)?.tests ?? []).filter(({ fullName }) => isMeant.test(fullName));
  const runMs = patience(RUN_MS, ...net.tests.map((file) => usual.get(file)?.fileMs ?? RUN_MS.max));
  const testMs = meant.length === 0 ? TEST_MS.max : patience(TEST_MS, ...meant.map(({ duration }) => duration ?? 0));
  const { endsWell, tested } = await outcomesOf(tree, net, { runMs, testMs }, ['--bail=1']);
  for (const { name, status, message, assertionResults } of tested) {
    const failed = assertionResults.find((result) => result.status === 'failed');
    if (failed) return `${failed.fullName}: ${firstLine(failed.failureMessages[0])}`;
    if (status === 'failed') return `${name.slice(tree.length + 1)}: ${firstLine(message)}`;
  }
  return endsWell ? null : 'it hangs, or a worker dies';
}

/** How long is waited for what usually takes so long. @param {{ min: number, max: number }} bounds @param {number[]} usualMs */
function patience({ min, max }, ...usualMs) {
  return Math.min(Math.max(min, TIMES_MAX * Math.max(...usualMs)), max);
}

/** @param {string | undefined} text */
function firstLine(text) {
  const line = (text ?? '').split('\n')[0]?.slice(0, 160) ?? '';
  // That is all that the reporter has to say of a test whose time is up.
  return line === 'Error: STACK_TRACE_ERROR' ? 'what it waits for does not come' : line;
}

/** Each file of a net has tests that it means, and all of them pass. @param {Net} net @param {readonly TestedFile[]} tested */
function holds({ tests, title = '' }, tested) {
  return tests.every((path) => {
    const results = tested.filter(({ name }) => name.endsWith(`/${path}`)).flatMap(({ assertionResults }) => assertionResults);
    const meant = results.filter(
      ({ fullName, status }) => new RegExp(title).test(fullName) && status !== 'skipped' && status !== 'pending',
    );
    return meant.length > 0 && meant.every(({ status }) => status === 'passed');
  });
}

/** @param {Net} net */
function keyOf({ tests, title }) {
  return JSON.stringify([title ?? null, ...tests]);
}

/** @param {string} tree @param {Net} net */
function isSound(tree, net) {
  const key = keyOf(net);
  const known = sound.get(key) ?? failureOf(tree, net).then((failure) => failure === null);
  sound.set(key, known);
  return known;
}

/** Builds a tree without any mutation, and keeps what came of it. @param {string} tree */
async function buildSound(tree) {
  if (built.has(tree)) return;
  if (!(await builds(tree))) throw new Error('mutate: it cannot be built');
  cpSync(join(tree, 'dist'), `${tree}-dist`, { recursive: true, preserveTimestamps: true });
  built.add(tree);
}

/** @param {string} tree */
function unbuild(tree) {
  rmSync(join(tree, 'dist'), { recursive: true, force: true });
  cpSync(`${tree}-dist`, join(tree, 'dist'), { recursive: true, preserveTimestamps: true });
}

/** The commands that tests start are bundled. @param {string} tree */
async function builds(tree) {
  return (await run(tree, ['node_modules/typescript/bin/tsc', '-b'])) && run(tree, ['scripts/bundle.mjs']);
}

/** Whether the command ends well, and in time. @param {string} tree @param {string[]} args @returns {Promise<boolean>} */
function run(tree, args, msMax = RUN_MS.max) {
  return new Promise((resolve) => {
    // At full size: a test that plays less may miss a mutation.
    const env = { ...process.env, TENURE_TEST_SIZE: 'full' };
    const child = spawn(process.execPath, args, { cwd: tree, env, stdio: 'ignore', detached: true });
    const { pid = 0 } = child;
    if (pid !== 0) underWay.add(pid);
    const timer = setTimeout(() => {
      if (pid !== 0) process.kill(-pid, 'SIGKILL');
    }, msMax);
    child.once('close', (status) => {
      underWay.delete(pid);
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
