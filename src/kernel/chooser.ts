/**
 * Where every choice comes from. A core never draws a random number: it asks its chooser, which is
 * seeded by the simulator and the runtime, and enumerated by the explorer.
 */
import { TenureError } from './errors.ts';
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
 * Walks every sequence of choices, one after the other, in depth-first order. A run may take any number of choices, and
 * later bounds may depend on earlier choices, but the same choices must lead to the same run: a run that asks for
 * another bound, or ends before it reached the choice it was started for, would leave sequences out unseen. It throws.
 *
 *     const all = new EnumeratingChooser();
 *     do { run(all); } while (all.next());
 */
export class EnumeratingChooser implements Chooser {
  readonly #taken: number[] = [];
  readonly #bounds: number[] = [];
  #depth = 0;

  below(bound: number): number {
    if (!Number.isSafeInteger(bound) || bound <= 0) {
      throw new TenureError('TENURE_INTERNAL', `cannot choose below ${bound}: the bound is a positive safe integer`);
    }
    const depth = this.#depth++;
    const planned = this.#taken[depth];
    if (planned === undefined) {
      this.#taken.push(0);
      this.#bounds.push(bound);
      return 0;
    }
    if (this.#bounds[depth] !== bound) {
      throw new TenureError(
        'TENURE_INTERNAL',
        `the choice at depth ${depth} changed from ${this.#bounds[depth]} to ${bound}: the run is not deterministic`,
      );
    }
    return planned;
  }

  /** Moves on to the next sequence; false when all were walked. */
  next(): boolean {
    if (this.#depth < this.#taken.length) {
      throw new TenureError(
        'TENURE_INTERNAL',
        `the run ended after ${this.#depth} choices and was to take ${this.#taken.length}: the run is not deterministic`,
      );
    }
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
