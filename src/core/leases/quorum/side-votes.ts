/**
 * The votes of one acceptor that are not for exclusive leases: several for a name, each with its mode. They stand beside the table of exclusive
 * votes, and a role bit of the name says that there are any, so a name that was never shared costs nothing here.
 */
import { invariant, NumberMap, type BallotTime, type Incarnation } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { NameTable } from '../../tables/index.ts';
import { internText, namesInOrder } from '../snapshots.ts';
import { clash, SHARED, slotOf } from './modes.ts';
import type { VoteBundle, VoteBundles } from './vote-bundles.ts';

/** This role's bit in the name table. */
const SIDE_ROLE = 32;
/** Numbers of these votes begin here: those below are of names, whose exclusive votes have the same numbers. */
const FIRST_NUMBER = 2 ** 40;

export interface SideVote {
  /** Of the vote, among all of this life. */
  readonly number: number;
  readonly id: number;
  readonly owner: Incarnation;
  readonly lease: number;
  mode: number;
  ballot: BallotTime;
  token: number;
  /** By itself: `endOf` says until when it stands. */
  expiresAt: number;
  meta: Uint8Array;
  bundle: VoteBundle | null;
}

type SideSnapshot = readonly [
  string,
  readonly (readonly [number, Incarnation, number, number, BallotTime, number, number, readonly number[], number])[],
];

/** Counts what the leases of each client take. */
interface SideRoom {
  countSide(owner: Incarnation, metaBytes: number, sign: 1 | -1): void;
}

const NONE: readonly SideVote[] = [];

export class SideVotes {
  readonly #names: NameTable;
  readonly #room: SideRoom;
  readonly #bundles: VoteBundles;
  readonly #rows = new Map<number, SideVote[]>();
  readonly #byNumber: NumberMap<SideVote>;
  /** A name may have thousands of votes: the renewal of one must not look at all. */
  readonly #byLease = new Map<string, SideVote>();
  #next = FIRST_NUMBER;

  constructor(names: NameTable, room: SideRoom, bundles: VoteBundles) {
    this.#bundles = bundles;
    this.#names = names;
    this.#room = room;
    this.#byNumber = new NumberMap(names.key);
  }

  get count(): number {
    return this.#byNumber.size;
  }

  /** Whether the name has any, alive or not. */
  has(id: number): boolean {
    return id >= 0 && this.#names.isUsed(id, SIDE_ROLE);
  }

