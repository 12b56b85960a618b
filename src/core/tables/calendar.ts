/**
 * When to look at an id again, without a timer each: ids in buckets of a fixed width of time, each bucket a list
 * of blocks. An entry is never taken out before its time comes; the caller checks whether an id still matters,
 * and so an entry costs four bytes.
 */
const FIRST_IDS = 16;
const BLOCK_IDS = 2048;
/** Emptied blocks kept for the next buckets: 512 KB. */
const SPARE_BLOCKS = 64;

class Bucket {
  readonly blocks: Uint32Array[];
  /** Ids in the last block. */
  filled = 0;
  /** Ids of the first block that have been taken. */
  taken = 0;

  constructor(block: Uint32Array) {
    this.blocks = [block];
  }
}

export class Calendar {
  readonly widthUs: number;
  readonly #buckets: Map<number, Bucket> = new Map();
  /** The numbers of the buckets, a binary heap. A bucket stays in it until it is empty and gone. */
  readonly #heap: number[] = [];
  readonly #spare: Uint32Array[] = [];
  /** While entries are being taken: the last bucket that has begun. */
  #begun = -Infinity;
  #count = 0;
  #bytes = 0;
  /** The bucket of the last `schedule`: most entries come in order of time. */
  #lastNumber: number = Number.NaN;
  #last: Bucket | undefined;

  constructor(widthUs: number) {
    if (!(widthUs > 0)) throw new RangeError('a calendar needs a width above 0');
    this.widthUs = widthUs;
  }

  /**
   * The id will be visited in a `take` at `dueUs` less one width, or later. Scheduled by a visitor, it comes no
   * earlier than the next bucket begins (at most a width late), or an id visited early could come round and round.
   * Ids due at infinity are not kept.
   */
  schedule(id: number, dueUs: number): void {
    if (dueUs === Infinity) return;
    if (Number.isNaN(dueUs)) throw new RangeError('an id cannot be due at no time');
    let number = Math.floor(dueUs / this.widthUs);
    if (number <= this.#begun) number = this.#begun + 1;
    let bucket = this.#last;
    if (number !== this.#lastNumber || bucket === undefined) {
      bucket = this.#buckets.get(number);
      if (bucket === undefined) {
        bucket = new Bucket(this.#newBlock(FIRST_IDS));
        this.#buckets.set(number, bucket);
        this.#push(number);
      }
      this.#last = bucket;
      this.#lastNumber = number;
    }
    const { blocks } = bucket;
    let block = blocks[blocks.length - 1] as Uint32Array;
    if (bucket.filled === block.length) block = this.#makeRoom(bucket, block);
    block[bucket.filled++] = id;
    this.#count++;
  }

  /**
   * Visits ids whose bucket has begun, earliest bucket first, in the order they were scheduled, at most `limit` of
   * them. True if more are left that could be visited now.
   */
  take(nowUs: number, visit: (id: number) => void, limit: number = Infinity): boolean {
    const begun = Math.floor(nowUs / this.widthUs);
    const before = this.#begun;
    this.#begun = begun;
    try {
      for (let left = limit; this.#heap.length > 0 && (this.#heap[0] as number) <= begun; left--) {
        if (left <= 0) return true;
        visit(this.#takeOne(this.#heap[0] as number));
      }
      return false;
    } finally {
      this.#begun = before;
    }
  }

  /** Whether an id that is due at `dueUs` can be visited by now. An id that is visited earlier was scheduled for an earlier time as well. */
  hasBegun(dueUs: number, nowUs: number): boolean {
    return Math.floor(dueUs / this.widthUs) <= Math.floor(nowUs / this.widthUs);
  }

  /** When the earliest bucket that is not empty begins; Infinity if there is none. */
  get nextDueUs(): number {
    return this.#heap.length === 0 ? Infinity : (this.#heap[0] as number) * this.widthUs;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** From the earliest bucket, which goes with its last id. */
  #takeOne(number: number): number {
    const bucket = this.#buckets.get(number) as Bucket;
    const { blocks } = bucket;
    const block = blocks[0] as Uint32Array;
    const id = block[bucket.taken++] as number;
    this.#count--;
    if (blocks.length === 1 ? bucket.taken === bucket.filled : bucket.taken === block.length) {
      blocks.shift();
      bucket.taken = 0;
      this.#recycle(block);
      if (blocks.length === 0) {
        this.#buckets.delete(number);
        this.#pop();
        this.#last = undefined;
      }
    }
    return id;
  }

  #makeRoom(bucket: Bucket, block: Uint32Array): Uint32Array {
    if (block.length === BLOCK_IDS) {
      const next = this.#newBlock(BLOCK_IDS);
      bucket.blocks.push(next);
      bucket.filled = 0;
      return next;
    }
    const grown = this.#newBlock(block.length * 2);
    grown.set(block);
    this.#recycle(block);
    bucket.blocks[bucket.blocks.length - 1] = grown;
    return grown;
  }

  #newBlock(length: number): Uint32Array {
    if (length === BLOCK_IDS) {
      const spare = this.#spare.pop();
      if (spare !== undefined) return spare;
    }
    this.#bytes += length * 4;
    return new Uint32Array(length);
  }

  #recycle(block: Uint32Array): void {
    if (block.length === BLOCK_IDS && this.#spare.length < SPARE_BLOCKS) this.#spare.push(block);
    else this.#bytes -= block.byteLength;
  }

  #push(number: number): void {
    const heap = this.#heap;
    let hole = heap.length;
    heap.push(number);
    while (hole > 0) {
      const parent = (hole - 1) >>> 1;
      if ((heap[parent] as number) <= number) break;
      heap[hole] = heap[parent] as number;
      hole = parent;
    }
    heap[hole] = number;
  }

  /** Takes the lowest number off the heap. */
  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as number;
    if (heap.length === 0) return;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++;
      if ((heap[child] as number) >= last) break;
      heap[hole] = heap[child] as number;
      hole = child;
    }
    heap[hole] = last;
  }
}
