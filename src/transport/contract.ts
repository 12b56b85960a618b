/**
 * What the runtime asks of a transport: connections to numbered peers that come up and go down, and messages
 * between them, each whole, in order, at most once, some perhaps never. A transport knows a peer's identity and
 * that the peer has proved it; what the bytes mean it does not know.
 *
 * Numbers: members have those of their view, below 64. A client that dials in gets a number from 64 on, a
 * fresh one for each connection and none ever twice, so that an answer meant for one client cannot reach another.
 * No transport carries messages to oneself: the driver of a core steps it at once.
 */
import type { ClockReading } from '../core/index.ts';
import type { Incarnation, NodeId, TenureError } from '../kernel/index.ts';
import type { ByteWriter, Role, StatedConfig, StatedService } from '../wire/index.ts';

/** The identity of the other end. Where there is a secret, the other end has proved all of it. */
export interface PeerInfo {
  readonly role: Role;
  readonly id: string;
  /** The owner that this peer may speak for; a message that names another owner is forged. */
  readonly incarnation: Incarnation;
  /** The protocol's version both agreed on. */
  readonly version: number;
  /** What the peer states; a client learns the cell's parameters from it. */
  readonly config: StatedConfig;
  /** The services that the peer states, beside leases; none for a peer of a version that knows of leases only. */
  readonly services: readonly StatedService[];
  /** A client that has proved the members' secret, or any where there are no secrets: it may ask for what only members may. */
  readonly isAdmin?: boolean;
}

export type DownReason =
  /** It said that it is closing. */
  | 'goodbye'
  /** The connection broke. */
  | 'lost'
  /** Nothing has been heard for too long. */
  | 'silent'
  /** A newer connection of the same peer, or of another process under its id, has taken the place. */
  | 'replaced'
  /** It sent bytes that are no frame. */
  | 'bad-frame'
  /** This side turned it away. */
  | 'refused'
  /** A handler of this side threw while it worked on the peer's message. */
  | 'failed';

/**
 * None of these should throw. If `judge`, `up` or `message` does, that costs the connection, and the error is told
 * in `down`; what `down` or `refused` throw becomes a process warning. None is called once `close` has been.
 */
export interface Handlers {
  /** Asked of a client before a member comes up that has proved its identity. An error turns the member away: it is refused. */
  judge?(info: PeerInfo): TenureError | null;
  /** A peer has proved its identity, and is about to come up: it may state a view in which there are other members than were known here. */
  met?(info: PeerInfo): void;
  up(peer: NodeId, info: PeerInfo): void;
  down(peer: NodeId, why: DownReason, error: Error | null): void;
  /**
   * Bytes `start` to `end` are one message; they are valid during the call only. `service` is the number that the sender has put on it: whether
   * the sender has stated that service, and whether this side has it, is for the handler to judge.
   */
  message(peer: NodeId, service: number, bytes: Uint8Array, start: number, end: number): void;
  /**
   * A peer that could be reached but not be trusted or understood, here or there; the transport goes on and a
   * dialling side tries again. `who` is the id of the member dialled, or the address a connection came from.
   */
  refused(who: string, error: TenureError): void;
}

export interface PeerStats {
  readonly connected: boolean;
  /** Smoothed round trip; null before the first was measured. */
  readonly rttUs: number | null;
  /** The peer's wall clock minus ours; right to half a round trip and the clock's own grain. */
  readonly offsetUs: number | null;
  /** The last readings of both monotonic clocks; null before the first. Ours is `performance.now()`, or the transport's own. */
  readonly clock: ClockReading | null;
  readonly queuedBytes: number;
  readonly messagesIn: number;
  readonly messagesOut: number;
  /** Times that `begin` gave null because the queue was full. */
  readonly dropped: number;
  /** Writes handed to the network: messages of one turn share one. */
  readonly writes: number;
  readonly reconnects: number;
  /** Why the last attempt to reach it failed; null while connected. */
  readonly lastError: string | null;
}

/** A member as a transport knows it. */
export interface MemberAddress {
  readonly number: number;
  readonly id: string;
  readonly address: string;
}

/** The members of the cell from now on. */
export interface Company {
  readonly members: readonly MemberAddress[];
  /** What this side states from now on; the ids of the members are added. */
  readonly viewBytes: Uint8Array | undefined;
}

export interface Transport {
  /** Resolves once peers can dial in. Rejects if that is impossible (`TENURE_INSECURE`, the port is taken …). */
  open(handlers: Handlers): Promise<void>;
  /** Says goodbye, sends queued messages, and resolves when everything is closed. Any number of calls, at any time. */
  close(): Promise<void>;
  /**
   * Where the next message for `to` is to be written, or null: not connected, or its queue is full (the oldest
   * stay, the newest is dropped: protocols send again). Every `begin` is followed by its `end` before
   * anything else is sent to that peer; one without is taken back. Allocates nothing. The message is for the service of this number, leases unless
   * told otherwise; other services may fill half a queue, so that there is room for leases.
   */
  begin(to: NodeId, service?: number): ByteWriter | null;
  /** The message is complete. It leaves with all others of this turn of the event loop. Throws `TENURE_FRAME_TOO_LARGE`. */
  end(to: NodeId): void;
  /** Sends now messages that would leave at the end of the turn. */
  flush(): void;
  /** Turns a member away that is up: it goes down and is refused, and where sides dial it is dialled again later. */
  turnAway(member: NodeId, error: TenureError): void;
  /** Ends the connection of a client that sent a message it may not send, and tells it so; it is refused. */
  expel(client: NodeId, error: TenureError): void;
  /**
   * Other members than before. Connections to members that stay are kept; a member that was removed is not dialled again, and its connection ends
   * when either side ends it. A transport without this cannot reach members that are new.
   */
  regroup?(company: Company): void;
  /** Null for a number that is no peer, or no more. */
  peerStats(peer: NodeId): PeerStats | null;
}
