/** The open watches of one process, by the bytes of their prefixes: a change finds those that it is for without asking the others. */
import { WATCHES_MAX } from '../../core/index.ts';
import { PrefixTree, TenureError } from '../../kernel/index.ts';
import type { Told, Watch } from './watch.ts';

export class Watches {
  readonly #all = new Set<Watch>();
  readonly #byPrefix = new PrefixTree<Set<Watch>>();

  /** Throws `TENURE_LIMIT` if no more may be opened. */
  checkRoom(): void {
    if (this.#all.size < WATCHES_MAX) return;
    throw new TenureError('TENURE_LIMIT', `${WATCHES_MAX} watches are open: end some, or watch a shorter prefix`, {
      limit: 'watches',
      max: WATCHES_MAX,
    });
  }

  add(prefix: Uint8Array, watch: Watch): void {
    this.#all.add(watch);
    const watches = this.#byPrefix.get(prefix, 0, prefix.length);
    if (watches) watches.add(watch);
    else this.#byPrefix.set(prefix, 0, prefix.length, new Set([watch]));
  }

  delete(prefix: Uint8Array, watch: Watch): void {
    this.#all.delete(watch);
    const watches = this.#byPrefix.get(prefix, 0, prefix.length);
    if (watches?.delete(watch) && watches.size === 0) this.#byPrefix.delete(prefix, 0, prefix.length);
  }

  hear(name: Uint8Array, change: Told): void {
    const found: Set<Watch>[] = [];
    this.#byPrefix.findPrefixesOf(name, 0, name.length, found);
    for (const watches of found) for (const watch of watches) watch.hear(change);
  }

  /** The members have no room for the prefix: whoever reads a watch of it is told so. */
  refuse(prefix: Uint8Array): void {
    const error = new TenureError(
      'TENURE_LIMIT',
      'the members have no room for this watch: too many are open, in all or of this process. End some, watch fewer and shorter prefixes, or try again later',
      { limit: 'watches of a member' },
    );
    for (const watch of this.#byPrefix.get(prefix, 0, prefix.length) ?? []) watch.fail(error);
  }

  /** A copy: whoever is told something may end. */
  all(): Watch[] {
    return [...this.#all];
  }
}
