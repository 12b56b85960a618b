/**
 * Where the explorer has been: 64 bits and the depth of each state, nine bytes a slot, in one open-addressed
 * table of typed arrays. A state is known by its hash alone.
 */
const FIRST_SLOTS = 1 << 16;
/** Of the slots, in use at most, before there are twice as many. */
const LOAD_MAX = 0.8;

export class VisitedSet {
  count = 0;
  #slots = FIRST_SLOTS;
  // A slot with both words 0 is empty: a hash of 0 is kept as 1.
  #low = new Uint32Array(FIRST_SLOTS);
  #high = new Uint32Array(FIRST_SLOTS);
  #depths = new Uint8Array(FIRST_SLOTS);

  get bytes(): number {
    return this.#slots * 9;
  }

  /** True if it was not there yet. */
  add(low: number, high: number, depth: number): boolean {
    const slot = this.#find(low, high);
    if (this.#isFull(slot)) return false;
    this.#low[slot] = low === 0 && high === 0 ? 1 : low;
    this.#high[slot] = high;
    this.#depths[slot] = depth;
    if (++this.count > this.#slots * LOAD_MAX) this.#grow();
    return true;
  }

  /** The depth it was first seen at, or -1. */
  depthOf(low: number, high: number): number {
    const slot = this.#find(low, high);
    return this.#isFull(slot) ? (this.#depths[slot] as number) : -1;
  }

  #isFull(slot: number): boolean {
    return this.#low[slot] !== 0 || this.#high[slot] !== 0;
  }

  #find(low: number, high: number): number {
    const mask = this.#slots - 1;
    const wanted = low === 0 && high === 0 ? 1 : low >>> 0;
    const above = high >>> 0;
    let slot = (wanted ^ Math.imul(above, 0x9e3779b1)) & mask;
    while (this.#isFull(slot) && (this.#low[slot] !== wanted || this.#high[slot] !== above)) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const lows = this.#low;
    const highs = this.#high;
    const depths = this.#depths;
    this.#slots *= 2;
    this.#low = new Uint32Array(this.#slots);
    this.#high = new Uint32Array(this.#slots);
    this.#depths = new Uint8Array(this.#slots);
    for (let old = 0; old < lows.length; old++) {
      const low = lows[old] as number;
      const high = highs[old] as number;
      if (low === 0 && high === 0) continue;
      const slot = this.#find(low, high);
      this.#low[slot] = low;
      this.#high[slot] = high;
      this.#depths[slot] = depths[old] as number;
    }
  }
}
