/**
 * A bundle's contents in three numbers: how many leases, and 64 bits of sums over them. Holder and voter compare theirs to find out that they
 * disagree; nothing is ever permitted because they agree.
 */
export type BundleDigestSnapshot = readonly [count: number, low: number, high: number];

export class BundleDigest {
  count = 0;
  low = 0;
  high = 0;

  add(lease: number, token: number, mode: number): void {
    this.#change(lease, token, mode, 1);
  }

  take(lease: number, token: number, mode: number): void {
    this.#change(lease, token, mode, -1);
  }

  #change(lease: number, token: number, mode: number, sign: 1 | -1): void {
    const hash = mix(mix(mix(mix(mix(0x2545f491, lease), lease / 2 ** 32), token), token / 2 ** 32), mode);
    this.count += sign;
    this.low = (this.low + sign * hash) >>> 0;
    this.high = (this.high + sign * mix(hash ^ 0x5bd1e995, lease ^ token)) >>> 0;
  }

  /** Whether this and those are what a voter told. */
  isWith(
    those: BundleDigest,
    { count, sumLow, sumHigh }: { readonly count: number; readonly sumLow: number; readonly sumHigh: number },
  ): boolean {
    return this.count + those.count === count && (this.low + those.low) >>> 0 === sumLow && (this.high + those.high) >>> 0 === sumHigh;
  }

  clear(): void {
    this.count = this.low = this.high = 0;
  }

  snapshot(): BundleDigestSnapshot {
    return [this.count, this.low, this.high];
  }

  restore([count, low, high]: BundleDigestSnapshot): void {
    this.count = count;
    this.low = low;
    this.high = high;
  }
}

/** Of numbers the lower 32 bits are taken in. */
function mix(hash: number, value: number): number {
  let mixed = Math.imul(hash ^ (value >>> 0), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
