/** What members and clients of atomic broadcast say to each other, beside the messages of consensus. */
import type { LaneMessage } from '../nested.ts';
import type { ConsensusMessage } from '../consensus/messages.ts';
import type { FastCtMessage } from '../consensus/fast-ct.ts';

/** One instance of the log as members copy it: what was delivered of its batch, from this position on. */
export interface LogPiece {
  readonly instance: number;
  /** Of its first message. */
  readonly position: number;
  /** Groups of messages one after another; empty if nothing was delivered. */
  readonly groups: Uint8Array;
}

export type BroadcastOwnMessage =
  /** Publish this group: from its process to a member, and from a member to the leader. */
  | { readonly kind: 'publish'; readonly group: Uint8Array }
  /** To a client: its messages from number `first` on, so many, are at `position` and after. Position 0: it is not known any more whether they were delivered. */
  | { readonly kind: 'published'; readonly first: number; readonly count: number; readonly position: number }
  /** From a client: where does the log end? */
  | { readonly kind: 'look' }
  | { readonly kind: 'end'; readonly first: number; readonly last: number }
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
      readonly pieces: readonly LogPiece[];
    }
  | { readonly kind: 'gone'; readonly reader: number; readonly after: number; readonly first: number }
  /** Between members: the log after this instance, please. */
  | { readonly kind: 'copy'; readonly after: number }
  /** The answer. `first`: the instances before this one are kept no more; if that is above `after` + 1, the rest begins there. */
  | { readonly kind: 'copied'; readonly after: number; readonly first: number; readonly pieces: readonly LogPiece[] }
  /** The newest copy of the application's state after this position, from this byte on. */
  | { readonly kind: 'fetch'; readonly after: number; readonly position: number; readonly at: number }
  /** The part from byte `at` on of a copy of `size` bytes; size 0: there is none. */
  | { readonly kind: 'part'; readonly position: number; readonly at: number; readonly size: number; readonly bytes: Uint8Array };

/** Consensus is in the lane of its kind, so that members of different kinds do not understand each other. */
export const BROADCAST_OWN_LANE = 0;
export const BROADCAST_FAST_LANE = 1;
export const BROADCAST_CONSENSUS_LANE = 2;

export type BroadcastMessage =
  | LaneMessage<typeof BROADCAST_OWN_LANE, BroadcastOwnMessage>
  | LaneMessage<typeof BROADCAST_FAST_LANE, FastCtMessage>
  | LaneMessage<typeof BROADCAST_CONSENSUS_LANE, ConsensusMessage>;
