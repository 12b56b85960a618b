/** The rules of interval leases by name, so that the simulator can take out one at a time. Why each is there: `docs/research/divergence/interval.md`. */

/** What an acceptor keeps to. */
export interface AcceptorRules {
  /** A retransmission is acknowledged again, not refused by its own first copy. */
  readonly sameRequestAgain: boolean;
  /** A claim is known by incarnation and counter, not by its range. */
  readonly keyedByClaim: boolean;
  /** A claim is known by incarnation and counter, not by node and counter. */
  readonly keyedByIncarnation: boolean;
  /** An answer leaves when its record is stored. */
  readonly replyAfterStore: boolean;
  /** s ≤ e′ and s′ ≤ e. The paper's test misses a request inside an interval. */
  readonly overlapByEnds: boolean;
  /** A withdrawal removes that claim, not any claim with its range. */
  readonly withdrawsThatClaim: boolean;
  /** A withdrawn claim that comes again is ignored. */
  readonly withdrawnIsIgnored: boolean;
}

/** What a claimant keeps to. */
export interface ClaimantRules {
  readonly majorityGrants: boolean;
  /** Members are counted, not messages. */
  readonly distinctMembers: boolean;
  /** A claim that was granted is never withdrawn. */
  readonly grantedIsKept: boolean;
  /** A claim is given up for good before it is withdrawn. */
  readonly givenUpBeforeWithdrawn: boolean;
  /** An ACK of an older disk than is known of does not count. */
  readonly newestDisksCount: boolean;
}

export interface IntervalRules extends AcceptorRules, ClaimantRules {
  /** A disk that was lost is not in use before others have noted that. */
  readonly lostIsNotBlank: boolean;
  /** Copied integers are taken for good, never acknowledged again. */
  readonly copiedIsTaken: boolean;
}

export const ALL_INTERVAL_RULES: IntervalRules = {
  sameRequestAgain: true,
  keyedByClaim: true,
  keyedByIncarnation: true,
  replyAfterStore: true,
  overlapByEnds: true,
  withdrawsThatClaim: true,
  withdrawnIsIgnored: true,
  majorityGrants: true,
  distinctMembers: true,
  grantedIsKept: true,
  givenUpBeforeWithdrawn: true,
  newestDisksCount: true,
  lostIsNotBlank: true,
  copiedIsTaken: true,
};
