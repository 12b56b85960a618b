/**
 * The log on a member's disk: a ring of places, one for each instance that is kept, and one place for the epoch that the member is in. Nothing waits for the log's writes but the votes of consensus: the vote of an
 * instance keeps its place until the log has that instance on the disk (`ConsensusConfig.outerLog`). The places of what the log has dropped are emptied (`dropped-places.ts`).
 */
import { invariant } from '../../kernel/index.ts';
import { OWN_DISK, type Completion, type Snapshot, type Step } from '../contract.ts';
import { WriteQueue } from '../write-queue.ts';
import { sealed, unsealed } from '../consensus/records.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import { DroppedPlaces } from './dropped-places.ts';
import type { LogPiece } from './messages.ts';

type LedgerStep = Pick<Step<never, never>, 'read' | 'write'>;

/** The epoch of the member, and the instance after which it began. Pieces of earlier lineages are not of it. */
export interface EpochRecord {
  readonly epoch: number;
  readonly start: number;
  readonly lineage: number;
}

/** A piece, or the epoch, is stored now. */
export type LogAnswer =
  | { readonly kind: 'piece'; readonly instance: number; readonly lineage: number; readonly upTo: number }
  | { readonly kind: 'epoch'; readonly epoch: number };

interface FoundPiece {
  readonly lineage: number;
  readonly upTo: number;
  readonly piece: LogPiece;
}

export interface LogContents {
  /** Null if the disk has forgotten. */
  readonly epoch: EpochRecord | null;
  /** Instances that follow one another; those after a gap are left out. */
  readonly pieces: readonly LogPiece[];
}

/** Lineage, instance, position, and up to which instance all were on the disk when it was written. */
const PIECE_NUMBERS = 4;
/** These, after a hash. */
const HEADER_BYTES = 4 + 8 * PIECE_NUMBERS;
const EPOCH_NUMBERS = 3;
const NOTHING = new Uint8Array(0);

export class LogLedger<S extends LedgerStep> {
  readonly #places: number;
  readonly #queue: WriteQueue<LogAnswer, S>;
  readonly #latest = new Map<number, Uint8Array>();
  readonly #found: FoundPiece[] = [];
  #epoch: EpochRecord | null = null;
  #unread = 0;
  /** Pieces of one lineage follow one another; it changes when the log is begun anew from another member's. */
  #lineage = 1;
  /** All instances up to here are on the disk. */
  #upTo = 0;
  readonly #stored = new Set<number>();
  readonly #dropped = new DroppedPlaces();
  #hasFailed = false;

  /** At most `ahead` instances are written before all earlier instances are on the disk: they never overwrite a kept instance. */
  constructor(retainInstances: number, ahead: number, stored: (answer: LogAnswer, step: S) => void) {
    this.#places = retainInstances + 2 * ahead;
    this.#queue = new WriteQueue<LogAnswer, S>(
      OWN_DISK,
      {
        keyOf: (place) => this.#keyOf(place),
        bytesOf: (place) => this.#bytesOf(place),
        leave: (answer, step) => {
          if (answer.kind === 'piece' && answer.lineage === this.#lineage) {
            this.#note(answer.instance);
            this.#dropped.noteStored(answer.lineage, answer.upTo, (place) => this.#empty(place, step));
          }
          stored(answer, step);
        },
      },
      true,
    );
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  get upTo(): number {
    return this.#upTo;
  }

