/**
 * What any lease engine can be told to do, and what it says: the commands and events that its caller knows. An engine
 * refuses the commands it has no means for (`TENURE_UNSUPPORTED`).
 */
import type { BallotTime, Incarnation, LeaseMode, MonoUs, WallUs } from '../../kernel/index.ts';
import type { OwnPace } from '../rate-watch.ts';

/** `lease` is a number the caller picks, never twice in one incarnation. */
export type LeaseCommand =
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
      /** Exclusive unless told otherwise. Most engines know nothing else, and are not asked. */
      readonly mode?: LeaseMode | undefined;
    }
  /** Gives up an acquire that was not answered yet: no lease comes of it any more. */
  | { readonly kind: 'cancel'; readonly lease: number }
  | { readonly kind: 'renew'; readonly lease: number; readonly name: Uint8Array; readonly termUs: number }
  /** Replaces the metadata of a lease that is held, by a renewal that begins at once. `number` rises with every call. */
  | { readonly kind: 'proclaim'; readonly lease: number; readonly name: Uint8Array; readonly meta: Uint8Array; readonly number: number }
  /** With `inUs`, the holder goes on until then (P5); the quorum engine gives back at once. */
  | { readonly kind: 'release'; readonly lease: number; readonly name: Uint8Array; readonly inUs?: number }
  /** Renews it no more: it ends at the deadline it has, unless it is released before. */
  | { readonly kind: 'lapse'; readonly lease: number; readonly name: Uint8Array }
  | { readonly kind: 'query'; readonly lease: number; readonly name: Uint8Array }
  /** All leases of names with the prefix. What is found is also learned if the names are watched. */
  | { readonly kind: 'list'; readonly lease: number; readonly prefix: Uint8Array }
  /** Wants the answer no more. */
  | { readonly kind: 'unlist'; readonly lease: number }
  /** Asks every member how it stands, or ends the silence of a brand-new cell; for at most so long. */
  | { readonly kind: 'status' | 'bootstrap'; readonly lease: number; readonly waitUs: number }
  /** Round trips take this long: patience and pauses follow, nothing that safety rests on. */
  | { readonly kind: 'retime'; readonly rttUs: number }
  /** A member is connected, maybe anew. */
  | { readonly kind: 'greet'; readonly member: number }
  /**
   * How this node's monotonic clock runs next to the members', and whose run otherwise than most. While its own is off it votes for
   * nobody and counts no vote; if that is slow, what it holds is over. Said again as long as it is so.
   */
  | { readonly kind: 'rate'; readonly own: OwnPace; readonly off: readonly number[] }
  /** `exact`: the watcher wants to hear of this very name only. */
  | { readonly kind: 'watch' | 'unwatch'; readonly prefix: Uint8Array; readonly exact?: boolean };

/** Why an acquire was refused. */
export type RefusalReason =
  | 'too-long'
  | 'held'
  | 'contended'
  | 'queued'
  /** Members have no place for it: too many wait already, in all or of this process. */
  | 'no-place'
  /** Members keep no more leases for this process. */
  | 'no-room'
  | 'silent'
  | 'skewed'
  | 'ahead'
  | 'no-quorum'
  /** The store does not answer, or too late. */
  | 'unreachable'
  /** The store holds a record of the name that cannot be read. */
  | 'unreadable'
  | 'timeout'
  | 'cancelled';

/** The disk failed; what it holds makes no sense, though it could be read; or that is too far ahead of the wall clock to be believed. */
export type DiskFailure = 'unreadable' | 'senseless' | 'ahead';

export interface HolderHint {
  readonly owner: Incarnation;
  readonly token: number;
  /** It cannot last longer than this. */
  readonly remainingUsMax: number;
  /** Exclusive where it is absent. Of several readers one is named. */
  readonly mode?: LeaseMode;
}

export interface ListedName {
  readonly name: Uint8Array;
  readonly holder: HolderHint;
  /** False if too few voters of the name were heard: it may be held. */
  readonly certain: boolean;
  readonly meta: Uint8Array | null;
}

/**
 * Why a member takes no part in a bootstrap: it votes already, it has voted in an earlier life, it is bound to other lives of the members,
 * or another process has taken its place. One that waits for others to note its life will, once they have.
 */
export type BootstrapBar = 'votes' | 'lived' | 'bound' | 'failed' | 'noting' | 'outlived';

/** How a member stands, as it says. */
export interface MemberStanding {
  readonly member: number;
  readonly incarnation: Incarnation;
  readonly silentForUs: number;
  /** Why it could take no part in a bootstrap. */
  readonly bar: BootstrapBar | null;
}

export type LeaseEvent =
  | {
      readonly kind: 'granted';
      readonly lease: number;
      readonly token: BallotTime;
      readonly deadlineMonoUs: MonoUs;
      readonly deadlineWallUs: WallUs;
      readonly trips: number;
      readonly waited: boolean;
    }
  /** It stands in line at a quorum: whoever begins after this is served after it. */
  | { readonly kind: 'queued'; readonly lease: number }
  | { readonly kind: 'renewed'; readonly lease: number; readonly deadlineMonoUs: MonoUs; readonly deadlineWallUs: WallUs }
  /** A quorum has the metadata of the proclaim with this number, and so of all before it. */
  | { readonly kind: 'proclaimed'; readonly lease: number; readonly number: number }
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
  | { readonly kind: 'listed'; readonly lease: number; readonly leases: readonly ListedName[]; readonly certain: boolean }
  /** Too many members have no room for it: changes of these names are not told. */
  | { readonly kind: 'watch-refused'; readonly prefix: Uint8Array }
  /** `meta` is what the holder says of itself. */
  | { readonly kind: 'learned'; readonly name: Uint8Array; readonly holder: HolderHint | null; readonly meta: Uint8Array | null }
  /** This member may vote from here on; so many votes of an earlier life were read back. */
  | { readonly kind: 'ready'; readonly restored: number }
  | { readonly kind: 'status-told'; readonly lease: number; readonly members: readonly MemberStanding[] }
  /**
   * A bootstrap is over. It was refused if a member has something against it or is absent, unless it had begun:
   * then all were bound, and those that are absent have only not said that they are done.
   */
  | {
      readonly kind: 'bootstrapped';
      readonly lease: number;
      readonly barred: readonly MemberStanding[];
      readonly absent: readonly number[];
      readonly begun: boolean;
    }
  /** This member still waits for these to note its life. */
  | { readonly kind: 'noting'; readonly missing: readonly number[] }
  /** Another process has taken the place of this member: of this very one, which is silent from here on, or of one that answered. */
  | { readonly kind: 'outlived'; readonly member: number }
  /** This member cannot go by what its own disk holds, and is silent from here on. */
  | { readonly kind: 'disk-failed'; readonly why: DiskFailure };
