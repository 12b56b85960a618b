/**
 * The rules of leases on storage, by name. In production all are in force; only the simulator takes one out (a
 * mutant), to show that something breaks. `docs/research/divergence/storage.md` says why each is there.
 */

/** Rules of both kinds of stores. */
export interface StorageRules {
  /** Rule 12: a holder is dead when either of its clocks says so. */
  readonly holderWatchesWall: boolean;
  /** A renewal that ends after the deadline extends nothing: a lease that is over stays over. */
  readonly endIsFinal: boolean;
  /** Waits are stretched by the rate error of two clocks. */
  readonly rateMargin: boolean;
  /** A record that cannot be read is not free. */
  readonly unreadableIsRefused: boolean;
  /** Rule 22: a new uid starts the observation anew. */
  readonly observesThisUid: boolean;
  /** Rule 23: under a new epoch nothing is taken before one observation has passed. */
  readonly epochWait: boolean;
}

/** Rules of plain registers (8.1). */
export interface DeltaRules extends StorageRules {
  /** Rule 14: a read and a write that took 2δ together, or longer, void the attempt. */
  readonly timingCheck: boolean;
  /** Rule 14: how long they took is judged by both clocks: a machine may have slept in between. */
  readonly ageByBothClocks: boolean;
  /** Rule 14: the deadline is at most the write's invocation + term + 4δ. */
  readonly deadlineFromWrite: boolean;
  /** Rule 21: an observer waits for the store's longest term, whatever the record says. */
  readonly waitOfStore: boolean;
  /** An observer waits 6δ longer than that. */
  readonly fullObservation: boolean;
  /** The read-back comes 2δ after the write's answer. */
  readonly readBackPause: boolean;
  /** Rule 15: a void attempt releases nothing. */
  readonly voidReleasesNothing: boolean;
  /** Rule 15: a release does not touch the name. */
  readonly releaseApart: boolean;
  /** Rule 20: a write is sent once. */
  readonly writeOnce: boolean;
  /** Rule 16: each reader writes a name of its own, so that a waiting writer sees that it came. */
  readonly readersHaveNames: boolean;
  /** Rule 16: a reader joins another only on the other's statement that it holds. */
  readonly joinsOnStatement: boolean;
  /** Rule 16: a reader's name is never said to be released: others may hold by it. */
  readonly readersRunOut: boolean;
}

/** Rules of stores that can compare and set (8.2). */
export interface CasRules extends StorageRules {
  /** A record is watched for its whole term. */
  readonly fullObservation: boolean;
  /** The deadline counts from the invocation of the write. */
  readonly deadlineFromStart: boolean;
  /** A record is taken on the condition that it is still the record that was seen. */
  readonly conditionalTake: boolean;
  readonly conditionalRenewal: boolean;
  readonly conditionalRelease: boolean;
  /** Rule 24: a token is above the record's. */
  readonly tokenAboveRecord: boolean;
  /** Rule 24: a token is above the tokens of erased records. */
  readonly tokenAboveFloor: boolean;
  /** A write whose answer was lost may have won: the next read tells. */
  readonly lostAnswerIsRead: boolean;
  /** A record that this process remembers to have set free is taken on the condition that it is still so. */
  readonly memoryIsChecked: boolean;
  /** Rule 23: memories of another epoch are forgotten, and a new epoch is waited out in any case. */
  readonly memoryIsOfEpoch: boolean;
  /** Rule 16: a writer waits for every reader, and a reader for the writer. */
  readonly writersWaitForReaders: boolean;
  /** Rule 16: a reader's row is taken out by the reader itself, or by a process that has watched it for its term. */
  readonly rowsAreWatched: boolean;
  /** Rule 16: no reader joins while a writer waits. */
  readonly writersArePreferred: boolean;
  /** S9: data is stored on the condition that the record is still the holder's. */
  readonly conditionalSync: boolean;
}

const ALL_STORAGE_RULES: StorageRules = {
  holderWatchesWall: true,
  endIsFinal: true,
  rateMargin: true,
  unreadableIsRefused: true,
  observesThisUid: true,
  epochWait: true,
};

export const ALL_DELTA_RULES: DeltaRules = {
  ...ALL_STORAGE_RULES,
  timingCheck: true,
  ageByBothClocks: true,
  deadlineFromWrite: true,
  waitOfStore: true,
  fullObservation: true,
  readBackPause: true,
  voidReleasesNothing: true,
  releaseApart: true,
  writeOnce: true,
  readersHaveNames: true,
  joinsOnStatement: true,
  readersRunOut: true,
};

/** What the paper has of them, on its single register. */
export const LITERAL_DELTA_RULES: DeltaRules = {
  ...ALL_DELTA_RULES,
  holderWatchesWall: false,
  timingCheck: false,
  deadlineFromWrite: false,
  releaseApart: false,
};

export const ALL_CAS_RULES: CasRules = {
  ...ALL_STORAGE_RULES,
  fullObservation: true,
  deadlineFromStart: true,
  conditionalTake: true,
  conditionalRenewal: true,
  conditionalRelease: true,
  tokenAboveRecord: true,
  tokenAboveFloor: true,
  lostAnswerIsRead: true,
  memoryIsChecked: true,
  memoryIsOfEpoch: true,
  writersWaitForReaders: true,
  rowsAreWatched: true,
  writersArePreferred: true,
  conditionalSync: true,
};
