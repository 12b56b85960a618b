/**
 * Owners' incarnations, 53 bits each, known to the rows of other tables by small indexes. An owner is kept
 * while references to it are counted; then its index is used again.
 */
import { invariant, NumberMap, type HashKey, type Incarnation } from '../../kernel/index.ts';

export class OwnerTable {
  readonly #indexes: NumberMap<number>;
  readonly #incarnations: number[] = [];
  readonly #references: number[] = [];
  readonly #free: number[] = [];
  /** The owner that was asked for last, which is mostly asked for again; -1 for none. */
  #last = -1;
  #lastIndex = -1;

  /** The starter of a process chooses its incarnation: where strangers start processes, there is a key. */
  constructor(key: HashKey | null = null) {
    this.#indexes = new NumberMap(key);
  }

  /** The owner's index, or -1. */
  find(incarnation: Incarnation): number {
    if (incarnation === this.#last) return this.#lastIndex;
    const index = this.#indexes.get(incarnation);
    if (index === undefined) return -1;
    this.#last = incarnation;
    this.#lastIndex = index;
    return index;
  }

  /** The owner's index; a new owner has no reference yet: `retain` it, or `release` it at once to forget it. */
  indexOf(incarnation: Incarnation): number {
    const known = this.find(incarnation);
    if (known >= 0) return known;
    const index = this.#free.pop() ?? this.#incarnations.length;
    this.#incarnations[index] = incarnation;
    this.#references[index] = 0;
    this.#indexes.set(incarnation, index);
    return index;
  }

  /** Of an index that is in use. */
  incarnationOf(index: number): Incarnation {
    return this.#incarnations[index] as Incarnation;
  }

  retain(index: number): void {
    this.#references[index] = (this.#references[index] as number) + 1;
  }

  /** One reference less. True if none is left: then the index means nothing. */
  release(index: number): boolean {
    invariant((this.#incarnations[index] ?? -1) >= 0, 'an owner was released that is not in the table');
    const left = (this.#references[index] as number) - 1;
    this.#references[index] = left;
    if (left > 0) return false;
    this.#indexes.delete(this.#incarnations[index] as number);
    this.#last = -1;
    this.#incarnations[index] = -1;
    this.#references[index] = 0;
    if (this.#indexes.size > 0) this.#free.push(index);
    else {
      this.#incarnations.length = 0;
      this.#references.length = 0;
      this.#free.length = 0;
    }
    return true;
  }

  get count(): number {
    return this.#indexes.size;
  }

  /** About: a number in each of the arrays and two in the map, with the room it keeps. */
  get bytes(): number {
    return this.#incarnations.length * 16 + this.#free.length * 8 + this.#indexes.size * 40;
  }
}
