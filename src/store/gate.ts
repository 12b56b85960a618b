/**
 * How long a caller waits for an access, and the error it gets when it waits no longer. One gate stands before each
 * store: it knows whether an access has left, so it can tell "did not happen" from "unknown".
 */
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { TenureError } from '../kernel/index.ts';
import { ACCESS_TIMEOUT_MS, type AccessOptions } from './contract.ts';

/** What a store throws when it sent a change and cannot tell what became of it. */
export class Unanswered extends Error {
  readonly why: TenureError;

  constructor(why: TenureError) {
    super(why.message);
    this.why = why;
  }
}

/** One access under way. */
export class Call {
  #ended: Error | null = null;
  #hasLeft = false;
  #whenGivenUp: () => void = () => {};

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Throws if the caller waits no more. A store calls it between the steps of an access. */
  goOn(): void {
    if (this.#ended) throw this.#ended;
  }

  /** From here on the store may have the change. Throws if the caller waits no more: then it must not be sent. */
  leave(): void {
    this.goOn();
    this.#hasLeft = true;
  }

  /** The change that had left was refused without effect: another try may leave. */
  returned(): void {
    this.#hasLeft = false;
  }

  /** Called when the caller waits no more: a connection that is still busy with this access is of no use to others. */
  onGivenUp(act: () => void): void {
    if (this.#ended) act();
    else this.#whenGivenUp = act;
  }

  end(why: Error): void {
    this.#ended ??= why;
    this.#whenGivenUp();
  }
}

export class Gate {
  readonly #url: string;
  readonly #underWay = new Set<(why: Error) => void>();
  #closed = false;
  lastUnknown: TenureError | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** An access that changes nothing: it has an answer or an error. */
  async ask<Answer>(options: AccessOptions | undefined, work: (call: Call) => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#bounded(new Call(), options ?? {}, work);
    } catch (error) {
      throw error instanceof GivenUp ? error.reason : error instanceof Unanswered ? error.why : error;
    }
  }

  /** An access that changes something: a change that threw has not happened, and one with an unknown outcome is `unknown`. */
  async change<Answer extends string>(
    options: AccessOptions | undefined,
    work: (call: Call) => Promise<Answer>,
  ): Promise<Answer | 'unknown'> {
    const call = new Call();
    try {
      return await this.#bounded(call, options ?? {}, work);
    } catch (error) {
      const why = error instanceof Unanswered || error instanceof GivenUp ? error.why : null;
      if (why === null) throw error;
      if (!call.hasLeft) throw error instanceof GivenUp ? error.reason : why;
      this.lastUnknown = why;
      return 'unknown';
    }
  }

  /** False if it was closed before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    const why = closed(this.#url);
    for (const giveUp of this.#underWay) giveUp(why);
    return true;
  }

  async #bounded<Answer>(
    call: Call,
    { timeoutMs = ACCESS_TIMEOUT_MS, signal }: AccessOptions,
    work: (call: Call) => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#closed) throw closed(this.#url);
    if (!(timeoutMs > 0 && timeoutMs <= 2_147_483_647)) {
      throw new TenureError('TENURE_BAD_ARGUMENT', `timeoutMs is a positive number of milliseconds, not ${timeoutMs}`);
    }
    signal?.throwIfAborted();
    return await new Promise<Answer>((resolve, reject) => {
      const giveUp = (why: Error): void => {
        settle();
        call.end(why);
        reject(new GivenUp(why));
      };
      const timer = setTimeout(() => giveUp(late(this.#url, timeoutMs)), timeoutMs);
      const aborted = (): void => giveUp(signal?.reason as Error);
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', aborted);
        this.#underWay.delete(giveUp);
      };
      signal?.addEventListener('abort', aborted, { once: true });
      this.#underWay.add(giveUp);
      const working = async (): Promise<void> => {
        try {
          resolve(await work(call));
        } catch (error) {
          // A driver may fail before it has heard that its connection is gone. A caller that tries again at once must not keep it from hearing.
          await eventLoopTurn();
          reject(error instanceof Error ? error : new Error(String(error)));
        } finally {
          settle();
        }
      };
      // After `giveUp` the promise is settled: the outcome of the work is dropped.
      void working();
    });
  }
}

/** The caller waits no longer. */
class GivenUp extends Error {
  /** As the caller's signal gave it, or as the gate said it. */
  readonly reason: Error;

  constructor(reason: Error) {
    super(reason instanceof Error ? reason.message : String(reason));
    this.reason = reason;
  }

  get why(): TenureError {
    if (this.reason instanceof TenureError) return this.reason;
    const why = new TenureError('TENURE_STORE_UNREACHABLE', `the caller gave the access up before its answer came: ${this.message}`);
    why.cause = this.reason;
    return why;
  }
}

function late(url: string, timeoutMs: number): TenureError {
  return new TenureError('TENURE_STORE_UNREACHABLE', `the store ${url} did not answer within ${timeoutMs} ms`, { url, timeoutMs });
}

function closed(url: string): TenureError {
  return new TenureError('TENURE_CLOSED', `the store ${url} was closed`, { url });
}
