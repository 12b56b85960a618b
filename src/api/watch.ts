/**
 * A watch: an async iterator over the changes of names with one prefix. What it tells are hints, pushed by
 * holders; whenever some may have been missed (a member was lost, the reader was too slow) it says so.
 */
import type { KeepAlive } from '../runtime/index.ts';
import type { HolderInfo } from './lease-service.ts';

export type Change =
  /** `holder` is null when the lease ended. */
  | { readonly kind: 'change'; readonly name: string; readonly holder: HolderInfo | null }
  /** Something may have been missed: ask `holder()` where it matters. */
  | { readonly kind: 'gap' };

/** A reader that is so many changes behind is told of a gap instead. */
export const BACKLOG_MAX = 10_000;

export class Watch implements AsyncIterableIterator<Change, undefined> {
  readonly #prefix: string;
  readonly #alive: KeepAlive;
  readonly #onEnd: () => void;
  readonly #backlog: Change[] = [];
  #waiting: ((result: IteratorResult<Change, undefined>) => void)[] = [];
  #ended = false;

  constructor(prefix: string, alive: KeepAlive, onEnd: () => void) {
    this.#prefix = prefix;
    this.#alive = alive;
    this.#onEnd = onEnd;
  }

  /** For the service: what a learner heard. */
  hear({ name, holder }: { name: string; holder: HolderInfo | null }): void {
    if (name.startsWith(this.#prefix)) this.#push({ kind: 'change', name, holder });
  }

  /** For the service: something may have been missed. */
  gap(): void {
    if (this.#backlog.at(-1)?.kind !== 'gap') this.#push({ kind: 'gap' });
  }

  /** Ends the loop over it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    for (const resolve of this.#waiting) resolve({ done: true, value: undefined });
    this.#waiting = [];
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    const value = this.#backlog.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    const heard = new Promise<IteratorResult<Change, undefined>>((resolve) => {
      this.#waiting.push(resolve);
    });
    return this.#alive.during(heard);
  }

  return(): Promise<IteratorResult<Change, undefined>> {
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #push(change: Change): void {
    if (this.#ended) return;
    const resolve = this.#waiting.shift();
    if (resolve) {
      resolve({ done: false, value: change });
      return;
    }
    if (this.#backlog.length >= BACKLOG_MAX) this.#backlog.splice(0, Infinity, { kind: 'gap' });
    else this.#backlog.push(change);
  }
}
