/**
 * Deadline: no holder acts past its deadline. A lease is handed over, renewed and used only while time
 * is left on the holder's own clocks (rule 11), and never after its hold was ended for any reason.
 */
import type { Json } from '../kernel/index.ts';
import type { Granted, HistoryRecord, RecordKind, Renewed, Used } from './history.ts';
import { OpenHolds } from './holds.ts';
import type { Perspective } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted, span } from './wording.ts';

export class DeadlineReferee implements Referee {
  readonly property = 'deadline' as const;
  readonly handles: readonly RecordKind[] = ['granted', 'renewed', 'used', 'ended', 'crashed'];
  readonly #holds = new OpenHolds();

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted':
        this.#holds.open(record);
        return this.#judgeRemaining(record);
      case 'renewed':
      case 'used':
        if (this.#holds.find(record) === undefined) return this.#violation(record, 'without an open hold: it was ended, or never granted');
        return this.#judgeRemaining(record);
      case 'ended':
        this.#holds.close(record);
        return null;
      case 'crashed':
        this.#holds.closeAllOf(record);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    return this.#holds.snapshot(seen);
  }

  restore(memory: Json): void {
    this.#holds.restore(memory);
  }

  #judgeRemaining(act: Granted | Renewed | Used): Violation | null {
    // Not `<= 0`: a value that is no number must not pass.
    if (act.remainingUs > 0) return null;
    return this.#violation(act, `with ${span(act.remainingUs)} left`);
  }

  #violation(act: Granted | Renewed | Used, how: string): Violation {
    const did = act.kind === 'granted' ? 'was granted' : act.kind;
    return {
      property: this.property,
      at: act.at,
      message: `${party(act)} ${did} ${quoted(act.resource)} (token ${act.token}) at ${instant(act.at)} ${how}`,
    };
  }
}
