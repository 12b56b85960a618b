/**
 * Which members vote on a resource: all of them, or a few chosen by rendezvous hashing over name and
 * member (F8), so that each member's work stays flat as the cell grows. Every node computes the same.
 */
import { nodeId, quorumOf, type NodeId } from '../../kernel/index.ts';

export class Electorate {
  readonly quorum: number;
  readonly #keys: readonly number[];
  readonly #replication: number;
  readonly #all: readonly NodeId[];
  /** Numbers are places. */
  readonly #isDense: boolean;

  /** `memberKeys` are stable 32-bit hashes of the members' ids, in the order of their node numbers, which are 0 to n-1 unless told otherwise. */
  constructor(
    memberKeys: readonly number[],
    replication: number,
    numbers: readonly NodeId[] = memberKeys.map((_, member) => nodeId(member)),
  ) {
    this.#keys = memberKeys;
    this.#replication = Math.min(replication, memberKeys.length);
    this.#all = numbers;
    this.#isDense = numbers.every((number, at) => number === at);
    this.quorum = quorumOf(this.#replication);
  }

  get size(): number {
    return this.#replication;
  }

  /** Every member votes on every name. */
  get isWhole(): boolean {
    return this.#replication === this.#keys.length;
  }

  get members(): readonly NodeId[] {
    return this.#all;
  }

  /** The voters of a name, by its hash, in the order of their numbers. */
  votersOf(nameHash: number): readonly NodeId[] {
    if (this.isWhole) return this.#all;
    const scored = this.#all.map((member, at) => ({ member, score: mix(nameHash, this.#keys[at] as number) }));
    scored.sort((a, b) => b.score - a.score || a.member - b.member);
    return scored
      .slice(0, this.#replication)
      .map(({ member }) => member)
      .sort((a, b) => a - b);
  }

  /** Whether fewer than `replication` members come before this one: counted, because every vote on a renewal asks. */
  isVoter(member: NodeId, nameHash: number): boolean {
    const at = this.#isDense ? (member < this.#keys.length ? member : -1) : this.#all.indexOf(member);
    if (this.isWhole || at < 0) return at >= 0;
    const score = mix(nameHash, this.#keys[at] as number);
    let before = 0;
    for (let other = 0; other < this.#keys.length; other++) {
      const theirs = mix(nameHash, this.#keys[other] as number);
      if (theirs > score || (theirs === score && other < at)) before++;
    }
    return before < this.#replication;
  }
}

function mix(a: number, b: number): number {
  let h = Math.imul(a ^ 0x85ebca6b, 0xc2b2ae35) ^ b;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
