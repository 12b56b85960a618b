/**
 * Look-ups: which process has a name, or that none does. Answers to one reading are of different instants, and a lease that its owner holds
 * throughout may be at one voter no longer and at another not yet. So voters are read twice. An answer given both times was true in between, at
 * the instant when the second reading began: no other lease can have come and gone, because tokens only rise, and none at all where nothing
 * was written. A voter keeps its register as long as it keeps the promise of the first reading.
 */
import type { Incarnation } from '../../../kernel/index.ts';
import { findingOf, type HolderFinding, type VoterAnswer } from '../findings.ts';
import { stretch } from '../timing.ts';
import type { RoundContext } from './algorithm.ts';
import type { Claim, ReadAnswer, Round } from './claim.ts';
import type { RoundStep } from './config.ts';
import { isSameLease, type LeaseValue } from './messages.ts';

export interface LookedUp {
  /** `again`: this reading would do, if another says the same. `unsure`: all have answered, and that is not enough. */
  readonly kind: 'wait' | 'again' | 'certain' | 'unsure';
  /** The only possible lease, or the likeliest. */
  readonly value: LeaseValue | null;
  /** The lease as a quorum has it, if that is certain: a value that only some have may come of a failed renewal. */
  readonly sure: LeaseValue | null;
}

export function lookUp({ voters }: Claim, round: Round, context: RoundContext, step: RoundStep): LookedUp {
  const { quorum } = context;
  const { told, first } = round;
  const answers = told.map((one): VoterAnswer<LeaseValue> => ({ vote: one.value, isSteady: first === null || isUnchanged(one, first) }));
  const finding = findingOf(answers, { voters: voters.length, quorum, isSame: isSameTry });
  const value = lastSaid(finding);
  if (finding.certain && first === null) return { kind: 'again', value, sure: null };
  if (finding.certain && isBrief(round, context, step)) return { kind: 'certain', value, sure: asQuorumHas(finding, quorum) };
  return { kind: voters.every((voter) => round.isHeard(voter)) ? 'unsure' : 'wait', value, sure: null };
}

function isSameTry(a: LeaseValue, b: LeaseValue): boolean {
  return isSameLease(a, b) && a.token === b.token;
}

function isUnchanged({ from, value, written, writer }: ReadAnswer, first: readonly ReadAnswer[]): boolean {
  const before = first.find((one) => one.from === from);
  if (before === undefined) return false;
  if (value === null || before.value === null) return value === before.value && isSameWrite(before, written, writer);
  return isSameTry(before.value, value);
}

function isSameWrite(before: ReadAnswer, written: number, writer: Incarnation): boolean {
  return before.written === written && before.writer === writer;
}

/** No voter has forgotten the promise of the first reading, by any clock within the bounds: also if this machine slept. */
function isBrief({ startMono, startWall }: Round, { timing }: RoundContext, step: RoundStep): boolean {
  const elapsedUs = Math.max(0, step.monoUs - startMono, step.wallUs - startWall);
  return stretch(elapsedUs, timing.rateErrorPpm) <= timing.promiseUs;
}

/** The lease as its owner wrote it last, with the latest end that any voter has of it. */
function lastSaid({ votes }: HolderFinding<LeaseValue>): LeaseValue | null {
  const [first, ...others] = votes;
  if (first === undefined) return null;
  const last = others.reduce((a, b) => (b.ownBallot > a.ownBallot ? b : a), first);
  return { ...last, untilUs: Math.max(...votes.map(({ untilUs }) => untilUs)) };
}

function asQuorumHas({ votes }: HolderFinding<LeaseValue>, quorum: number): LeaseValue | null {
  return votes.toSorted((a, b) => b.untilUs - a.untilUs)[quorum - 1] ?? null;
}
