/** Proclaims under way: holders that changed what they say of themselves and wait until it can be relied on that others are told. */
import { atCaller } from '../call-stacks.ts';
import { onAbort } from '../signals.ts';

interface Proclaim {
  readonly lease: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Proclaims {
  readonly #open = new Map<number, Proclaim>();

  get count(): number {
    return this.#open.size;
  }

  /** `send` makes the command; it may throw. Given up, it may be published all the same. */
  async wait(lease: number, number: number, signal: AbortSignal | undefined, send: () => void): Promise<void> {
    signal?.throwIfAborted();
    let calm = (): void => {};
    try {
      await new Promise<void>((resolve, reject) => {
        this.#open.set(number, { lease, resolve, reject });
        calm = onAbort(signal, reject);
        send();
      });
    } catch (error) {
      throw atCaller(error);
    } finally {
      calm();
      this.#open.delete(number);
    }
  }

  /** Others are told this one: those before it are overtaken, and done. */
  done(lease: number, number: number): void {
    for (const [other, proclaim] of this.#open) if (proclaim.lease === lease && other <= number) proclaim.resolve();
  }

  fail(number: number, error: unknown): void {
    this.#open.get(number)?.reject(error);
  }

  /** The lease is over, or all are. */
  reject(error: unknown, lease?: number): void {
    for (const proclaim of this.#open.values()) if (lease === undefined || proclaim.lease === lease) proclaim.reject(error);
  }
}
