/**
 * The rules of Flease and PaxosLease, by name. In production all are in force; the simulator takes one out
 * (a mutant), or all that the papers do not have (the literal variants), to show that something breaks.
 * `docs/research/divergence/flease.md` and `docs/research/divergence/paxoslease.md` say why each is there.
 */
export interface RoundRules {
  /** Rule 1: an attempt has a deadline, stored as data and checked in every handler. */
  readonly attemptDeadline: boolean;
  /** Rule 1: the lease's end is counted from the attempt's first message. */
  readonly deadlineFromFirstMessage: boolean;
  /** Rule 2: an acceptor never replaces a live lease of another owner. */
  readonly keepLiveLease: boolean;
  /** Rule 3: an owner is an incarnation, not a node. */
  readonly ownerIsIncarnation: boolean;
  /** Rule 3: a process asks in the name of its own incarnation. */
  readonly asksInOwnName: boolean;
  /** Answers are heard from members only, and counted only from members that were asked. */
  readonly answersFromAsked: boolean;
  /** Rule 3: only the lease that is being renewed is open to its owner. */
  readonly handlesApart: boolean;
  /** Rule 4: after a start, silence. */
  readonly restartSilence: boolean;
  /** Rule 4, Flease: the silence has twice the largest difference of clocks in it. */
  readonly silenceTwoEpsilon: boolean;
  /** Rule 5: voters are counted, not messages. */
  readonly distinctVoters: boolean;
  /** Rule 5: a refusal is no vote. */
  readonly refusalIsNoVote: boolean;
  /** Rule 6: the owner has stopped before its release leaves. */
  readonly stopBeforeRelease: boolean;
  /** Rule 6: a failed attempt is void before its votes are given back. */
  readonly voidBeforeRelease: boolean;
  /** Rule 6: the votes of a failed attempt are given back. */
  readonly giveBack: boolean;
  /** Rule 6: a release ends only the lease it names, and only up to its ballot. */
  readonly releaseByBallot: boolean;
  /** Rule 7: an extension never shortens. */
  readonly neverShorten: boolean;
  /** Rule 8: a renewal extends only after a fresh quorum. */
  readonly renewalNeedsQuorum: boolean;
  /** Rule 8: a promise to a contender never blocks the live owner. */
  readonly promiseYieldsToOwner: boolean;
  /** Rule 8, Flease: a helper's write leaves what the owner said of itself last. */
  readonly ownersWordStands: boolean;
  /** Rule 9, Flease: ballots are compared by buckets of time, not by "equal if within ε". */
  readonly bucketedBallots: boolean;
  /** Rule 9: equal times are told apart by incarnation, not by a hash of the node. */
  readonly ballotsByIncarnation: boolean;
  /** Rule 10: where times are absolute, a message about a lease that has ended is dropped. */
  readonly dropExpired: boolean;
  /** Rule 12: votes end by monotonic time. */
  readonly votesByMonotonic: boolean;
  /** Rule 12: an owner's lease is over when either of its clocks says so. */
  readonly holderWatchesMono: boolean;
  /** P10: a node whose clock's rate is off neither votes nor counts votes, and votes of such a member are not counted. */
  readonly rateWatched: boolean;
  /** Rule 13: a vote counts only if the voter's clock is known to be within the bound. */
  readonly skewGuard: boolean;
  /** Algorithm 4: an acceptor keeps a lease ε beyond its end, by its own clock. PaxosLease: t_e + S goes to acceptors. */
  readonly safetyPeriod: boolean;
  /** Algorithm 4: a process that reads a lease that ended less than ε ago waits. */
  readonly epsilonWait: boolean;
  /** Ballots and tokens too far ahead of a node's own wall clock are not believed. */
  readonly believesNearOnly: boolean;
  /** Rule 18: tokens rise. */
  readonly tokenAboveFloor: boolean;
  /** PaxosLease, section 7: a majority of empty answers frees the proposer, whatever a minority has. */
  readonly majorityEmptyFrees: boolean;
  /** P6: learners are told when the owner's own clock ends the lease, not when the acceptors' may. */
  readonly learnOwnEnd: boolean;
  /** P6: learners hear of a release before it is proposed. */
  readonly learnersFirst: boolean;
  /** Retries are jittered. */
  readonly jitter: boolean;
}

export const ALL_ROUND_RULES: RoundRules = {
  attemptDeadline: true,
  deadlineFromFirstMessage: true,
  keepLiveLease: true,
  ownerIsIncarnation: true,
  asksInOwnName: true,
  answersFromAsked: true,
  handlesApart: true,
  restartSilence: true,
  silenceTwoEpsilon: true,
  distinctVoters: true,
  refusalIsNoVote: true,
  stopBeforeRelease: true,
  voidBeforeRelease: true,
  giveBack: true,
  releaseByBallot: true,
  neverShorten: true,
  renewalNeedsQuorum: true,
  promiseYieldsToOwner: true,
  ownersWordStands: true,
  bucketedBallots: true,
  ballotsByIncarnation: true,
  dropExpired: true,
  votesByMonotonic: true,
  holderWatchesMono: true,
  rateWatched: true,
  skewGuard: true,
  safetyPeriod: true,
  epsilonWait: true,
  believesNearOnly: true,
  tokenAboveFloor: true,
  majorityEmptyFrees: true,
  learnOwnEnd: true,
  learnersFirst: true,
  jitter: true,
};
