/**
 * Calls that wait for the answer of a core, by their numbers. A call ends with its answer, with an error, or when its caller gives it up by its signal: then it
 * rejects with the reason of the signal.
 */
import { atCaller } from './call-stacks.ts';
import { onAbort } from './signals.ts';

/** One call. */
interface Call {
  readonly number: number;
  readonly signal: AbortSignal | undefined;
  /** Gives the command to the core; an error it throws ends the call. */
  readonly send: () => void;
  /** The caller has given it up. */
  readonly abandoned?: () => void;
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class PendingCalls<Answer> {
  readonly #waiting = new Map<number, Waiting<Answer>>();

  get count(): number {
    return this.#waiting.size;
  }

  has(number: number): boolean {
    return this.#waiting.has(number);
  }

  async answer({ number, signal, send, abandoned }: Call): Promise<Answer> {
    signal?.throwIfAborted();
    let calm = (): void => {};
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#waiting.set(number, { resolve, reject });
        calm = onAbort(signal, (reason) => {
          reject(reason);
          abandoned?.();
        });
        send();
      });
    } catch (error) {
      throw atCaller(error);
    } finally {
      calm();
      this.#waiting.delete(number);
    }
  }

  resolve(number: number, answer: Answer): void {
    this.#waiting.get(number)?.resolve(answer);
  }

  reject(number: number, error: unknown): void {
    this.#waiting.get(number)?.reject(error);
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}
