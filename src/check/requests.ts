/**
 * Requests: no lease is given for a dead request. Every grant answers one live request of the same
 * incarnation for the same resource; a request dies when it is abandoned, when it is granted, and
 * when its incarnation crashes. Only live requests are remembered.
 */
import type { Json } from '../kernel/index.ts';
import type { Granted, HistoryRecord, RecordKind, Requested } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

type RequestMemory = readonly [who: WhoMemory, request: number, resource: string];

export class RequestReferee implements Referee {
  readonly property = 'requests' as const;
  readonly handles: readonly RecordKind[] = ['requested', 'granted', 'abandoned', 'crashed'];
  /** The resource of each live request, by its number. */
  readonly #live = new PerIncarnation<Map<number, string>>();
  /** The latest incarnation of each node that crashed. */
  readonly #crashed = new Map<number | string, number>();

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'requested':
        return this.#request(record);
      case 'granted':
        return this.#grant(record);
      case 'abandoned': {
        const live = this.#live.get(record);
        if (live?.get(record.request) === record.resource) live.delete(record.request);
        return null;
      }
      case 'crashed':
        this.#live.take(record);
        this.#crashed.set(record.node, record.incarnation);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  /**
   * Crashed incarnations are left out: the caller that restores a referee lets no crashed incarnation speak again, and crashes of nodes that
   * never ask would make states different that are not.
   */
  snapshot(seen: Perspective): Json {
    const live = [...this.#live.entries()].flatMap(([who, requests]) =>
      [...requests].map(([request, resource]): RequestMemory => [whoSeen(who, seen), request, resource]),
    );
    return inOrder(live);
  }

  restore(memory: Json): void {
    for (const [[node, incarnation], request, resource] of memory as readonly RequestMemory[])
      this.#liveOf({ node, incarnation }).set(request, resource);
  }

  #request(record: Requested): Violation | null {
    if (this.#crashed.get(record.node) === record.incarnation)
      return this.#violation(record, 'was made by an incarnation that has crashed');
    const live = this.#liveOf(record);
    if (live.has(record.request))
      return this.#violation(record, 'was made twice: a request has a number of its own within its incarnation');
    live.set(record.request, record.resource);
    return null;
  }

  #liveOf(who: Who): Map<number, string> {
    let live = this.#live.get(who);
    if (live === undefined) this.#live.set(who, (live = new Map()));
    return live;
  }

  #grant(record: Granted): Violation | null {
    const live = this.#live.get(record);
    const asked = live?.get(record.request);
    if (live === undefined || asked === undefined) {
      return this.#violation(
        record,
        `was granted token ${record.token} but is not live: never made, abandoned, granted before, or crashed`,
      );
    }
    if (asked !== record.resource) return this.#violation(record, `was granted token ${record.token} but asked for ${quoted(asked)}`);
    live.delete(record.request);
    return null;
  }

  #violation(record: Requested | Granted, what: string): Violation {
    const message = `request ${record.request} of ${party(record)} for ${quoted(record.resource)} ${what} (at ${instant(record.at)})`;
    return { property: this.property, at: record.at, message };
  }
}
