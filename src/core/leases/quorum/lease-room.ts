/**
 * How much of one member's memory the leases of each client take, counted in units of about 128 bytes: a lease is one, and its
 * metadata one more than the units it fills. Clients are known by the index of their owner table.
 */
import { invariant } from '../../../kernel/index.ts';
import { shareOf } from '../limits.ts';

const UNIT_BYTES = 128;
/** All clients together may have so many times what one may have that is alone. */
export const LEASES_IN_ALL = 2;

export function unitsOfMeta(bytes: number): number {
  return bytes === 0 ? 0 : 1 + Math.ceil(bytes / UNIT_BYTES);
}

export class LeaseRoom {
  readonly #limit: number;
  readonly #units: number[] = [];
  #all = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The client's leases take so many more, or fewer. */
  add(client: number, units: number): void {
    const own = (this.#units[client] ?? 0) + units;
    this.#all += units;
    invariant(own >= 0 && this.#all >= own, 'leases were taken from a client that has fewer');
    if (this.#all === 0) this.#units.length = 0;
    else this.#units[client] = own;
  }

  /** Whether there is room for so many more of any one of so many clients: then none has to be looked up. */
  isWide(units: number, clients: number): boolean {
    return this.#all + units <= shareOf(this.#limit, clients);
  }

  /** Whether there is room for so many more of this one; -1 is a client that has none. */
  has(units: number, client: number, clients: number): boolean {
    const own = client < 0 ? 0 : (this.#units[client] ?? 0);
    return own + units <= shareOf(this.#limit, clients) && this.#all + units <= LEASES_IN_ALL * this.#limit;
  }
}
