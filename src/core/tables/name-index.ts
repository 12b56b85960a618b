/**
 * From a hash to the ids of the names that have it: shards of open addressing, linear probing, deletion by
 * shifting back. A full shard grows or splits by one more bit of the hash, an empty one shrinks or merges, so no
 * step touches more than a few thousand entries; each shard does so at sizes of its own, so that the memory
 * of all together is near the average at every number of names.
 */
import { HASH_MAX } from '../../kernel/index.ts';
import type { U32Column } from './columns.ts';

/** An entry is an id plus one, and five bits of its hash: most strangers met while probing need not be looked up. */
const ID_BITS = 27;
const ID_MASK: number = (1 << ID_BITS) - 1;
export const IDS_MAX: number = ID_MASK;

/** Bits that choose neither the shard (the lowest) nor the place in it (the highest). */
const TAG_SHIFT = 13;

const LOAD_MAX = 0.85;
/** A shard this empty shrinks. */
const LOAD_MIN = 0.3;
const GROWTH: number = Math.SQRT2;
/** Names that come and go by the hundred are no reason to make room and take it back each time. */
const SLOTS_MIN = 128;
/** Shards split at sizes from here to twice this. */
const SPLIT_MIN = 4096;

/** The lowest bits stay with a shard's descendants: all of a lineage split at the same size, and the lineages are spread. */
function splitSize(prefix: number): number {
  return Math.floor(SPLIT_MIN * (1 + (prefix & 15) / 16));
}

class Shard {
  readonly slots: Int32Array;
  count = 0;
  readonly fullAt: number;
  readonly emptyAt: number;
  /** Its names agree in this many of the lowest bits of their hashes: `prefix`. */
  readonly depth: number;
  readonly prefix: number;
  readonly splitAt: number;

  constructor(depth: number, prefix: number, names: number) {
    this.depth = depth;
    this.prefix = prefix;
    this.splitAt = splitSize(prefix);
    const length = Math.max(SLOTS_MIN, Math.ceil(names / LOAD_MAX) + 1);
    this.slots = new Int32Array(length);
    this.fullAt = Math.floor(length * LOAD_MAX);
    this.emptyAt = length <= SLOTS_MIN ? -1 : Math.floor(length * LOAD_MIN);
  }

  put(hash: number, entry: number): void {
    const slots = this.slots;
    let at = homeOf(hash, slots.length);
    while (slots[at] !== 0) if (++at === slots.length) at = 0;
    slots[at] = entry;
    this.count++;
  }
}

/** Where probing begins: the hash as a fraction of the length. */
export function homeOf(hash: number, length: number): number {
  return Math.floor((hash * length) / (HASH_MAX + 1));
}

function entryOf(hash: number, id: number): number {
  return ((hash >>> TAG_SHIFT) << ID_BITS) | (id + 1);
}

/** Whether the entry can be of a name with this hash. */
export function isLikely(entry: number, hash: number): boolean {
  return (((hash >>> TAG_SHIFT) << ID_BITS) ^ entry) >>> ID_BITS === 0;
}

export function idOf(entry: number): number {
  return (entry & ID_MASK) - 1;
}

export class NameIndex {
  readonly #hashes: U32Column;
  /** By the lowest bits of a hash; a shard of smaller depth stands in several places. */
  #directory: Shard[] = [];
  /** The same shards' slots: a look-up needs nothing else. */
  #slotsOf: Int32Array[] = [];
  #depth = 0;
  /** Shards as deep as the directory; without any it is halved. */
  #deepest = 1;
  #count = 0;
  #slots = 0;

  constructor(hashes: U32Column) {
    this.#hashes = hashes;
  }

  /** Where entries of names with this hash are, from `homeOf` up to a 0; undefined while the index has never held one. */
  slotsFor(hash: number): Int32Array | undefined {
    return this.#slotsOf[hash & (this.#slotsOf.length - 1)];
  }

