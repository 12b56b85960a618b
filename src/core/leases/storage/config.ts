/** What a core for leases on storage is built with, and its commands and events beyond those of every lease engine. */
import type { Step, UnitId } from '../../contract.ts';
import type { LeaseCommand, LeaseEvent } from '../contract.ts';
import type { Unreadable } from '../../sealed-record.ts';
import type { SyncedData } from './contents.ts';
import type { StorageTiming } from './timing.ts';

/** Data that a lease can have (S9). */
export const SYNC_BYTES_MAX = 16_384;
/** Readers that a store which can compare and set keeps of one name. */
export const READERS_MAX = 1000;

export interface StorageConfig {
  /** The shared unit that the records are in. */
  readonly unit: UnitId;
  readonly timing: StorageTiming;
}

export type StorageCommand =
  | LeaseCommand
  /** The record of this name has perhaps changed: a waiter looks now. Hints come late, twice or never. */
  | { readonly kind: 'hint'; readonly name: Uint8Array }
  /**
   * The store is in an epoch that this core has not seen: it may have lost writes (rule 23). The driver says so before anything else
   * when it opens the store, unless the store has a note that the epoch was waited out.
   */
  | { readonly kind: 'epoch'; readonly isWaitedOut: boolean }
  /** Erases the record of a lease that was given back, and keeps its token as a floor. Only where the store can compare and set. */
  | { readonly kind: 'compact'; readonly lease: number; readonly name: Uint8Array }
  /** Stores data under a lease that is held, and renews it (S9). Answered like a proclaim; or by `sync-failed`. */
  | { readonly kind: 'sync'; readonly lease: number; readonly name: Uint8Array; readonly data: Uint8Array; readonly number: number }
  /** Reads the data stored under the leases of a name. */
  | { readonly kind: 'fetch'; readonly lease: number; readonly name: Uint8Array };

export type StorageEvent =
  | LeaseEvent
  /** An attempt came to nothing because an access was late, failed or not answered. Many of them: δ is too small for this store. */
  | { readonly kind: 'voided'; readonly lease: number }
  /** A record cannot be read. It is not taken for free. */
  | { readonly kind: 'unreadable'; readonly lease: number; readonly key: string; readonly why: Unreadable }
  /** One observation has passed under this epoch: the driver may note so in the store. */
  | { readonly kind: 'epoch-waited' }
  /** `erased` is false if the record was not free, or changed meanwhile. */
  | { readonly kind: 'compacted'; readonly lease: number; readonly erased: boolean }
  /** `refused`: it was not written, and will not be. Otherwise it may have been, or may be yet. */
  | { readonly kind: 'sync-failed'; readonly lease: number; readonly number: number; readonly refused: boolean }
  /** `stale`: data with a higher token was read or written here before, and this was put over it since. */
  | {
      readonly kind: 'fetched';
      readonly lease: number;
      readonly outcome: 'found' | 'stale' | 'unreadable' | 'unanswered';
      readonly data: SyncedData | null;
    };

export type StorageStep = Step<never, StorageEvent>;

/** What the paper's figures call the situation of a request: Figure 1, and Figure 4 with renewals. */
export type FigureState = 'free' | 'try' | 'hold' | 'exit' | 'renew' | 'release';
