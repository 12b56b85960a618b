/**
 * What a holder remembers: a row for each name it holds or asks for, 44 bytes. The numbers mean what the core
 * says they mean; here they are only kept, and their memory is given back when rows end.
 */
import { type F64Column, Rows, type U32Column, type U8Column } from './columns.ts';
import { LeaseColumn } from './lease-column.ts';
import { HOLD_ROLE, type NameTable } from './name-table.ts';

export class HoldTable {
  readonly #names: NameTable;
  readonly #rows: Rows = new Rows({ f64: 4, u32: 2, u16: 1, u8: 2 });
  readonly #token: F64Column = this.#rows.f64(0);
  readonly #ballot: F64Column = this.#rows.f64(1);
  readonly #deadlineMono: F64Column = this.#rows.f64(2);
  readonly #deadlineWall: F64Column = this.#rows.f64(3);
  readonly #lease: LeaseColumn = new LeaseColumn(this.#rows.u32(0), this.#rows.u16(0));
  readonly #termMs: U32Column = this.#rows.u32(1);
  readonly #flags: U8Column = this.#rows.u8(0);
  readonly #bundled: U8Column = this.#rows.u8(1);
  #count = 0;

  constructor(names: NameTable) {
    this.#names = names;
  }

  has(id: number): boolean {
    return this.#names.isUsed(id, HOLD_ROLE);
  }

  /** A row for the name, which lives at least as long. Where there is one already, its numbers are replaced. */
  add(
    id: number,
    lease: number,
    token: number,
    ballot: number,
    deadlineMono: number,
    deadlineWall: number,
    termMs: number,
    flags: number,
  ): void {
    if (!this.has(id)) {
      this.#names.retain(id, HOLD_ROLE);
      this.#rows.enter(id);
      this.#count++;
    }
    this.#lease.set(id, lease);
    this.#token.set(id, token);
    this.#ballot.set(id, ballot);
    this.#deadlineMono.set(id, deadlineMono);
    this.#deadlineWall.set(id, deadlineWall);
    this.#termMs.set(id, termMs);
    this.#flags.set(id, flags);
    this.#bundled.set(id, 0);
  }

  /** False if there was no row. With its last row the name is gone too. */
  remove(id: number): boolean {
    if (!this.has(id)) return false;
    this.#rows.leave(id);
    this.#count--;
    this.#names.drop(id, HOLD_ROLE);
    return true;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#rows.bytes;
  }

  lease(id: number): number {
    return this.#lease.get(id);
  }

  token(id: number): number {
    return this.#token.get(id);
  }

  ballot(id: number): number {
    return this.#ballot.get(id);
  }

  deadlineMono(id: number): number {
    return this.#deadlineMono.get(id);
  }

  deadlineWall(id: number): number {
    return this.#deadlineWall.get(id);
  }

  termMs(id: number): number {
    return this.#termMs.get(id);
  }

  flags(id: number): number {
    return this.#flags.get(id);
  }

  /** Which of its voters have it in a bundle, as bits. */
  bundled(id: number): number {
    return this.#bundled.get(id);
  }

  setBundled(id: number, bundled: number): void {
    this.#bundled.set(id, bundled);
  }

  setLease(id: number, lease: number): void {
    this.#lease.set(id, lease);
  }

  setToken(id: number, token: number): void {
    this.#token.set(id, token);
  }

  setBallot(id: number, ballot: number): void {
    this.#ballot.set(id, ballot);
  }

  setDeadlineMono(id: number, deadlineMono: number): void {
    this.#deadlineMono.set(id, deadlineMono);
  }

  setDeadlineWall(id: number, deadlineWall: number): void {
    this.#deadlineWall.set(id, deadlineWall);
  }

  setTermMs(id: number, termMs: number): void {
    this.#termMs.set(id, termMs);
  }

  setFlags(id: number, flags: number): void {
    this.#flags.set(id, flags);
  }
}
