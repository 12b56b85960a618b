/**
 * Leaderships handed over among ten candidates, each a process of its own, by turns with leaderships that are resigned: from the instant at which the old
 * leader holds no more to the grant of the next, who must be the next in line, with a higher token. Then heirs are killed (kill -9) around the hand-over: the leader
 * goes on, or the line does. `--json`, `--rounds N` (of each kind), `--kills N`; exit 1 if a target is missed. Both kinds are measured in one run: only their ratio is compared.
 */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, median, Part, quantile, startCell } from './parts/processes.mjs';

const NAME = 'bench/leader';
const CANDIDATES = 10;
const TERM_MS = 2000;
const RATIO_MAX = 0.6;
/** Within so long after a kill somebody must lead: what members keep of a dead heir's votes, and some. */
const LEADER_WITHIN_MS = TERM_MS * 2;
/** A heir is killed somewhere in this time around the call. */
const KILL_WINDOW_MS = 4;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '20' },
  },
});
const [rounds, kills] = [Number(values.rounds), Number(values.kills)];
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(kills) || kills < 0) {
  process.stderr.write('bench:handover: --rounds takes a positive whole number, --kills a whole number\n');
  process.exit(64);
}

/** @typedef {{ readonly part: Part, elected: (grant: { at: number, token: number }) => void, readonly id: number }} Candidate */

const loadBefore = load();
const cell = await startCell({ maxTerm: TERM_MS });
const nowMs = () => performance.timeOrigin + performance.now();
let started = 0;

/** @returns {Promise<Candidate>} */
async function startCandidate() {
  /** @type {Candidate} */
  const candidate = {
    id: ++started,
    elected: () => {},
    part: new Part('candidate.mjs', { onNotice: (notice) => candidate.elected(JSON.parse(notice)) }),
  };
  await candidate.part.ask('connect', cell.reach);
  return candidate;
}

/** The first leads, the others stand in line behind it, in this order. @type {Candidate[]} */
const line = [];
for (let i = 0; i < CANDIDATES; i++) {
  const candidate = await startCandidate();
  await candidate.part.ask('stand', { name: NAME });
  line.push(candidate);
}

/** The next grant to any candidate: whose, and when. @returns {Promise<{ candidate: Candidate, at: number, token: number }>} */
function nextGrant() {
  return new Promise((resolve) => {
    for (const candidate of line) candidate.elected = (grant) => resolve({ candidate, ...grant });
  });
}

const gaps = { handOver: /** @type {number[]} */ ([]), resign: /** @type {number[]} */ ([]) };
const fromCall = { handOver: /** @type {number[]} */ ([]), resign: /** @type {number[]} */ ([]) };
let notHandedOver = 0;
let outOfOrder = 0;
let tokensThatFell = 0;
let lastToken = 0;

/** @param {{ candidate: Candidate, token: number }} grant @param {Candidate | undefined} expected */
function judge({ candidate, token }, expected) {
  if (candidate !== expected) outOfOrder++;
  if (token <= lastToken) tokensThatFell++;
  lastToken = token;
}

for (let round = 0; round < 2 * rounds; round++) {
  const how = round % 2 === 0 ? 'handOver' : 'resign';
  const leader = /** @type {Candidate} */ (line[0]);
  const granted = nextGrant();
  const { isGone, calledAt, stoppedAt } = await leader.part.ask('leave', { how });
  if (!isGone) {
    notHandedOver++;
    continue;
  }
  const grant = await granted;
  judge(grant, line[1]);
  gaps[how].push(grant.at - stoppedAt);
  fromCall[how].push(grant.at - calledAt);
  line.splice(line.indexOf(grant.candidate), 1);
  line.unshift(grant.candidate);
  line.splice(line.indexOf(leader), 1);
  line.push(leader);
  await leader.part.ask('stand', { name: NAME });
}

