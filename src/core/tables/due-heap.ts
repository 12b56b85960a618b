/**
 * Things to look at again at some instant: a small heap. An entry may be stale when it comes up; the caller checks. Entries that are due
 * at the same instant come by their keys, not by when they were entered: that is in no snapshot.
 */
import { NEVER, type MonoUs } from '../../kernel/index.ts';

const STALE_MIN = 64;
const STALE_FACTOR = 4;
const NAMES_FACTOR = 1 / 16;

export class DueHeap {
  readonly #at: number[] = [];
  readonly #key: number[] = [];

  get size(): number {
    return this.#at.length;
  }

  get nextAt(): MonoUs {
    return (this.#at[0] ?? NEVER) as MonoUs;
  }

  /**
   * Whether it is worth being written anew: leases that ended long before they were due leave entries behind, and with long
   * terms those pile up. Writing it anew looks at every name the node knows, so that is not done for a few.
   */
  isOvergrown(live: number, names: number): boolean {
    return this.size > STALE_MIN + STALE_FACTOR * live + NAMES_FACTOR * names;
  }

  clear(): void {
    this.#at.length = 0;
    this.#key.length = 0;
  }

  push(at: MonoUs, key: number): void {
    const ats = this.#at;
    const keys = this.#key;
    let hole = ats.length;
    ats.push(at);
    keys.push(key);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const above = ats[parent] as number;
      if (above < at || (above === at && (keys[parent] as number) <= key)) break;
      ats[hole] = ats[parent] as number;
      keys[hole] = keys[parent] as number;
      hole = parent;
    }
    ats[hole] = at;
    keys[hole] = key;
  }

  /** The key of the earliest entry that is due, or -1. */
  take(now: MonoUs): number {
    const ats = this.#at;
    const keys = this.#key;
    if (ats.length === 0 || (ats[0] as number) > now) return -1;
    const taken = keys[0] as number;
    const at = ats.pop() as number;
    const key = keys.pop() as number;
    const size = ats.length;
    if (size > 0) {
      let hole = 0;
      for (;;) {
        let child = 2 * hole + 1;
        if (child >= size) break;
        if (child + 1 < size && this.#isBefore(child + 1, child)) child++;
        const below = ats[child] as number;
        if (below > at || (below === at && (keys[child] as number) >= key)) break;
        ats[hole] = ats[child] as number;
        keys[hole] = keys[child] as number;
        hole = child;
      }
      ats[hole] = at;
      keys[hole] = key;
    }
    return taken;
  }

  #isBefore(a: number, b: number): boolean {
    const apart = (this.#at[a] as number) - (this.#at[b] as number);
    return apart < 0 || (apart === 0 && (this.#key[a] as number) < (this.#key[b] as number));
  }
}
