/** Batches that are decided and not in the log yet, because an earlier instance is not. While a member copies the log they may become many: then only some are kept, and the others are copied as well. */
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';

const KEPT_MAX = 256;

export class DecidedBatches {
  readonly #batches = new Map<number, Uint8Array>();

  /** The log ends with the instance `logged`. */
  add(instance: number, batch: Uint8Array, logged: number): void {
    if (instance > logged && (this.#batches.size < KEPT_MAX || instance === logged + 1)) this.#batches.set(instance, batch);
  }

  has(instance: number): boolean {
    return this.#batches.has(instance);
  }

  /** It is kept no more. */
  take(instance: number): Uint8Array | undefined {
    const batch = this.#batches.get(instance);
    this.#batches.delete(instance);
    return batch;
  }

  /** The last instance whose batch is here; 0 if there is none. */
  get highest(): number {
    return Math.max(0, ...this.#batches.keys());
  }

  clear(): void {
    this.#batches.clear();
  }

  snapshot(): Snapshot {
    return [...this.#batches].sort(([one], [other]) => one - other).map(([instance, batch]) => [instance, valueText(batch)] as const);
  }

  restore(snapshot: Snapshot): void {
    this.#batches.clear();
    for (const [instance, batch] of snapshot as readonly (readonly [number, string])[]) this.#batches.set(instance, valueBytes(batch));
  }
}
