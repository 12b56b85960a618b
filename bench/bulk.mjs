/**
 * One process keeps 100,000 leases at three members, all real processes, and gives a hundred back and takes others each second. First with terms that all differ, so
 * that each lease is renewed by itself; then with one term, in bundles; then a member is killed and started again. In the middle of each nothing comes or goes for a while: then
 * all messages and all processor time are those of renewals, and these are compared. Prints messages to a member in a round, processor time of a renewal
 * beside that of a single one in the same run, and leases lost. `--minutes N` in all, `--leases N`, `--json`; exit 1 if a target is missed.
 */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, Part, startCell } from './parts/processes.mjs';

const TERM_MS = 30_000;
/** Renewals of each by itself: so many terms, around the same. */
const SPREAD_MS = 2000;
const PER_SECOND = 100;
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
  const renewals = after.told.renewals - before.told.renewals;
  const [holderUs, membersUs] = [after.told.cpuUs - before.told.cpuUs, Math.max(0, after.membersUs - before.membersUs)];
  const out = after.told.out.map((messages, i) => messages - (before.told.out[i] ?? 0));
  return {
    seconds,
    holderMsPerSecond: holderUs / 1000 / seconds,
    membersMsPerSecond: membersUs / 1000 / seconds,
    holderUsPerRenewal: holderUs / renewals,
    membersUsPerRenewal: membersUs / renewals,
    renewals,
    changes: after.told.changes - before.told.changes,
    messagesPerRound: Math.max(...out) / (renewals / count),
    losses: after.told.losses - before.told.losses,
    held: after.told.held,
  };
}

/** Leases that come and go, then a while without. @param {number} spreadMs @param {number} ms */
async function hold(spreadMs, ms) {
  const holder = new Part('bulk-holder.mjs');
  await holder.ask('hold', { reach: cell.reach, count, termMs: TERM_MS, spreadMs, perSecond: PER_SECOND });
  await sleep(TERM_MS * WARM_TERMS);
  const busy = await over(holder, ms);
  await holder.ask('rest', { quiet: true });
  // Those that were taken last join a bundle with their first renewal.
  await sleep(TERM_MS * WARM_TERMS);
  const quiet = await over(holder, ms);
  await holder.ask('rest', { quiet: false });
  return { holder, busy, quiet };
}

const alone = await hold(SPREAD_MS, restMs / 2);
await alone.holder.ask('end');
await alone.holder.stop();

const bulk = await hold(0, restMs);
// Its silence is as long as the longest term; then it is given back what it had.
const restarted = await over(bulk.holder, Math.max(restMs, 3.5 * TERM_MS), () => cell.restart(1));
await bulk.holder.stop();
await cell.stop();

const share = {
  holder: bulk.quiet.holderUsPerRenewal / alone.quiet.holderUsPerRenewal,
  members: bulk.quiet.membersUsPerRenewal / alone.quiet.membersUsPerRenewal,
};
const losses = [alone.busy, alone.quiet, bulk.busy, bulk.quiet, restarted].reduce((sum, phase) => sum + phase.losses, 0);
const isMet = bulk.quiet.messagesPerRound <= MESSAGES_MAX && share.holder <= SHARE_MAX && share.members <= SHARE_MAX && losses === 0;
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism(), loadBefore };
if (values.json) {
  const phases = { single: { busy: alone.busy, quiet: alone.quiet }, bulk: { busy: bulk.busy, quiet: bulk.quiet }, restarted };
  process.stdout.write(`${JSON.stringify({ ...machine, minutes, count, ...phases, share, losses, isMet }, null, 2)}\n`);
} else {
  const us = (/** @type {Awaited<ReturnType<typeof over>>} */ { holderUsPerRenewal, membersUsPerRenewal }) =>
    `holder ${holderUsPerRenewal.toFixed(2)} µs, members ${membersUsPerRenewal.toFixed(2)} µs of processor time a renewal`;
  const ms = (/** @type {Awaited<ReturnType<typeof over>>} */ { holderMsPerSecond, membersMsPerSecond, changes, seconds }) =>
    `holder ${holderMsPerSecond.toFixed(1)} ms, members ${membersMsPerSecond.toFixed(1)} ms a second, with ${(changes / seconds).toFixed(0)} that come and go`;
  process.stdout.write(
    [
      `${count.toLocaleString('en')} leases of ${TERM_MS / 1000} s in one process, three members; Node ${machine.node}, ${machine.cpu}, load ${loadBefore}`,
      `each by itself   ${us(alone.quiet)}; ${ms(alone.busy)}`,
      `in bundles       ${us(bulk.quiet)}; ${ms(bulk.busy)}`,
      `                 ${share.holder.toFixed(3)} and ${share.members.toFixed(3)} of a single renewal (target ${SHARE_MAX})`,
      `                 ${bulk.quiet.messagesPerRound.toFixed(2)} messages to a member in a round of all (target ${MESSAGES_MAX})`,
      `member restarted ${ms(restarted)}; held ${restarted.held}`,
      `lost             ${losses} (target 0)`,
      isMet ? 'all targets met\n' : 'a target was missed\n',
    ].join('\n'),
  );
}
process.exit(isMet ? 0 : 1);
