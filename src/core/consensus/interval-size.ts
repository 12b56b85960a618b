/**
 * λ: how many instances a lease is asked for (I10). Fixed, or adaptive: it begins with half of the largest size, or optimistically with the largest; it is halved when a
 * lease is refused, and grows by an eighth of the largest with each that is granted.
 */
import { invariant } from '../../kernel/index.ts';

export type LambdaChoice =
  | { readonly kind: 'fixed'; readonly size: number }
  | { readonly kind: 'adaptive'; readonly max: number; readonly isOptimistic: boolean };

const GROWTH_STEPS = 8;

/** The largest size that any lease has. */
export function lambdaMax(choice: LambdaChoice): number {
  return choice.kind === 'fixed' ? choice.size : choice.max;
}

export class IntervalSize {
  readonly #choice: LambdaChoice;
  #size: number;

  constructor(choice: LambdaChoice) {
    const max = lambdaMax(choice);
    invariant(Number.isSafeInteger(max) && max >= 1, 'a lease is of at least one instance');
    this.#choice = choice;
    this.#size = choice.kind === 'adaptive' && !choice.isOptimistic ? Math.max(1, Math.floor(max / 2)) : max;
  }

  get size(): number {
    return this.#size;
  }

  granted(): void {
    if (this.#choice.kind === 'fixed') return;
    const { max } = this.#choice;
    this.#size = Math.min(max, this.#size + Math.max(1, Math.floor(max / GROWTH_STEPS)));
  }

  refused(): void {
    if (this.#choice.kind === 'adaptive') this.#size = Math.max(1, Math.floor(this.#size / 2));
  }

  restore(size: number): void {
    this.#size = size;
  }
}
