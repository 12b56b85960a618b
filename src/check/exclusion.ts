/**
 * Exclusion: at most one hold of a resource is open at any instant, or any number that are all shared. A hold opens with `granted` and
 * closes with `ended` or with the crash of its incarnation.
 * The writer of the history guarantees: a hold whose own clocks have passed its deadline is closed by
 * an `ended` record (reason `deadline`) before any other record of that resource. So this referee
 * reads no clocks, and a hold that is open in the history is one its holder believes in.
 */
import { modesClash, type Json } from '../kernel/index.ts';
import type { Granted, HistoryRecord, RecordKind, Renewed, Used } from './history.ts';
import { OpenHolds } from './holds.ts';
import type { Perspective } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

export class ExclusionReferee implements Referee {
  readonly property = 'exclusion' as const;
  readonly handles: readonly RecordKind[] = ['granted', 'renewed', 'used', 'ended', 'crashed'];
  readonly #holds = new OpenHolds();

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        const violation = this.#overlap(record, 'was granted');
        this.#holds.open(record);
        return violation;
      }
      case 'renewed':
        this.#holds.retune(record);
        return this.#holds.find(record) === undefined ? this.#overlap(record, 'revived and renewed') : null;
      case 'used':
        return this.#holds.find(record) === undefined ? this.#overlap(record, 'revived and used') : null;
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

  #overlap(act: Granted | Renewed | Used, did: string): Violation | null {
    const { mode = 'exclusive' } = act;
    let other = this.#holds.newest(act.resource) ?? null;
    while (other !== null && !modesClash(mode, other.mode)) other = other.next;
    if (other === null) return null;
    const message =
      `${party(act)} ${did} ${quoted(act.resource)} with token ${act.token} at ${instant(act.at)}, ` +
      `while ${party(other)} holds it with token ${other.token}${other.since === null ? '' : ` since ${instant(other.since)}`}`;
    return { property: this.property, at: act.at, message };
  }
}
