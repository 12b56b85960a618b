/** A lease as its holder sees it: what may be asked of it and done with it, and no way to anything else. */
import { checkOptions, type Duration, type LeaseMode, type OptionTable } from '../../kernel/index.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import type { HeldLease } from './held-lease.ts';
import type { LeaseWaiter } from './lease-waiter.ts';
import type { UpgradeOptions } from './upgrade-options.ts';

/** For this package only: the lease behind what a caller has. */
export let heldBehind: (lease: Lease) => HeldLease;

export interface ReleaseOptions {
  /** Go on until then: as of a later time. */
  readonly after?: Duration;
}

const RELEASE_OPTIONS: OptionTable<ReleaseOptions> = { after: 'any' };

/** Asked before each renewal of the lease. Anything but true lets it run out. */
export type RenewWhile = (lease: Lease) => boolean | Promise<boolean>;

export class Lease {
  readonly name: string;
  readonly #held: HeldLease;

  static {
    heldBehind = (lease) => lease.#held;
  }

  /** Leases are made by `acquire`, `tryAcquire` and `using`. */
  constructor(held: HeldLease) {
    this.name = held.name;
    this.#held = held;
  }

  /**
   * The fencing token: a positive safe integer. Pass it to whatever the lease protects. A writer's is above all before it, a reader's above all
   * writers' before it, a slot's above all of that slot. It changes with an upgrade.
   */
  get token(): number {
    return this.#held.token;
  }

  /** Whether others may hold it too: readers, or other slots. */
  get mode(): LeaseMode {
    return this.#held.mode;
  }

  /** Which slot, if it was acquired with `slots`. */
  get slot(): number | undefined {
    return this.#held.slot;
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
   * Replaces the metadata, without giving the lease up. Resolves when every later question is answered
   * with it. If the lease ends first it rejects with TENURE_LEASE_LOST, and others may have been told or not.
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

  /**
   * A shared lease becomes exclusive, with a new token, when all other readers have let go; it stands first in line for that. Until then, and if
   * nothing comes of it, it is shared as before. TENURE_UPGRADE_CONFLICT if another reader waits for the same, or with `wait: 0` if there is
   * another at all. Not every engine can: TENURE_UNSUPPORTED.
   */
  async upgrade(options: UpgradeOptions = {}): Promise<void> {
    return this.#held.upgrade(options);
  }

  /** An exclusive lease becomes shared at once, with the same token and deadline: others may read beside you from now on. */
  downgrade(): void {
    this.#held.downgrade();
  }

  /**
   * Hands it over to the first waiter in line, or to a waiter that `waiters` told of, in two messages instead of the four of a release and a turn. You must have stopped before you call this. Resolves to whether it was handed over: if
   * no waiter was there in a few round trips it resolves to false, and you still hold it and may go on. It is renewed no more meanwhile, for half of the remaining time at most. A lease that has a quarantine is not handed over. Not every engine can:
   * TENURE_UNSUPPORTED.
   */
  async transfer(to?: LeaseWaiter): Promise<boolean> {
    return this.#held.transfer(to);
  }

  /** Calls `listener` when your lease has a waiter: a hint that comes with renewals, maybe again and again, maybe never. */
  onWanted(listener: () => void): void {
    this.#held.onWanted(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
