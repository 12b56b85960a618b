/**
 * Claims: no integer of a space is given twice, and each allotment answers a claim. Neither needs a clock, so histories of several processes by their own wall
 * clocks are judged as they are. At most once: an interval, once allotted, overlaps no other of its space, whichever process asks, for ever. Claims: each allotment
 * is the answer to one claim of the same process that was made, not refused, not given up and not answered before, and has its very interval or size.
 */
import { IntervalSet, type Interval, type Json } from '../kernel/index.ts';
import type { Allotted, Claimed, HistoryRecord, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

/** The allotments of a space: a set to judge by, and a list, rising, to name the other one. */
interface Allotments {
  readonly set: IntervalSet;
  readonly all: Allotted[];
}

export class AtMostOnceReferee implements Referee {
  readonly property = 'at-most-once' as const;
  readonly handles: readonly RecordKind[] = ['claimed', 'allotted', 'rejoined'];
  readonly #spaces = new Map<string, Allotments>();

  observe(record: HistoryRecord): Violation | null {
    if (record.kind !== 'allotted') return null;
    const { space, from, to } = record;
    const { set, all } = this.#allotmentsOf(space);
    const isTwice = set.overlaps(from, to);
    const other = isTwice ? all.find((one) => one.from <= to && from <= one.to) : undefined;
    set.add(from, to);
    all.push(record);
    if (!isTwice) return null;
    const whose = other
      ? `${party(other)} was given [${other.from}, ${other.to}] at ${instant(other.at)}`
      : 'some of that was given before';
    const message = `${party(record)} was given [${from}, ${to}] of ${quoted(space)} at ${instant(record.at)}, but ${whose}`;
    return { property: this.property, at: record.at, message };
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(): Json {
    return inOrder([...this.#spaces].map(([space, { set }]): SpaceMemory => [space, [...set]]));
  }

  restore(memory: Json): void {
    for (const [space, intervals] of memory as unknown as readonly SpaceMemory[])
      for (const [from, to] of intervals) this.#allotmentsOf(space).set.add(from, to);
  }

  #allotmentsOf(space: string): Allotments {
    const known = this.#spaces.get(space);
    if (known) return known;
    const made: Allotments = { set: new IntervalSet(), all: [] };
    this.#spaces.set(space, made);
    return made;
  }
}

type SpaceMemory = readonly [space: string, intervals: readonly Interval[]];

/** The claim: an interval, or a size. */
type Wish = readonly [space: string, from: number, to: number, size: number];
type WishMemory = readonly [who: WhoMemory, claim: number, wish: Wish];

const NO_INTERVAL = -1;

export class ClaimReferee implements Referee {
  readonly property = 'claims' as const;
  readonly handles: readonly RecordKind[] = ['claimed', 'allotted', 'denied', 'recalled', 'crashed'];
  readonly #live = new PerIncarnation<Map<number, Wish>>();

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'claimed': {
        const { space, claim, from = NO_INTERVAL, to = NO_INTERVAL, size = 0 } = record;
        const live = this.#liveOf(record);
        if (live.has(claim)) return this.#violation(record, 'was made twice: a claim has a number of its own within its incarnation');
        live.set(claim, [space, from, to, size]);
        return null;
      }
      case 'allotted':
        return this.#allot(record);
      case 'denied':
      case 'recalled':
        this.#live.get(record)?.delete(record.claim);
        return null;
      case 'crashed':
        this.#live.take(record);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    return inOrder(
      [...this.#live.entries()].flatMap(([who, wishes]) =>
        [...wishes].map(([claim, wish]): WishMemory => [whoSeen(who, seen), claim, wish]),
      ),
    );
  }

  restore(memory: Json): void {
    for (const [[node, incarnation], claim, wish] of memory as unknown as readonly WishMemory[])
      this.#liveOf({ node, incarnation }).set(claim, wish);
  }

  #allot(record: Allotted): Violation | null {
    const { claim, space, from, to } = record;
    const live = this.#live.get(record);
    const wish = live?.get(claim);
    if (live === undefined || wish === undefined)
      return this.#violation(record, 'was granted but is not live: never made, refused, given up or granted before, or crashed');
    live.delete(claim);
    const [asked, askedFrom, askedTo, size] = wish;
    const fits = askedFrom === NO_INTERVAL ? to - from + 1 === size : askedFrom === from && askedTo === to;
    if (asked === space && fits) return null;
    return this.#violation(record, `was granted [${from}, ${to}], which is not what it asked for`);
  }

  #liveOf(who: Who): Map<number, Wish> {
    let live = this.#live.get(who);
    if (live === undefined) this.#live.set(who, (live = new Map()));
    return live;
  }

  #violation(record: Claimed | Allotted, what: string): Violation {
    const message = `claim ${record.claim} of ${party(record)} in ${quoted(record.space)} ${what} (at ${instant(record.at)})`;
    return { property: this.property, at: record.at, message };
  }
}
