/**
 * What an acceptor remembers: a row for each name it has promised or accepted for, 34 bytes. The numbers mean
 * what the core says they mean; here they are only kept, and their memory is given back when rows end.
 */
import { type F64Column, Rows, type U32Column } from './columns.ts';
import { LeaseColumn } from './lease-column.ts';
import { LEASE_ROLE, type NameTable } from './name-table.ts';

export class LeaseTable {
  readonly #names: NameTable;
  readonly #rows: Rows = new Rows({ f64: 3, u32: 2, u16: 1, u8: 0 });
  readonly #ballot: F64Column = this.#rows.f64(0);
  readonly #token: F64Column = this.#rows.f64(1);
  readonly #expiresAt: F64Column = this.#rows.f64(2);
  readonly #owner: U32Column = this.#rows.u32(0);
  readonly #lease: LeaseColumn = new LeaseColumn(this.#rows.u32(1), this.#rows.u16(0));
  #count = 0;

  constructor(names: NameTable) {
    this.#names = names;
  }

  has(id: number): boolean {
    return this.#names.isUsed(id, LEASE_ROLE);
  }

  /** A row for the name, which lives at least as long. Where there is one already, its numbers are replaced. */
  add(id: number, owner: number, lease: number, ballot: number, token: number, expiresAt: number): void {
    if (!this.has(id)) {
      this.#names.retain(id, LEASE_ROLE);
      this.#rows.enter(id);
      this.#count++;
    }
    this.#owner.set(id, owner);
    this.#lease.set(id, lease);
    this.#ballot.set(id, ballot);
    this.#token.set(id, token);
    this.#expiresAt.set(id, expiresAt);
  }

  /** False if there was no row. With its last row the name is gone too. */
  remove(id: number): boolean {
    if (!this.has(id)) return false;
    this.#rows.leave(id);
    this.#count--;
    this.#names.drop(id, LEASE_ROLE);
    return true;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#rows.bytes;
  }

  owner(id: number): number {
    return this.#owner.get(id);
  }

  lease(id: number): number {
    return this.#lease.get(id);
  }

  ballot(id: number): number {
    return this.#ballot.get(id);
  }

  token(id: number): number {
    return this.#token.get(id);
  }

  expiresAt(id: number): number {
    return this.#expiresAt.get(id);
  }

  setOwner(id: number, owner: number): void {
    this.#owner.set(id, owner);
  }

  setLease(id: number, lease: number): void {
    this.#lease.set(id, lease);
  }

  setBallot(id: number, ballot: number): void {
    this.#ballot.set(id, ballot);
  }

  setToken(id: number, token: number): void {
    this.#token.set(id, token);
  }

  setExpiresAt(id: number, expiresAt: number): void {
    this.#expiresAt.set(id, expiresAt);
  }
}
