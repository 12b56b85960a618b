/** The open watches of one process, by the bytes of their prefixes: a change finds the watches that it is for without asking the others. */
import { WATCHES_MAX, type LeaseCommand } from '../../core/index.ts';
import { checkName, encodePrefix, PrefixTree, TenureError } from '../../kernel/index.ts';
import type { KeepAlive } from '../../runtime/index.ts';
import { unsupportedByEngine, type LeaseEngine } from '../leases/engine.ts';
import type { HolderAnswer, Listing } from '../leases/questions.ts';
import { WatchFeed, type FeedSource, type LeaseChange, type WatchOptions } from './feed.ts';
import { Watch } from './watch.ts';

interface WatchesGround extends Pick<FeedSource, 'after'> {
  readonly engine: LeaseEngine;
  readonly alive: KeepAlive;
  readonly command: (command: LeaseCommand) => void;
  readonly list: (prefix: string) => Promise<Listing>;
  readonly holder: (name: string) => Promise<HolderAnswer>;
}

export class Watches {
  readonly #ground: WatchesGround;
  readonly #all = new Set<WatchFeed>();
  readonly #byPrefix = new PrefixTree<Set<WatchFeed>>();

  constructor(ground: WatchesGround) {
    this.#ground = ground;
  }

  /** Throws what the engine cannot do, and `TENURE_LIMIT` if no more may be opened. */
  open(prefix: string, options: WatchOptions): Watch {
    this.#checkAbility(options);
    options.signal?.throwIfAborted();
    if (options.exact) checkName(prefix);
    const bytes = encodePrefix(prefix);
    const watched = { prefix: bytes, ...(options.exact ? { exact: true } : {}) };
    this.#checkRoom();
    const { alive, after, command, list } = this.#ground;
    const feed: WatchFeed = new WatchFeed(prefix, options, alive, {
      present: () => (options.exact ? this.#listOne(prefix) : list(prefix)),
      after,
      ended: () => {
        this.#delete(bytes, feed);
        command({ kind: 'unwatch', ...watched });
      },
    });
    this.#add(bytes, feed);
    command({ kind: 'watch', ...watched });
    feed.ask();
    return new Watch(feed);
  }

  hear(name: Uint8Array, change: LeaseChange): void {
    const found: Set<WatchFeed>[] = [];
    this.#byPrefix.findPrefixesOf(name, 0, name.length, found);
    for (const feeds of found) for (const feed of feeds) feed.hear(change);
  }

  noteGap(): void {
    for (const feed of this.#all) feed.gap();
  }

  /** There is no room for the prefix where leases are kept: readers of its watches are told so. */
  refuse(prefix: Uint8Array): void {
    const error = new TenureError(
      'TENURE_LIMIT',
      'there is no room for this watch: too many are open, in all or of this process. End some, watch fewer and shorter prefixes, or try again later',
      { limit: 'watches of a member' },
    );
    for (const feed of this.#byPrefix.get(prefix, 0, prefix.length) ?? []) feed.fail(error);
  }

  endAll(): void {
    for (const feed of this.#all) feed.end();
  }

  #checkAbility({ exact = false }: WatchOptions): void {
    const { engine } = this.#ground;
    const { watch } = engine.can;
    if (watch === 'none') throw unsupportedByEngine(engine, 'watch', 'tells nobody of its leases', 'ask holder() now and then');
    if (watch === 'name' && !exact)
      throw unsupportedByEngine(engine, 'watch of a prefix', 'cannot say what is held under a prefix', 'watch one name, with exact: true');
  }

  #checkRoom(): void {
    if (this.#all.size < WATCHES_MAX) return;
    throw new TenureError('TENURE_LIMIT', `${WATCHES_MAX} watches are open: end some, or watch a shorter prefix`, {
      limit: 'watches',
      max: WATCHES_MAX,
    });
  }

  async #listOne(name: string): Promise<Listing> {
    const { holder, certain, meta, text } = await this.#ground.holder(name);
    return { leases: holder ? [{ name, holder, certain, meta, text }] : [], certain };
  }

  #add(prefix: Uint8Array, feed: WatchFeed): void {
    this.#all.add(feed);
    const feeds = this.#byPrefix.get(prefix, 0, prefix.length);
    if (feeds) feeds.add(feed);
    else this.#byPrefix.set(prefix, 0, prefix.length, new Set([feed]));
  }

  #delete(prefix: Uint8Array, feed: WatchFeed): void {
    this.#all.delete(feed);
    const feeds = this.#byPrefix.get(prefix, 0, prefix.length);
    if (feeds?.delete(feed) && feeds.size === 0) this.#byPrefix.delete(prefix, 0, prefix.length);
  }
}
