/**
 * A small fast generator of integers (sfc32). Only integer arithmetic, so a seed gives the same
 * sequence on every engine and every machine.
 */
import { TenureError } from './errors.ts';

const TWO_32 = 4294967296;

export class Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;

  /** Any safe integer is a seed; nearby seeds give unrelated sequences. */
  constructor(seed: number) {
    // Signed, like all that follows: an unsigned word would turn the fields into doubles.
    this.#a = seed | 0;
    this.#b = Math.floor(seed / TWO_32) | 0;
    this.#c = 0x9e3779b9 | 0;
    for (let i = 0; i < 15; i++) this.uint32();
  }

  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** An integer in [0, bound), each equally likely, for any positive safe integer. */
  below(bound: number): number {
    if (!Number.isSafeInteger(bound) || bound <= 0) {
      throw new TenureError('TENURE_INTERNAL', `cannot choose below ${bound}: the bound is a positive safe integer`);
    }
    return bound <= TWO_32 ? this.#belowWord(bound) : this.#belowWide(bound);
  }

  /**
   * Lemire's method: the high word of `word * bound` is the choice, and the few words that would make some
   * choices likelier show in the low word. The product may need 64 bits; `low` is exact, so `high` is made exact by it.
   */
  #belowWord(bound: number): number {
    let word = this.uint32();
    let low = Math.imul(word, bound) >>> 0;
    if (low < bound) {
      const unfair = (TWO_32 - bound) % bound;
      while (low < unfair) {
        word = this.uint32();
        low = Math.imul(word, bound) >>> 0;
      }
    }
    return Math.round((word * bound - low) / TWO_32);
  }

  /** Draws as many bits as the bound has, and draws again when that is not below it: less than half of the time. */
  #belowWide(bound: number): number {
    const mask = 0xffffffff >>> Math.clz32(Math.floor((bound - 1) / TWO_32));
    for (;;) {
      const high = (this.uint32() & mask) >>> 0;
      const value = high * TWO_32 + this.uint32();
      if (value < bound) return value;
    }
  }
}

/**
 * The seed of run `index` of a campaign: 53 bits, well mixed, so that campaigns do not share runs. Before the last
 * mixing no two indices of a campaign meet: the low word tells the low word of the index, and then the high word the rest.
 */
export function deriveSeed(campaignSeed: number, index: number): number {
  const random = new Random(campaignSeed);
  const low = random.uint32();
  const high = random.uint32();
  const mixed = new Random(
    ((high ^ index ^ Math.floor(index / TWO_32)) & 0x1fffff) * TWO_32 + ((low + Math.imul(index, 0x9e3779b1)) >>> 0),
  );
  return (mixed.uint32() & 0x1fffff) * TWO_32 + mixed.uint32();
}