  /** The id's hash must already be in its column, because making room reads it there. */
  insert(hash: number, id: number): void {
    if (this.#directory.length === 0) this.#begin();
    let shard = this.#shardOf(hash);
    while (shard.count >= shard.fullAt) {
      this.#enlarge(shard);
      shard = this.#shardOf(hash);
    }
    shard.put(hash, entryOf(hash, id));
    this.#count++;
  }

  remove(hash: number, id: number): void {
    const shard = this.#shardOf(hash);
    const { slots } = shard;
    const { length } = slots;
    const entry = entryOf(hash, id);
    let hole = homeOf(hash, length);
    while (slots[hole] !== entry) {
      // Better a member that stops than a process that hangs.
      if (slots[hole] === 0) throw new Error(`name ${id} is not in the index`);
      if (++hole === length) hole = 0;
    }
    for (let at = hole; ;) {
      if (++at === length) at = 0;
      const moving = slots[at] as number;
      if (moving === 0) break;
      // It may fill the hole unless its home lies behind the hole: then a search would no longer pass by.
      const home = homeOf(this.#hashes.get(idOf(moving)), length);
      const isBehind = hole < at ? home > hole && home <= at : home > hole || home <= at;
      if (isBehind) continue;
      slots[hole] = moving;
      hole = at;
    }
    slots[hole] = 0;
    shard.count--;
    this.#count--;
    if (shard.count < shard.emptyAt) this.#reduce(shard);
  }

  get bytes(): number {
    return this.#slots * 4;
  }

  #begin(): void {
    const shard = this.#create(0, 0, 0);
    this.#directory = [shard];
    this.#slotsOf = [shard.slots];
  }

  #shardOf(hash: number): Shard {
    return this.#directory[hash & (this.#directory.length - 1)] as Shard;
  }

  #create(depth: number, prefix: number, names: number): Shard {
    const shard = new Shard(depth, prefix, names);
    this.#slots += shard.slots.length;
    return shard;
  }

  #enlarge(shard: Shard): void {
    const { count, depth, prefix } = shard;
    // Names that all have the same lowest bits (a poor hash, an attack) would deepen the directory for nothing.
    const isSpread = this.#count >= (SPLIT_MIN / 4) * (1 << depth);
    if (count * GROWTH < shard.splitAt * 1.02 || !isSpread) {
      this.#point(this.#resized(shard, count < SPLIT_MIN / 4 ? 2 : GROWTH));
      return;
    }
    if (depth === this.#depth) {
      this.#directory = this.#directory.concat(this.#directory);
      this.#slotsOf = this.#slotsOf.concat(this.#slotsOf);
      this.#depth++;
      this.#deepest = 0;
    }
    const bit = 1 << depth;
    let low = this.#createHalf(depth + 1, prefix);
    let high = this.#createHalf(depth + 1, prefix | bit);
    for (const entry of shard.slots) {
      if (entry === 0) continue;
      const hash = this.#hashes.get(idOf(entry));
      if ((hash & bit) === 0) {
        if (low.count === low.fullAt) low = this.#resized(low, 2);
        low.put(hash, entry);
      } else {
        if (high.count === high.fullAt) high = this.#resized(high, 2);
        high.put(hash, entry);
      }
    }
    this.#slots -= shard.slots.length;
    this.#point(low);
    this.#point(high);
    if (depth + 1 === this.#depth) this.#deepest += 2;
  }

  /** With half as many names as it will split at, and room for as many as it grows at; more only if the hash is poor. */
  #createHalf(depth: number, prefix: number): Shard {
    return this.#create(depth, prefix, Math.ceil(splitSize(prefix) / GROWTH));
  }

  #resized(shard: Shard, factor: number): Shard {
    const grown = this.#create(shard.depth, shard.prefix, Math.ceil(shard.count * factor));
    this.#move(shard, grown);
    return grown;
  }

  #reduce(shard: Shard): void {
    let reduced = this.#resized(shard, GROWTH);
    this.#point(reduced);
    while (reduced.depth > 0) {
      const { depth } = reduced;
      const buddy = this.#directory[reduced.prefix ^ (1 << (depth - 1))] as Shard;
      const count = reduced.count + buddy.count;
      if (buddy.depth !== depth || count > SPLIT_MIN / 2) break;
      const merged = this.#create(depth - 1, reduced.prefix & ~(1 << (depth - 1)), Math.ceil(count * GROWTH));
      this.#move(reduced, merged);
      this.#move(buddy, merged);
      this.#point(merged);
      if (depth === this.#depth) this.#deepest -= 2;
      reduced = merged;
      while (this.#deepest === 0 && this.#depth > 0) this.#halve();
    }
  }

  #halve(): void {
    this.#depth--;
    this.#directory = this.#directory.slice(0, 1 << this.#depth);
    this.#slotsOf = this.#slotsOf.slice(0, 1 << this.#depth);
    let places = 0;
    for (const shard of this.#directory) if (shard.depth === this.#depth) places++;
    this.#deepest = places;
  }

  #move(from: Shard, to: Shard): void {
    for (const entry of from.slots) if (entry !== 0) to.put(this.#hashes.get(idOf(entry)), entry);
    this.#slots -= from.slots.length;
  }

  #point(shard: Shard): void {
    for (let at = shard.prefix; at < this.#directory.length; at += 1 << shard.depth) {
      this.#directory[at] = shard;
      this.#slotsOf[at] = shard.slots;
    }
  }
}
