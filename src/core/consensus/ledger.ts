/**
 * A member's disk: a ring of places, one for each instance that is open or kept, and one place for the record of the member itself, which says how many places there are. An answer leaves when the record that it
 * rests on is stored (rule 25). At the start all places are read.
 */
import { invariant } from '../../kernel/index.ts';
import { OWN_DISK, type Completion, type Snapshot, type Step } from '../contract.ts';
import { WriteQueue } from '../write-queue.ts';
import { MEMBER_KEY, instanceBytes, instanceRecord, instanceValue, memberBytes, memberRecord, type InstanceRecord } from './records.ts';
import type { StoredAnswer } from './rounds.ts';
import { valueBytes, valueText } from './values.ts';

type LedgerStep = Pick<Step<never, never>, 'read' | 'write'>;

/** The answer that waits for the member's own record. */
type MemberAnswer = { readonly kind: 'member' };

export type LedgerAnswer = StoredAnswer | MemberAnswer;

/** What a disk held. */
export interface LedgerContents {
  /** Null if the disk has forgotten. */
  readonly bound: number | null;
  /** By instance, rising. */
  readonly records: readonly InstanceRecord[];
}

export class ConsensusLedger<S extends LedgerStep> {
  readonly #places: number;
  readonly #queue: WriteQueue<LedgerAnswer, S>;
  /** What each place that is being written is to hold; the place after the last is the member's. */
  readonly #latest = new Map<number, Uint8Array>();
  /** How many places have not been read yet. */
  #unread = 0;
  readonly #found: InstanceRecord[] = [];
  #bound: number | null = null;
  #hasFailed = false;

  constructor(places: number, stored: (answer: LedgerAnswer, step: S) => void) {
    this.#places = places;
    const held = { keyOf: (place: number) => this.#keyOf(place), bytesOf: (place: number) => this.#bytesOf(place), leave: stored };
    this.#queue = new WriteQueue<LedgerAnswer, S>(OWN_DISK, held, true);
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The record of the member, whatever it says last, is on the disk. */
  get isMemberStored(): boolean {
    return !this.#latest.has(this.#places);
  }

  read(step: S): void {
    this.#unread = this.#places + 1;
    for (let place = 0; place <= this.#places; place++) step.read(OWN_DISK, this.#keyOf(place), this.#places + 1 + place);
  }

  /** The record of an instance has changed; the answer waits until it is stored. Returns the value, as the record has it: the caller needs no copy of its own. */
  write(record: InstanceRecord, answer: StoredAnswer | null, step: S): Uint8Array {
    const bytes = instanceBytes(record);
    this.#write(record.instance % this.#places, bytes, answer, step);
    return instanceValue(bytes);
  }

  writeMember(bound: number, step: S): void {
    this.#write(this.#places, memberBytes({ places: this.#places, bound }), { kind: 'member' }, step);
  }

  #write(place: number, bytes: Uint8Array, answer: LedgerAnswer | null, step: S): void {
    if (this.#hasFailed) return;
    this.#latest.set(place, bytes);
    const number = answer && this.#queue.enter(answer);
    this.#queue.write(place, number, step);
    // A disk without the member's record has forgotten its votes as well.
    if (number !== null && place !== this.#places) this.#queue.await(this.#places, number);
  }

  /** The disk's contents, once all of it is read. */
  completed({ op, ok, value }: Completion, step: S): LedgerContents | null {
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
    if (value !== null) this.#take(op - this.#places - 1, value);
    if (this.#unread > 0 || this.#hasFailed) return null;
    return { bound: this.#bound, records: this.#found.toSorted((one, other) => one.instance - other.instance) };
  }

  #take(place: number, bytes: Uint8Array): void {
    if (place === this.#places) {
      const member = memberRecord(bytes);
      // A disk with more places than this ledger reads may hide votes in the others.
      if (member?.places === this.#places) this.#bound = member.bound;
      else this.#hasFailed = true;
      return;
    }
    const record = instanceRecord(bytes);
    // A record that is damaged may hide a vote: the member must not vote again.
    if (record === null || record.instance % this.#places !== place) this.#hasFailed = true;
    else this.#found.push(record);
  }

  #keyOf(place: number): string {
    return place === this.#places ? MEMBER_KEY : `consensus/${place}`;
  }

  #bytesOf(place: number): Uint8Array {
    const bytes = this.#latest.get(place);
    invariant(bytes !== undefined, 'a place of the disk is written, and nobody knows what with');
    return bytes;
  }

  snapshot(): Snapshot {
    return {
      queue: this.#queue.snapshot(),
      latest: [...this.#latest].sort(([one], [other]) => one - other).map(([place, bytes]) => [place, valueText(bytes)] as const),
      unread: this.#unread,
      found: [...this.#found].sort((a, b) => a.instance - b.instance).map((record) => ({ ...record, value: valueText(record.value) })),
      bound: this.#bound,
      hasFailed: this.#hasFailed,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as LedgerSnapshot;
    this.#queue.restore(told.queue);
    for (const [place, bytes] of told.latest) this.#latest.set(place, valueBytes(bytes));
    this.#unread = told.unread;
    this.#found.push(...told.found.map((record) => ({ ...record, value: valueBytes(record.value) })));
    this.#bound = told.bound;
    this.#hasFailed = told.hasFailed;
  }
}

interface LedgerSnapshot {
  readonly queue: Snapshot;
  readonly latest: readonly (readonly [number, string])[];
  readonly unread: number;
  readonly found: readonly (Omit<InstanceRecord, 'value'> & { readonly value: string })[];
  readonly bound: number | null;
  readonly hasFailed: boolean;
}
