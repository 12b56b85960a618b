/**
 * What a learner has heard: a row for each name whose holder it knows, 20 bytes. The numbers mean what the core
 * says they mean; here they are only kept, and their memory is given back when rows end.
 */
import { type F64Column, Rows, type U32Column } from './columns.ts';
import { LEARN_ROLE, type NameTable } from './name-table.ts';

export class LearnTable {
  readonly #names: NameTable;
  readonly #rows: Rows = new Rows({ f64: 2, u32: 1, u16: 0, u8: 0 });
  readonly #token: F64Column = this.#rows.f64(0);
  readonly #until: F64Column = this.#rows.f64(1);
  readonly #owner: U32Column = this.#rows.u32(0);
  #count = 0;

  constructor(names: NameTable) {
    this.#names = names;
  }

  has(id: number): boolean {
    return this.#names.isUsed(id, LEARN_ROLE);
  }

  /** A row for the name, which lives at least as long. Where there is one already, its numbers are replaced. */
  add(id: number, owner: number, token: number, until: number): void {
    if (!this.has(id)) {
      this.#names.retain(id, LEARN_ROLE);
      this.#rows.enter(id);
      this.#count++;
    }
    this.#owner.set(id, owner);
    this.#token.set(id, token);
    this.#until.set(id, until);
  }

  /** False if there was no row. With its last row the name is gone too. */
  remove(id: number): boolean {
    if (!this.has(id)) return false;
    this.#rows.leave(id);
    this.#count--;
    this.#names.drop(id, LEARN_ROLE);
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

  token(id: number): number {
    return this.#token.get(id);
  }

  until(id: number): number {
    return this.#until.get(id);
  }

  setOwner(id: number, owner: number): void {
    this.#owner.set(id, owner);
  }

  setToken(id: number, token: number): void {
    this.#token.set(id, token);
  }

  setUntil(id: number, until: number): void {
    this.#until.set(id, until);
  }
}
