/**
 * What the answers of a name's voters add up to. Voters answer at different instants, so each says for how long it
 * has been as it tells: what was so when the question began was so at all of them at one instant.
 */
import { monoAfter, type BallotTime, type Incarnation, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import { stretch } from '../timing.ts';

export interface ToldVote {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly token: number;
  readonly ballot: BallotTime;
  /** It cannot last longer here. */
  readonly until: MonoUs;
  readonly meta: Uint8Array;
}

/** What one voter told. */
export interface VoterAnswer {
  /** Null: it has none. */
  readonly vote: ToldVote | null;
  /** When the question began, it had this vote; or, if it has none, no vote of it has run out since. */
  readonly isSteady: boolean;
}

export interface HolderFinding {
  /** The votes for the only possible holder, or for the likeliest; none if there is none. */
  readonly votes: readonly ToldVote[];
  readonly certain: boolean;
}

interface Electors {
  readonly voters: number;
  readonly quorum: number;
  /** False in the mutant that puts all tries of a lease together. */
  readonly byToken: boolean;
}

/** When a question began, on both clocks of whoever asks. */
export interface QuestionStart {
  readonly monoUs: MonoUs;
  readonly wallUs: WallUs;
}

/**
 * A holder is certain if a quorum had its votes when the question began. It is ruled out if so many had another vote or
 * none that every quorum has one of them: had it held when the question began, and not given back since, that one would have told.
 */
export function findingOf(told: readonly VoterAnswer[], { voters, quorum, byToken }: Electors): HolderFinding {
  const blocking = voters - quorum + 1;
  const steady = told.filter(({ isSteady }) => isSteady);
  let likeliest: readonly ToldVote[] = [];
  for (const { vote } of told) {
    if (vote === null || likeliest.includes(vote)) continue;
    const same = ({ vote: other }: VoterAnswer): boolean => other !== null && isSame(vote, other, byToken);
    const steadyCount = steady.filter(same).length;
    const votes = told.filter(same).flatMap(({ vote: one }) => one ?? []);
    if (steadyCount >= quorum) return { votes, certain: true };
    if (steady.length - steadyCount < blocking && votes.length > likeliest.length) likeliest = votes;
  }
  return { votes: likeliest, certain: likeliest.length === 0 && steady.length >= blocking };
}

function isSame(a: ToldVote, b: ToldVote, byToken: boolean): boolean {
  return a.owner === b.owner && a.lease === b.lease && (a.token === b.token || !byToken);
}

/**
 * Whether the last `steadyUs` of a member's clock cover all the time since the question began. The clock that stands still while
 * a machine sleeps must not make that shorter, and neither must the one that may be set: the longer counts (rule 12).
 */
export function covers(steadyUs: number, since: QuestionStart, now: QuestionStart, rateErrorPpm: number): boolean {
  const elapsedUs = Math.max(0, now.monoUs - since.monoUs, now.wallUs - since.wallUs);
  return steadyUs >= stretch(elapsedUs, rateErrorPpm);
}

/** The newest of votes for one lease: of what a holder says of itself, that which came with the highest ballot counts. */
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
    until: monoAfter(step.monoUs, stretch(message.remainingUs, rateErrorPpm)),
    meta: message.meta.slice(message.metaStart, message.metaEnd),
  };
}

/** Without a renewal it cannot last longer than the longest of its votes. */
export function remainingOfVotes(votes: readonly ToldVote[], step: QuorumStep): number {
  return Math.max(0, ...votes.map(({ until }) => until - step.monoUs));
}
