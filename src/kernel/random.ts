/**
 * A small fast generator of integers (sfc32). Only integer arithmetic, so a seed gives the same
 * sequence on every engine and every machine.
 */
const TWO_32 = 4294967296;

export class Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;

  /** Any safe integer is a seed; nearby seeds give unrelated sequences. */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / TWO_32) >>> 0;
    this.#c = 0x9e3779b9;
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

  /** An integer in [0, bound), for any positive safe integer. */
  below(bound: number): number {
    if (bound <= TWO_32) return Math.floor((this.uint32() / TWO_32) * bound);
    const high = this.uint32() & 0x1fffff;
    return (high * TWO_32 + this.uint32()) % bound;
  }
}

/** The seed of run `index` of a campaign: 53 bits, well mixed, so that campaigns do not share runs. */
export function deriveSeed(campaignSeed: number, index: number): number {
  const random = new Random(campaignSeed);
  const low = random.uint32();
  const high = random.uint32();
  const mixed = new Random((((high ^ index) >>> 0) & 0x1fffff) * TWO_32 + ((low + Math.imul(index, 0x9e3779b1)) >>> 0));
  return (mixed.uint32() & 0x1fffff) * TWO_32 + mixed.uint32();
}
