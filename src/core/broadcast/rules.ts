/** The rules of atomic broadcast by name (docs/research/divergence/fast-ct.md). All of them are in force; the simulator switches off one at a time, as a mutant. */

export interface BroadcastRules {
  /** Only decided batches are delivered. */
  readonly deliversDecided: boolean;
  /** A message is delivered once, and after the earlier messages of its process. */
  readonly deliversOnce: boolean;
  /** A process whose every message the log has dropped is new only if it says that it had nothing under way since. */
  readonly forgottenIsNotNew: boolean;
  /** Only messages of the member's own epoch are heard. */
  readonly hearsOwnEpoch: boolean;
  /** A member begins an epoch only in the life in which it was asked what it remembers. */
  readonly beginsOnce: boolean;
  /** A client publishes as itself only. */
  readonly clientsAreThemselves: boolean;
}

export const ALL_BROADCAST_RULES: BroadcastRules = {
  deliversDecided: true,
  deliversOnce: true,
  forgottenIsNotNew: true,
  hearsOwnEpoch: true,
  beginsOnce: true,
  clientsAreThemselves: true,
};
