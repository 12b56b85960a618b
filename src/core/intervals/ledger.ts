/**
 * Where an acceptor's records are on its own disk, and which answers wait for them. Place 0 is the head; every other place holds one open claim, one
 * interval that is taken, or the memory of a process. A place is used again only when nothing that a restart needs is in it alone: the place of a claim
 * that was folded into a larger interval is free once that interval is written. Until then a restart finds both, and that is the same.
 */
import { invariant, type NodeId } from '../../kernel/index.ts';
import { OWN_DISK, type Completion, type Snapshot, type Step } from '../contract.ts';
import { LowestSet } from '../tables/index.ts';
import { WriteQueue, type Places } from '../write-queue.ts';
import type { HeldMessage } from './messages.ts';
import { decodeDiskHead, decodePlace, encodeDiskHead, encodePlace, type DiskHead, type PlaceRecord } from './records.ts';

export type LedgerStep = Pick<Step<never, never>, 'read' | 'write'>;

/** An answer that waits for writes. */
export type WaitingAnswer = { readonly to: NodeId; readonly message: HeldMessage };

export interface PermissionView<S extends LedgerStep> {
  leave(answer: WaitingAnswer, step: S): void;
  /** All records of an earlier life, in the order of places. */
  foundAll(records: readonly (readonly [place: number, record: PlaceRecord])[], step: S): void;
}

/** `written`: the head is on the disk as it is now. */
export type IntervalLedgerNews = 'loaded' | 'written' | 'failed' | null;

const HEAD = 0;
/** Beyond this, requests are left unanswered: their claimants ask again. */
const ANSWERS_MAX = 65_536;
const NO_BYTES = new Uint8Array(0);

export class PermissionLedger<S extends LedgerStep> implements Places<WaitingAnswer, S> {
  readonly #view: PermissionView<S>;
  readonly #placesMin: number;
  readonly #replyAfterStore: boolean;
  readonly #queue: WriteQueue<WaitingAnswer, S>;
  readonly #contents = new Map<number, PlaceRecord>();
  readonly #free = new LowestSet();
  /** Places that are free once this one is written. */
  readonly #freedAfter = new Map<number, number[]>();
  /** Places that are being written. */
  readonly #writing = new Set<number>();
  /** Places where an interval is taken, but the disk has, or is being given, an open claim. */
  readonly #restated = new Set<number>();
  #used = 0;
  #reads = 0;
  #head: DiskHead;

  constructor(view: PermissionView<S>, members: number, placesMin: number, replyAfterStore: boolean) {
    this.#view = view;
    this.#placesMin = placesMin;
    this.#replyAfterStore = replyAfterStore;
    this.#queue = new WriteQueue(OWN_DISK, this, true);
    const generations = Array.from({ length: members }, () => 0);
    this.#head = { phase: 'blank', places: 0, generations, disk: 0, founding: 0, start: 0, disks: [] };
  }

  get head(): DiskHead {
    return this.#head;
  }

  get isFull(): boolean {
    return this.#queue.size >= ANSWERS_MAX;
  }

  /** Nothing is being written: all that was put here is on the disk. */
  get isQuiet(): boolean {
    return this.#writing.size === 0;
  }

  // ── Reading back ───────────────────────────────────────────────────────────────────────────────────

  load(step: S): void {
    this.#reads = 1;
    step.read(OWN_DISK, this.keyOf(HEAD), ~HEAD);
  }

  completed({ op, ok, value }: Completion, step: S): IntervalLedgerNews {
    if (!ok) return 'failed';
    if (op < 0) return this.#found(~op, value, step);
    const isWritten = this.#queue.written(op, step);
    if (isWritten) {
      this.#writing.delete(op);
      this.#releaseAfter(op);
    }
    return op === HEAD && isWritten ? 'written' : null;
  }

