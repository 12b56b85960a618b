/** All that is told about one process that has leases on a store while it works: counters, channels, the log and the history file. */
import type { Unreadable } from '../../core/index.ts';
import type { TenureError } from '../../kernel/index.ts';
import { LeaseObserver } from '../observing/lease-observer.ts';
import { Outlets, type OutletOptions } from '../observing/outlets.ts';

/** Counts of the store. */
export interface StoreTally {
  /** Accesses that failed, or whose outcome is unknown. */
  failures: number;
  /** Attempts that came to nothing because an access was late. Many of them: δ is too small for this store. */
  voided: number;
  /** Records that could not be read. */
  unreadable: number;
  /** Epochs that were entered after the first. */
  epochs: number;
}

export class StorageObserver {
  readonly leases: LeaseObserver;
  readonly store: StoreTally = { failures: 0, voided: 0, unreadable: 0, epochs: 0 };
  readonly #outlets: Outlets;
  #lastCode = '';

  constructor(options: OutletOptions) {
    this.#outlets = new Outlets(options);
    this.leases = new LeaseObserver(this.#outlets);
  }

  /** An access failed. It is logged when the reason is new. */
  accessFailed(error: TenureError | null): void {
    this.store.failures++;
    const code = error?.code ?? 'TENURE_STORE_UNREACHABLE';
    if (code === this.#lastCode) return;
    this.#lastCode = code;
    this.#outlets.log.say('warn', { code }, error?.message ?? 'the store does not answer');
  }

  voided(): void {
    this.store.voided++;
  }

  unreadable(key: string, why: Unreadable): void {
    this.store.unreadable++;
    this.#outlets.log.say('error', { key, why }, 'a record in the store cannot be read, and is not taken for free');
  }

  /** `waitMs`: how long nothing is taken. */
  enteredEpoch(waitMs: number, isFirst: boolean): void {
    if (!isFirst) this.store.epochs++;
    if (waitMs > 0)
      this.#outlets.log.say('warn', { waitMs }, 'the store may have lost writes: nothing is taken before what was held is over');
  }

  stalled(kind: 'stall' | 'sleep' | 'wall-step', us: number): void {
    this.#outlets.log.say('warn', { kind, ms: us / 1000 }, 'a clock of this process has jumped, or the process stood still');
  }

  failed(error: TenureError): void {
    this.#outlets.history?.append({ kind: 'crashed' });
    this.#outlets.log.say('error', { code: error.code }, error.message);
  }

  /** The last of the history is written. */
  async close(): Promise<void> {
    await this.#outlets.history?.close();
  }
}
