/** An observer of lease histories: counts what must happen sometimes, so that a campaign in which nothing interesting happened is noticed. */
import type { HistoryRecord, Referee, Violation } from '../check/index.ts';
import type { Sometime } from './protocol.ts';

export const LEASE_INTERESTS: readonly Sometime[] = [
  { name: 'grant', description: 'a lease was granted' },
  { name: 'renewal', description: 'a lease was renewed' },
  { name: 'release', description: 'a holder gave its lease back' },
  { name: 'lapse', description: 'a lease ran out on its holder' },
  { name: 'use', description: 'a holder acted under its lease' },
  { name: 'take-over-after-crash', description: 'a lease was granted whose last holder had crashed holding it' },
  { name: 'take-over-after-lapse', description: 'a lease was granted whose last holder had let it run out' },
];

/** Not a judge: it never objects. */
export class LeaseObserver implements Referee {
  readonly property = 'interest';
  readonly #sometimes: (name: string) => void;
  /** How the last hold of each resource ended. */
  readonly #lastEnd = new Map<string, string>();
  readonly #holders = new Map<string, { node: number | string; incarnation: number }>();

  constructor(sometimes: (name: string) => void) {
    this.#sometimes = sometimes;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        this.#sometimes('grant');
        const end = this.#lastEnd.get(record.resource);
        if (end === 'crashed') this.#sometimes('take-over-after-crash');
        if (end === 'deadline' || end === 'lost') this.#sometimes('take-over-after-lapse');
        this.#holders.set(record.resource, record);
        break;
      }
      case 'renewed':
        this.#sometimes('renewal');
        break;
      case 'used':
        this.#sometimes('use');
        break;
      case 'ended':
        this.#sometimes(record.reason === 'released' ? 'release' : 'lapse');
        this.#lastEnd.set(record.resource, record.reason);
        this.#holders.delete(record.resource);
        break;
      case 'crashed':
        for (const [resource, holder] of this.#holders) {
          if (holder.node !== record.node || holder.incarnation !== record.incarnation) continue;
          this.#holders.delete(resource);
          this.#lastEnd.set(resource, 'crashed');
        }
        break;
      default:
        break;
    }
    return null;
  }

  finish(): readonly Violation[] {
    return [];
  }
}
