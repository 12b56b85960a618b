/**
 * Order of waiters: a request that began after another was queued at a majority is not served before it. Both instants
 * are in the history: `requested` is written before the request begins, `queued` after a majority has
 * answered. Requests that began in between may be served either way, and so may requests that the clocks cannot tell apart.
 * An engine keeps this order only while waiters answer in time, so it is judged only where they do.
 */
import { modesClash, type Json, type LeaseMode } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind, Requested } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Live {
  readonly who: Who;
  readonly resource: string;
  readonly request: number;
  readonly mode: LeaseMode;
  /** When it began, for messages; null where that was not remembered. */
  readonly askedAt: number | null;
  /** Requests with a place up to here stood in line, for certain, when it began. */
  readonly behind: number;
  /** Since when it is known to stand in line, and its place; Infinity before. */
  queuedAt: number;
  place: number;
}

/** The waiters for a resource. */
interface Line {
  /** By place. */
  readonly waiting: Set<Live>;
  /** By place, requests that a request which begins now may have come before, for all the clocks can tell. */
  readonly recent: Live[];
  /** The last place that a request which begins now is behind. */
  settled: number;
  places: number;
}

interface LineMemory {
  readonly resource: string;
  readonly waiting: readonly WaitingMemory[];
}

/** `sinceUs` counts from the present; null is long enough ago for a request that begins now to be behind it. */
type WaitingMemory = readonly [who: WhoMemory, request: number, behind: number, sinceUs: number | null, mode: LeaseMode];

interface OrderMemory {
  /** Requests that do not stand in line; `behind` is how many of the line they are behind. */
  readonly asked: readonly (readonly [resource: string, who: WhoMemory, request: number, behind: number, mode: LeaseMode])[];
  readonly lines: readonly LineMemory[];
}

export class OrderReferee implements Referee {
  readonly property = 'order' as const;
  readonly handles: readonly RecordKind[] = ['requested', 'queued', 'abandoned', 'granted', 'crashed'];
  readonly #boundUs: number;
  readonly #live = new PerIncarnation<Map<number, Live>>();
  readonly #lines = new Map<string, Line>();

  /** Each clock is at most this far from the true time. */
  constructor(clockBoundUs = 0) {
    this.#boundUs = clockBoundUs;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'requested':
        this.#request(record);
        return null;
      case 'queued': {
        const one = this.#live.get(record)?.get(record.request);
        if (one === undefined || one.queuedAt !== Infinity) return null;
        this.#queue(one, record.at);
        return null;
      }
      case 'abandoned':
        this.#remove(record);
        return null;
      case 'granted': {
        const served = this.#remove(record);
        if (served === undefined) return null;
        // Readers that stand in line one behind the other are served together.
        const first = this.#firstOf(record.resource, served.mode);
        if (first === undefined || first.place > served.behind) return null;
        const message =
          `${party(record)} was granted ${quoted(record.resource)} with token ${record.token}, though its request ${record.request} began at ` +
          `${when(served.askedAt)} and request ${first.request} of ${party(first.who)} stands in line since ${when(first.queuedAt)}`;
        return { property: this.property, at: record.at, message };
      }
      case 'crashed':
        for (const one of this.#live.take(record)?.values() ?? []) this.#line(one.resource).waiting.delete(one);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const asked: OrderMemory['asked'][number][] = [];
    for (const [who, requests] of this.#live.entries()) {
      for (const one of requests.values())
        if (one.queuedAt === Infinity) asked.push([one.resource, whoSeen(who, seen), one.request, this.#countBehind(one), one.mode]);
    }
    const lines: LineMemory[] = [];
    for (const [resource, line] of this.#lines) {
      if (line.waiting.size === 0) continue;
      this.#fixPlaces(line, seen.now);
      const waiting = [...line.waiting].map((one): WaitingMemory => [
        whoSeen(one.who, seen),
        one.request,
        this.#countBehind(one),
        one.place <= line.settled ? null : one.queuedAt - seen.now,
        one.mode,
      ]);
      lines.push({ resource, waiting });
    }
    return { asked: inOrder(asked), lines: inOrder(lines as unknown as Json[]) };
  }

  restore(memory: Json, now: number): void {
    const { asked, lines } = memory as unknown as OrderMemory;
    for (const { resource, waiting } of lines) {
      for (const [[node, incarnation], request, behind, sinceUs, mode] of waiting) {
        const one = this.#begin({ node, incarnation, resource, request, mode }, behind, null);
        this.#queue(one, sinceUs === null ? -Infinity : now + sinceUs);
      }
    }
    for (const [resource, [node, incarnation], request, behind, mode] of asked)
      this.#begin({ node, incarnation, resource, request, mode }, behind, null);
  }

  #request(record: Requested): void {
    const line = this.#line(record.resource);
    this.#fixPlaces(line, record.at);
    this.#begin(record, line.settled, record.at);
  }

  #firstOf(resource: string, mode: LeaseMode): Live | undefined {
    for (const one of this.#line(resource).waiting) if (modesClash(one.mode, mode)) return one;
    return undefined;
  }

  #begin(asked: Omit<Requested, 'kind' | 'at'>, behind: number, askedAt: number | null): Live {
    const { node, incarnation, resource, request, mode = 'exclusive' } = asked;
    const who: Who = { node, incarnation };
    const one: Live = { who, resource, request, mode, askedAt, behind, queuedAt: Infinity, place: Infinity };
    let live = this.#live.get(who);
    if (live === undefined) this.#live.set(who, (live = new Map()));
    live.set(request, one);
    return one;
  }

  #queue(one: Live, at: number): void {
    const line = this.#line(one.resource);
    one.queuedAt = at;
    one.place = ++line.places;
    line.waiting.add(one);
    line.recent.push(one);
  }

  /** Settles the waiters that have been in line for so long that a request which begins now began after them. */
  #fixPlaces(line: Line, now: number): void {
    for (let first = line.recent[0]; first !== undefined && first.queuedAt + 2 * this.#boundUs < now; first = line.recent[0]) {
      line.settled = first.place;
      line.recent.shift();
    }
  }

  #countBehind({ resource, behind }: Live): number {
    let count = 0;
    for (const { place } of this.#line(resource).waiting) if (place <= behind) count++;
    return count;
  }

  #line(resource: string): Line {
    let line = this.#lines.get(resource);
    if (line === undefined) this.#lines.set(resource, (line = { waiting: new Set(), recent: [], settled: 0, places: 0 }));
    return line;
  }

  #remove(record: Extract<HistoryRecord, { kind: 'granted' | 'abandoned' }>): Live | undefined {
    const live = this.#live.get(record);
    const one = live?.get(record.request);
    if (one === undefined) return undefined;
    live?.delete(record.request);
    this.#line(record.resource).waiting.delete(one);
    return one;
  }
}

function when(at: number | null): string {
  return at === null || at === -Infinity ? 'an earlier instant' : instant(at);
}