  of(id: number): readonly SideVote[] {
    return this.has(id) ? (this.#rows.get(id) ?? NONE) : NONE;
  }

  numbered(number: number): SideVote | undefined {
    return number < FIRST_NUMBER ? undefined : this.#byNumber.get(number);
  }

  /** The number of the name that a vote is for, whatever its mode. */
  nameOf(number: number): number {
    return this.numbered(number)?.id ?? number;
  }

  /** The length of what the holder says of itself, if this lease has a vote here; -1 if not. */
  metaOf(id: number, { owner, lease }: { readonly owner: Incarnation; readonly lease: number }): number {
    return this.has(id) ? (this.find(id, owner, lease)?.meta.length ?? -1) : -1;
  }

  setMeta(row: SideVote, meta: Uint8Array): void {
    this.#room.countSide(row.owner, row.meta.length, -1);
    row.meta = meta;
    this.#room.countSide(row.owner, meta.length, 1);
  }

  find(id: number, owner: Incarnation, lease: number): SideVote | undefined {
    return this.has(id) ? this.#byLease.get(leaseKey({ id, owner, lease })) : undefined;
  }

  /** Votes that have ended. */
  ended(id: number, now: number): readonly SideVote[] {
    let ended: SideVote[] | null = null;
    for (const row of this.of(id)) if (endOf(row) <= now) (ended ??= []).push(row);
    return ended ?? NONE;
  }

  /** A live vote of another lease that clashes with the mode. */
  clashing(id: number, mode: number, owner: Incarnation, lease: number, now: number): SideVote | undefined {
    for (const row of this.of(id))
      if (clash(row.mode, mode) && now < endOf(row) && (row.owner !== owner || row.lease !== lease)) return row;
    return undefined;
  }

  add(id: number, row: Omit<SideVote, 'number' | 'id' | 'bundle'>): SideVote {
    const added = { ...row, number: this.#next++, id, bundle: null };
    this.#enter(added);
    return added;
  }

  join(row: SideVote, bundle: VoteBundle): void {
    if (row.bundle === bundle) return;
    this.leave(row);
    row.bundle = bundle;
    this.#bundles.add(bundle, row);
  }

  /** The vote stands for as long as it did. */
  leave(row: SideVote): void {
    const { bundle } = row;
    if (bundle === null) return;
    row.expiresAt = endOf(row);
    row.bundle = null;
    this.#bundles.take(bundle, row);
  }

  /** With its last vote the name may be gone. */
  remove(row: SideVote): void {
    this.leave(row);
    const rows = this.#rows.get(row.id);
    const index = rows?.indexOf(row) ?? -1;
    invariant(rows !== undefined && index >= 0, 'a vote was removed that is not there');
    this.#byNumber.delete(row.number);
    this.#byLease.delete(leaseKey(row));
    this.#room.countSide(row.owner, row.meta.length, -1);
    rows.splice(index, 1);
    if (rows.length > 0) return;
    this.#rows.delete(row.id);
    this.#names.drop(row.id, SIDE_ROLE);
  }

  hasReader(id: number, now: number): boolean {
    return this.of(id).some((row) => row.mode === SHARED && now < endOf(row));
  }

  /** The slots below `slots` that have no live vote, as bits. */
  freeSlots(id: number, slots: number, now: number): Uint8Array {
    const bits = new Uint8Array(Math.ceil(slots / 8));
    for (let slot = 0; slot < slots; slot++) bits[slot >> 3] = (bits[slot >> 3] as number) | (1 << (slot & 7));
    for (const row of this.of(id)) {
      const slot = slotOf(row.mode);
      if (slot >= 0 && slot < slots && now < endOf(row)) bits[slot >> 3] = (bits[slot >> 3] as number) & ~(1 << (slot & 7));
    }
    return bits;
  }

  #enter(row: SideVote): void {
    let rows = this.#rows.get(row.id);
    if (!rows) {
      this.#rows.set(row.id, (rows = []));
      this.#names.retain(row.id, SIDE_ROLE);
    }
    rows.push(row);
    this.#byNumber.set(row.number, row);
    this.#byLease.set(leaseKey(row), row);
    this.#room.countSide(row.owner, row.meta.length, 1);
  }

  snapshot(): Snapshot {
    return namesInOrder(this.#names, (id) => this.has(id)).map(({ id, text }) => [
      text,
      this.of(id).map((row) => [
        row.number,
        row.owner,
        row.lease,
        row.mode,
        row.ballot,
        row.token,
        row.expiresAt,
        [...row.meta],
        row.bundle?.number ?? 0,
      ]),
    ]);
  }

  restore(snapshot: Snapshot): void {
    for (const [text, rows] of snapshot as unknown as readonly SideSnapshot[]) {
      const id = internText(this.#names, text);
      for (const [number, owner, lease, mode, ballot, token, expiresAt, meta, joined] of rows) {
        const row = { number, id, owner, lease, mode, ballot, token, expiresAt, meta: Uint8Array.from(meta), bundle: null };
        this.#enter(row);
        const bundle = joined === 0 ? undefined : this.#bundles.numbered(joined);
        if (bundle) this.join(row, bundle);
        this.#next = Math.max(this.#next, number + 1);
      }
    }
  }
}

/** Until when the vote stands, by itself or by its bundle. */
export function endOf({ expiresAt, bundle }: Pick<SideVote, 'expiresAt' | 'bundle'>): number {
  return bundle === null ? expiresAt : Math.max(expiresAt, bundle.until);
}

function leaseKey({ id, owner, lease }: Pick<SideVote, 'id' | 'owner' | 'lease'>): string {
  return `${id}/${owner}/${lease}`;
}
