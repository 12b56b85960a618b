/**
 * Votes as voters tell of them. Voters answer at different instants, so each says for how long it has been as it tells: what
 * was so when the question began was so at all of them at one instant.
 */
import { monoAfter, type BallotTime, type Incarnation, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { HolderHint } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { BUNDLE, READ_BACK, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { QuorumRules } from './rules.ts';
import { stretch } from '../timing.ts';

export interface ToldVote {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly token: number;
  readonly ballot: BallotTime;
  readonly mode: number;
  /** It cannot last longer here. */
  readonly until: MonoUs;
  readonly meta: Uint8Array;
  /** Its holder renews it in a bundle. */
  readonly inBundle: boolean;
}

/** When a question began, on both clocks of the asker. */
export interface QuestionStart {
  readonly monoUs: MonoUs;
  readonly wallUs: WallUs;
}

/** Whether two votes are the same: for one try of one lease. A mutant puts all tries of a lease together. */
export function isSameVote({ atOneInstant }: QuorumRules): (a: ToldVote, b: ToldVote) => boolean {
  return (a, b) => a.owner === b.owner && a.lease === b.lease && (a.token === b.token || !atOneInstant);
}

/**
 * Whether a voter's answer was true when the question began: the last `steadyUs` of its clock cover all the time since. The clock that stands still
 * while a machine sleeps must not make that shorter, and neither must the clock that may be set: the longer span counts (rule 12).
 */
export function wasSo({ flags, steadyUs }: QuorumMessage, since: QuestionStart, now: QuestionStart, rateErrorPpm: number): boolean {
  if ((flags & READ_BACK) !== 0) return false;
  const elapsedUs = Math.max(0, now.monoUs - since.monoUs, now.wallUs - since.wallUs);
  return steadyUs >= stretch(elapsedUs, rateErrorPpm);
}

/** The newest of votes for one lease: a holder's metadata with the highest ballot counts. */
export function newestOf(votes: readonly ToldVote[], newestMeta: boolean): ToldVote | null {
  return votes.reduce<ToldVote | null>((newest, vote) => (newest && (!newestMeta || newest.ballot >= vote.ballot) ? newest : vote), null);
}

/** The vote that a voter tells of, kept. */
export function voteIn(message: QuorumMessage, rateErrorPpm: number, step: QuorumStep): ToldVote {
  return {
    owner: message.holder,
    lease: message.holderLease,
    token: message.token,
    ballot: message.ballot,
    mode: message.mode,
    until: monoAfter(step.monoUs, stretch(message.remainingUs, rateErrorPpm)),
    meta: message.meta.slice(message.metaStart, message.metaEnd),
    inBundle: (message.flags & BUNDLE) !== 0,
  };
}

/** Without a renewal it cannot last longer than the longest of its votes. */
export function remainingOfVotes(votes: readonly ToldVote[], step: QuorumStep): number {
  return Math.max(0, ...votes.map(({ until }) => until - step.monoUs));
}

/** The holder that a vote names. */
export function holderOf({ owner, token, mode }: ToldVote, remainingUsMax: number): HolderHint {
  return mode === EXCLUSIVE ? { owner, token, remainingUsMax } : { owner, token, remainingUsMax, mode: 'shared' };
}
