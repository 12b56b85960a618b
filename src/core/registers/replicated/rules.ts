/** The rules of registers over several units, by their names. A mutant lacks one of them; only the simulator builds mutants. */

export interface UnitsRules {
  /** A value at fewer than a quorum of the units is not written. */
  readonly quorumWrites: boolean;
  /** A unit that can swap keeps the larger stamp: no write lands on a record that its writer has not seen. */
  readonly keepsLarger: boolean;
  /** One write of a plain register is under way: the next one waits for its end, or goes to another register. */
  readonly oneWriteUnderWay: boolean;
  /** The register of a plain unit belongs to one life of a process, not to the process. */
  readonly slotOfLife: boolean;
  /** A value that was read is written back. */
  readonly writesBack: boolean;
  /** A unit without its identity is dead, not blank (rule 26). */
  readonly unmarkedIsDead: boolean;
  /** Identities are read once more after the last answer (rule 26). */
  readonly identityReadAgain: boolean;
  /** A repaired unit is marked before anything is copied to it (rule 26). */
  readonly marksBeforeCopy: boolean;
  /** Of a unit in another epoch than it was named in nothing counts (rule 23). */
  readonly epochCounts: boolean;
  /** Ranks belong to one life of a process, and are above all that were seen. */
  readonly freshRanks: boolean;
  /** A write of a ranked register is refused where a higher rank was promised. */
  readonly promiseBinds: boolean;
  /** Only the leader tries to decide. */
  readonly leaderDecides: boolean;
}

export const ALL_UNITS_RULES: UnitsRules = {
  quorumWrites: true,
  keepsLarger: true,
  oneWriteUnderWay: true,
  slotOfLife: true,
  writesBack: true,
  unmarkedIsDead: true,
  identityReadAgain: true,
  marksBeforeCopy: true,
  epochCounts: true,
  freshRanks: true,
  promiseBinds: true,
  leaderDecides: true,
};
