/** Lease numbers, 48 bits each in six bytes: 32 in one column and 16 in another. A number cut to 32 bits would be taken for one of 2³² leases ago. */
import type { U16Column, U32Column } from './columns.ts';

const LOW = 2 ** 32;

export class LeaseColumn {
  readonly #low: U32Column;
  readonly #high: U16Column;

  constructor(low: U32Column, high: U16Column) {
    this.#low = low;
    this.#high = high;
  }

  get(id: number): number {
    return this.#high.get(id) * LOW + this.#low.get(id);
  }

  set(id: number, lease: number): void {
    this.#low.set(id, lease);
    this.#high.set(id, Math.floor(lease / LOW));
  }
}
