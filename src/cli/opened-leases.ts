/** What commands that use leases have to know of where they get them, be it a cell or a store. */
import type { LeaseClient, LeaseWaiter } from '../api/index.ts';
import type { TenureError } from '../kernel/index.ts';
import type { OpenOptions } from './connection.ts';

export interface OpenedLeases {
  readonly client: LeaseClient;
  /** The longest term of any lease here. */
  readonly maxTermMs: number;
  readonly place: 'cell' | 'store';
  /** Why an answer about a lease may not be certain. */
  readonly unsure: string;
  /** The number of the view that the cell is in, as far as was heard; null where there is none. */
  readonly viewEpoch: () => number | null;
  /** The waiters for a name, where they can be told; null where they cannot. */
  readonly waiters: (name: string) => Promise<readonly LeaseWaiter[] | null>;
  /** The error where a request timed out because nothing could be reached; null if something could. */
  readonly cutOff: (name: string) => Promise<TenureError | null>;
  /** For watchers: resolves when nothing is about to be heard of that would be a gap. */
  readonly settled: () => Promise<void>;
  /** Resolves when leases can be had again. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
}

export type LeaseOptions = Pick<OpenOptions, 'signal' | 'name'>;
