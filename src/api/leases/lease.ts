/** A lease as its holder sees it: what may be asked of it and done with it, and no way to anything else. */
import type { Duration, LeaseMode } from '../../kernel/index.ts';
import type { HeldLease } from './held-lease.ts';

/** For this package only: the lease behind what a caller has. */
export let heldBehind: (lease: Lease) => HeldLease;

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
  release({ after }: { after?: Duration } = {}): Promise<void> {
    return after === undefined ? this.#held.release() : this.#held.releaseLater(after);
  }

  /**
   * Replaces the metadata, without giving the lease up. Resolves when whoever asks from then on
   * is told. If the lease ends first it rejects with TENURE_LEASE_LOST, and others may have been told or not.
   */
  proclaim(meta: Uint8Array | string, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#held.proclaim(meta, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