const killed = { wentOn: 0, byLine: 0, byHeir: 0, nobody: 0, longestMs: 0 };
for (let kill = 0; kill < kills; kill++) {
  const [leader, heir] = /** @type {[Candidate, Candidate]} */ (line.slice(0, 2));
  const granted = nextGrant();
  const killedAt = sleep(Math.random() * KILL_WINDOW_MS).then(() => {
    void heir.part.kill();
    return nowMs();
  });
  await sleep(Math.random() * KILL_WINDOW_MS);
  const left = await leader.part.ask('leave', { how: 'handOver' });
  const at = await killedAt;
  line.splice(1, 1);
  if (!left.isGone) {
    // Nothing has happened: it leads, and still does when its renewals have had the time to fail.
    await sleep(TERM_MS);
    if (await leader.part.ask('isLeading')) killed.wentOn++;
    else killed.nobody++;
  } else {
    let grant = await Promise.race([granted, sleep(LEADER_WITHIN_MS, null, { ref: false })]);
    if (grant?.candidate === heir) {
      killed.byHeir++;
      // It led for a moment, and died: now it is the next one's.
      lastToken = Math.max(lastToken, grant.token);
      grant = await Promise.race([nextGrant(), sleep(LEADER_WITHIN_MS, null, { ref: false })]);
    }
    line.splice(0, 1);
    if (grant === null) killed.nobody++;
    else {
      killed.byLine++;
      killed.longestMs = Math.max(killed.longestMs, grant.at - at);
      judge(grant, line[0]);
      await leader.part.ask('stand', { name: NAME });
      line.push(leader);
    }
  }
  const fresh = await startCandidate();
  await fresh.part.ask('stand', { name: NAME });
  line.push(fresh);
}

await Promise.all([...line.map(({ part }) => part.stop()), cell.stop()]);

/** @param {number} ms */
const micros = (ms) => Math.round(ms * 1000);
/** @param {readonly number[]} spans */
const told = (spans) => ({ medianUs: micros(median(spans)), p99Us: micros(quantile(spans, 0.99)), count: spans.length });
const ratio = Math.round((median(gaps.handOver) / median(gaps.resign)) * 100) / 100;
const isMet =
  ratio <= RATIO_MAX &&
  outOfOrder === 0 &&
  tokensThatFell === 0 &&
  killed.nobody === 0 &&
  gaps.handOver.length + notHandedOver === rounds &&
  notHandedOver * 100 <= rounds;
const result = {
  gap: { handOver: told(gaps.handOver), resign: told(gaps.resign), ratio, ratioMax: RATIO_MAX },
  fromCall: { handOver: told(fromCall.handOver), resign: told(fromCall.resign) },
  notHandedOver,
  outOfOrder,
  tokensThatFell,
  killed,
  isMet,
};

if (values.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), loadBefore };
  process.stdout.write(`${JSON.stringify({ ...machine, rounds, kills, ...result }, null, 2)}\n`);
} else {
  const { gap, fromCall: call } = result;
  process.stdout.write(
    [
      `a leadership among ${CANDIDATES} candidates, ${rounds} times handed over and ${rounds} times resigned, by turns (${cpus()[0]?.model}, ${availableParallelism()} cores, load before ${loadBefore}, Node ${process.version})`,
      `from the old leader's stop to the next one's grant   hand-over median ${gap.handOver.medianUs} us, p99 ${gap.handOver.p99Us} us; resign median ${gap.resign.medianUs} us, p99 ${gap.resign.p99Us} us; ratio ${ratio}, limit ${RATIO_MAX}`,
      `from the call to the next one's grant                hand-over median ${call.handOver.medianUs} us; resign median ${call.resign.medianUs} us`,
      `out of order ${outOfOrder}, tokens that fell ${tokensThatFell}, not handed over ${notHandedOver}`,
      `${kills} heirs killed: the leader went on ${killed.wentOn} times, the line ${killed.byLine} times (${killed.byHeir} of them after the heir had led), nobody ${killed.nobody} times; longest ${Math.round(killed.longestMs)} ms`,
      isMet ? 'met' : 'MISSED',
      '',
    ].join('\n'),
  );
}
process.exitCode = isMet ? 0 : 1;
