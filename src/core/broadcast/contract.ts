/**
 * What callers of atomic broadcast say to its cores, and hear from them. Members (`BroadcastCore`) and clients (`BroadcastClientCore`) have the same commands and events, so that a
 * caller need not know which of the two it drives.
 *
 * The log is one sequence of messages. The position of a message is the count of messages up to and including it: the first is at 1, and 0 is before all. Messages of one process are
 * delivered in the order in which it published them, each once: the log knows them by the incarnation of that process and by their numbers in it. A process counts its messages from
 * 1 on, in the order of its `publish` commands; the events about them use these numbers, and callers count along.
 */
import type { Incarnation } from '../../kernel/index.ts';

/** A message to publish. The command copies its bytes. */
export interface Publication {
  /** Of the log's names, in UTF-8; at most 255 bytes, and it may be empty. */
  readonly name: Uint8Array;
  readonly message: Uint8Array;
}

/** A message of the log. Its bytes are the log's: a caller that keeps them longer than the next turn of the event loop, or changes them, copies them. */
export interface LogEntry {
  readonly position: number;
  /** The publisher's process, its name, and the number of the message there. */
  readonly origin: Incarnation;
  readonly from: string;
  readonly number: number;
  readonly name: Uint8Array;
  readonly message: Uint8Array;
}

/** A copy of the application's state: what the messages up to `position` have made of it. */
export interface LogSnapshot {
  readonly position: number;
  readonly bytes: Uint8Array;
}

export type BroadcastCommand =
  /**
   * Publishes these messages, in this order. Give all messages of one turn of the event loop together: they travel together. Throws `TENURE_LIMIT` for a message that is too large, or
   * when there is no `room`; then none of them is published. Anything up to `room` bytes is taken; a core without anything under way takes any message of a legal size.
   */
  | { readonly kind: 'publish'; readonly messages: readonly Publication[] }
  /**
   * Asks for messages after this position: of one name, or of all if it is null. It is answered once, by `page`, `gone` or nothing before `forget`: at once if there are such messages,
   * else when there are. `bytesMax` bounds the page, though it has at least one message. Readers are numbered by the caller; each has one question at a time.
   */
  | {
      readonly kind: 'read';
      readonly reader: number;
      readonly after: number;
      readonly name: Uint8Array | null;
      readonly bytesMax: number;
    }
  /** This reader waits no more. */
  | { readonly kind: 'forget'; readonly reader: number }
  /** Where does the log end now? Answered by `end`; a client asks a member. */
  | { readonly kind: 'look' }
  /** How does each member stand? Answered by `surveyed`, once for each that answers. */
  | { readonly kind: 'survey' }
  /** Members only: keeps this copy of the state of an application, which reads this name, for readers that are too far behind; it replaces an older one. Throws `TENURE_LIMIT` if it is too large. */
  | { readonly kind: 'offer'; readonly name: Uint8Array; readonly snapshot: LogSnapshot }
  /** Asks for the newest copy that the asked members have, if it is after this position. Answered by `snapshot`. */
  | { readonly kind: 'fetch'; readonly name: Uint8Array; readonly after: number }
  /** A connection to this member has come up: messages that wait for it are sent now. */
  | { readonly kind: 'reached'; readonly member: number }
  /**
   * An operator's act: begins a group that has no memory, or has lost it (`stopped`). All members must be there. The group goes on in another epoch, with the longest log of any member; messages
   * that only the forgetful members knew are lost, acknowledged or not. Refused while a majority remembers. A client asks a member to do it, and must have proved the members' secret. Answered by
   * `renewed`.
   */
  | { readonly kind: 'renew'; readonly waitUs: number };

/**
 * `reading`: the member's disk. `blank`: it is in no epoch: it hears of one from others, or the group is begun by `renew`. `asking`: it has lost its memory and asks the others in which instances it may have voted. `abstaining`: it takes no part in those instances. `behind`: it
 * votes, and copies what it lacks of the log. `ready`: it votes in all and has the log. `failed`: its disk has failed. `silent`: crash-stop, and it was restarted.
 */
export type BroadcastStanding = 'reading' | 'blank' | 'asking' | 'abstaining' | 'behind' | 'ready' | 'failed' | 'silent';

export interface MemberSurvey {
  readonly standing: BroadcastStanding;
  /** 0 is none. */
  readonly epoch: number;
  readonly first: number;
  readonly last: number;
  readonly without: readonly number[];
}

/** The answer of a member, in an event: messages are not kept. */
export function surveyOf(
  member: number,
  { standing, epoch, first, last, without }: MemberSurvey,
): Extract<BroadcastEvent, { kind: 'surveyed' }> {
  return { kind: 'surveyed', member, standing, epoch, first, last, without: [...without] };
}

export type BroadcastEvent =
  /** This process's messages `first` to `last` are decided: they are at `position` and the positions after it. */
  | { readonly kind: 'published'; readonly first: number; readonly last: number; readonly position: number }
  /**
   * It is not known any more whether these messages of this process are in the log, or where: they were under way while so much was published that the log has dropped the place where they would be,
   * or while the group was begun anew. They are not sent again.
   */
  | { readonly kind: 'uncertain'; readonly first: number; readonly last: number }
  /** Publishing was refused for want of room, and there is room again. */
  | { readonly kind: 'room' }
  /**
   * The answer to `read`: these messages, in order. All positions up to `upTo` are looked at; the next question asks after that. Without messages: the group was begun anew since it was asked, and the new
   * log may end before that position.
   */
  | { readonly kind: 'page'; readonly reader: number; readonly entries: readonly LogEntry[]; readonly upTo: number; readonly epoch: number }
  /** The answer to `read`: the message after that position is kept no more. `first` is the first position that is. */
  | { readonly kind: 'gone'; readonly reader: number; readonly first: number }
  /** The answer to `look`: the first position that is kept (one more than the last if none is), and the last. */
  | { readonly kind: 'end'; readonly first: number; readonly last: number }
  /** The answer to `fetch`; null if no member that answered has one. */
  | { readonly kind: 'snapshot'; readonly snapshot: LogSnapshot | null }
  /** The log of this member ends at `last` now, and begins at `first`. Told once for each batch that has messages. */
  | { readonly kind: 'delivered'; readonly first: number; readonly last: number }
  | { readonly kind: 'standing'; readonly standing: BroadcastStanding }
  /** How a member stands: its epoch, the positions it keeps, and the members without which it can decide nothing, as it says. */
  | ({ readonly kind: 'surveyed'; readonly member: number } & MemberSurvey)
  /** This member begins an epoch, by an operator's act: messages after this position, if there were such, are lost. Members that join later do not say so. */
  | { readonly kind: 'epoch'; readonly epoch: number; readonly position: number }
  /** These members have lost their memory, and without them there is no majority: nothing is decided until the group is begun anew (`renew`). Empty: it goes on after all. */
  | { readonly kind: 'stopped'; readonly without: readonly number[] }
  /**
   * The answer to `renew`. `ok`: the group has begun in this epoch, at all members but the `absent`, which hear of it. Not `ok`: `absent` members have not answered, `barred` members are a
   * majority that remembers.
   */
  | {
      readonly kind: 'renewed';
      readonly ok: boolean;
      readonly absent: readonly number[];
      readonly barred: readonly number[];
      readonly epoch: number;
    };
