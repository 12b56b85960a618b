/** Messages between the members of a consensus, and commands of callers to a member. Values are bytes; a member that has nothing to propose proposes an empty value. */
import type { Incarnation } from '../../kernel/index.ts';

/** All of them are about one instance but heartbeats, and the questions of members that have lost their memory. */
export type ConsensusMessage =
  /** Phase 1, to the coordinator. In a NORMAL round it is a promise: the sender takes part in no lower one any more. */
  | { readonly kind: 'estimate'; readonly instance: number; readonly round: number; readonly ts: number; readonly value: Uint8Array }
  /** Phase 2, from the coordinator. */
  | { readonly kind: 'newestimate'; readonly instance: number; readonly round: number; readonly value: Uint8Array }
  /**
   * Phase 3: `ack` is a vote; `nack` says that the sender is not, or no more, in this round; `abort` that the coordinator will not lead it; `round` that the sender is in this
   * round, which is higher than the receiver's.
   */
  | { readonly kind: 'ack' | 'nack' | 'abort' | 'round'; readonly instance: number; readonly round: number }
  /** Decided in this round. Null: the value is the proposal of that round; a member that has not adopted it there asks. */
  | { readonly kind: 'decide'; readonly instance: number; readonly round: number; readonly value: Uint8Array | null }
  /** Take part; if it is decided, tell; if this round is over, too. The round is -1 if the sender is in none. */
  | { readonly kind: 'begin'; readonly instance: number; readonly round: number }
  /** Decisions below this instance are kept no more. */
  | { readonly kind: 'gone'; readonly instance: number }
  /** The sender is up. It knows all decisions up to `decided`, takes no part below `votesFrom`, and knows of these accusations. */
  | {
      readonly kind: 'heartbeat';
      readonly life: Incarnation;
      readonly decided: number;
      readonly votesFrom: number;
      readonly counts: readonly number[];
    }
  /** The sender has lost its memory: up to where did you take part? */
  | { readonly kind: 'ask'; readonly life: Incarnation }
  /** The answer to that life, of a member that does not ask itself. */
  | { readonly kind: 'told'; readonly life: Incarnation; readonly bound: number };

/** About an instance that may be open. */
export type InstanceMessage = Exclude<Extract<ConsensusMessage, { readonly instance: number }>, { readonly kind: 'decide' | 'gone' }>;

export type ConsensusCommand =
  /** `instance` is above the decided ones, by at most two windows. The value is the core's from here on: the caller does not change its bytes. */
  | { readonly kind: 'propose'; readonly instance: number; readonly value: Uint8Array }
  /** Instances up to this one are decided: the caller knows how, and has them in its log. */
  | { readonly kind: 'skip'; readonly upTo: number }
  /** The outer log has all decisions up to this one on the disk. */
  | { readonly kind: 'logged'; readonly upTo: number }
  /** FAST only: the answer to `wantsLease`. */
  | { readonly kind: 'leased'; readonly instance: number; readonly granted: boolean };

/**
 * `reading`: its disk. `asking`: it has lost its memory and asks the others in which instances it may have voted. `abstaining`: it takes no part in those instances.
 * `voting`: it takes part in all. `failed`: its disk has failed. `silent`: crash-stop, and it was restarted.
 */
export type Standing = 'reading' | 'asking' | 'abstaining' | 'voting' | 'failed' | 'silent';

export type ConsensusEvent =
  /** Once for each instance that this life learns of. In a FAST round or not; `afterFast`: in a NORMAL one though this member had acknowledged a FAST one. */
  | {
      readonly kind: 'decided';
      readonly instance: number;
      readonly value: Uint8Array;
      readonly round: number;
      readonly isFast: boolean;
      readonly afterFast: boolean;
    }
  /** Instances up to this one are decided, and no member tells how any more. */
  | { readonly kind: 'skipped'; readonly upTo: number }
  /** FAST only: whether this member has the lease of the instance. */
  | { readonly kind: 'wantsLease'; readonly instance: number }
  /** These members have lost their memory and take no part in the next instance; without them there is no majority, and only another epoch begins the group anew. Empty: it goes on after all. */
  | { readonly kind: 'stopped'; readonly without: readonly number[] }
  /** Up to `bound` it takes no part. */
  | { readonly kind: 'standing'; readonly standing: Standing; readonly bound: number };
