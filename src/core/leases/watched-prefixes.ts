/** The prefixes that one learner watches, of any engine: how often each, its number at the members, and the members that have no room for it. */
import { NumberMap, PrefixTree, quorumOf, VoterSet, type NodeId } from '../../kernel/index.ts';

export interface WatchedPrefix {
  readonly prefix: Uint8Array;
  /** By which members say that they have no room for it. */
  readonly number: number;
  /** How many watches: the end of one watch does not end another. */
  watches: number;
  /** Members that had no room when they heard of it last. */
  readonly refusedBy: VoterSet;
}

export interface WatchedSnapshot {
  /** Prefix, number, how many watches, the members that refused. */
  readonly prefixes: readonly (readonly [readonly number[], number, number, readonly number[]])[];
  readonly nextNumber: number;
}

export class WatchedPrefixes {
  readonly #byName = new PrefixTree<WatchedPrefix>();
  readonly #prefixes = new NumberMap<WatchedPrefix>();
  #nextNumber = 1;

  get size(): number {
    return this.#prefixes.size;
  }

  /** In the order of their numbers. */
  all(): readonly WatchedPrefix[] {
    return this.#prefixes.values();
  }

  hasPrefixOf(name: Uint8Array, start: number, end: number): boolean {
    return this.#byName.hasPrefixOf(name, start, end);
  }

  watch(prefix: Uint8Array): WatchedPrefix {
    let watched = this.#byName.get(prefix, 0, prefix.length);
    if (!watched) this.#keep((watched = { prefix, number: this.#nextNumber++, watches: 0, refusedBy: new VoterSet() }));
    watched.watches++;
    return watched;
  }

  /** The prefix, if that was its last watch. */
  unwatch(prefix: Uint8Array): WatchedPrefix | null {
    const watched = this.#byName.get(prefix, 0, prefix.length);
    if (!watched || --watched.watches > 0) return null;
    this.#forget(watched);
    return watched;
  }

  /** A member has no room for it. Without a majority that tells of it, changes would be missed: then it is watched no more, and this is the prefix. */
  refuse(number: number, from: NodeId, members: readonly NodeId[]): WatchedPrefix | null {
    const watched = this.#prefixes.get(number);
    if (!watched || !members.includes(from)) return null;
    watched.refusedBy.add(from);
    if (watched.refusedBy.size <= members.length - quorumOf(members.length)) return null;
    this.#forget(watched);
    return watched;
  }

  #keep(watched: WatchedPrefix): void {
    this.#byName.set(watched.prefix, 0, watched.prefix.length, watched);
    this.#prefixes.set(watched.number, watched);
  }

  #forget(watched: WatchedPrefix): void {
    this.#byName.delete(watched.prefix, 0, watched.prefix.length);
    this.#prefixes.delete(watched.number);
  }

  snapshot(): { [Field in keyof WatchedSnapshot]: WatchedSnapshot[Field] } {
    const prefixes = this.all().map(
      ({ prefix, number, watches, refusedBy }) => [[...prefix], number, watches, refusedBy.toArray()] as const,
    );
    return { prefixes, nextNumber: this.#nextNumber };
  }

  restore({ prefixes, nextNumber }: WatchedSnapshot): void {
    for (const [prefix, number, watches, refusers] of prefixes) {
      const refusedBy = new VoterSet();
      for (const member of refusers) refusedBy.add(member);
      this.#keep({ prefix: Uint8Array.from(prefix), number, watches, refusedBy });
    }
    this.#nextNumber = nextNumber;
  }
}
