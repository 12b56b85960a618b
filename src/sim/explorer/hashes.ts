/**
 * Hashes of what a state is made of, one for each renumbering of the nodes that are alike. A state's hash is
 * the sum of its parts' hashes, so a step changes it by a few additions, and messages under way need no order.
 */
import { hashAfter, hashItems, type HashedItems, type Json } from '../../kernel/index.ts';

const NOTHING = hashItems([]);

/** Two words for each part and renumbering. */
export class PartHashes {
  /** Words. */
  readonly perPart: number;
  words: Int32Array;

  constructor(renumberings: number) {
    this.perPart = renumberings * 2;
    this.words = new Int32Array(1024 * this.perPart);
  }

  /** Where the words of a part begin. */
  at(part: number): number {
    return part * this.perPart;
  }

  /** `told` says the part as it looks after each renumbering. Items that are the same after all of them may be hashed before, once. */
  set(part: number, told: (renumbering: number) => Json, before: HashedItems = NOTHING): void {
    const start = this.at(part);
    while (start + this.perPart > this.words.length) {
      const grown = new Int32Array(this.words.length * 2);
      grown.set(this.words);
      this.words = grown;
    }
    for (let i = 0; i * 2 < this.perPart; i++) hashAfter(before, told(i), this.words, start + 2 * i);
  }
}

/** Each part is hashed under every renumbering: with more of them than this, that takes longer than the states they save. */
const RENUMBERINGS_MAX = 720;

/**
 * Each renumbering of the first `count` nodes with each of the others that are alike: where every node goes. The identity first.
 * Where that is too many, the last of the others are taken for themselves.
 */
export function renumberingsOf(nodes: number, count: number, others: readonly number[]): number[][] {
  const firsts = permutations(count);
  const alike = others.slice(0, mostAlike(firsts.length, others.length));
  return firsts.flatMap((first) =>
    permutations(alike.length).map((order) =>
      Array.from({ length: nodes }, (_, node) => {
        const at = alike.indexOf(node);
        return at < 0 ? (first[node] ?? node) : (alike[order[at] as number] as number);
      }),
    ),
  );
}

function mostAlike(renumberings: number, others: number): number {
  let all = renumberings;
  let alike = 1;
  while (alike < others && all * (alike + 1) <= RENUMBERINGS_MAX) all *= ++alike;
  return Math.min(alike, others);
}

/** Every order of 0 … count-1, the identity first. */
export function permutations(count: number): number[][] {
  if (count === 0) return [[]];
  const shorter = permutations(count - 1);
  const all: number[][] = [];
  for (let last = count - 1; last >= 0; last--) {
    for (const order of shorter) all.push([...order.map((one) => (one < last ? one : one + 1)), last]);
  }
  return all;
}

/** With bytes as lists. */
export function plainOf(told: object): Json {
  const fields = Object.entries(told).map(([name, value]: [string, unknown]) => [name, value instanceof Uint8Array ? [...value] : value]);
  return Object.fromEntries(fields) as Json;
}
