/** The rules of consensus by name (docs/research/divergence/fast-ct.md). All of them are in force; the simulator switches off one at a time, as a mutant. */

export interface ConsensusRules {
  /** Only members are heard. */
  readonly membersOnly: boolean;
  /** An estimate that no coordinator has proposed in a round has a timestamp below all rounds. */
  readonly tsBelowRounds: boolean;
  /** An estimate that was adopted carries the round of its proposal. */
  readonly keepsTimestamp: boolean;
  /** A coordinator proposes only a value it chose among the estimates of a majority. */
  readonly estimatesOfQuorum: boolean;
  /** A member that acknowledges a proposal has adopted it. */
  readonly ackAdopts: boolean;
  /** The estimate, its timestamp and the round are stored before the ACK. */
  readonly storesBeforeAck: boolean;
  /** The round is stored before its ESTIMATE, which is a promise, and before its NEWESTIMATE. */
  readonly storesBeforeEstimate: boolean;
  /** A recovered member enters a round above its stored one. */
  readonly recoversAbove: boolean;
  /** A member that is in another round than it is asked about says so: NACK, ROUND. */
  readonly answersRefusals: boolean;
  /** A member that learns a decision relays it. */
  readonly relays: boolean;
  /** FAST: only the holder of the instance's lease leads a FAST round. */
  readonly fastNeedsLease: boolean;
  /** FAST: a recovered member leads no FAST round of an instance that it has a record of. */
  readonly neverFastAgain: boolean;
  /** FAST: a member that will not lead the FAST round for which it is asked says so. */
  readonly aborts: boolean;
  /** A member without its memory takes no part in instances it may have voted in. */
  readonly abstains: boolean;
  /** A vote stays on the disk until the outer log has the decision there. */
  readonly votesStayUntilLogged: boolean;
  /** A member tells askers the bound below which it abstains itself, besides up to where it took part. */
  readonly tellsOwnBound: boolean;
}

export const ALL_CONSENSUS_RULES: ConsensusRules = {
  membersOnly: true,
  tsBelowRounds: true,
  keepsTimestamp: true,
  estimatesOfQuorum: true,
  ackAdopts: true,
  storesBeforeAck: true,
  storesBeforeEstimate: true,
  recoversAbove: true,
  answersRefusals: true,
  relays: true,
  fastNeedsLease: true,
  neverFastAgain: true,
  aborts: true,
  abstains: true,
  votesStayUntilLogged: true,
  tellsOwnBound: true,
};
