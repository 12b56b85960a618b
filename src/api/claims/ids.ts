/**
 * Unique ids from claimed blocks. An id of the block at hand costs an addition and a promise that is resolved already; the next block is asked for when half
 * of this one is used, and has as many ids as are used in a second. A loop that waits for nothing else still lets the process do its other work now and then.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KeepAlive } from '../../runtime/index.ts';
import type { AsyncSequence } from '../sequences.ts';
import { onAbort } from '../signals.ts';
import type { Block } from './block-queue.ts';

interface IdGround {
  readonly next: (size: number, signal: AbortSignal) => Promise<Block>;
  /** A caller that waits for an id keeps the process alive; a block that is asked for ahead does not. */
  readonly alive: KeepAlive;
  readonly signal: AbortSignal | undefined;
  readonly blockMax: number;
}

type IdResult = IteratorResult<number, undefined>;

export const BLOCK_MIN = 16;
/** From one block to the next. */
const GROWTH_MAX = 8;
const SHRINK_MAX = 2;
/** A block is to last so long. */
const BLOCK_MS = 1000;
/** After so many ids, others have their turn: timers, sockets, the renewal of leases. */
const IDS_A_TURN = 4096;

export class IdSource implements AsyncSequence<number> {
  readonly #ground: IdGround;
  readonly #ending = new AbortController();
  /** The next id, and the end of the block it is of: it is not of it any more. */
  #at = 0;
  #end = 0;
  /** The id with which the next block is asked for. */
  #askAt = -1;
  #turn = IDS_A_TURN;
  #size: number;
  #begunMs = 0;
  #from = 0;
  readonly #calm: () => void;
  #coming: Promise<Block> | null = null;
  #state: 'open' | 'ended' | { readonly error: unknown } = 'open';

  /** Made by `ids` of claims. */
  constructor(ground: IdGround) {
    this.#ground = ground;
    this.#size = Math.min(BLOCK_MIN, ground.blockMax);
    const { signal } = ground;
    this.#calm = onAbort(signal, (reason) => this.#fail(reason));
    if (signal?.aborted) this.#fail(signal.reason);
  }

  /** Resolves at once while there are ids at hand. */
  next(): Promise<IdResult> {
    if (this.#turn-- > 0) {
      const id = this.#at;
      if (id < this.#end) {
        this.#at = id + 1;
        if (id === this.#askAt) this.#halfUsed();
        return Promise.resolve({ value: id, done: false });
      }
    }
    return this.#later();
  }

  /** An id if there is one at hand, at no cost; undefined if not: then `next` waits for one. For loops that cannot wait, or that want millions a second. */
  take(): number | undefined {
    const id = this.#at;
    if (id < this.#end) {
      this.#at = id + 1;
      if (id === this.#askAt) this.#halfUsed();
      return id;
    }
    if (this.#state === 'open') this.#askAhead();
    return undefined;
  }

  /** Ends it. The rest of its block is a gap, and the block it was asking for is withdrawn. */
  async return(): Promise<IdResult> {
    if (this.#state === 'open') this.#state = 'ended';
    this.#stop();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #later(): Promise<IdResult> {
    if (this.#turn <= 0) {
      this.#turn = IDS_A_TURN;
      await nextTurn();
    }
    while (this.#at >= this.#end && this.#state === 'open') await this.#refill();
    if (typeof this.#state === 'object') {
      const { error } = this.#state;
      this.#state = 'ended';
      throw error;
    }
    const value = this.take();
    return value === undefined ? { value, done: true } : { value, done: false };
  }

  /** The requested block takes the place of the used-up block. */
  async #refill(): Promise<void> {
    this.#coming ??= this.#ask();
    const coming = this.#coming;
    try {
      const { from, to } = await this.#ground.alive.during(coming);
      // Another call that waited for it has begun it already.
      if (this.#coming !== coming || this.#state !== 'open') return;
      this.#coming = null;
      this.#begin(from, to);
    } catch (error) {
      if (this.#state === 'open') this.#fail(error);
    }
  }

  #begin(from: number, to: number): void {
    this.#from = from;
    this.#at = from;
    this.#end = to + 1;
    this.#askAt = from + Math.floor((to - from) / 2);
    this.#begunMs = performance.now();
  }

  /** In so long: the next block is to last for a second. */
  #halfUsed(): void {
    const used = this.#at - this.#from;
    const ms = Math.max(0.001, performance.now() - this.#begunMs);
    const wanted = Math.ceil((used / ms) * BLOCK_MS);
    const size = Math.min(this.#size * GROWTH_MAX, Math.max(Math.floor(this.#size / SHRINK_MAX), wanted));
    this.#size = Math.min(this.#ground.blockMax, Math.max(BLOCK_MIN, size));
    this.#askAhead();
  }

  #askAhead(): void {
    if (this.#coming !== null) return;
    this.#coming = this.#ask();
    // Callers that wait for a block are told, and there may be none.
    this.#coming.catch(() => undefined);
  }

  #ask(): Promise<Block> {
    return this.#ground.next(this.#size, this.#ending.signal);
  }

  #fail(error: unknown): void {
    if (this.#state !== 'open') return;
    this.#state = { error };
    this.#stop();
  }

  #stop(): void {
    this.#at = 0;
    this.#end = 0;
    this.#askAt = -1;
    this.#calm();
    this.#ending.abort();
    this.#coming?.catch(() => undefined);
  }
}
