/**
 * Atomic broadcast: *total-order* (all deliver along one sequence, without gaps) and *integrity* (an
 * incarnation delivers a message at most once, and only if it was broadcast). That every message
 * arrives at all is liveness and not judged here.
 *
 * The sequence is what the furthest have delivered. A node's first incarnation delivers it from its
 * beginning. A recovered incarnation may start at any place of it, or with the next undelivered
 * message, and goes on from there without a gap: some keep a log, some are sent a snapshot, some
 * replay everything. An incarnation that left the sequence is not judged for order again.
 */
import type { Json } from '../kernel/index.ts';
import type { Broadcast, Delivered, HistoryRecord, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type WhoMemory } from './memory.ts';
import { RecentMap, type RecentMemory } from './recent.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

/** Where an incarnation stands in the sequence. */
interface Reader {
  /** Place of its first delivery; -1 until that is known. */
  start: number;
  /** Place of its next delivery. */
  next: number;
  strayed: boolean;
}

interface TotalOrderMemory {
  readonly places: RecentMemory<readonly [message: string, place: number]>;
  readonly undelivered: readonly string[];
  readonly readers: readonly (readonly [who: WhoMemory, start: number, next: number, strayed: boolean])[];
  readonly known: readonly (number | string)[];
  readonly length: number;
  readonly remembered: number;
}

/** At least so many delivered messages are remembered. */
const MESSAGES_KEPT = 65_536;

export class TotalOrderReferee implements Referee {
  readonly property = 'total-order' as const;
  readonly handles: readonly RecordKind[] = ['broadcast', 'delivered', 'crashed'];
  /** Place of each delivered message. */
  readonly #places: RecentMap<string, number>;
  /** Broadcast, and not in the sequence yet. */
  readonly #undelivered = new Set<string>();
  readonly #readers = new PerIncarnation<Reader>();
  /** Nodes that have had an incarnation: the next one is recovered. */
  readonly #known = new Set<number | string>();
  #length = 0;
  /** Places below this one are no longer remembered. */
  #remembered = 0;

  constructor(messagesKept: number = MESSAGES_KEPT) {
    this.#places = new RecentMap(messagesKept, (dropped) => {
      this.#remembered += dropped.size;
    });
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'broadcast':
        this.#broadcast(record);
        return null;
      case 'delivered':
        // Positions are judged as such, by another referee.
        if (record.position !== undefined) return null;
        return this.#deliver(record, this.#readers.get(record) ?? this.#newReader(record));
      case 'crashed':
        this.#readers.take(record);
        this.#known.add(record.node);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const readers = [...this.#readers.entries()].map(([who, { start, next, strayed }]): TotalOrderMemory['readers'][number] => [
      whoSeen(who, seen),
      start,
      next,
      strayed,
    ]);
    return {
      places: this.#places.snapshot((message, place) => [message, place] as const),
      undelivered: inOrder(this.#undelivered),
      readers: inOrder(readers),
      known: inOrder([...this.#known].map((node) => seen.node(node))),
      length: this.#length,
      remembered: this.#remembered,
    };
  }

  restore(memory: Json): void {
    const { places, undelivered, readers, known, length, remembered } = memory as unknown as TotalOrderMemory;
    this.#places.restore(places, ([message, place]) => [message, place]);
    for (const message of undelivered) this.#undelivered.add(message);
    for (const [[node, incarnation], start, next, strayed] of readers) this.#readers.set({ node, incarnation }, { start, next, strayed });
    for (const node of known) this.#known.add(node);
    this.#length = length;
    this.#remembered = remembered;
  }

  #broadcast(record: Broadcast): void {
    // Repeating a broadcast is no fault: the message is still delivered once.
    if (this.#places.get(record.message) === undefined) this.#undelivered.add(record.message);
  }

  #newReader(record: Delivered): Reader {
    const start = this.#known.has(record.node) ? -1 : 0;
    const reader: Reader = { start, next: start, strayed: false };
    this.#known.add(record.node);
    this.#readers.set(record, reader);
    return reader;
  }

  #deliver(record: Delivered, reader: Reader): Violation | null {
    const place = this.#places.get(record.message);
    if (place !== undefined) return this.#deliverKnown(record, reader, place);
    // A reader behind the remembered messages delivers forgotten messages: counted, and judged again when it has caught up.
    if (reader.start >= 0 && reader.next < this.#remembered) {
      reader.next++;
      return null;
    }
    if (this.#undelivered.has(record.message)) return this.#deliverFirst(record, reader);
    if (reader.start < 0 && this.#remembered > 0) return null;
    const forgotten = this.#remembered === 0 ? '' : ', or which was delivered long before';
    return violation('integrity', record, `which nobody had broadcast${forgotten}`);
  }

  #deliverKnown(record: Delivered, reader: Reader, place: number): Violation | null {
    if (reader.strayed) return null;
    if (reader.start < 0) reader.start = reader.next = place;
    if (place === reader.next) {
      reader.next++;
      return null;
    }
    if (place < reader.next && place >= reader.start) return violation('integrity', record, 'a second time');
    return this.#stray(record, reader, `which is at place ${place}`);
  }

  #deliverFirst(record: Delivered, reader: Reader): Violation | null {
    if (reader.strayed) return null;
    if (reader.start < 0) reader.start = reader.next = this.#length;
    if (reader.next < this.#length) return this.#stray(record, reader, 'which nobody else has delivered');
    this.#undelivered.delete(record.message);
    this.#places.set(record.message, this.#length);
    this.#length++;
    reader.next++;
    return null;
  }

  #stray(record: Delivered, reader: Reader, where: string): Violation {
    reader.strayed = true;
    let expected = 'a message since forgotten';
    for (const [message, place] of this.#places.entries()) if (place === reader.next) expected = quoted(message);
    if (reader.next === this.#length) expected = 'a new message';
    return violation('total-order', record, `${where}, where the others have ${expected} (place ${reader.next})`);
  }
}

function violation(property: 'total-order' | 'integrity', record: Delivered, why: string): Violation {
  return { property, at: record.at, message: `${party(record)} delivered ${quoted(record.message)} at ${instant(record.at)}, ${why}` };
}
