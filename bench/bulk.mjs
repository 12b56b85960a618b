/**
 * One process keeps 100,000 leases at three members, all real processes, and gives a hundred back and takes others each second. First with terms that all differ, so
 * that each lease is renewed by itself; then with one term, in bundles; then a member is killed and started again. Prints messages to a member in a round besides
 * those of leases that come and go, processor time beside that of single renewals in the same run, and leases lost. `--minutes N` in all, `--leases N`, `--json`;
 * exit 1 if a target is missed.
 */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, Part, startCell } from './parts/processes.mjs';

const TERM_MS = 30_000;
/** Renewals of each by itself: so many terms, around the same. */
const SPREAD_MS = 2000;
const PER_SECOND = 100;
/** A lease that comes and goes is released, taken, and joins a bundle with its first renewal: a message each. */
const MESSAGES_OF_CHANGE = 3;
const MESSAGES_MAX = 2;
const SHARE_MAX = 0.1;
/** After so many terms all leases are where they stay. */
const WARM_TERMS = 0.75;

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    leases: { type: 'string', default: '100000' },
  },
});
const [minutes, count] = [Number(values.minutes), Number(values.leases)];
if (!(minutes > 0) || !Number.isInteger(count) || count < 1) {
  process.stderr.write('bench:bulk: --minutes takes a positive number, --leases a positive whole one\n');
  process.exit(64);
}

const loadBefore = load();
const cell = await startCell({ maxTerm: 2 * TERM_MS });
const restMs = Math.max(TERM_MS, (minutes * 60_000) / 4);

/** @typedef {{ cpuUs: number, changes: number, renewals: number, losses: number, held: number, out: number[] }} Told */

/**
 * What a holder and the members used meanwhile; of a member that was started again, since then.
 * @param {Part} holder @param {number} ms @param {() => Promise<void>} [meanwhile]
 */
async function over(holder, ms, meanwhile = async () => {}) {
  /** @returns {Promise<{ told: Told, membersUs: number, atMs: number }>} */
  const look = async () => {
    const used = await Promise.all(cell.parts.map((part) => part.ask('cpuUs')));
    return { told: await holder.ask('told'), membersUs: used.reduce((sum, us) => sum + us, 0), atMs: performance.now() };
  };
  const before = await look();
  await Promise.all([sleep(ms), meanwhile()]);
  const after = await look();
  const seconds = (after.atMs - before.atMs) / 1000;
  const changes = after.told.changes - before.told.changes;
  const out = after.told.out.map((messages, i) => messages - (before.told.out[i] ?? 0));
  return {
    seconds,
    holderMsPerSecond: (after.told.cpuUs - before.told.cpuUs) / 1000 / seconds,
    membersMsPerSecond: Math.max(0, after.membersUs - before.membersUs) / 1000 / seconds,
    renewals: after.told.renewals - before.told.renewals,
    changes,
    messages: out,
    losses: after.told.losses - before.told.losses,
    held: after.told.held,
  };
}

/** @param {number} spreadMs */
async function begin(spreadMs) {
  const holder = new Part('bulk-holder.mjs');
  await holder.ask('hold', { reach: cell.reach, count, termMs: TERM_MS, spreadMs, perSecond: PER_SECOND });
  await sleep(TERM_MS * WARM_TERMS);
  return holder;
}

const alone = await begin(SPREAD_MS);
const single = await over(alone, restMs);
await alone.ask('end');
await alone.stop();

const holder = await begin(0);
const bulk = await over(holder, restMs * 2);
// Its silence is as long as the longest term; then it is given back what it had.
const restarted = await over(holder, Math.max(restMs, 3.5 * TERM_MS), () => cell.restart(1));
await holder.stop();
await cell.stop();

const rounds = Math.max(1, bulk.renewals / count);
const besides = bulk.messages.map((messages) => Math.max(0, (messages - MESSAGES_OF_CHANGE * bulk.changes) / rounds));
const share = {
  holder: bulk.holderMsPerSecond / single.holderMsPerSecond,
  members: bulk.membersMsPerSecond / single.membersMsPerSecond,
};
const isMet =
  Math.max(...besides) <= MESSAGES_MAX && share.holder <= SHARE_MAX && share.members <= SHARE_MAX && bulk.losses + restarted.losses === 0;
const machine = {
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: availableParallelism(),
  loadBefore,
};
if (values.json)
  process.stdout.write(
    `${JSON.stringify({ ...machine, minutes, count, single, bulk, restarted, rounds, besides, share, isMet }, null, 2)}\n`,
  );
else {
  const ms = (/** @type {number} */ number) => number.toFixed(1);
  process.stdout.write(
    [
      `${count.toLocaleString('en')} leases of ${TERM_MS / 1000} s in one process, ${PER_SECOND} given back and taken each second, three members; Node ${machine.node}, ${machine.cpu}, load ${loadBefore}`,
      `each by itself   holder ${ms(single.holderMsPerSecond)} ms, members ${ms(single.membersMsPerSecond)} ms of processor time a second; ${single.messages.map((n) => Math.round(n / single.seconds)).join(', ')} messages a second to each; lost ${single.losses}`,
      `in bundles       holder ${ms(bulk.holderMsPerSecond)} ms, members ${ms(bulk.membersMsPerSecond)} ms of processor time a second: ${share.holder.toFixed(3)} and ${share.members.toFixed(3)} of that (target ${SHARE_MAX}); lost ${bulk.losses}`,
      `                 ${rounds.toFixed(1)} rounds; ${besides.map(ms).join(', ')} messages to each member in a round, besides ${MESSAGES_OF_CHANGE} for each that comes and goes (target ${MESSAGES_MAX})`,
      `member restarted holder ${ms(restarted.holderMsPerSecond)} ms, members ${ms(restarted.membersMsPerSecond)} ms; lost ${restarted.losses} (target 0), held ${restarted.held}`,
      isMet ? 'all targets met\n' : 'a target was missed\n',
    ].join('\n'),
  );
}
process.exitCode = isMet ? 0 : 1;
