/**
 * How long accesses take, and what follows for δ and Δ. The method: δ is twice the longest access that was seen, rounded up
 * to a round number; Δ is at least thirty δ. Of n accesses none took longer than δ, so with 95% confidence at most
 * 1 − 0.05^(1/n) of all accesses do (about 3/n), as long as the store and its load stay as they were.
 */
import { spanFromMs, spanUs, type SpanUs } from '../kernel/index.ts';
import { defaultParameters, TERM_DELTAS_MIN } from './parameters.ts';

const CONFIDENCE = 0.95;
const ROUND = [1, 2, 5, 10];
const SHORTEST_MS = 1;

export class AccessTimes {
  readonly #ms: number[] = [];
  #isSorted = true;

  get count(): number {
    return this.#ms.length;
  }

  add(ms: number): void {
    this.#ms.push(ms);
    this.#isSorted = false;
  }

  /** The time that this part of all accesses did not exceed; 0 if there are none. */
  quantile(part: number): number {
    const sorted = this.#sorted();
    return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * part) - 1))] ?? 0;
  }

  /** How many took longer. */
  later(than: SpanUs): number {
    return this.#ms.filter((ms) => ms * 1000 > than).length;
  }

  /** With 95% confidence, no larger part of all accesses takes longer than this. */
  latePartMax(than: SpanUs): number {
    return upperBound(this.later(than), this.count);
  }

  proposal(kind: string): { deltaUs: SpanUs; maxTermUs: SpanUs } {
    const deltaUs = spanFromMs(roundUp(Math.max(SHORTEST_MS, this.quantile(1) * 2)));
    const enough = spanFromMs(roundUp((deltaUs * TERM_DELTAS_MIN) / 1000));
    return { deltaUs, maxTermUs: spanUs(Math.max(defaultParameters(kind).maxTermUs, enough)) };
  }

  #sorted(): readonly number[] {
    if (!this.#isSorted) this.#ms.sort((a, b) => a - b);
    this.#isSorted = true;
    return this.#ms;
  }
}

/** 1, 2, 5, 10, 20 …: at least this. */
function roundUp(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  const step = ROUND.find((one) => one * decade >= ms * (1 - 1e-9)) ?? 10;
  return Number((step * decade).toPrecision(12));
}

/** Clopper and Pearson: the part at which so few or fewer late accesses among `count` would be seen in one of twenty samples only. */
function upperBound(late: number, count: number): number {
  if (count === 0 || late >= count) return 1;
  let [low, high] = [late / count, 1];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (atMost(late, count, middle) > 1 - CONFIDENCE) low = middle;
    else high = middle;
  }
  return high;
}

/** The probability of `late` or fewer among `count`, each late with this probability. */
function atMost(late: number, count: number, part: number): number {
  let term = count * Math.log1p(-part);
  let sum = 0;
  for (let k = 0; k <= late; k++) {
    sum += Math.exp(term);
    term += Math.log((count - k) / (k + 1)) + Math.log(part) - Math.log1p(-part);
  }
  return Math.min(1, sum);
}
