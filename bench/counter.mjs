/**
 * Many shells count in one file, each time under `tenure run`, while members are killed and restarted one after the other. Reading
 * and writing are apart, so that two at once would lose a count. The count, every exit code and the order of tokens must be
 * exact. `--shells N`, `--times N`, `--term MS`, `--json`; exit 1 if anything is not.
 *
 * With `--store file`, `file:FOLDER`, `replicated`, `postgres` or `redis` it is processes that count, under leases of a store, and processes that are killed; a server is killed
 * and restarted once. `--plain` (a directory without compare-and-set), `--processes N`, `--times N`, `--kills N`, `--term MS`, `--delta MS`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePorts, load, Part } from './parts/processes.mjs';

const IDS = ['a', 'b', 'c'];
const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };
/** What the commands end with, in turn: each must come out as it went in. */
const CODES = 7;

const { values } = parseArgs({
  options: {
    shells: { type: 'string', default: '16' },
    times: { type: 'string', default: '50' },
    term: { type: 'string' },
    store: { type: 'string' },
    plain: { type: 'boolean', default: false },
    processes: { type: 'string', default: '8' },
    kills: { type: 'string', default: '20' },
    delta: { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
  },
});
const terms = values.store === undefined ? '10000' : '2000';
const numbers = [values.shells, values.times, values.term ?? terms, values.processes, values.kills, values.delta].map(Number);
const [shells = 0, times = 0, termMs = 0, processes = 0, kills = 0, deltaMs = 0] = numbers;
if (!numbers.every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write('bench/counter.mjs: --shells, --times, --term, --processes, --kills and --delta take positive whole numbers\n');
  process.exit(64);
}
if (values.store !== undefined) {
  const isDirectory = /^(?:replicated$|file(?:$|:.))/.test(values.store);
  if (!(isDirectory || ((values.store === 'postgres' || values.store === 'redis') && !values.plain))) {
    process.stderr.write(
      'bench/counter.mjs: --store is file, file:FOLDER, replicated, postgres or redis, and --plain is for directories\n',
    );
    process.exit(64);
  }
  const { countOnStore, storeCountInWords, isExact } = await import('./parts/store-count.mjs');
  const counted = await countOnStore({ store: values.store, plain: values.plain, processes, times, termMs, deltaMs, kills });
  console.log(values.json ? JSON.stringify(counted) : storeCountInWords(counted));
  process.exit(isExact(counted) ? 0 : 1);
}

const folder = mkdtempSync(join(tmpdir(), 'tenure-counter-'));
const [count, tokens, wrong, secret] = ['count', 'tokens', 'wrong', 'secret'].map((name) => join(folder, name));
for (const [file, text] of /** @type {[string, string][]} */ ([
  [count, '0\n'],
  [tokens, ''],
  [wrong, ''],
  [secret, SECRETS.clientSecret],
]))
  writeFileSync(file, text);

const ports = await freePorts(IDS.length);
const members = Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
/** @param {string} id */
async function startMember(id) {
  const part = new Part('member.mjs', { args: [id] });
  await part.ask('join', { cell: 'counter', members, self: id, maxTerm: termMs, ...SECRETS });
  return part;
}
const parts = await Promise.all(IDS.map(startMember));

let isOver = false;
let memberKills = 0;
/** One at a time: the next is killed when the silence of the last is over. */
async function killInTurn() {
  for (let turn = 0; !isOver; turn = (turn + 1) % IDS.length) {
    await parts[turn]?.kill();
    memberKills++;
    parts[turn] = await startMember(IDS[turn] ?? '');
  }
}

const COMMAND = `read n < "$COUNT"; sleep 0.01; echo $((n + 1)) > "$COUNT"; echo $TENURE_TOKEN >> "$TOKENS"; exit $1`;
const SHELL = `i=0
while [ $i -lt ${times} ]; do
  expected=$(( (i + $1) % ${CODES} ))
  "$NODE" "$BIN" run counter --connect-timeout 1m -- sh -c "$COMMAND" sh $expected
  code=$?
  [ $code -eq $expected ] || echo "$code instead of $expected" >> "$WRONG"
  i=$((i + 1))
done`;
const env = {
  ...process.env,
  TENURE_CELL: 'counter',
  TENURE_MEMBERS: Object.entries(members)
    .map(([id, address]) => `${id}=${address}`)
    .join(','),
  TENURE_SECRET_FILE: secret,
  NODE: process.execPath,
  BIN: fileURLToPath(new URL('../bin/tenure.js', import.meta.url)),
  COUNT: count,
  TOKENS: tokens,
  WRONG: wrong,
  COMMAND,
};
const startedMs = performance.now();
const killing = killInTurn();
const running = Array.from({ length: shells }, (_, number) => spawn('sh', ['-c', SHELL, 'sh', String(number)], { env, stdio: 'inherit' }));
await Promise.all(running.map((shell) => once(shell, 'exit')));
const tookMs = performance.now() - startedMs;
isOver = true;
await killing;
await Promise.all(parts.map((part) => part.stop()));

/** @param {string | undefined} file */
const linesOf = (file = '') => readFileSync(file, 'utf8').split('\n').slice(0, -1);
const told = linesOf(tokens).map(Number);
const result = {
  shells,
  times,
  expected: shells * times,
  counted: Number(linesOf(count)[0]),
  wrongCodes: linesOf(wrong),
  tokensRise: told.every((token, i) => i === 0 || token > (told[i - 1] ?? Infinity)),
  kills: memberKills,
  seconds: Math.round(tookMs / 100) / 10,
  loadAfter: load(),
};
rmSync(folder, { recursive: true, force: true });
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(
    `${shells} shells x ${times} commands: counted ${result.counted} of ${result.expected}, ${result.wrongCodes.length} wrong exit codes`,
  );
  console.log(
    `tokens ${result.tokensRise ? 'rise' : 'DO NOT RISE'}; ${memberKills} members killed and restarted; ${result.seconds} s, load ${result.loadAfter}`,
  );
  for (const line of result.wrongCodes) console.log(`  ${line}`);
}
process.exitCode = result.counted === result.expected && result.wrongCodes.length === 0 && result.tokensRise ? 0 : 1;
