/** What a referee is: it is shown the records of a history in order, and says what is wrong. */
import type { HistoryRecord } from './history.ts';

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
  /** The violation this record completes, or null. A referee keeps judging after a violation. */
  observe(record: HistoryRecord): Violation | null;
  /** Judges what can only be judged at the end. */
  finish(at: number): readonly Violation[];
}
