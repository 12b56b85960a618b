/**
 * Things in the order of their tickets, with the place of each: a list cut into blocks. Entering, leaving and asking for a place
 * look at the blocks and into one of them, however long the line is.
 */
import type { BallotTime, Incarnation } from '../../../kernel/index.ts';

/** A block this long is cut in two. */
const BLOCK_MAX = 512;

export interface Ticketed {
  readonly ticket: BallotTime;
  readonly owner: Incarnation;
  readonly lease: number;
}

export class TicketOrder<Item extends Ticketed> {
  /** None of them is empty. */
  readonly #blocks: Item[][] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Item | undefined {
    return this.#blocks[0]?.[0];
  }

  /** The item at this place, from 0. */
  at(place: number): Item | undefined {
    let left = place;
    for (const block of this.#blocks) {
      if (left < block.length) return block[left];
      left -= block.length;
    }
    return undefined;
  }

  /** Where it stands. It must be in here. */
  placeOf(item: Item): number {
    const index = this.#blockOf(item);
    let place = 0;
    for (let i = 0; i < index; i++) place += (this.#blocks[i] as Item[]).length;
    return place + placeIn(this.#blocks[index] as Item[], item);
  }

  add(item: Item): void {
    this.#length++;
    const blocks = this.#blocks;
    if (blocks.length === 0) {
      blocks.push([item]);
      return;
    }
    // Behind all of them, as most come: in the last block.
    const index = Math.min(this.#blockOf(item), blocks.length - 1);
    const block = blocks[index] as Item[];
    block.splice(placeIn(block, item), 0, item);
    if (block.length > BLOCK_MAX) blocks.splice(index + 1, 0, block.splice(BLOCK_MAX >> 1));
  }

  /** It must be in here. */
  remove(item: Item): void {
    this.#length--;
    const index = this.#blockOf(item);
    const block = this.#blocks[index] as Item[];
    block.splice(placeIn(block, item), 1);
    if (block.length === 0) this.#blocks.splice(index, 1);
  }

  toArray(): Item[] {
    return this.#blocks.flat();
  }

  /** The first block that ends with it or behind it. */
  #blockOf(item: Item): number {
    const blocks = this.#blocks;
    let low = 0;
    let high = blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = blocks[middle] as Item[];
      if (isBefore(block[block.length - 1] as Item, item)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function placeIn<Item extends Ticketed>(block: readonly Item[], item: Item): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(block[middle] as Item, item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Two that took the same ticket stand in an order that is the same at every member. */
function isBefore(a: Ticketed, b: Ticketed): boolean {
  return a.ticket !== b.ticket ? a.ticket < b.ticket : a.owner !== b.owner ? a.owner < b.owner : a.lease < b.lease;
}
