/**
 * The log of a member: the delivered messages, instance by instance, and which messages of which process are in it. Everything here is a function of the decided batches, in order, so all
 * members have the same log, drop the same part of it, and take the same messages for new.
 */
import { invariant, type Incarnation } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import { GroupCursor } from './group.ts';
import type { LogPiece } from './messages.ts';
import type { BroadcastRules } from './rules.ts';

/** Messages of one process that were delivered together. */
export interface Placement {
  readonly origin: Incarnation;
  readonly first: number;
  readonly count: number;
  /** 0 if that is not known any more. */
  readonly position: number;
}

/** A process with messages in the log: the number of the last one, and its instance. */
interface Publisher {
  last: number;
  instance: number;
}

const NOTHING = new Uint8Array(0);
/** What a piece takes besides its groups. */
const PIECE_BYTES = 64;

export class MessageLog {
  readonly #retainBytes: number;
  readonly #retainInstances: number;
  readonly #rules: BroadcastRules;
  #pieces: LogPiece[] = [];
  /** Pieces before this one are dropped; the array is shortened now and then. */
  #head = 0;
  #bytes = 0;
  /** Instances, and messages, that were dropped. */
  #droppedInstance = 0;
  #droppedPosition = 0;
  #position = 0;
  readonly #publishers = new Map<Incarnation, Publisher>();
  readonly #cursor = new GroupCursor();

  constructor({ retainBytes, retainInstances }: { readonly retainBytes: number; readonly retainInstances: number }, rules: BroadcastRules) {
    this.#retainBytes = retainBytes;
    this.#retainInstances = retainInstances;
    this.#rules = rules;
  }

  /** The last instance that is in it. */
  get instance(): number {
    return this.#droppedInstance + this.#pieces.length - this.#head;
  }

  get firstInstance(): number {
    return this.#droppedInstance + 1;
  }

  /** The position of the last message. */
  get position(): number {
    return this.#position;
  }

  /** The first position that is kept; one more than the last if none is. */
  get firstPosition(): number {
    return this.#droppedPosition + 1;
  }

  /** The number of the last message of this process in the log; null if none is kept. */
  lastOf(origin: Incarnation): number | null {
    return this.#publishers.get(origin)?.last ?? null;
  }

  /** Whether the log cannot tell any more whether it had messages of this process, which has noted `since`. */
  hasForgotten(origin: Incarnation, since: number): boolean {
    return !this.#publishers.has(origin) && since < this.#droppedPosition && this.#rules.forgottenIsNotNew;
  }

  /** Where the messages of this process from this number on are: calls `placed` for each run of them, in order. Messages that are kept no more have position 0. */
  find(origin: Incarnation, first: number, placed: (placement: Placement) => void): void {
    const last = this.lastOf(origin) ?? 0;
    let next = first;
    for (let at = this.#head; at < this.#pieces.length; at++) {
      const { groups, position: start } = this.#pieces[at] as LogPiece;
      let position = start;
      const cursor = this.#cursor.open(groups);
      while (cursor.nextGroup()) {
        const skipped = Math.max(0, next - cursor.first);
        if (cursor.origin === origin && skipped < cursor.count) {
          const run = { origin, first: cursor.first + skipped, count: cursor.count - skipped, position: position + skipped };
          if (run.first > next) placed({ origin, first: next, count: run.first - next, position: 0 });
          next = run.first + run.count;
          placed(run);
        }
        position += cursor.count;
      }
    }
    if (next <= last) placed({ origin, first: next, count: last - next + 1, position: 0 });
  }