  read(step: S): void {
    this.#unread = this.#places + 1;
    for (let place = 0; place <= this.#places; place++) step.read(OWN_DISK, this.#keyOf(place), this.#places + 1 + place);
  }

  /** `dropped`: with this piece, the log has dropped all instances up to that one. */
  write({ instance, position, groups }: LogPiece, dropped: number, step: S): void {
    const lineage = this.#lineage;
    const upTo = this.#upTo;
    const place = instance % this.#places;
    this.#dropped.hold(place, { lineage, instance }, dropped);
    this.#write(place, sealed([lineage, instance, position, upTo], groups), { kind: 'piece', instance, lineage, upTo }, step);
  }

  writeEpoch(epoch: number, start: number, step: S): void {
    this.#write(this.#places, sealed([epoch, start, this.#lineage], NOTHING), { kind: 'epoch', epoch }, step);
  }

  /** The log is begun anew after this instance. */
  reset(instance: number): void {
    this.#lineage++;
    this.#upTo = instance;
    this.#stored.clear();
    this.#dropped.reset();
  }

  /** Nothing waits for it. */
  #empty(place: number, step: S): void {
    if (this.#hasFailed) return;
    this.#latest.set(place, NOTHING);
    this.#queue.write(place, null, step);
  }

  #write(place: number, bytes: Uint8Array, answer: LogAnswer, step: S): void {
    if (this.#hasFailed) return;
    this.#latest.set(place, bytes);
    this.#queue.write(place, this.#queue.enter(answer), step);
  }

  #note(instance: number): void {
    this.#stored.add(instance);
    while (this.#stored.delete(this.#upTo + 1)) this.#upTo++;
  }

  /** The disk's contents, once all of it is read. */
  completed({ op, ok, value }: Completion, step: S): LogContents | null {
    if (this.#hasFailed) return null;
    if (!ok) {
      this.#hasFailed = true;
      return null;
    }
    if (op <= this.#places) {
      if (this.#queue.written(op, step)) this.#latest.delete(op);
      return null;
    }
    invariant(this.#unread > 0, 'a read was answered that is not under way');
    this.#unread--;
    if (value !== null && value.length > 0) this.#take(op - this.#places - 1, value);
    return this.#unread > 0 || this.#hasFailed ? null : this.#contents();
  }

  #take(place: number, bytes: Uint8Array): void {
    if (place === this.#places) {
      const numbers = unsealed(bytes, EPOCH_NUMBERS);
      if (numbers) this.#epoch = { epoch: numbers[0] as number, start: numbers[1] as number, lineage: numbers[2] as number };
      else this.#hasFailed = true;
      return;
    }
    const numbers = unsealed(bytes, PIECE_NUMBERS);
    if (numbers === null) {
      this.#hasFailed = true;
      return;
    }
    const [lineage, instance, position, upTo] = numbers as [number, number, number, number];
    this.#found.push({ lineage, upTo, piece: { instance, position, groups: bytes.slice(HEADER_BYTES) } });
  }

  /**
   * The newest lineage, around the last instance that is known to have had all earlier instances on the disk: instances beyond a gap were not yet written, instances before a gap are
   * being written over.
   */
  #contents(): LogContents {
    this.#lineage = this.#found.reduce((highest, { lineage }) => Math.max(highest, lineage), this.#epoch?.lineage ?? 1);
    const newest = this.#found.filter(({ lineage }) => lineage === this.#lineage);
    const byInstance = new Map(newest.map(({ piece }) => [piece.instance, piece]));
    const known = newest.reduce((highest, { upTo }) => Math.max(highest, upTo), 0);
    const pieces: LogPiece[] = [];
    for (let piece = byInstance.get(known); piece; piece = byInstance.get(piece.instance - 1)) pieces.push(piece);
    pieces.reverse();
    for (let piece = byInstance.get(known + 1); piece; piece = byInstance.get(piece.instance + 1)) pieces.push(piece);
    this.#found.sort((one, other) => one.lineage - other.lineage || one.piece.instance - other.piece.instance);
    for (const { lineage, piece } of this.#found)
      this.#dropped.hold(piece.instance % this.#places, { lineage, instance: piece.instance }, 0);
    this.#found.length = 0;
    this.#upTo = pieces.at(-1)?.instance ?? known;
    return { epoch: this.#epoch, pieces };
  }

  #keyOf(place: number): string {
    return place === this.#places ? 'epoch' : `log/${place}`;
  }

  #bytesOf(place: number): Uint8Array {
    const bytes = this.#latest.get(place);
    invariant(bytes !== undefined, 'a place of the log is written, and nobody knows what with');
    return bytes;
  }

  snapshot(): Snapshot {
    return {
      queue: this.#queue.snapshot(),
      latest: [...this.#latest].sort(([one], [other]) => one - other).map(([place, bytes]) => [place, valueText(bytes)] as const),
      found: this.#found
        .map(({ lineage, upTo, piece: { instance, position, groups } }) => [instance, lineage, upTo, position, valueText(groups)] as const)
        .sort(([one], [other]) => one - other),
      epoch: this.#epoch && { ...this.#epoch },
      unread: this.#unread,
      lineage: this.#lineage,
      upTo: this.#upTo,
      stored: [...this.#stored].sort((one, other) => one - other),
      dropped: this.#dropped.snapshot(),
      hasFailed: this.#hasFailed,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as LedgerSnapshot;
    this.#queue.restore(told.queue);
    for (const [place, bytes] of told.latest) this.#latest.set(place, valueBytes(bytes));
    for (const [instance, lineage, upTo, position, groups] of told.found)
      this.#found.push({ lineage, upTo, piece: { instance, position, groups: valueBytes(groups) } });
    this.#epoch = told.epoch;
    this.#unread = told.unread;
    this.#lineage = told.lineage;
    this.#upTo = told.upTo;
    for (const instance of told.stored) this.#stored.add(instance);
    this.#dropped.restore(told.dropped);
    this.#hasFailed = told.hasFailed;
  }
}

interface LedgerSnapshot {
  readonly queue: Snapshot;
  readonly latest: readonly (readonly [number, string])[];
  readonly found: readonly (readonly [number, number, number, number, string])[];
  readonly epoch: EpochRecord | null;
  readonly unread: number;
  readonly lineage: number;
  readonly upTo: number;
  readonly stored: readonly number[];
  readonly dropped: Snapshot;
  readonly hasFailed: boolean;
}
