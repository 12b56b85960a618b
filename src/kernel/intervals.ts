/**
 * Sets of integers kept as closed intervals [s, e]: what an acceptor of interval leases has given
 * away, which ids are taken. Intervals that touch are one, so equal sets look the same however they
 * were built. Lookups are binary searches in two flat arrays.
 */
import { TenureError } from './errors.ts';

/** From `start` to `end`, both included. */
export type Interval = readonly [start: number, end: number];

export class IntervalSet implements Iterable<Interval> {
  /** Sorted, disjoint, and never adjacent: ends[i] + 1 < starts[i + 1]. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  constructor(intervals: Iterable<Interval> = []) {
    for (const [start, end] of intervals) this.add(start, end);
  }

  /** How many intervals it takes to write the set down. */
  get pieces(): number {
    return this.#starts.length;
  }

  /** How many integers are in the set; exact up to 2^53. */
  get count(): number {
    let count = 0;
    for (let i = 0; i < this.#starts.length; i++) count += at(this.#ends, i) - at(this.#starts, i) + 1;
    return count;
  }

  add(start: number, end: number): void {
    check(start, end);
    // Also swallow neighbours that only touch.
    const from = this.#firstEndingAtOrAfter(start - 1);
    const to = this.#firstStartingAfter(end + 1);
    if (from === to) {
      this.#starts.splice(from, 0, start);
      this.#ends.splice(from, 0, end);
      return;
    }
    this.#starts[from] = Math.min(start, at(this.#starts, from));
    this.#ends[from] = Math.max(end, at(this.#ends, to - 1));
    this.#starts.splice(from + 1, to - from - 1);
    this.#ends.splice(from + 1, to - from - 1);
  }

  remove(start: number, end: number): void {
    check(start, end);
    const from = this.#firstEndingAtOrAfter(start);
    const to = this.#firstStartingAfter(end);
    if (from === to) return;
    const starts: number[] = [];
    const ends: number[] = [];
    if (at(this.#starts, from) < start) {
      starts.push(at(this.#starts, from));
      ends.push(start - 1);
    }
    if (at(this.#ends, to - 1) > end) {
      starts.push(end + 1);
      ends.push(at(this.#ends, to - 1));
    }
    this.#starts.splice(from, to - from, ...starts);
    this.#ends.splice(from, to - from, ...ends);
  }

  clear(): void {
    this.#starts.length = 0;
    this.#ends.length = 0;
  }

  has(integer: number): boolean {
    return this.covers(integer, integer);
  }

  /** Whether any integer of [start, end] is in the set. */
  overlaps(start: number, end: number): boolean {
    check(start, end);
    const i = this.#firstEndingAtOrAfter(start);
    return i < this.#starts.length && at(this.#starts, i) <= end;
  }

  /** Whether every integer of [start, end] is in the set. */
  covers(start: number, end: number): boolean {
    check(start, end);
    const i = this.#firstEndingAtOrAfter(start);
    return i < this.#starts.length && at(this.#starts, i) <= start && end <= at(this.#ends, i);
  }

  /** The first integer from `from` on that is not in the set; null if all are, up to the last safe integer. */
  firstGap(from = 0): number | null {
    check(from, from);
    const i = this.#firstEndingAtOrAfter(from);
    if (i === this.#starts.length || from < at(this.#starts, i)) return from;
    const end = at(this.#ends, i);
    return end === Number.MAX_SAFE_INTEGER ? null : end + 1;
  }

  /**
   * The first integer from `from` on that begins `size` integers in a row that are not in the set; null if there is none up to the last safe integer.
   * Only so many pieces are looked at: after them it is the end of the set, which has more gaps before it, or if there is no room the place where
   * the search ended, which may be too small.
   */
  firstRun(from: number, size: number, piecesMax: number = Infinity): number | null {
    check(from, from);
    let start = from;
    const first = this.#firstEndingAtOrAfter(from);
    for (let i = first; i < this.#starts.length; i++) {
      if (i - first >= piecesMax) {
        const behind = at(this.#ends, this.#ends.length - 1) + 1;
        if (behind <= Number.MAX_SAFE_INTEGER - size + 1) start = behind;
        break;
      }
      if (at(this.#starts, i) - start >= size) return start;
      start = at(this.#ends, i) + 1;
    }
    return start <= Number.MAX_SAFE_INTEGER - size + 1 ? start : null;
  }

  /** The first interval of the set that has integers of [start, end]; null if none has. */
  firstOverlap(start: number, end: number): Interval | null {
    check(start, end);
    const i = this.#firstEndingAtOrAfter(start);
    return i < this.#starts.length && at(this.#starts, i) <= end ? [at(this.#starts, i), at(this.#ends, i)] : null;
  }

  /** The intervals of the set that would be one with [start, end]. */
  touching(start: number, end: number): Interval[] {
    check(start, end);
    const found: Interval[] = [];
    const to = this.#firstStartingAfter(end + 1);
    for (let i = this.#firstEndingAtOrAfter(start - 1); i < to; i++) found.push([at(this.#starts, i), at(this.#ends, i)]);
    return found;
  }

  /** The intervals, merged and rising. The set must not change meanwhile. */
  [Symbol.iterator](): Generator<Interval, void, undefined> {
    return this.endingFrom(-Infinity);
  }

  /** The intervals that end at this integer or later. */
  *endingFrom(integer: number): Generator<Interval, void, undefined> {
    for (let i = this.#firstEndingAtOrAfter(integer); i < this.#starts.length; i++) yield [at(this.#starts, i), at(this.#ends, i)];
  }

  #firstEndingAtOrAfter(integer: number): number {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (at(this.#ends, middle) < integer) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #firstStartingAfter(integer: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (at(this.#starts, middle) <= integer) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Every index here comes from a search in the same arrays. */
function at(values: readonly number[], index: number): number {
  return values[index] as number;
}

function check(start: number, end: number): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start <= end) return;
  throw new TenureError('TENURE_BAD_ARGUMENT', `[${start}, ${end}] is no interval: its ends are safe integers, start at most end`);
}
