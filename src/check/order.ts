/**
 * Order of waiters: who began after another was queued at a majority is not served before it. Both instants
 * are in the history: `requested` is written before the request begins, `queued` after a majority has
 * answered. What began in between may be served either way, and so may what the clocks cannot tell apart.
 * An engine keeps this order only while waiters answer in time, so it is judged only where they do.
 */
import type { HistoryRecord, Requested } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Live {
  readonly asked: Requested;
  /** When it was known to stand in line; Infinity before. */
  queuedAt: number;
}

export class OrderReferee implements Referee {
  readonly property = 'order' as const;
  readonly #boundUs: number;
  readonly #live = new PerIncarnation<Map<number, Live>>();
  /** Those in line by resource, in the order in which they came to be. */
  readonly #lines = new Map<string, Set<Live>>();

  /** Each clock is at most this far from the true time. */
  constructor(clockBoundUs = 0) {
    this.#boundUs = clockBoundUs;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'requested': {
        let live = this.#live.get(record);
        if (live === undefined) this.#live.set(record, (live = new Map()));
        live.set(record.request, { asked: record, queuedAt: Infinity });
        return null;
      }
      case 'queued': {
        const one = this.#live.get(record)?.get(record.request);
        if (one === undefined || one.queuedAt !== Infinity) return null;
        one.queuedAt = record.at;
        this.#line(record.resource).add(one);
        return null;
      }
      case 'abandoned':
        this.#remove(record);
        return null;
      case 'granted': {
        const served = this.#remove(record);
        const [first] = this.#line(record.resource);
        if (served === undefined || first === undefined) return null;
        if (first.queuedAt + 2 * this.#boundUs >= served.asked.at) return null;
        const message =
          `${party(record)} was granted ${quoted(record.resource)} with token ${record.token}, though its request ${record.request} began at ` +
          `${instant(served.asked.at)} and request ${first.asked.request} of ${party(first.asked)} stands in line since ${instant(first.queuedAt)}`;
        return { property: this.property, at: record.at, message };
      }
      case 'crashed':
        for (const one of this.#live.take(record)?.values() ?? []) this.#line(one.asked.resource).delete(one);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  #line(resource: string): Set<Live> {
    let line = this.#lines.get(resource);
    if (line === undefined) this.#lines.set(resource, (line = new Set()));
    return line;
  }

  #remove(record: Extract<HistoryRecord, { kind: 'granted' | 'abandoned' }>): Live | undefined {
    const live = this.#live.get(record);
    const one = live?.get(record.request);
    if (one === undefined) return undefined;
    live?.delete(record.request);
    this.#line(record.resource).delete(one);
    return one;
  }
}
