/**
 * Records that this process has set free, as it wrote them: with such a record a lease is taken without a look at the store. A read would have found the
 * record, and the swap wins only if it is still there: a process that remembers wrongly loses the swap, and reads then.
 */
import type { Snapshot } from '../../contract.ts';
import { fromPlain, toPlain, type KnownRecord } from './claim.ts';

const KEPT_MAX = 1024;

export class FreedRecords {
  /** The first was set free longest ago. */
  readonly #byName = new Map<string, KnownRecord>();

  keep(name: string, freed: KnownRecord): void {
    this.#byName.delete(name);
    this.#byName.set(name, freed);
    if (this.#byName.size <= KEPT_MAX) return;
    for (const oldest of this.#byName.keys()) {
      this.#byName.delete(oldest);
      return;
    }
  }

  /** It is used once: whether it was right or not, the record is another after that. */
  take(name: string): KnownRecord | undefined {
    const freed = this.#byName.get(name);
    this.#byName.delete(name);
    return freed;
  }

  clear(): void {
    this.#byName.clear();
  }

  /** In the order in which they will be forgotten. */
  snapshot(): Snapshot {
    return [...this.#byName].map(([name, freed]) => [name, toPlain(freed)]);
  }

  restore(snapshot: Snapshot): void {
    this.#byName.clear();
    for (const [name, freed] of snapshot as readonly (readonly [string, Snapshot])[])
      this.#byName.set(name, fromPlain(freed) as KnownRecord);
  }
}
