/**
 * A map that remembers at least its newest `limit` entries and at most twice as many. Old entries go
 * a whole generation at a time, so a run of any length costs bounded memory and no work per entry.
 */
import type { Json } from '../kernel/index.ts';
import { inOrder } from './memory.ts';

/** Both generations, entry by entry. */
export type RecentMemory<E extends Json> = readonly [older: readonly E[], newer: readonly E[]];

export class RecentMap<K, V> {
  readonly #limit: number;
  readonly #onForget: ((dropped: ReadonlyMap<K, V>) => void) | null;
  #older = new Map<K, V>();
  #newer = new Map<K, V>();

  constructor(limit: number, onForget: ((dropped: ReadonlyMap<K, V>) => void) | null = null) {
    this.#limit = limit;
    this.#onForget = onForget;
  }

  get(key: K): V | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  /** Remembers a key; a key that is remembered already becomes new again. */
  set(key: K, value: V): void {
    if (this.#newer.size >= this.#limit && !this.#newer.has(key)) {
      const dropped = this.#older;
      this.#older = this.#newer;
      this.#newer = new Map();
      // Not before the turn: a key in both generations is still remembered.
      if (dropped.size > 0) this.#onForget?.(dropped);
    }
    this.#newer.set(key, value);
  }

  snapshot<E extends Json>(told: (key: K, value: V) => E): RecentMemory<E> {
    const generation = (entries: ReadonlyMap<K, V>): E[] => inOrder([...entries].map(([key, value]) => told(key, value)));
    return [generation(this.#older), generation(this.#newer)];
  }

  /** Of a fresh map with the same limit. */
  restore<E extends Json>([older, newer]: RecentMemory<E>, read: (entry: E) => [key: K, value: V]): void {
    this.#older = new Map(older.map(read));
    this.#newer = new Map(newer.map(read));
  }

  /** Entries from the oldest on. */
  *entries(): Generator<[K, V]> {
    yield* this.#older;
    yield* this.#newer;
  }
}
