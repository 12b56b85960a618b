/**
 * A set of small integers that knows its lowest: bits, and above them bits that say which words below are
 * not zero. Freed members are taken again from the bottom, so the top of a table empties and can be given back.
 */
export class LowestSet {
  /** The bits themselves first; each further level has a bit per word of the level before, the last is one word. */
  #levels: Int32Array[] = [];

  add(member: number): void {
    let at = member;
    if (at >>> 5 >= (this.#levels[0]?.length ?? 0)) this.#grow(at);
    for (const words of this.#levels) {
      const index = at >>> 5;
      const word = words[index] as number;
      words[index] = word | (1 << (at & 31));
      if (word !== 0) return;
      at = index;
    }
  }

  delete(member: number): void {
    let at = member;
    if (at >>> 5 >= (this.#levels[0]?.length ?? 0)) return;
    for (const words of this.#levels) {
      const index = at >>> 5;
      const word = (words[index] as number) & ~(1 << (at & 31));
      words[index] = word;
      if (word !== 0) return;
      at = index;
    }
  }

  /** -1 when there is none. */
  get lowest(): number {
    const levels = this.#levels;
    let level = levels.length - 1;
    if (level < 0 || (levels[level] as Int32Array)[0] === 0) return -1;
    let at = 0;
    for (; level >= 0; level--) {
      const word = (levels[level] as Int32Array)[at] as number;
      at = at * 32 + 31 - Math.clz32(word & -word);
    }
    return at;
  }

  clear(): void {
    if (this.#levels.length > 0) this.#levels = [];
  }

  get bytes(): number {
    let bytes = 0;
    for (const words of this.#levels) bytes += words.byteLength;
    return bytes;
  }

  #grow(member: number): void {
    const old = this.#levels;
    const levels: Int32Array[] = [];
    let length = Math.max((member >>> 5) + 1, (old[0]?.length ?? 0) * 2);
    for (let level = 0; ; level++) {
      const words = new Int32Array(length);
      const before = old[level];
      if (before !== undefined) words.set(before);
      // Above the old top only the first word below can hold anything.
      else if (level > 0 && (levels[level - 1] as Int32Array)[0] !== 0) words[0] = 1;
      levels.push(words);
      if (length === 1) break;
      length = (length + 31) >>> 5;
    }
    this.#levels = levels;
  }
}
