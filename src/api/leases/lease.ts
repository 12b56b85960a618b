/** A lease as its holder sees it: what may be asked of it and done with it, and no way to anything else. */
import { checkOptions, type Duration, type LeaseMode, type OptionTable } from '../../kernel/index.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import type { HeldLease } from './held-lease.ts';

/** For this package only: the lease behind what a caller has. */
export let heldBehind: (lease: Lease) => HeldLease;

export interface ReleaseOptions {
  /** Go on until then: as of a later time. */
  readonly after?: Duration;
}

const RELEASE_OPTIONS: OptionTable<ReleaseOptions> = { after: 'any' };

export class Lease {
  readonly name: string;
  /** The fencing token: a positive safe integer that rises with every grant of this name, for ever. Pass it to whatever the lease protects. */
  readonly token: number;
  /** Whether others may hold it too. */
  readonly mode: LeaseMode;
  readonly #held: HeldLease;

  static {
    heldBehind = (lease) => lease.#held;
  }

  /** Leases are made by `acquire`, `tryAcquire` and `using`. */
  constructor(held: HeldLease) {
    this.name = held.name;
    this.token = held.token;
    this.mode = held.mode;
    this.#held = held;
  }

  /** Milliseconds left to act under it; 0 when it is over. */
  remainingMs(): number {
    return this.#held.remainingMs();
  }

  /** The instant it ends unless it is renewed, as `performance.now()` counts. */
  get deadline(): number {
    return this.#held.deadline;
  }

  /** Whether it may be acted under at this very moment. */
  get valid(): boolean {
    return this.#held.valid;
  }

  /**
   * Aborts when it is time to stop: a margin before the deadline if no renewal came, network or not. Its
   * reason is the error with code TENURE_LEASE_LOST. Also when the cell is closed under it, with TENURE_CLOSED.
   */
  get signal(): AbortSignal {
    return this.#held.signal;
  }

  /**
   * Gives it back. You must have stopped before you call this. Resolves when others can have it, or it has run out; calling again is harmless.
   * With `after`, you may go on until then: the deadline is then at the latest, it is renewed no more, and others can have it without hearing from you
   * again. Resolves when that time has come. Not every engine can: TENURE_UNSUPPORTED.
   */
  release(options?: ReleaseOptions): Promise<void> {
    return options === undefined ? this.#held.release() : this.#releaseAs(options);
  }

  async #releaseAs(options: ReleaseOptions): Promise<void> {
    const { after } = checkOptions('release', options, RELEASE_OPTIONS);
    return after === undefined ? this.#held.release() : this.#held.releaseLater(after);
  }

  /**
   * Replaces the metadata, without giving the lease up. Resolves when whoever asks from then on
   * is told. If the lease ends first it rejects with TENURE_LEASE_LOST, and others may have been told or not.
   */
  async proclaim(meta: Uint8Array | string, options: SignalOnly = {}): Promise<void> {
    return this.#held.proclaim(meta, checkOptions('proclaim', options, SIGNAL_ONLY).signal);
  }

  /**
   * Stores data under the lease and renews it, by one write. `read` of the storage gives it, with this lease's token. Resolves when the store has it. Data of a holder whose time is over is refused by a store that
   * can compare and set; on plain registers it is not sent when the end is near. Only on stores: TENURE_UNSUPPORTED elsewhere.
   */
  async sync(data: Uint8Array, options: SignalOnly = {}): Promise<void> {
    return this.#held.sync(data, checkOptions('sync', options, SIGNAL_ONLY).signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
