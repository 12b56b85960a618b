/** The longest hold of each lease that has such a limit: no deadline passes it, on either clock. */
import { NumberMap, type MonoUs, type WallUs } from '../../../kernel/index.ts';

export interface HoldLimit {
  readonly monoUs: MonoUs;
  readonly wallUs: WallUs;
}

export class HoldLimits {
  readonly #limits = new NumberMap<HoldLimit>();

  /** The limits by the number of the lease. */
  set(lease: number, limit: HoldLimit): void {
    this.#limits.set(lease, limit);
  }

  get(lease: number): HoldLimit | undefined {
    return this.#limits.get(lease);
  }

  forget(lease: number): void {
    if (this.#limits.size > 0) this.#limits.delete(lease);
  }

  snapshot(): [number, HoldLimit][] {
    return this.#limits.keys().map((lease) => [lease, { ...(this.#limits.get(lease) as HoldLimit) }]);
  }

  restore(limits: readonly (readonly [number, HoldLimit])[]): void {
    for (const [lease, limit] of limits) this.#limits.set(lease, limit);
  }
}
