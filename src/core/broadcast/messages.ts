/** What members and clients of atomic broadcast say to each other, beside the messages of consensus. */
import type { Incarnation } from '../../kernel/index.ts';
import type { LaneMessage } from '../nested.ts';
import type { MemberSurvey } from './contract.ts';
import type { ConsensusMessage } from '../consensus/messages.ts';
import type { FastCtMessage } from '../consensus/fast-ct.ts';

/** One instance of the log as members copy it: the delivered messages of its batch, from this position on. */
export interface LogPiece {
  readonly instance: number;
  /** Of its first message. */
  readonly position: number;
  /** Groups of messages one after another; empty if nothing was delivered. */
  readonly groups: Uint8Array;
}

/**
 * By which act members begin an epoch together (`epoch-acts.ts`). Each answer is of one life, and an epoch begins only for lives that have answered: a `begin` that comes late, to the next life of
 * a member, would let it vote where it has voted.
 */
export type EpochMessage =
  /** The sender is in this epoch; 0 is none. A member in a higher one says so. */
  | { readonly kind: 'epoch'; readonly epoch: number }
  /** What do you remember? From here on the receiver takes no part in its epoch, for a while. */
  | { readonly kind: 'found'; readonly act: number }
  /** It is in this epoch, its log ends with this instance and this position; it knows all decisions up to `decided`, and takes no part below `votesFrom`. */
  | {
      readonly kind: 'founded';
      readonly act: number;
      readonly life: Incarnation;
      readonly epoch: number;
      readonly logged: number;
      readonly position: number;
      readonly decided: number;
      readonly votesFrom: number;
    }
  /** All have answered: the epoch begins after this instance and this position, for this life. */
  | {
      readonly kind: 'begin';
      readonly act: number;
      readonly life: Incarnation;
      readonly epoch: number;
      readonly start: number;
      readonly position: number;
    }
  | { readonly kind: 'begun'; readonly act: number; readonly epoch: number }
  /** From a client, and the answer. */
  | { readonly kind: 'renew'; readonly waitUs: number }
  | {
      readonly kind: 'renewed';
      readonly ok: boolean;
      readonly epoch: number;
      readonly absent: readonly number[];
      readonly barred: readonly number[];
    };

export type BroadcastOwnMessage =
  | EpochMessage
  /** Publish this group: from its process to a member, and from a member to the leader. */
  | { readonly kind: 'publish'; readonly group: Uint8Array }
  /**
   * To a client, in this life of it: its messages from number `first` on, so many, are at `position` and after, in the log of this epoch. Position 0: it is not known any more whether they were
   * delivered. Epoch 0, here and in `end`: the member is in none, or does not tell.
   */
  | {
      readonly kind: 'published';
      readonly origin: Incarnation;
      readonly first: number;
      readonly count: number;
      readonly position: number;
      readonly epoch: number;
    }
  /** How do you stand? And the answer. */
  | { readonly kind: 'survey' }
  | ({ readonly kind: 'surveyed' } & MemberSurvey)
  /** From a client: where does the log end? */
  | { readonly kind: 'look' }
  | { readonly kind: 'end'; readonly first: number; readonly last: number; readonly epoch: number }
  /** From a client: as the command. The member remembers the last such question of each reader. */
  | {
      readonly kind: 'read';
      readonly reader: number;
      readonly after: number;
      readonly name: Uint8Array | null;
      readonly bytesMax: number;
    }
  | { readonly kind: 'forget'; readonly reader: number }
  /** To a client. `groups` are messages of all names one after another: the first is at `position`, and the reader takes those after `after` that have its name. */
  | {
      readonly kind: 'page';
      readonly reader: number;
      readonly after: number;
      readonly upTo: number;
      readonly epoch: number;
      readonly pieces: readonly LogPiece[];
    }
  | { readonly kind: 'gone'; readonly reader: number; readonly after: number; readonly first: number }
  /** Between members: the log after this instance, please. */
  | { readonly kind: 'copy'; readonly after: number }
  /** The answer. `first`: the instances before this one are kept no more; if that is above `after` + 1, the rest begins there. */
  | { readonly kind: 'copied'; readonly after: number; readonly first: number; readonly pieces: readonly LogPiece[] }
  /** The newest copy of the application's state after this position, from this byte on. */
  | { readonly kind: 'fetch'; readonly name: Uint8Array; readonly after: number; readonly position: number; readonly at: number }
  /** The part from byte `at` on of a copy of `size` bytes; size 0: there is none. */
  | {
      readonly kind: 'part';
      readonly name: Uint8Array;
      readonly position: number;
      readonly at: number;
      readonly size: number;
      readonly bytes: Uint8Array;
    };

/** Consensus is in the lane of its kind, so that members of different kinds do not understand each other. */
export const BROADCAST_OWN_LANE = 0;
export const BROADCAST_FAST_LANE = 1;
export const BROADCAST_CONSENSUS_LANE = 2;

/** Of another epoch than the member's own it is not heard. */
type InEpoch = { readonly epoch: number };

export type BroadcastMessage =
  | LaneMessage<typeof BROADCAST_OWN_LANE, BroadcastOwnMessage>
  | (LaneMessage<typeof BROADCAST_FAST_LANE, FastCtMessage> & InEpoch)
  | (LaneMessage<typeof BROADCAST_CONSENSUS_LANE, ConsensusMessage> & InEpoch);
