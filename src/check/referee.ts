/** A referee is shown the records of a history in order, and says what is wrong. */
import type { Json } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind } from './history.ts';
import type { Perspective } from './memory.ts';

export interface Violation {
  /** Which promise was broken, for example `exclusion`. */
  readonly property: string;
  /** `at` of the record that showed it. */
  readonly at: number;
  /** One sentence for a person, naming nodes, resources and tokens. */
  readonly message: string;
}

export interface Referee {
  readonly property: string;
  /** The kinds of records it judges or needs to judge others. A kind that no referee of a panel handles is refused there. */
  readonly handles: readonly RecordKind[];
  /** The violation this record completes, or null. A referee keeps judging after a violation. */
  observe(record: HistoryRecord): Violation | null;
  /** Judges what can only be judged at the end. */
  finish(at: number): readonly Violation[];
  /**
   * All that can still matter to its judgement, as plain data: equal for any two pasts after which it judges alike, however they came
   * about. Facts for messages only (instants, actors) are left out, and instants count from the present, or the explorer would take
   * states for different that are not.
   */
  snapshot(seen: Perspective): Json;
  /** Of a referee that was just built with the same arguments: it goes on from what a snapshot remembers. */
  restore(memory: Json, now: number): void;
}
