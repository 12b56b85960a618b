/**
 * What any lease engine can be told to do, and what it says: the commands and events that its caller knows. An engine
 * refuses the commands it has no means for (`TENURE_UNSUPPORTED`).
 */
import type { BallotTime, Incarnation, LeaseMode, MonoUs, WallUs } from '../../kernel/index.ts';
import type { OwnPace } from '../rate-watch.ts';
import type { View } from './views.ts';

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
      /** Any of so many slots; `slot` is tried first. A name is either shared or has slots. */
      readonly slots?: number | undefined;
      readonly slot?: number | undefined;
      /** So long after its end a slot has no holder. */
      readonly quarantineUs?: number | undefined;
      /** No deadline passes this long after the first message of the attempt that won; it ends there. */
      readonly maxHoldUs?: number | undefined;
      /** Before each renewal `renewal-due` is told, and `renew` lets it begin. */
      readonly gated?: boolean | undefined;
    }
  /** Gives up an acquire that was not answered yet: no lease comes of it any more. */
  | { readonly kind: 'cancel'; readonly lease: number }
  | { readonly kind: 'renew'; readonly lease: number; readonly name: Uint8Array; readonly termUs: number }
  /** Replaces the metadata of a lease that is held, by a renewal that begins at once. `number` rises with every call. */
  | { readonly kind: 'proclaim'; readonly lease: number; readonly name: Uint8Array; readonly meta: Uint8Array; readonly number: number }
  /** A reader becomes the only one, after so long at most; 0: try, do not wait. It stays a reader if nothing comes of it. */
  | { readonly kind: 'upgrade'; readonly lease: number; readonly name: Uint8Array; readonly waitUs: number }
  /** The only one becomes a reader. */
  | { readonly kind: 'downgrade'; readonly lease: number; readonly name: Uint8Array }
  /** Gives an upgrade up that was not answered yet. */
  | { readonly kind: 'cancel-upgrade'; readonly lease: number }
  /** With `inUs`, the holder goes on until then (P5). */
  | { readonly kind: 'release'; readonly lease: number; readonly name: Uint8Array; readonly inUs?: number }
  /**
   * Offers the lease to the head of the line, or to a waiter that `line` told of, for so long: a few round trips unless told otherwise.
   * It is held meanwhile, and goes on if nothing comes of the offer.
   */
  | {
      readonly kind: 'hand-over';
      readonly lease: number;
      readonly name: Uint8Array;
      readonly to: { readonly owner: Incarnation; readonly lease: number } | null;
      readonly waitUs?: number;
    }
  /** Asks which requests wait for the name. */
  | { readonly kind: 'line'; readonly lease: number; readonly name: Uint8Array }
  /** Renews it no more: it ends at the deadline it has, unless it is released before. */
  | { readonly kind: 'lapse'; readonly lease: number; readonly name: Uint8Array }
  | { readonly kind: 'query'; readonly lease: number; readonly name: Uint8Array }
  /** All leases of names with the prefix. Leases found are also learned if the names are watched. */
  | { readonly kind: 'list'; readonly lease: number; readonly prefix: Uint8Array }
  /** Wants the answer no more. */
  | { readonly kind: 'unlist'; readonly lease: number }
  /** Asks every member how it stands, or ends the silence of a brand-new cell; for at most so long. */
  | { readonly kind: 'status' | 'bootstrap'; readonly lease: number; readonly waitUs: number }
  /** Round trips take this long: patience and pauses follow, nothing that safety rests on. */
  | { readonly kind: 'retime'; readonly rttUs: number }
  /** A member is connected, maybe anew. The version of a plain member knows exclusive leases only, that of a single member no bundles. */
  | { readonly kind: 'greet'; readonly member: number; readonly plain?: boolean; readonly single?: boolean }
  /**
   * How this node's monotonic clock runs next to the members', and whose run otherwise than most. While its own is off it gives and counts
   * no vote; if that is slow, its leases are over. Said again as long as it is so.
   */
  | { readonly kind: 'rate'; readonly own: OwnPace; readonly off: readonly number[] }
  /** The holder of the lease of views has made this view: this node asks in it from here on. */
  | { readonly kind: 'enter-view'; readonly view: View }
  /** A member that proved itself states this view, before it says anything else: this node goes there, unless it is to hear of views from another. */
  | { readonly kind: 'hear-view'; readonly view: View }
  /** A view that was adopted is where the next start of this member finds it. */
  | { readonly kind: 'view-stored'; readonly epoch: number; readonly id: number }
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
  | 'cancelled'
  /** Too many members are of a version that knows exclusive leases only. */
  | 'old-version';

/** Why an upgrade was refused: besides, another reader waits for the same; or the lease is not held, or not shared. */
export type UpgradeRefusal = RefusalReason | 'upgrading' | 'not-shared';

