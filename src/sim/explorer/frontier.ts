/** States of one depth that are still to be expanded: lists of small integers, end to end in one growing array. */
/** Words that say how a state was found. */
export const ARRIVAL_WORDS = 3;

export class Frontier {
  count = 0;
  #words = new Int32Array(1 << 16);
  #written = 0;
  #read = 0;

  get bytes(): number {
    return this.#words.byteLength;
  }

  /** With three words behind it that say how it was found. */
  push(state: Int32Array, length: number, node: number, before: number, input: number): void {
    const needed = this.#written + length + 1 + ARRIVAL_WORDS;
    if (needed > this.#words.length) {
      const grown = new Int32Array(Math.max(needed, this.#words.length * 2));
      grown.set(this.#words.subarray(0, this.#written));
      this.#words = grown;
    }
    const words = this.#words;
    let at = this.#written;
    words[at++] = length + ARRIVAL_WORDS;
    for (let i = 0; i < length; i++) words[at++] = state[i] as number;
    words[at++] = node;
    words[at++] = before;
    words[at++] = input;
    this.#written = at;
    this.count++;
  }

  /** Copies the next state and the words behind it into `state`, and answers with the length of both; 0 when there is none. */
  take(state: Int32Array): number {
    if (this.#read === this.#written) return 0;
    const length = this.#words[this.#read++] as number;
    for (let i = 0; i < length; i++) state[i] = this.#words[this.#read++] as number;
    this.count--;
    return length;
  }

  clear(): void {
    this.#written = this.#read = this.count = 0;
  }
}
