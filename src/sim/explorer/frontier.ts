/** States of one depth that are still to be expanded: lists of small integers, end to end in one growing array. */
export class Frontier {
  count = 0;
  #words = new Int32Array(1 << 16);
  #written = 0;
  #read = 0;

  get bytes(): number {
    return this.#words.byteLength;
  }

  push(state: Int32Array, length: number): void {
    const needed = this.#written + length + 1;
    if (needed > this.#words.length) {
      const grown = new Int32Array(Math.max(needed, this.#words.length * 2));
      grown.set(this.#words.subarray(0, this.#written));
      this.#words = grown;
    }
    this.#words[this.#written++] = length;
    for (let i = 0; i < length; i++) this.#words[this.#written++] = state[i] as number;
    this.count++;
  }

  /** Copies the next state into `state` and answers with its length; 0 when there is none. */
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
