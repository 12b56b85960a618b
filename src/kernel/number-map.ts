/**
 * A map from whole numbers, for entries that come and go all the time. A `Map` makes a new table every so many deletions,
 * and the old tables point to the new: once one is in the old generation, all that is entered after it lives until the
 * next full collection. Here is one table, linear probing, and deletion closes its gap. A caller that lets strangers choose
 * the numbers gives it a key.
 */
import { keyedHashOf, type HashKey } from './keyed-hash.ts';

const EMPTY = -1;
const SLOTS_MIN = 16;
/** What every map begins with: one slot that nobody fills. Most maps of a node never hold anything, and searches build nodes all the time. */
const NO_KEYS = emptyKeys(1);
const NO_VALUES: readonly undefined[] = [undefined];
/** A table of so many slots is not worth giving back: it would be needed again at once. */
const SLOTS_KEPT = 1024;

export class NumberMap<Value> {
  readonly #key: HashKey | null;
  #keys = NO_KEYS;
  /** Undefined where there is no key. */
  #values: (Value | undefined)[] = NO_VALUES as undefined[];
  #size = 0;

  constructor(key: HashKey | null = null) {
    this.#key = key;
  }

  get size(): number {
    return this.#size;
  }

  get(key: number): Value | undefined {
    return this.#values[this.#slotOf(key)];
  }

  has(key: number): boolean {
    return key >= 0 && this.#keys[this.#slotOf(key)] === key;
  }

  /** The key is a whole number from 0. */
  set(key: number, value: Value): void {
    let slot = this.#slotOf(key);
    if (this.#keys[slot] === EMPTY) {
      if (2 * (this.#size + 1) > this.#keys.length) {
        this.#resize(Math.max(SLOTS_MIN, 2 * this.#keys.length));
        slot = this.#slotOf(key);
      }
      this.#keys[slot] = key;
      this.#size++;
    }
    this.#values[slot] = value;
  }

  delete(key: number): boolean {
    const keys = this.#keys;
    const values = this.#values;
    const mask = keys.length - 1;
    let gap = this.#slotOf(key);
    if (key < 0 || keys[gap] !== key) return false;
    // An entry behind the gap whose home is the gap, or before it, moves up.
    for (let slot = (gap + 1) & mask; keys[slot] !== EMPTY; slot = (slot + 1) & mask) {
      const home = this.#homeOf(keys[slot] as number, mask);
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      keys[gap] = keys[slot] as number;
      values[gap] = values[slot];
      gap = slot;
    }
    keys[gap] = EMPTY;
    values[gap] = undefined;
    this.#size--;
    if (keys.length > SLOTS_KEPT && 16 * this.#size < keys.length) this.#resize(keys.length / 4);
    return true;
  }

  clear(): void {
    if (this.#size > 0) this.#allocate(SLOTS_MIN);
  }

  /** From the lowest up, as all lists here; a copy, so the map may change meanwhile. */
  keys(): number[] {
    return this.#size === 0 ? [] : [...this.#keys.filter((key) => key !== EMPTY).sort()];
  }

  entries(): [number, Value][] {
    return this.keys().map((key) => [key, this.get(key) as Value]);
  }

  values(): Value[] {
    return this.keys().map((key) => this.get(key) as Value);
  }

  /** Where it is, or where it would be. */
  #slotOf(key: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let slot = this.#homeOf(key, mask);
    while (keys[slot] !== key && keys[slot] !== EMPTY) slot = (slot + 1) & mask;
    return slot;
  }

  #homeOf(key: number, mask: number): number {
    return this.#key === null ? homeOf(key, mask) : keyedHashOf(this.#key, key) & mask;
  }

  #resize(slots: number): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#allocate(slots);
    keys.forEach((key, slot) => {
      if (key !== EMPTY) this.set(key, values[slot] as Value);
    });
  }

  #allocate(slots: number): void {
    this.#keys = emptyKeys(slots);
    this.#values = emptyValues(slots);
    this.#size = 0;
  }
}

function emptyKeys(slots: number): Float64Array {
  return new Float64Array(slots).fill(EMPTY);
}

function emptyValues(slots: number): undefined[] {
  const values: undefined[] = [];
  for (let slot = 0; slot < slots; slot++) values.push(undefined);
  return values;
}

/**
 * Numbers that follow each other, as they mostly do, stand side by side by fours. More would not do: new numbers whose
 * lowest bits are those of many that stay would stand behind all of these, and every look at one pass them by.
 */
function homeOf(key: number, mask: number): number {
  let mixed = Math.imul(key >>> 2, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  return (((mixed ^ (mixed >>> 13)) << 2) | (key & 3)) & mask;
}