/**
 * Why a lease was not handed over: no waiter was there in time; it has to rest after its use; too few members know of it; it is not held, or something else is under way.
 */
export type HandOverFailure = 'nobody' | 'rests' | 'old-version' | 'not-held';

/** A request that waits for a name. */
export interface LineWaiter {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly mode: LeaseMode;
  /** Any of so many; 0 if it wants no slot. */
  readonly slots: number;
}

/** The disk failed; its records could be read but make no sense; or they are too far ahead of the wall clock to be believed. */
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
 * or another process has taken its place. A member that waits for others to note its life takes part once they have.
 */
export type BootstrapBar = 'votes' | 'lived' | 'bound' | 'failed' | 'noting' | 'outlived';

/** How a member stands, as it says. */
export interface MemberStanding {
  readonly member: number;
  readonly incarnation: Incarnation;
  readonly silentForUs: number;
  /** Why it could take no part in a bootstrap. */
  readonly bar: BootstrapBar | null;
  /** The view that no later start of it is below, as it says itself. */
  readonly stored: Pick<View, 'epoch' | 'id'>;
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
      /** Which one, where one of several slots was asked for. */
      readonly slot?: number;
    }
  /** It stands in line at a quorum: a request that begins after this is served after it. */
  | { readonly kind: 'queued'; readonly lease: number }
  | { readonly kind: 'renewed'; readonly lease: number; readonly deadlineMonoUs: MonoUs; readonly deadlineWallUs: WallUs }
  /** A quorum has the metadata of the proclaim with this number, and so of all before it. */
  | { readonly kind: 'proclaimed'; readonly lease: number; readonly number: number }
  | { readonly kind: 'renewal-failed'; readonly lease: number }
  /** It is the only one from here on, with a new token; or it is as it was, and why. */
  | {
      readonly kind: 'upgraded';
      readonly lease: number;
      readonly token: BallotTime;
      readonly deadlineMonoUs: MonoUs;
      readonly deadlineWallUs: WallUs;
    }
  | {
      readonly kind: 'upgrade-refused';
      readonly lease: number;
      readonly reason: UpgradeRefusal;
      readonly holder: HolderHint | null;
      readonly unreached: readonly number[];
    }
  /** It is a reader's from here on; its token and its deadline stay. */
  | { readonly kind: 'downgraded'; readonly lease: number }
  /** It is the heir's from here on, and its release to the heir on the way. */
  | { readonly kind: 'handed-over'; readonly lease: number; readonly to: Incarnation }
  /** It is held as before, and renewed; or it is not held any more. */
  | { readonly kind: 'hand-over-failed'; readonly lease: number; readonly reason: HandOverFailure }
  /** The waiters, in order, as far as members tell; `count`: how many there are. Not certain if too few answered. */
  | {
      readonly kind: 'line-told';
      readonly lease: number;
      readonly waiters: readonly LineWaiter[];
      readonly count: number;
      readonly certain: boolean;
    }
  /** A waiter stands in line for the held lease. A hint. */
  | { readonly kind: 'wanted'; readonly lease: number }
  /** It was given back as of a later time: this is its deadline from here on. */
  | { readonly kind: 'shortened'; readonly lease: number; readonly deadlineMonoUs: MonoUs; readonly deadlineWallUs: WallUs }
  /** A lease whose holder is to be asked is due for its renewal: `renew` lets it begin, and `lapse` or nothing lets it run out. */
  | { readonly kind: 'renewal-due'; readonly lease: number }
  | { readonly kind: 'lost'; readonly lease: number; readonly why?: 'max-hold' }
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
   * then all were bound, and absent members have only not said that they are done.
   */
  | {
      readonly kind: 'bootstrapped';
      readonly lease: number;
      readonly barred: readonly MemberStanding[];
      readonly absent: readonly number[];
      readonly begun: boolean;
    }
  /** This node asks in another view from here on. */
  | { readonly kind: 'view'; readonly view: View }
  /** This member is in another view from here on. `isKept`: its own disk keeps it; else its caller stores it, and says so. */
  | { readonly kind: 'view-adopted'; readonly view: View; readonly isKept: boolean }
  /** A vote on the lease of views: which view the member has stored, and how high its ballots went. */
  | {
      readonly kind: 'view-vote';
      readonly lease: number;
      readonly member: number;
      readonly epoch: number;
      readonly id: number;
      readonly highest: BallotTime;
    }
  /** This member still waits for these to note its life. */
  | { readonly kind: 'noting'; readonly missing: readonly number[] }
  /** Another process has taken the place of a member: of this very member, which is silent from here on, or of a member that answered. */
  | { readonly kind: 'outlived'; readonly member: number }
  /** This member cannot go by what its own disk holds, and is silent from here on. */
  | { readonly kind: 'disk-failed'; readonly why: DiskFailure };
