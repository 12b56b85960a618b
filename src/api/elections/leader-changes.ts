/**
 * The leader, as an async iterator over a watch of the election's name. It is no generator: a generator that waits for news cannot
 * be told to stop, and its watch would stay open until there are some.
 */
import type { HolderInfo } from '../leases/questions.ts';
import type { AsyncSequence } from '../sequences.ts';
import type { Change } from '../watches/feed.ts';

export interface Leader {
  /** Which start of which process: changes with every restart. */
  readonly incarnation: number;
  readonly token: number;
  /** Its metadata. Empty if none. */
  readonly value: Uint8Array;
  /** The same, as text. */
  readonly text: string;
}

export type LeaderChange =
  /** `leader` is null when there is none. */
  | { readonly kind: 'leader'; readonly leader: Leader | null }
  /** Changes may have been missed, and the leader is not known. It is told as soon as it is. */
  | { readonly kind: 'gap' };

type Result = IteratorResult<LeaderChange, undefined>;
const DONE: Result = { done: true, value: undefined };

export class LeaderChanges implements AsyncSequence<LeaderChange> {
  readonly #open: () => AsyncSequence<Change>;
  #watch: AsyncSequence<Change> | null = null;
  #isKnown = false;
  #isOver = false;
  /** Several readers that wait are answered one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  /** LeaderChanges are made by `observe`. The watch begins with the first question. */
  constructor(open: () => AsyncSequence<Change>) {
    this.#open = open;
  }

  next(): Promise<Result> {
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => undefined);
    return next;
  }

  async return(): Promise<Result> {
    this.#isOver = true;
    await this.#watch?.return();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #next(): Promise<Result> {
    while (!this.#isOver) {
      let result: IteratorResult<Change, undefined>;
      try {
        this.#watch ??= this.#open();
        result = await this.#watch.next();
      } catch (error) {
        this.#isOver = true;
        throw error;
      }
      if (result.done) break;
      const seen = this.#see(result.value);
      if (seen) return { done: false, value: seen };
    }
    this.#isOver = true;
    return DONE;
  }

  /** Null if it is nothing new. */
  #see(change: Change): LeaderChange | null {
    if (change.kind === 'current' && this.#isKnown) return null;
    this.#isKnown = change.kind !== 'gap';
    if (change.kind === 'gap') return { kind: 'gap' };
    return { kind: 'leader', leader: change.kind === 'change' && change.holder ? asLeader(change.holder, change.meta) : null };
  }
}

export function asLeader({ incarnation, token }: HolderInfo, meta: Uint8Array | null): Leader {
  const value = meta ?? new Uint8Array(0);
  return { incarnation, token, value, text: new TextDecoder().decode(value) };
}
