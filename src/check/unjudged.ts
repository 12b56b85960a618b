/**
 * Records that a protocol writes and that no referee judges in this world, with the reason. A panel refuses a kind of record that no referee
 * handles, so whatever goes unjudged is named here and nowhere else.
 */
import type { Json } from '../kernel/index.ts';
import type { RecordKind } from './history.ts';
import type { Referee, Violation } from './referee.ts';

export class Unjudged implements Referee {
  readonly property = 'unjudged' as const;
  readonly handles: readonly RecordKind[];
  /** One clause for a person. */
  readonly why: string;

  constructor(kinds: readonly RecordKind[], why: string) {
    this.handles = kinds;
    this.why = why;
  }

  observe(): Violation | null {
    return null;
  }

  finish(): readonly Violation[] {
    return [];
  }

  snapshot(): Json {
    return null;
  }

  restore(): void {}
}
