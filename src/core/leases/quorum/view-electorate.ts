/**
 * The voters of a view, and its quorums: most of the name's voters, and in a joint view most voters of either side. Every
 * count of votes asks here. While there is one side, that costs a comparison.
 */
import type { NodeId, VoterSet } from '../../../kernel/index.ts';
import { Electorate } from '../electorate.ts';
import type { QuorumRules } from './rules.ts';
import { configsOf, VIEW_PLACEMENT, type View, type ViewConfig } from '../views.ts';

/** One side. */
class Side {
  readonly #some: Electorate;
  /** The lease of views is for all members to vote on. */
  readonly #all: Electorate;

  constructor({ members, replication }: ViewConfig) {
    const numbers = members.map(({ number }) => number as NodeId);
    const keys = members.map(({ key }) => key);
    this.#some = new Electorate(keys, replication, numbers);
    this.#all = replication >= members.length ? this.#some : new Electorate(keys, members.length, numbers);
  }

  of(placement: number): Electorate {
    return placement === VIEW_PLACEMENT ? this.#all : this.#some;
  }

  get isWhole(): boolean {
    return this.#some.isWhole;
  }
}

export class ViewElectorate {
  readonly #cur: Side;
  readonly #old: Side | null;
  readonly #all: readonly NodeId[];
  readonly #oldCounts: boolean;
  /** Every member votes on every name, and there is one side: names need not be looked at. */
  readonly isPlain: boolean;

  constructor(view: View, { jointBoth }: Pick<QuorumRules, 'jointBoth'>) {
    const [cur, old] = configsOf(view).map((config) => new Side(config)) as [Side, Side?];
    this.#cur = cur;
    this.#old = old ?? null;
    this.#oldCounts = jointBoth;
    this.#all = old === undefined ? cur.of(VIEW_PLACEMENT).members : merged(cur.of(VIEW_PLACEMENT).members, old.of(VIEW_PLACEMENT).members);
    this.isPlain = old === undefined && cur.isWhole;
  }

  get members(): readonly NodeId[] {
    return this.#all;
  }

  /** Of both sides, in the order of their numbers. */
  votersOf(placement: number): readonly NodeId[] {
    if (this.isPlain) return this.#all;
    const cur = this.#cur.of(placement).votersOf(placement);
    return this.#old === null ? cur : merged(cur, this.#old.of(placement).votersOf(placement));
  }

  isVoter(member: NodeId, placement: number): boolean {
    return this.#cur.of(placement).isVoter(member, placement) || (this.#old !== null && this.#old.of(placement).isVoter(member, placement));
  }

  /** `voters` has none but voters of the name. */
  isQuorum(voters: VoterSet, placement: number): boolean {
    if (this.#old === null) return voters.size >= this.#cur.of(placement).quorum;
    const sides = this.#oldCounts ? [this.#cur, this.#old] : [this.#cur];
    return sides.every((side) => countIn(side.of(placement), voters, placement) >= side.of(placement).quorum);
  }

  /** No quorum is left without them. */
  isLost(refusing: VoterSet, placement: number): boolean {
    if (this.#old === null) {
      const { size, quorum } = this.#cur.of(placement);
      return refusing.size > size - quorum;
    }
    return [this.#cur, this.#old].some((side) => {
      const { size, quorum } = side.of(placement);
      return countIn(side.of(placement), refusing, placement) > size - quorum;
    });
  }

  /** So many voters are a quorum, whichever they are, as near as one number can say it. */
  quorumFor(placement: number): number {
    return Math.max(this.#cur.of(placement).quorum, this.#old?.of(placement).quorum ?? 0);
  }

  /** The voters of each side: a finding is certain if both sides make it. */
  sidesOf(placement: number): readonly { readonly voters: readonly NodeId[]; readonly quorum: number }[] {
    const sides = this.#old === null ? [this.#cur] : [this.#cur, this.#old];
    return sides.map((side) => ({ voters: side.of(placement).votersOf(placement), quorum: side.of(placement).quorum }));
  }

  /** Whether for every name a quorum of its voters is left without these members. */
  canMiss(missing: readonly number[]): boolean {
    const sides = this.#old === null ? [this.#cur] : [this.#cur, this.#old];
    return sides.every((side) => {
      const { members, size, quorum } = side.of(0);
      return missing.filter((member) => members.includes(member as NodeId)).length <= size - quorum;
    });
  }
}

function countIn(electorate: Electorate, voters: VoterSet, placement: number): number {
  let count = 0;
  for (const voter of electorate.votersOf(placement)) if (voters.has(voter)) count++;
  return count;
}

function merged(a: readonly NodeId[], b: readonly NodeId[]): readonly NodeId[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}
