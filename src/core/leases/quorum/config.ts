/** What a quorum core is built with, what it can be told to do, and what it says. */
import type { BallotTime, Incarnation, MonoUs, WallUs } from '../../../kernel/index.ts';
import type { Step } from '../../contract.ts';
import type { QuorumMessage } from './messages.ts';
import type { Timing } from './timing.ts';

export interface QuorumConfig {
  /** Stable 32-bit hashes of the members' ids, in the order of their node numbers. */
  readonly memberKeys: readonly number[];
  /** How many members vote on a resource; all of them unless told otherwise. */
  readonly replication?: number;
  readonly timing: Timing;
  /** Metadata of a lease, at most. */
  readonly metaBytesMax?: number;
  /** How finely acceptors remember how high their ballots went. */
  readonly floorBuckets?: number;
}

export const META_BYTES_MAX = 1024;
export const FLOOR_BUCKETS = 4096;

/** `lease` is a number the caller picks, never twice in one incarnation. */
export type QuorumCommand =
  | {
      readonly kind: 'acquire';
      readonly lease: number;
      readonly name: Uint8Array;
      readonly termUs: number;
      /** 0: try, do not wait. */
      readonly waitUs: number;
      /** Renew it until it is released. */
      readonly keep: boolean;
      readonly meta?: Uint8Array | undefined;
    }
  /** Gives up an acquire that was not answered yet: no lease comes of it any more. */
  | { readonly kind: 'cancel'; readonly lease: number }
  | { readonly kind: 'renew'; readonly lease: number; readonly name: Uint8Array; readonly termUs: number }
  /** With `inUs`, the holder goes on until then (P5); the quorum engine gives back at once. */
  | { readonly kind: 'release'; readonly lease: number; readonly name: Uint8Array; readonly inUs?: number }
  | { readonly kind: 'query'; readonly lease: number; readonly name: Uint8Array }
  | { readonly kind: 'watch'; readonly prefix: Uint8Array }
  | { readonly kind: 'unwatch'; readonly prefix: Uint8Array };

/** Why an acquire was refused. */
export type RefusalReason = 'too-long' | 'held' | 'contended' | 'queued' | 'silent' | 'skewed' | 'no-quorum' | 'timeout' | 'cancelled';

export interface HolderHint {
  readonly owner: Incarnation;
  readonly token: number;
  /** It cannot last longer than this. */
  readonly remainingUsMax: number;
}

export type QuorumEvent =
  | {
      readonly kind: 'granted';
      readonly lease: number;
      readonly token: BallotTime;
      readonly deadlineMonoUs: MonoUs;
      readonly deadlineWallUs: WallUs;
      readonly trips: number;
      readonly waited: boolean;
    }
  | { readonly kind: 'renewed'; readonly lease: number; readonly deadlineMonoUs: MonoUs; readonly deadlineWallUs: WallUs }
  | { readonly kind: 'renewal-failed'; readonly lease: number }
  | { readonly kind: 'lost'; readonly lease: number }
  | {
      readonly kind: 'refused';
      readonly lease: number;
      readonly reason: RefusalReason;
      readonly holder: HolderHint | null;
      /** Voters that did not answer the last attempt. */
      readonly unreached: readonly number[];
    }
  /** The holder has stopped; its release is on the way. */
  | { readonly kind: 'stopped'; readonly lease: number }
  /** A quorum has forgotten the lease, or it has run out by now. */
  | { readonly kind: 'released'; readonly lease: number; readonly byQuorum: boolean }
  | {
      readonly kind: 'answered';
      readonly lease: number;
      readonly holder: HolderHint | null;
      readonly certain: boolean;
      readonly meta: Uint8Array | null;
    }
  | { readonly kind: 'learned'; readonly name: Uint8Array; readonly holder: HolderHint | null }
  /** The restart silence is over. */
  | { readonly kind: 'ready' };

export type QuorumStep = Step<QuorumMessage, QuorumEvent>;
