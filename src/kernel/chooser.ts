/**
 * Where every choice comes from. A core never draws a random number: it asks its chooser, which is
 * seeded by the simulator and the runtime, and enumerated by the explorer.
 */
import { Random } from './random.ts';

export interface Chooser {
  /** An integer in [0, bound). `bound` is a positive safe integer. */
  below(bound: number): number;
}

/** Draws from a seed. The same seed gives the same choices on every machine. */
export class SeededChooser implements Chooser {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }
}

/**
 * Walks every sequence of choices, one after the other, in depth-first order:
 *
 *     const all = new EnumeratingChooser();
 *     do { run(all); } while (all.next());
 */
export class EnumeratingChooser implements Chooser {
  readonly #taken: number[] = [];
  readonly #bounds: number[] = [];
  #depth = 0;

  below(bound: number): number {
    const depth = this.#depth++;
    const planned = this.#taken[depth];
    if (planned === undefined) {
      this.#taken.push(0);
      this.#bounds.push(bound);
      return 0;
    }
    if (this.#bounds[depth] !== bound) {
      throw new Error(`the choice at depth ${depth} changed from ${this.#bounds[depth]} to ${bound}: the run is not deterministic`);
    }
    return planned;
  }

  /** Moves on to the next sequence; false when all were walked. */
  next(): boolean {
    // A run may have stopped before it reached every planned choice: what it never asked for is dropped.
    this.#taken.length = Math.min(this.#taken.length, this.#depth);
    this.#bounds.length = this.#taken.length;
    this.#depth = 0;
    while (this.#taken.length > 0) {
      const last = this.#taken.length - 1;
      const choice = (this.#taken[last] as number) + 1;
      if (choice < (this.#bounds[last] as number)) {
        this.#taken[last] = choice;
        return true;
      }
      this.#taken.pop();
      this.#bounds.pop();
    }
    return false;
  }
}
