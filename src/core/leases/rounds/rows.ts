/**
 * The registers of one acceptor by name. A register that a process asks about is an object, a row. When no attempt depends on
 * it any more and it only waits for its lease to end, it rests: 42 bytes in a table, woken when it is asked for.
 */
import { ballotTime, decodeName, monoUs, NEVER, NOBODY, NumberMap, type Incarnation, type MonoUs } from '../../../kernel/index.ts';
import { RoundsRegister } from '../../registers/round-based.ts';
import { LEASE_ROLE, LeaseColumn, OwnerTable, Rows, type F64Column, type NameTable, type U32Column } from '../../tables/index.ts';
import type { LeaseValue, RoundMessage } from './messages.ts';

export class Row extends RoundsRegister<LeaseValue> {
  /** Of its name. */
  readonly id: number;
  /** The vote stands until then. */
  untilMono: MonoUs = monoUs(0);
  /** The promise is worth something until then: no attempt lives longer. */
  promisedUntil: MonoUs = monoUs(0);
  /** The highest token of any lease on this name. */
  token = 0;
  /** The lease with that token if its time was over here: its owner may have renewed it elsewhere. Not a lease that was given back. */
  endedBy: Incarnation = NOBODY;
  endedLease = 0;
  /** When the calendar comes to it: one entry a row counts, however often it is read and written. */
  lookAt: MonoUs = NEVER;

  constructor(id: number) {
    super();
    this.id = id;
  }
}

export class RegisterRows {
  readonly #names: NameTable;
  readonly #owners: OwnerTable;
  readonly #awake = new NumberMap<Row>();
  readonly #resting: Rows = new Rows({ f64: 4, u32: 2, u16: 1, u8: 0 });
  readonly #ballot: F64Column = this.#resting.f64(0);
  readonly #token: F64Column = this.#resting.f64(1);
  readonly #untilUs: F64Column = this.#resting.f64(2);
  readonly #untilMono: F64Column = this.#resting.f64(3);
  readonly #holder: U32Column = this.#resting.u32(0);
  readonly #lease: LeaseColumn = new LeaseColumn(this.#resting.u32(1), this.#resting.u16(0));
  #count = 0;

  constructor(names: NameTable) {
    this.#owners = new OwnerTable(names.key);
    this.#names = names;
  }

  /** How many rest. */
  get resting(): number {
    return this.#count;
  }

  /** Every id is below this. */
  get idLimit(): number {
    return this.#names.idLimit;
  }

  /** The row of a name, awake; a new one if there was none. */
  of({ name, nameStart, nameEnd }: RoundMessage): Row {
    const id = this.#names.intern(name, nameStart, nameEnd);
    const row = this.#awake.get(id);
    if (row !== undefined) return row;
    return this.#names.isUsed(id, LEASE_ROLE) ? this.rouse(id) : this.#enter(new Row(id));
  }

  /** Null if it rests, or is no more. */
  awake(id: number): Row | null {
    return this.#awake.get(id) ?? null;
  }

  /** When the vote of a resting row ends; null if the row does not rest. */
  restsUntil(id: number): MonoUs | null {
    return this.#names.isUsed(id, LEASE_ROLE) && !this.#awake.has(id) ? monoUs(this.#untilMono.get(id)) : null;
  }

  /** Wakes a resting row. */
  rouse(id: number): Row {
    const row = this.#enter(this.#unpack(id));
    this.#owners.release(this.#holder.get(id));
    this.#resting.leave(id);
    this.#count--;
    return row;
  }

  /**
   * False if the row says more than the table has room for: the holder's metadata, or that another process than its owner wrote it
   * last. Promises are forgotten: no attempt lives that asked for them.
   */
  rest(row: Row): boolean {
    const { id, value } = row;
    if (value === null || value.meta !== undefined || row.token !== value.token) return false;
    if (row.writeTime !== value.ownBallot || row.writeBy !== value.holder || row.endedBy !== NOBODY) return false;
    const holder = this.#owners.indexOf(value.holder);
    this.#owners.retain(holder);
    this.#resting.enter(id);
    this.#count++;
    this.#ballot.set(id, value.ownBallot);
    this.#token.set(id, value.token);
    this.#untilUs.set(id, value.untilUs);
    this.#untilMono.set(id, row.untilMono);
    this.#holder.set(id, holder);
    this.#lease.set(id, value.holderLease);
    this.#awake.delete(id);
    return true;
  }

  /** Nothing depends on it any more. */
  forget({ id }: Row): void {
    this.#awake.delete(id);
    this.#names.drop(id, LEASE_ROLE);
  }

  /** All rows, by name. Resting rows go on resting. */
  inOrder(): { name: string; row: Row }[] {
    const found: { name: string; row: Row }[] = [];
    for (let id = 0; id < this.#names.idLimit; id++) {
      if (!this.#names.isUsed(id, LEASE_ROLE)) continue;
      const bytes = this.#names.toBytes(id);
      found.push({ name: decodeName(bytes, 0, bytes.length) ?? '', row: this.#awake.get(id) ?? this.#unpack(id) });
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #enter(row: Row): Row {
    this.#names.retain(row.id, LEASE_ROLE);
    this.#awake.set(row.id, row);
    return row;
  }

  #unpack(id: number): Row {
    const row = new Row(id);
    const holder = this.#owners.incarnationOf(this.#holder.get(id));
    const token = this.#token.get(id);
    const ownBallot = ballotTime(this.#ballot.get(id));
    row.write(ownBallot, holder, {
      holder,
      holderLease: this.#lease.get(id),
      token,
      untilUs: this.#untilUs.get(id),
      ownBallot,
      meta: undefined,
    });
    row.token = token;
    row.untilMono = monoUs(this.#untilMono.get(id));
    return row;
  }
}