  /**
   * The next instance is decided. Of its batch those messages are delivered that follow the last one of their process: none twice, none before an earlier one. Of a process that the log does not
   * know, those are that the process sent when it had nothing under way, if the log has dropped nothing since. Such messages may also leave a gap: the missing messages were lost with an epoch, or given up.
   */
  append(batch: Uint8Array, placed: (placement: Placement) => void): LogPiece {
    const instance = this.instance + 1;
    const position = this.#position + 1;
    const parts: Uint8Array[] = [];
    let isWhole = true;
    const cursor = this.#cursor.open(batch);
    while (cursor.nextGroup()) {
      const { origin, count, start, end } = cursor;
      const first = this.#firstNew(cursor);
      if (first === null) {
        isWhole = false;
        continue;
      }
      const isCut = first > cursor.first;
      if (isCut) isWhole = false;
      const part = isCut ? cursor.sliceFrom(first) : batch.subarray(start, end);
      parts.push(part);
      const delivered = count - (first - cursor.first);
      this.#note(origin, cursor.last, instance);
      placed({ origin, first, count: delivered, position: this.#position + 1 });
      this.#position += delivered;
    }
    const groups = isWhole && cursor.end === batch.length ? batch : joined(parts);
    return this.#push({ instance, position, groups });
  }

  /** The number of the first message of this group that is to be delivered; null if none is. */
  #firstNew(cursor: GroupCursor): number | null {
    const { origin, first, base, since, last } = cursor;
    if (!this.#rules.deliversOnce) return first;
    const known = this.#publishers.get(origin);
    if (known) return last > known.last && (first <= known.last + 1 || first === base) ? Math.max(first, known.last + 1) : null;
    const isNew = first === base && (since >= this.#droppedPosition || !this.#rules.forgottenIsNotNew);
    return isNew ? first : null;
  }

  /** A piece that another member, or an earlier life, has made of the next instance. */
  adopt(piece: LogPiece): void {
    invariant(piece.instance === this.instance + 1 && piece.position === this.#position + 1, 'a log goes on where it ends');
    const cursor = this.#cursor.open(piece.groups);
    while (cursor.nextGroup()) {
      this.#note(cursor.origin, cursor.last, piece.instance);
      this.#position += cursor.count;
    }
    this.#push(piece);
  }

  /** Everything up to this instance, and this position, is dropped; and everything else. */
  reset(instance: number, position: number): void {
    this.#pieces = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#publishers.clear();
    this.#droppedInstance = instance;
    this.#droppedPosition = position;
    this.#position = position;
  }

  /** The pieces from this instance on, up to so many bytes, and at least one if there is one. */
  piecesFrom(instance: number, bytesMax: number): LogPiece[] {
    const pieces: LogPiece[] = [];
    let bytes = 0;
    for (let at = this.#head + instance - this.firstInstance; at < this.#pieces.length; at++) {
      const piece = this.#pieces[at] as LogPiece;
      bytes += piece.groups.length + PIECE_BYTES;
      if (pieces.length > 0 && bytes > bytesMax) break;
      pieces.push(piece);
    }
    return pieces;
  }

  /** The first instance with messages after this position, or one before it. */
  instanceAfter(position: number): number {
    let low = this.#head;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pieces[middle] as LogPiece).position <= position + 1) low = middle + 1;
      else high = middle;
    }
    return this.firstInstance + Math.max(0, low - 1 - this.#head);
  }

  /** Null if it is not kept. */
  piece(instance: number): LogPiece | null {
    return instance < this.firstInstance ? null : (this.#pieces[this.#head + instance - this.firstInstance] ?? null);
  }

  #note(origin: Incarnation, last: number, instance: number): void {
    const known = this.#publishers.get(origin);
    if (known) {
      known.last = last;
      known.instance = instance;
    } else {
      this.#publishers.set(origin, { last, instance });
    }
  }

  #push(piece: LogPiece): LogPiece {
    this.#pieces.push(piece);
    this.#bytes += piece.groups.length + PIECE_BYTES;
    while (this.#pieces.length - this.#head > 1 && this.#isTooLong) this.#drop();
    if (this.#head > 1024 && this.#head > this.#pieces.length / 2) {
      this.#pieces = this.#pieces.slice(this.#head);
      this.#head = 0;
    }
    return piece;
  }

  get #isTooLong(): boolean {
    return this.#bytes > this.#retainBytes || this.#pieces.length - this.#head > this.#retainInstances;
  }

  #drop(): void {
    const { instance, groups } = this.#pieces[this.#head] as LogPiece;
    this.#pieces[this.#head++] = NO_PIECE;
    this.#droppedInstance++;
    this.#bytes -= groups.length + PIECE_BYTES;
    const cursor = this.#cursor.open(groups);
    while (cursor.nextGroup()) {
      this.#droppedPosition += cursor.count;
      if (this.#publishers.get(cursor.origin)?.instance === instance) this.#publishers.delete(cursor.origin);
    }
  }

  snapshot(): Snapshot {
    return {
      instance: this.#droppedInstance,
      position: this.#droppedPosition,
      pieces: this.#pieces.slice(this.#head).map(({ groups }) => valueText(groups)),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as { instance: number; position: number; pieces: readonly string[] };
    this.reset(told.instance, told.position);
    for (const groups of told.pieces) this.adopt({ instance: this.instance + 1, position: this.#position + 1, groups: valueBytes(groups) });
  }
}

const NO_PIECE: LogPiece = { instance: 0, position: 0, groups: NOTHING };

function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 0) return NOTHING;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
