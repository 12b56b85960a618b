/**
 * Atomic broadcast whose deliveries tell their positions. *Total order*: no two messages at one position, no message at two, and each reader goes from position to position without a gap that it does not tell of.
 * *Integrity*: a reader delivers a position once, and only messages that were broadcast. *Durability*: a message acknowledged at a position is delivered there or nowhere. Nothing of it depends on the order in which
 * records of different processes are read, so clocks and files may come as they will.
 */
import type { Json } from '../kernel/index.ts';
import type { Acknowledged, Delivered, HistoryRecord, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type WhoMemory } from './memory.ts';
import { RecentMap, type RecentMemory } from './recent.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

/** At least so many messages are remembered. */
const KEPT = 262_144;

interface SequenceMemory {
  readonly messages: RecentMemory<readonly [position: number, message: string]>;
  readonly positions: RecentMemory<readonly [message: string, position: number]>;
  readonly broadcast: RecentMemory<string>;
  readonly unheard: readonly string[];
  readonly epoch: number;
  readonly readers: readonly (readonly [who: WhoMemory, last: number])[];
}

export class SequenceReferee implements Referee {
  readonly property = 'total-order' as const;
  readonly handles: readonly RecordKind[] = ['broadcast', 'delivered', 'acknowledged', 'reset', 'crashed'];
  readonly #messages = new RecentMap<number, string>(KEPT);
  readonly #positions = new RecentMap<string, number>(KEPT);
  readonly #broadcast = new RecentMap<string, true>(KEPT);
  /** Delivered or acknowledged, and not broadcast as far as is known, with the first record that told of it. */
  readonly #unheard = new Map<string, Delivered | Acknowledged | null>();
  /** The last position that each reader delivered. */
  readonly #readers = new PerIncarnation<number>();
  #epoch = 0;

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'broadcast':
        this.#broadcast.set(record.message, true);
        this.#unheard.delete(record.message);
        return null;
      case 'acknowledged':
        return this.#place(record, record.position);
      case 'delivered':
        return record.position === undefined ? null : this.#deliver(record, record.position);
      case 'reset':
        if (record.epoch > this.#epoch) this.#forgetAfter(record.position);
        this.#epoch = Math.max(this.#epoch, record.epoch);
        return null;
      case 'crashed':
        this.#readers.take(record);
        return null;
      default:
        return null;
    }
  }

  finish(at: number): readonly Violation[] {
    return [...this.#unheard].map(([message, record]) => ({
      property: 'integrity' as const,
      at: record?.at ?? at,
      message: `${record ? party(record) : 'somebody'} delivered ${quoted(message)}, which nobody had broadcast`,
    }));
  }

  #deliver(record: Delivered, position: number): Violation | null {
    const last = this.#readers.get(record);
    this.#readers.set(record, Math.max(position, last ?? 0));
    if (last !== undefined && position <= last) return violation('integrity', record, position, `after it had delivered position ${last}`);
    const isGap = last !== undefined && position > last + 1 && record.gap === undefined;
    if (isGap) return violation('total-order', record, position, `right after position ${last}`);
    return this.#place(record, position);
  }

  #place(record: Delivered | Acknowledged, position: number): Violation | null {
    const { message } = record;
    const there = this.#messages.get(position);
    const elsewhere = this.#positions.get(message);
    if (there === undefined) this.#messages.set(position, message);
    if (elsewhere === undefined) this.#positions.set(message, position);
    if (this.#broadcast.get(message) === undefined && !this.#unheard.has(message)) this.#unheard.set(message, record);
    if (there !== undefined && there !== message) return violation('total-order', record, position, `where others have ${quoted(there)}`);
    if (elsewhere !== undefined && elsewhere !== position)
      return violation('total-order', record, position, `where others have it at position ${elsewhere}`);
    return null;
  }

  /** The group was begun anew: messages after this position are lost. */
  #forgetAfter(position: number): void {
    const kept = [...this.#messages.entries()].filter(([at]) => at <= position);
    this.#messages.restore([[], kept], ([at, message]) => [at, message]);
    this.#positions.restore([[], kept], ([at, message]) => [message, at]);
    for (const [who, last] of this.#readers.entries()) if (last > position) this.#readers.set(who, position);
  }

  snapshot(seen: Perspective): Json {
    return {
      messages: this.#messages.snapshot((position, message) => [position, message] as const),
      positions: this.#positions.snapshot((message, position) => [message, position] as const),
      broadcast: this.#broadcast.snapshot((message) => message),
      unheard: inOrder(this.#unheard.keys()),
      epoch: this.#epoch,
      readers: inOrder([...this.#readers.entries()].map(([who, last]) => [whoSeen(who, seen), last] as const)),
    };
  }

  restore(memory: Json): void {
    const { messages, positions, broadcast, unheard, readers, epoch } = memory as unknown as SequenceMemory;
    this.#epoch = epoch;
    this.#messages.restore(messages, ([position, message]) => [position, message]);
    this.#positions.restore(positions, ([message, position]) => [message, position]);
    this.#broadcast.restore(broadcast, (message) => [message, true]);
    for (const message of unheard) this.#unheard.set(message, null);
    for (const [[node, incarnation], last] of readers) this.#readers.set({ node, incarnation }, last);
  }
}

function violation(property: 'total-order' | 'integrity', record: Delivered | Acknowledged, position: number, why: string): Violation {
  const did = record.kind === 'delivered' ? 'delivered' : 'was told of';
  return {
    property,
    at: record.at,
    message: `${party(record)} ${did} ${quoted(record.message)} at position ${position} at ${instant(record.at)}, ${why}`,
  };
}
