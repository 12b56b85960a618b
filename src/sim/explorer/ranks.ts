/**
 * The ranks of steps, by which one of two orders is left out (docs/research/explorer.md#orders): the same for steps that differ only in the numbers of
 * nodes that are alike. Messages rank by when the first of those that differ only in that was sent, later ones below earlier ones; acts and wakes rank
 * below all messages. Of the orders that were tried this one leaves the fewest steps in small worlds, and about as many as others in
 * large ones.
 */
import type { PartHashes } from './hashes.ts';

/** The rank of the first message. */
const RANK_MAX = 2 ** 30;

export class Ranks {
  readonly #hashes: PartHashes;
  readonly #renumberings: number;
  readonly #ofEnvelopes: number[] = [];
  /** By the lowest hash under all renumberings. Should two messages share that, they rank alike, and both orders are taken. */
  readonly #ofLowest = new Map<number, number>();

  constructor(hashes: PartHashes, renumberings: number) {
    this.#hashes = hashes;
    this.#renumberings = renumberings;
  }

  /** Of an input: the number of a message, or below 0. */
  of(input: number): number {
    if (input < 0) return input;
    // Numbers of messages rise, so each is ranked once all before it are.
    for (let envelope = this.#ofEnvelopes.length; envelope <= input; envelope++) this.#ofEnvelopes.push(this.#rank(envelope));
    return this.#ofEnvelopes[input] as number;
  }

  #rank(envelope: number): number {
    const { words } = this.#hashes;
    const at = this.#hashes.at(envelope);
    let lowest = Infinity;
    for (let i = 0; i < this.#renumberings; i++) lowest = Math.min(lowest, words[at + 2 * i] as number);
    const rank = this.#ofLowest.get(lowest) ?? RANK_MAX - this.#ofLowest.size;
    this.#ofLowest.set(lowest, rank);
    return rank;
  }
}
