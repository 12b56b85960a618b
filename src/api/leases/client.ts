/** What every client of leases can do, whatever grants them: a cell, or whatever else keeps them. */
import type { Duration, OptionTable } from '../../kernel/index.ts';
import type { Election, ElectionOptions } from '../elections/election.ts';
import type { SignalOnly } from '../signals.ts';
import type { WatchOptions } from '../watches/feed.ts';
import type { Watch } from '../watches/watch.ts';
import type { Lease } from './lease.ts';
import type { HolderAnswer, Listing } from './questions.ts';
import type { AcquireOptions, TryResult } from './requests.ts';

/** Work under a lease. */
export type Work<T> = (lease: Lease) => Promise<T> | T;
/** Work under several leases; `signal` aborts with the first of them. */
export type WorkUnderAll<T> = (leases: readonly Lease[], signal: AbortSignal) => Promise<T> | T;

export interface CloseOptions {
  /** How long work under `using` is waited for; its deadline unless told otherwise. */
  readonly timeout?: Duration;
  /** Leases that have waiters are handed over to the first in line instead of given back. Not every engine can: TENURE_UNSUPPORTED, and nothing is closed. */
  readonly handOver?: boolean;
}

export const CLOSE_OPTIONS: OptionTable<CloseOptions> = { timeout: 'any', handOver: 'boolean' };

/** Options may be left out before a function. */
export function optionsBefore<Last>(rest: readonly [Last] | readonly [AcquireOptions, Last]): [AcquireOptions, Last] {
  return rest.length === 1 ? [{}, rest[0]] : [rest[0], rest[1]];
}

export interface LeaseClient extends AsyncDisposable {
  /** Changes with every start: it holds the leases, not the process's name. */
  readonly incarnation: number;

  /** Waits for the lease; where the engine serves in order, no request that begins after this one is queued overtakes it. It is renewed until it is released. Not re-entrant: a holder that asks again waits like any other client. */
  acquire(name: string, options?: AcquireOptions): Promise<Lease>;

  /** Takes the lease if it is free, and names its holder if not. */
  tryAcquire(name: string, options?: Omit<AcquireOptions, 'wait'>): Promise<TryResult>;

  /** Runs `work` under the lease and gives the lease back. An error of `work` always comes out as it is; if the lease was lost though `work` succeeded, `TENURE_LEASE_LOST` with the `result`. */
  using<T>(name: string, work: Work<T>): Promise<T>;
  using<T>(name: string, options: AcquireOptions, work: Work<T>): Promise<T>;

  /** Runs `work` under all of the leases, or under none, and gives them back. `signal` aborts when it is time to stop because of any of them; otherwise as `using`. */
  usingAll<T>(names: readonly string[], work: WorkUnderAll<T>): Promise<T>;
  usingAll<T>(names: readonly string[], options: AcquireOptions, work: WorkUnderAll<T>): Promise<T>;

  /** Takes all of them, or none: in one order everywhere, so that two processes that want the same names never wait for each other. */
  acquireAll(names: readonly string[], options?: AcquireOptions): Promise<Lease[]>;

  /** An election: candidates, a leader, and observers. */
  elect(name: string, options?: ElectionOptions): Election;

  /** Tells the leases held under the prefix and then, as hints, changes; where some may have been missed it tells of a gap. */
  watch(prefix?: string, options?: WatchOptions): Watch;

  /** Asks for the holder of the lease; asks again if too few answered in time. */
  holder(name: string, options?: SignalOnly): Promise<HolderAnswer>;

  /** Asks for all leases and their holders, under a prefix or at all. No snapshot: a lease that begins or ends meanwhile may be on the list or not. */
  list(prefix?: string, options?: SignalOnly): Promise<Listing>;

  /**
   * Ends every waiting call with TENURE_CLOSED, aborts the signals of held leases, gives them back and leaves. Work under
   * `using` is waited for up to its deadline, or for `timeout`: work that has not stopped by then keeps its lease, which runs
   * out. A lease that was acquired by hand is given back at once: you have stopped. If no member or store answers, it leaves
   * after a moment. Any number of calls.
   */
  close(options?: CloseOptions): Promise<void>;
}
