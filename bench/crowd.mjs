/**
 * A thousand clients after one resource for a minute: all are served, nobody before one that stood in line at a majority
 * when it began, never two at once (the referees judge the clients' history), and the members' memory stays flat. `--json`,
 * `--clients N`, `--seconds S`; exit 1 if any of it does not hold.
 *
 * With `--waiters N` instead: an honest client's acquires of other names beside N waiters for one name. With `--watches W`: beside
 * `--watchers P` processes that have W watches each. Exit 1 if it loses a lease, or if p99 is 50 ms or more.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gatherHistories, OrderReferee, parseHistory, WallClockReferee } from '../dist/check/index.js';
import { besideWaiters, besideWatches, tellBeside } from './parts/greedy-crowd.mjs';
import { load, Part, quantile, startCell } from './parts/processes.mjs';

const PROCESSES = 4;
const RESOURCE = 'crowd/one';
const MAX_TERM_MS = 2000;
/** All processes read the clock of one machine; what is left is how finely they keep to it. */
const CLOCK_BOUND_US = 3000;
/** Of the memory after the first tenth. */
const GROWTH_MAX = 1.25;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    clients: { type: 'string', default: '1000' },
    waiters: { type: 'string' },
    watches: { type: 'string' },
    watchers: { type: 'string', default: '30' },
    seconds: { type: 'string' },
    /** Where CPU profiles of the members go, with `--waiters` and `--watches`. */
    profile: { type: 'string' },
  },
});
if (values.waiters !== undefined || values.watches !== undefined) {
  const measured = { seconds: Number(values.seconds ?? 20), profileDir: values.profile };
  const result =
    values.watches === undefined
      ? await besideWaiters({ waiters: Number(values.waiters), ...measured })
      : await besideWatches({ watchers: Number(values.watchers), watches: Number(values.watches), ...measured });
  process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : tellBeside(result));
  process.exit(result.isMet ? 0 : 1);
}
const clients = Number(values.clients);
const seconds = Number(values.seconds ?? 60);
if (!Number.isInteger(clients) || clients < PROCESSES || !(seconds > 0)) {
  process.stderr.write(`bench:crowd: --clients takes a whole number from ${PROCESSES} on, --seconds a positive number\n`);
  process.exit(64);
}

const loadBefore = load();
const cell = await startCell({ maxTerm: MAX_TERM_MS });
const share = Math.ceil(clients / PROCESSES);
const crowds = Array.from({ length: PROCESSES }, (_, i) => ({
  part: new Part('crowd.mjs'),
  first: i * share,
  count: Math.min(share, clients - i * share),
}));
const folder = mkdtempSync(join(tmpdir(), 'tenure-crowd-'));
await Promise.all(crowds.map(({ part, first, count }) => part.ask('connect', { first, count, reach: cell.reach, folder })));

/** @type {number[][]} */
const memory = [];
const look = async () => {
  memory.push(await Promise.all(cell.parts.map((part) => part.ask('memory'))));
};
const sampling = setInterval(() => void look(), (seconds * 1000) / 20);
await Promise.all(crowds.map(({ part }) => part.ask('run', { resource: RESOURCE, seconds })));
clearInterval(sampling);
await Promise.all([...crowds.map(({ part }) => part.stop()), cell.stop()]);

const histories = readdirSync(folder).map((file) => parseHistory(readFileSync(join(folder, file), 'utf8')));
rmSync(folder, { recursive: true });
const { records: history } = gatherHistories(histories);
const referee = new WallClockReferee(CLOCK_BOUND_US);
const violations = [...history.flatMap((record) => referee.observe(record) ?? []), ...referee.finish()];
// All processes of this machine read one clock, so order is judged as it is written down.
const order = new OrderReferee();
const overtakings = history.flatMap((record) => order.observe(record) ?? []);

/** @type {Map<string, number>} */
const asked = new Map();
const served = new Set();
const waits = [];
/** From the call until it is known to stand in line. */
const queuedMs = [];
let grants = 0;
for (const record of history) {
  if (record.kind === 'requested') asked.set(`${record.node} ${record.request}`, record.at);
  if (record.kind !== 'granted' && record.kind !== 'queued') continue;
  const tookMs = (record.at - (asked.get(`${record.node} ${record.request}`) ?? NaN)) / 1000;
  if (record.kind === 'queued') {
    queuedMs.push(tookMs);
    continue;
  }
  waits.push(tookMs);
  served.add(record.node);
  grants++;
}
const spread = (/** @type {number[]} */ ms) => ({
  p50: Math.round(quantile(ms, 0.5)),
  p99: Math.round(quantile(ms, 0.99)),
  longest: Math.round(ms.reduce((longest, one) => Math.max(longest, one), 0)),
});

const rssMb = (/** @type {number[] | undefined} */ sample) => Math.round(Math.max(...(sample ?? [NaN])) / 1048576);
const [settledMb, endMb] = [rssMb(memory[Math.ceil(memory.length / 10)]), rssMb(memory.at(-1))];
const result = {
  clients,
  seconds,
  loadBefore,
  grants,
  served: served.size,
  waitMs: spread(waits),
  queuedMs: spread(queuedMs),
  overtakings: overtakings.length,
  violations: violations.length,
  memberMb: { settled: settledMb, end: endMb },
  isMet: served.size === clients && overtakings.length === 0 && violations.length === 0 && endMb <= settledMb * GROWTH_MAX,
};
if (values.json) {
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} else {
  process.stdout.write(
    [
      `${clients} clients in ${PROCESSES} processes after one resource for ${seconds} s (load before ${loadBefore}, Node ${process.version})`,
      `grants         ${result.grants}, to ${result.served} of ${clients} clients`,
      `wait           p50 ${result.waitMs.p50} ms, p99 ${result.waitMs.p99} ms, longest ${result.waitMs.longest} ms`,
      `in line after  p50 ${result.queuedMs.p50} ms, p99 ${result.queuedMs.p99} ms, longest ${result.queuedMs.longest} ms`,
      `out of order   ${overtakings.length}: granted to a request that began when another stood in line already`,
      `two at once    ${result.violations}`,
      `member memory  ${settledMb} MB after a tenth of the time, ${endMb} MB at the end`,
      ...[...violations, ...overtakings].slice(0, 6).map(({ message }) => message),
      result.isMet ? 'met' : 'MISSED',
      '',
    ].join('\n'),
  );
}
process.exitCode = result.isMet ? 0 : 1;
