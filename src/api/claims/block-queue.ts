/**
 * Blocks of one space for the callers of one process. One request is under way at a time, so that the process does not contend with itself; callers that
 * ask meanwhile share the next request, which is as large as they need together.
 */
import { INTEGER_MAX } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { onAbort } from '../signals.ts';

/** Integers from `from` to `to`, both included. */
export interface Block {
  readonly from: number;
  readonly to: number;
}

interface Waiter {
  readonly size: number;
  readonly resolve: (block: Block) => void;
  readonly reject: (error: unknown) => void;
  readonly calm: () => void;
}

export class BlockQueue {
  readonly #ask: (size: number, signal: AbortSignal) => Promise<Block>;
  /** In the order in which they came; each is here until it is answered. */
  readonly #waiting = new Set<Waiter>();
  /** Waiters that share the request under way. */
  #sharing: readonly Waiter[] = [];
  #request: AbortController | null = null;
  /** What several asked for together was not to be had: each asks for its own. */
  #isAlone = false;

  constructor(ask: (size: number, signal: AbortSignal) => Promise<Block>) {
    this.#ask = ask;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  next(size: number, signal: AbortSignal | undefined): Promise<Block> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const waiter: Waiter = { size, resolve, reject, calm: onAbort(signal, (reason) => this.#leave(waiter, reason)) };
      this.#waiting.add(waiter);
      if (this.#request === null) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#request = new AbortController();
      this.#sharing = this.#together();
      const sharing = this.#sharing;
      try {
        let { from } = await this.#ask(sizeOf(sharing), this.#request.signal);
        // The parts of waiters that have left are gaps.
        for (const waiter of sharing) {
          this.#remove(waiter)?.resolve({ from, to: from + waiter.size - 1 });
          from += waiter.size;
        }
        this.#isAlone = false;
      } catch (error) {
        this.#isAlone = sharing.length > 1 && error instanceof TenureError && error.code === 'TENURE_LIMIT';
        if (!this.#isAlone) for (const waiter of sharing) this.#remove(waiter)?.reject(error);
      }
    }
    this.#request = null;
    this.#sharing = [];
  }

  #together(): Waiter[] {
    const together: Waiter[] = [];
    let size = 0;
    for (const waiter of this.#waiting) {
      size += waiter.size;
      if (together.length > 0 && (this.#isAlone || size > INTEGER_MAX)) break;
      together.push(waiter);
    }
    return together;
  }

  /** The caller wants it no more. A request without waiters is called off. */
  #leave(waiter: Waiter, reason: unknown): void {
    this.#remove(waiter)?.reject(reason);
    if (this.#sharing.includes(waiter) && this.#sharing.every((one) => !this.#waiting.has(one))) this.#request?.abort(reason);
  }

  #remove(waiter: Waiter): Waiter | null {
    if (!this.#waiting.delete(waiter)) return null;
    waiter.calm();
    return waiter;
  }
}

function sizeOf(waiters: readonly Waiter[]): number {
  return waiters.reduce((sum, { size }) => sum + size, 0);
}
