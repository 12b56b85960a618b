/**
 * One peer after its handshake: its messages, how long its answers take, and the counts that outlive
 * a single connection. It keeps the connection honest (pings, farewells); which messages go up to the runtime, the
 * transport decides.
 */
import { TenureError, type NodeId } from '../../kernel/index.ts';
import {
  ByteReader,
  GOODBYE,
  LEASE_SERVICE,
  MESSAGE,
  PING,
  PONG,
  readGoodbye,
  readPong,
  serviceOfKind,
  writePing,
  writePong,
  type Farewell,
} from '../../wire/index.ts';
import type { DownReason, PeerInfo, PeerStats } from '../contract.ts';
import type { Connection, Owner } from './connection.ts';
import { RoundTrip } from './round-trip.ts';

export interface PeerEvents {
  message(peer: NodeId, service: number, bytes: Uint8Array, start: number, end: number): void;
  /** The connection is over and no longer the peer's. */
  parted(peer: Peer, why: DownReason, error: Error | null, farewell: Farewell | null): void;
}

export class Peer implements Owner {
  readonly number: NodeId;
  readonly id: string;
  connection: Connection | null = null;
  info: PeerInfo | null = null;
  dropped = 0;
  messagesOut = 0;
  lastError: string | null = null;
  upSinceMs = 0;
  #messagesIn = 0;
  #connections = 0;
  #writesBefore = 0;
  #silentTicks = 0;
  #roundTrip = new RoundTrip();
  readonly #events: PeerEvents;
  readonly #input = new ByteReader();

  constructor(number: NodeId, id: string, events: PeerEvents) {
    this.number = number;
    this.id = id;
    this.#events = events;
  }

  attach(connection: Connection, info: PeerInfo): void {
    connection.owner = this;
    this.connection = connection;
    this.info = info;
    this.lastError = null;
    this.upSinceMs = performance.now();
    this.#connections++;
    this.#silentTicks = 0;
    // Another process, perhaps on another machine: its clock is another than before.
    this.#roundTrip = new RoundTrip();
  }

  frame(kind: number, bytes: Uint8Array, start: number, end: number): boolean {
    const service = kind === MESSAGE ? LEASE_SERVICE : serviceOfKind(kind);
    if (service !== null) {
      this.#messagesIn++;
      this.#events.message(this.number, service, bytes, start, end);
      return true;
    }
    const { connection } = this;
    if (connection === null) return false;
    const input = this.#input;
    input.reset(bytes, start, end);
    switch (kind) {
      case PING: {
        const receivedUs = wallUs();
        const sentUs = input.u53();
        if (input.failed) break;
        // A peer that pings and never reads must not fill our memory with pongs.
        if (connection.queuedBytes > PONG_QUEUE_MAX) return true;
        writePong(connection.out, { sentUs, receivedWallUs: receivedUs, answeredWallUs: wallUs(), answeredMonoUs: monoUs() });
        connection.flush();
        return true;
      }
      case PONG: {
        const pong = readPong(input);
        if (pong === null) break;
        this.#roundTrip.sample(pong, monoUs(), wallUs());
        return true;
      }
      case GOODBYE: {
        const farewell = readGoodbye(input);
        connection.finish();
        this.#part(farewell === 'replaced' || farewell === 'duplicate' ? 'replaced' : 'goodbye', null, farewell);
        return false;
      }
      default:
    }
    const error = new TenureError(
      'TENURE_BAD_FRAME',
      `${this.id} sent a frame of kind ${kind} that cannot be read: upgrade the older side`,
      {
        id: this.id,
        kind,
      },
    );
    connection.socket.pause();
    connection.leave('badFrame');
    this.#part('bad-frame', error, null);
    return false;
  }

  gone(why: DownReason, error: Error | null): void {
    this.#part(why, error, null);
  }

  /** Ends the connection from this side. */
  part(farewell: Farewell, why: DownReason, error: Error | null): void {
    if (this.connection === null) return;
    this.connection.leave(farewell);
    this.#part(why, error, null);
  }

  ping(): void {
    const { connection } = this;
    if (connection === null || connection.queuedBytes > PONG_QUEUE_MAX) return;
    writePing(connection.out, monoUs());
    connection.flush();
  }

  /**
   * Whether nothing has come for `ticks` calls. Calls are counted, not time: after this process was stopped for
   * a minute, its peers were not silent for a minute.
   */
  isSilent(ticks: number): boolean {
    const { connection } = this;
    if (connection === null) return false;
    this.#silentTicks = connection.heard ? 0 : this.#silentTicks + 1;
    connection.heard = false;
    return this.#silentTicks >= ticks;
  }

  stats(): PeerStats {
    const { rttUs, offsetUs, clock } = this.#roundTrip;
    return {
      connected: this.connection !== null,
      rttUs,
      offsetUs,
      clock,
      queuedBytes: this.connection?.queuedBytes ?? 0,
      messagesIn: this.#messagesIn,
      messagesOut: this.messagesOut,
      dropped: this.dropped,
      writes: this.#writesBefore + (this.connection?.writes ?? 0),
      reconnects: Math.max(0, this.#connections - 1),
      lastError: this.lastError,
    };
  }

  #part(why: DownReason, error: Error | null, farewell: Farewell | null): void {
    this.#writesBefore += this.connection?.writes ?? 0;
    this.connection = null;
    this.lastError = error?.message ?? why;
    this.#events.parted(this, why, error, farewell);
  }
}

/** Above this, a peer that waits for a pong is not reading anyway. */
const PONG_QUEUE_MAX = 1024 * 1024;

function monoUs(): number {
  return Math.round(performance.now() * 1000);
}

function wallUs(): number {
  return Date.now() * 1000;
}