  /** Numbered apart from writes. */
  #found(place: number, value: Uint8Array | null, step: S): IntervalLedgerNews {
    this.#reads--;
    if (place === HEAD) {
      if (value === null) return 'loaded';
      const head = decodeDiskHead(value);
      if (head === null || head.generations.length !== this.#head.generations.length) return 'failed';
      this.#head = head;
      this.#used = head.places;
      this.#reads = head.places;
      for (let at = 1; at <= head.places; at++) step.read(OWN_DISK, this.keyOf(at), ~at);
    } else if (value !== null && value.length > 0) {
      const record = decodePlace(value);
      if (record === null) return 'failed';
      this.#contents.set(place, record);
    }
    if (this.#reads > 0) return null;
    this.#freeTheRest();
    // Records that were read in any order are told in one order.
    this.#view.foundAll([...this.#contents].sort(byPlace), step);
    return 'loaded';
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  /** Hands over an answer that depends on what `prepare` puts here and waits for, by the number it is given. */
  answer(answer: WaitingAnswer, step: S, prepare: (number: number) => void): void {
    const number = this.#queue.enter(answer);
    prepare(number);
    if (this.#queue.dismiss(number) || !this.#replyAfterStore) this.#view.leave(answer, step);
  }

  /** The answer depends on the record in this place, and that a restart looks there. */
  awaitPlace(place: number, number: number): void {
    this.#queue.await(place, number);
    this.#queue.await(HEAD, number);
  }

  /** The answer depends on all that is being written. */
  awaitAll(number: number): void {
    for (const place of this.#writing) this.#queue.await(place, number);
  }

  awaitHead(number: number): void {
    this.#queue.await(HEAD, number);
  }

  // ── Writing ────────────────────────────────────────────────────────────────────────────────────────

  putHead(changes: Partial<DiskHead>, number: number | null, step: S): void {
    this.#head = { ...this.#head, ...changes };
    this.#write(HEAD, number, step);
  }

  /** Written with the next change of the head. */
  restateHead(changes: Partial<DiskHead>): void {
    this.#head = { ...this.#head, ...changes };
  }

  /** A new record, in a place of its own. */
  put(record: PlaceRecord, number: number | null, step: S): number {
    const freed = this.#free.lowest;
    const place = freed < 0 ? ++this.#used : freed;
    if (freed >= 0) this.#free.delete(freed);
    const { places } = this.#head;
    if (place > places) this.putHead({ places: Math.max(this.#placesMin, 2 * places) }, null, step);
    invariant(place <= this.#head.places, 'a record is kept where no restart looks');
    this.replace(place, record, number, step);
    return place;
  }

  replace(place: number, record: PlaceRecord, number: number | null, step: S): void {
    this.#contents.set(place, record);
    this.#write(place, number, step);
    if (number !== null) this.#queue.await(HEAD, number);
  }

  /** Replaces the record in memory. A restart may find the old or the new: it is written with the next change. */
  restate(place: number, record: PlaceRecord): void {
    if (this.#contents.get(place)?.kind === 'open') this.#restated.add(place);
    this.#contents.set(place, record);
  }

  /** Nothing is there any more, and a restart must not find anything. */
  clear(place: number, number: number | null, step: S): void {
    this.#contents.delete(place);
    this.#write(place, number, step);
    this.freeAfter(place, place, step);
  }

  /**
   * The place is free once the other is written as it is now: that has all that this has. Until then a restart may need this one. A restart that found the
   * other as the open claim it was would let a withdrawal free integers that only this place had.
   */
  freeAfter(place: number, other: number, step: S): void {
    if (this.#restated.has(other)) this.#write(other, null, step);
    if (!this.#writing.has(other)) {
      this.#release(place);
      return;
    }
    const waiting = this.#freedAfter.get(other) ?? [];
    // Places that wait for this one wait for the other as well.
    const onward = other === place ? [] : (this.#freedAfter.get(place) ?? []);
    if (onward.length > 0) this.#freedAfter.delete(place);
    this.#freedAfter.set(other, [...waiting, ...onward, place]);
  }

  /** Not while it is being written itself, nor while the head is: a restart may not yet look where its record is now. */
  #release(place: number): void {
    const blocking = this.#writing.has(place) ? place : this.#writing.has(HEAD) ? HEAD : null;
    if (blocking !== null) {
      this.#freedAfter.set(blocking, [...(this.#freedAfter.get(blocking) ?? []), place]);
      return;
    }
    this.#contents.delete(place);
    this.#restated.delete(place);
    this.#free.add(place);
  }

  #releaseAfter(other: number): void {
    const places = this.#freedAfter.get(other) ?? [];
    this.#freedAfter.delete(other);
    for (const place of places) this.#release(place);
  }

  #write(place: number, number: number | null, step: S): void {
    this.#restated.delete(place);
    this.#writing.add(place);
    this.#queue.write(place, number, step);
  }

  // ── For the write queue ────────────────────────────────────────────────────────────────────────────

  keyOf(place: number): string {
    return place === HEAD ? 'head' : `place/${place}`;
  }

  bytesOf(place: number): Uint8Array {
    if (place === HEAD) return encodeDiskHead(this.#head);
    const record = this.#contents.get(place);
    return record === undefined ? NO_BYTES : encodePlace(record);
  }

  leave(answer: WaitingAnswer, step: S): void {
    if (this.#replyAfterStore) this.#view.leave(answer, step);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return {
      head: { ...this.#head, generations: [...this.#head.generations], disks: [...this.#head.disks] },
      queue: this.#queue.snapshot(),
      contents: [...this.#contents].map(([place, record]) => [place, { ...record }] as const).sort(byPlace) as Snapshot,
      freedAfter: [...this.#freedAfter].map(([other, places]) => [other, [...places].sort((a, b) => a - b)] as const).sort(byPlace),
      writing: [...this.#writing].sort((a, b) => a - b),
      restated: [...this.#restated].sort((a, b) => a - b),
      numbers: [this.#used, this.#reads],
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as IntervalLedgerSnapshot;
    this.#head = told.head;
    this.#queue.restore(told.queue);
    for (const [place, record] of told.contents) this.#contents.set(place, record);
    for (const [other, places] of told.freedAfter) this.#freedAfter.set(other, [...places]);
    for (const place of told.writing) this.#writing.add(place);
    for (const place of told.restated) this.#restated.add(place);
    [this.#used, this.#reads] = told.numbers;
    if (this.#reads === 0) this.#freeTheRest();
  }

  #freeTheRest(): void {
    const waiting = new Set([...this.#freedAfter.values()].flat());
    for (let place = 1; place <= this.#used; place++) if (!this.#contents.has(place) && !waiting.has(place)) this.#free.add(place);
  }
}

interface IntervalLedgerSnapshot {
  readonly head: DiskHead;
  readonly queue: Snapshot;
  readonly contents: readonly (readonly [number, PlaceRecord])[];
  readonly freedAfter: readonly (readonly [number, readonly number[]])[];
  readonly writing: readonly number[];
  readonly restated: readonly number[];
  readonly numbers: readonly [number, number];
}

function byPlace(a: readonly [number, ...unknown[]], b: readonly [number, ...unknown[]]): number {
  return a[0] - b[0];
}
