/**
 * The watchers at one member of any engine, and the names they watch. Watchers make themselves known again and again, and are forgotten
 * when they stop. A name finds its watchers by its own bytes, without a look at any other.
 */
import {
  compareBytes,
  monoAfter,
  NO_KEY,
  NumberMap,
  PrefixTree,
  type HashKey,
  type Incarnation,
  type MonoUs,
  type NodeId,
  type SpanUs,
} from '../../kernel/index.ts';
import { MEMBER_LIMITS, shareOf, WATCHES_MAX } from './limits.ts';

/** One process that watches, with all its prefixes. */
export interface Watcher {
  readonly owner: Incarnation;
  /** Where it was heard of last: a process that connects again has another number. */
  node: NodeId;
  watches: number;
  /** The question in which it was found last: several prefixes of one process may fit a name. */
  foundIn: number;
}

interface Watch {
  readonly watcher: Watcher;
  readonly prefix: Uint8Array;
  until: MonoUs;
  /** In the order in which they are to be forgotten. */
  before: Watch | null;
  after: Watch | null;
}

interface AudienceOptions {
  /** How long one is kept that is not heard of. */
  readonly keepUs: SpanUs;
  /** Clients choose their incarnations. */
  readonly key?: HashKey | undefined;
  readonly watchesMax?: number | undefined;
}

/** Node, owner, prefix, until. */
export type WatchSnapshot = readonly [number, number, readonly number[], number];

const NOBODY_WATCHES: readonly Watcher[] = [];

export class Audience {
  readonly #watchers: NumberMap<Watcher>;
  /** Watches of one prefix are in the order of their owners, so that the order of messages does not depend on the order of arrival. */
  readonly #prefixes = new PrefixTree<Watch[]>();
  #first: Watch | null = null;
  #last: Watch | null = null;
  #questions = 0;
  readonly #keepUs: SpanUs;
  readonly #watchesMax: number;
  readonly #fitting: Watch[][] = [];
  readonly #found: Watcher[] = [];

  constructor({ keepUs, key = NO_KEY, watchesMax = MEMBER_LIMITS.watches }: AudienceOptions) {
    this.#keepUs = keepUs;
    this.#watchesMax = watchesMax;
    this.#watchers = new NumberMap(key);
  }

  /** The owner watches names that begin with bytes `start` to `end`. False if there is no room for it. */
  keep(from: NodeId, owner: Incarnation, bytes: Uint8Array, start: number, end: number, now: MonoUs): boolean {
    this.#dropExpired(now);
    const watcher = this.#watchers.get(owner);
    if (watcher) watcher.node = from;
    const known = this.#find(owner, bytes, start, end);
    const until = monoAfter(now, this.#keepUs);
    if (known) {
      this.#unlink(known);
      known.until = until;
      this.#link(known);
      return true;
    }
    const others = this.#watchers.size - (watcher ? 1 : 0);
    if ((watcher?.watches ?? 0) >= Math.min(WATCHES_MAX, shareOf(this.#watchesMax, others + 1))) return false;
    this.#add(from, owner, bytes.slice(start, end), until);
    return true;
  }

  /** The owner watches that prefix no more. */
  end(owner: Incarnation, bytes: Uint8Array, start: number, end: number): void {
    const known = this.#find(owner, bytes, start, end);
    if (known) this.#remove(known);
  }

  isWatched(name: Uint8Array, start: number, end: number): boolean {
    return this.#prefixes.hasPrefixOf(name, start, end);
  }

  /** All watchers of the name, each once. The list is good until the next call. */
  of(name: Uint8Array, start: number, end: number, now: MonoUs): readonly Watcher[] {
    this.#dropExpired(now);
    const fitting = this.#fitting;
    const found = this.#found;
    found.length = 0;
    this.#prefixes.findPrefixesOf(name, start, end, fitting);
    this.#questions++;
    for (const watches of fitting) {
      for (const { watcher } of watches) {
        if (watcher.foundIn === this.#questions) continue;
        watcher.foundIn = this.#questions;
        found.push(watcher);
      }
    }
    fitting.length = 0;
    return found;
  }

  /** All watchers, each once, in the order of their owners. */
  all(now: MonoUs): readonly Watcher[] {
    this.#dropExpired(now);
    return this.#watchers.size === 0 ? NOBODY_WATCHES : this.#watchers.values();
  }

  #find(owner: Incarnation, bytes: Uint8Array, start: number, end: number): Watch | undefined {
    const watches = this.#prefixes.get(bytes, start, end);
    const watch = watches?.[placeOf(watches, owner)];
    return watch?.watcher.owner === owner ? watch : undefined;
  }

  #add(node: NodeId, owner: Incarnation, prefix: Uint8Array, until: MonoUs): void {
    let watcher = this.#watchers.get(owner);
    if (!watcher) this.#watchers.set(owner, (watcher = { owner, node, watches: 0, foundIn: 0 }));
    watcher.watches++;
    const watch: Watch = { watcher, prefix, until, before: null, after: null };
    const watches = this.#prefixes.get(prefix, 0, prefix.length);
    if (watches) watches.splice(placeOf(watches, owner), 0, watch);
    else this.#prefixes.set(prefix, 0, prefix.length, [watch]);
    this.#link(watch);
  }

  #remove(watch: Watch): void {
    const { watcher, prefix } = watch;
    this.#unlink(watch);
    // The last answer may name this watcher: keep nothing of a watcher that is gone.
    this.#found.length = 0;
    if (--watcher.watches === 0) this.#watchers.delete(watcher.owner);
    const watches = this.#prefixes.get(prefix, 0, prefix.length);
    if (!watches) return;
    watches.splice(placeOf(watches, watcher.owner), 1);
    if (watches.length === 0) this.#prefixes.delete(prefix, 0, prefix.length);
  }

  /** A watcher of a name without leases is never told anything: it would stay for ever. */
  #dropExpired(now: MonoUs): void {
    while (this.#first && this.#first.until <= now) this.#remove(this.#first);
  }

  /** All are kept equally long, so the watcher heard of last is forgotten last. */
  #link(watch: Watch): void {
    watch.before = this.#last;
    watch.after = null;
    if (this.#last) this.#last.after = watch;
    else this.#first = watch;
    this.#last = watch;
  }

  #unlink(watch: Watch): void {
    if (watch.before) watch.before.after = watch.after;
    else this.#first = watch.after;
    if (watch.after) watch.after.before = watch.before;
    else this.#last = watch.before;
  }

  snapshot(): readonly WatchSnapshot[] {
    const watches: Watch[] = [];
    for (let watch = this.#first; watch; watch = watch.after) watches.push(watch);
    return watches
      .sort((a, b) => a.watcher.owner - b.watcher.owner || compareBytes(a.prefix, 0, a.prefix.length, b.prefix, 0, b.prefix.length))
      .map(({ watcher, prefix, until }) => [watcher.node, watcher.owner, [...prefix], until] as const);
  }

  restore(watches: readonly WatchSnapshot[]): void {
    for (const [node, owner, prefix, until] of [...watches].sort((a, b) => a[3] - b[3])) {
      this.#add(node as NodeId, owner as Incarnation, Uint8Array.from(prefix), until as MonoUs);
    }
  }
}

/** Where the owner's watch stands among the watches of one prefix, or would stand. */
function placeOf(watches: readonly Watch[], owner: Incarnation): number {
  let low = 0;
  let high = watches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((watches[middle] as Watch).watcher.owner < owner) low = middle + 1;
    else high = middle;
  }
  return low;
}
