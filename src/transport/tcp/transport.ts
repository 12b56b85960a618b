/**
 * The transport over TCP: a member listens and dials the other members, a client dials all members. Here are the
 * connected peers, by number, and what happens when connections of one peer meet. Of a pair of members the member
 * with the lower number decides: while it is greeting, a connection that the other dialled is redundant. Apart from that, the
 * newest connection that has proved itself stays, because a peer with a good connection does not dial.
 *
 * No socket or timer keeps the process alive; only `close` does, for as long as it takes.
 */
import { lookup } from 'node:dns/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { nodeId, TenureError, type NodeId } from '../../kernel/index.ts';
import { HANDSHAKE_BYTES_MAX, kindOfService, LEASE_SERVICE, type ByteWriter, type Farewell } from '../../wire/index.ts';
import type { Company, DownReason, Handlers, PeerInfo, PeerStats, Transport } from '../contract.ts';
import { isLoopback, parseAddress, type Address } from './address.ts';
import { Connection } from './connection.ts';
import { Dialler } from './dialler.ts';
import { Accepting, type GreetingHandlers } from './greeting.ts';
import { checkTcpOptions, MEMBERS_MAX, type TcpMember, type TcpOptions, type TcpSettings } from './options.ts';
import { Peer, type PeerEvents } from './peer.ts';
import { cannotListen, crowdedOut, expelled, insecureListen, othersIncarnation, pushedOut, takenOver, tooMany } from './refusals.ts';
import { Rota } from './rota.ts';

export class TcpTransport implements Transport {
  readonly #settings: TcpSettings;
  /** By number; a member has no peer at its own. Removed members stay until their connections end. */
  readonly #members = new Map<number, Peer>();
  /** By id: only of members. */
  readonly #diallers = new Map<string, Dialler>();
  readonly #clients = new Map<number, Peer>();
  readonly #clientsByIncarnation = new Map<number, Peer>();
  #nextClient = MEMBERS_MAX;
  readonly #strangers = new Map<Connection, Accepting>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server | null;
  #handlers: Handlers | null = null;
  #opening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #tick: NodeJS.Timeout | null = null;
  readonly #rota = new Rota(() => this.#flush());
  #dirty: Connection[] = [];
  #flushing: Connection[] = [];
  #emptied: (() => void) | null = null;
  #isDialling = false;

  /** Throws what is wrong with the options: `TENURE_BAD_ARGUMENT`, `TENURE_UNKNOWN_MEMBER`. */
  constructor(options: TcpOptions) {
    const settings = checkTcpOptions(options);
    this.#settings = settings;
    for (const member of settings.members) this.#admit(member);
    this.#server = settings.role === 'member' ? createServer((socket) => this.#accept(socket)) : null;
    if (this.#server) {
      const { connectionsMax } = settings.limits;
      this.#server.maxConnections = connectionsMax;
      this.#server.on('drop', (dropped) => {
        const remote = `${dropped?.remoteAddress}:${dropped?.remotePort}`;
        this.#refused(remote, tooMany(remote, connectionsMax));
      });
    }
  }

  /** Where a member listens once it is open; of use when it was told port 0. */
  get address(): Address | null {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? { host: address.address, port: address.port } : null;
  }

  open(handlers: Handlers): Promise<void> {
    if (this.#opening || this.#closing) {
      return Promise.reject(new TenureError('TENURE_BAD_ARGUMENT', 'a transport is opened once: make a new one'));
    }
    this.#handlers = handlers;
    this.#opening = this.#open();
    return this.#opening;
  }

  close(): Promise<void> {
    this.#handlers = null;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  begin(to: NodeId, service: number = LEASE_SERVICE): ByteWriter | null {
    const peer = this.#peer(to);
    const connection = peer?.connection;
    if (peer === undefined || connection === null || connection === undefined) return null;
    if (connection.queuedBytes >= this.#queueBytesMax(to, service)) {
      peer.dropped++;
      return null;
    }
    if (!connection.dirty) {
      connection.dirty = true;
      // The end of this turn: after all that has come in by now, from every peer, was worked on.
      if (this.#dirty.push(connection) === 1) setImmediate(this.#flush);
    }
    return connection.begin(kindOfService(service));
  }

  #queueBytesMax(to: NodeId, service: number): number {
    const { queueBytesMax, clientQueuesBytesMax } = this.#settings.limits;
    const bytesMax = to < MEMBERS_MAX ? queueBytesMax : Math.min(queueBytesMax, clientQueuesBytesMax / this.#clients.size);
    return service === LEASE_SERVICE ? bytesMax : bytesMax / 2;
  }

  end(to: NodeId): void {
    const peer = this.#peer(to);
    if (!peer?.connection) return;
    peer.connection.end(this.#settings.limits.frameBytesMax);
    peer.messagesOut++;
  }

  flush(): void {
    this.#flush();
  }

  turnAway(member: NodeId, error: TenureError): void {
    const peer = this.#members.get(member);
    if (!peer?.connection) return;
    peer.part('closing', 'refused', error);
    this.#refused(peer.id, error);
  }

  expel(client: NodeId, error: TenureError): void {
    const peer = this.#clients.get(client);
    const remote = peer?.connection?.remote;
    if (peer === undefined || remote === undefined) return;
    peer.part('forged', 'refused', error);
    this.#refused(remote, error);
  }

  peerStats(peer: NodeId): PeerStats | null {
    return this.#peer(peer)?.stats() ?? null;
  }

  #peer(number: NodeId): Peer | undefined {
    return number < MEMBERS_MAX ? this.#members.get(number) : this.#clients.get(number);
  }

  readonly #flush = (): void => {
    const dirty = this.#dirty;
    if (dirty.length === 0) return;
    this.#dirty = this.#flushing;
    this.#flushing = dirty;
    for (const connection of dirty) {
      connection.dirty = false;
      connection.flush();
    }
    dirty.length = 0;
  };

  async #open(): Promise<void> {
    const { listen, limits } = this.#settings;
    if (this.#server && listen) await this.#listen(this.#server, listen);
    if (this.#closing) return;
    this.#tick = setInterval(() => this.#keepAlive(), limits.pingMs);
    this.#tick.unref();
    this.#isDialling = true;
    for (const dialler of this.#diallers.values()) dialler.start();
  }

  async #listen(server: Server, { host, port }: Address): Promise<void> {
    let where = host;
    if (this.#settings.insecure) {
      where = (
        await lookup(host).catch((error: Error) => {
          throw cannotListen(host, port, error);
        })
      ).address;
      if (!isLoopback(where)) throw insecureListen(host);
    }
    if (this.#closing) return;
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error): void => reject(cannotListen(host, port, error));
      server.once('error', failed);
      server.listen({ host: where, port }, () => {
        server.off('error', failed);
        // Later errors are single connections that could not be accepted; their peers dial again.
        server.on('error', () => {});
        server.unref();
        resolve();
      });
    });
  }

  async #close(): Promise<void> {
    if (this.#tick) clearInterval(this.#tick);
    for (const dialler of this.#diallers.values()) dialler.stop();
    for (const stranger of this.#strangers.values()) stranger.abandon();
    this.#strangers.clear();
    for (const peer of [...this.#members.values(), ...this.#clients.values()]) peer.part('closing', 'goodbye', null);
    // An open that failed has told its caller.
    await this.#opening?.catch(() => {});
    const ended = new Promise<void>((resolve) => {
      if (this.#server?.listening) this.#server.close(() => resolve());
      else resolve();
    });
    if (this.#sockets.size > 0) {
      // The caller that waits for the end of this must live to see it.
      for (const socket of this.#sockets) socket.ref();
      await new Promise<void>((resolve) => (this.#emptied = resolve));
    }
    await ended;
  }

  readonly #track = (socket: Socket): void => {
    this.#sockets.add(socket);
    if (this.#closing) socket.destroy();
    else socket.unref();
    // Between two owners, or after the last, an error has no other listener.
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#emptied?.();
    });
  };

  #accept(plain: Socket): void {
    const { settings, remote } = { settings: this.#settings, remote: `${plain.remoteAddress}:${plain.remotePort}` };
    this.#track(plain);
    if (this.#closing || (settings.insecure && !isLoopback(plain.remoteAddress ?? ''))) {
      plain.destroy();
      return;
    }
    let socket = plain;
    try {
      if (settings.secure) this.#track((socket = settings.secure(plain, 'accept', settings.id)));
    } catch (error) {
      plain.destroy();
      process.emitWarning(error instanceof Error ? error : String(error));
      return;
    }
    if (this.#strangers.size >= settings.limits.strangersMax) this.#dropOldestStranger();
    const { lingerMs } = settings.limits;
    const connection = new Connection(socket, remote, { rota: this.#rota, bytesMax: HANDSHAKE_BYTES_MAX, lingerMs });
    this.#strangers.set(connection, new Accepting(settings, connection, this.#outcome));
  }

  #dropOldestStranger(): void {
    for (const [connection, stranger] of this.#strangers) {
      stranger.abandon();
      this.#strangers.delete(connection);
      this.#refused(connection.remote, crowdedOut(connection.remote, this.#settings.limits.strangersMax));
      return;
    }
  }

  readonly #outcome: GreetingHandlers = {
    met: (info) => this.#handlers?.met?.(info),
    judge: (info) => this.#judge(info),
    greeted: (connection, info) => {
      this.#strangers.delete(connection);
      const peer = info.role === 'member' ? this.#memberNamed(info.id) : this.#newClient(info);
      if (peer) this.#adopt(peer, connection, info);
    },
    failed: (connection, error) => {
      this.#strangers.delete(connection);
      if (error) this.#refused(connection.remote, error);
    },
  };

  #judge(info: PeerInfo): ReturnType<GreetingHandlers['judge']> {
    const { self, id, incarnation } = this.#settings;
    if (info.role === 'client') {
      const double = [...this.#members.values()].find((peer) => peer.connection && peer.info?.incarnation === info.incarnation);
      if (double) return othersIncarnation(info, double.id);
      return info.incarnation === incarnation ? othersIncarnation(info, id) : 'welcome';
    }
    const number = this.#memberNamed(info.id)?.number ?? -1;
    return self < number && this.#diallers.get(info.id)?.isGreeting ? 'redundant' : 'welcome';
  }

  #newClient(info: PeerInfo): Peer {
    const before = this.#clientsByIncarnation.get(info.incarnation);
    before?.part('replaced', 'replaced', null);
    const peer = new Peer(nodeId(this.#nextClient++), info.id, this.#peerEvents);
    this.#clients.set(peer.number, peer);
    this.#clientsByIncarnation.set(info.incarnation, peer);
    return peer;
  }

  #adopt(peer: Peer, connection: Connection, info: PeerInfo): void {
    if (peer.connection) {
      const older = peer.info?.incarnation ?? info.incarnation;
      const error = older === info.incarnation ? null : takenOver(peer.id, older, info.incarnation);
      if (error) this.#refused(peer.id, error);
      peer.part(error ? 'duplicate' : 'replaced', 'replaced', error);
    }
    if (info.role === 'member') this.#clientsByIncarnation.get(info.incarnation)?.part('duplicate', 'replaced', null);
    peer.attach(connection, info);
    if (info.role === 'member') this.#diallers.get(peer.id)?.rest();
    if (this.#closing) {
      peer.part('closing', 'goodbye', null);
      return;
    }
    peer.ping();
    // What this throws is caught where the connection's bytes are worked on, and costs the connection.
    this.#handlers?.up(peer.number, info);
  }

  // ── Members ────────────────────────────────────────────────────────────────────────────────────────

  regroup({ members, viewBytes }: Company): void {
    const settings = this.#settings;
    const { viewBytes: _before, ...config } = settings.config;
    settings.members = members.map(({ number, id, address }) => ({ number, id, address: parseAddress(address) }));
    settings.self = settings.members.find(({ id }) => settings.role === 'member' && id === settings.id)?.number ?? settings.self;
    settings.config = viewBytes === undefined ? config : { ...config, viewBytes };
    for (const [id, dialler] of this.#diallers) {
      const member = settings.members.find((one) => one.id === id);
      const isSame = member && member.address.host === dialler.address.host && member.address.port === dialler.address.port;
      if (isSame && this.#memberNamed(id)?.number === member.number) continue;
      dialler.stop();
      this.#diallers.delete(id);
    }
    for (const member of settings.members) this.#admit(member);
  }

  /** A member that is known already keeps its connection, unless it has another number now. */
  #admit(member: TcpMember): void {
    const { number, id } = member;
    if (number === this.#settings.self || (this.#settings.role === 'member' && id === this.#settings.id)) return;
    for (const other of this.#members.values()) {
      if ((other.id === id) === (other.number === number)) continue;
      this.#members.delete(other.number);
      other.part('closing', 'replaced', null);
    }
    if (!this.#members.has(number)) this.#members.set(number, new Peer(nodeId(number), id, this.#peerEvents));
    // A member that is none yet waits to be dialled: no other process knows of it.
    if (this.#diallers.has(id) || this.#isWaiting) return;
    const dialler = this.#dialler(member);
    this.#diallers.set(id, dialler);
    if (this.#isDialling && !this.#closing && !this.#members.get(number)?.connection) dialler.start();
  }

  get #isWaiting(): boolean {
    return this.#settings.role === 'member' && this.#settings.self < 0;
  }

  #memberNamed(id: string): Peer | undefined {
    return [...this.#members.values()].find((peer) => peer.id === id);
  }

  #dialler(member: TcpMember): Dialler {
    const { id } = member;
    return new Dialler(this.#settings, this.#rota, member, {
      opened: this.#track,
      met: (info) => this.#handlers?.met?.(info),
      judge: (info) => {
        if (this.#memberNamed(id)?.connection) return 'redundant';
        const error = (this.#settings.role === 'client' && this.#handlers?.judge?.(info)) || null;
        return error ? { error, told: null } : 'welcome';
      },
      greeted: (connection, info) => {
        const peer = this.#memberNamed(id);
        if (peer) this.#adopt(peer, connection, info);
        else connection.leave('closing');
      },
      failed: (refusal, detail) => {
        const peer = this.#memberNamed(id);
        if (peer) peer.lastError = detail;
        if (refusal) this.#refused(id, refusal);
      },
    });
  }

  readonly #peerEvents: PeerEvents = {
    message: (number, service, bytes, start, end) => this.#handlers?.message(number, service, bytes, start, end),
    parted: (peer, why, error, farewell) => this.#parted(peer, why, error, farewell),
  };

  #parted(peer: Peer, why: DownReason, cause: Error | null, farewell: Farewell | null): void {
    const error = farewell === 'duplicate' ? pushedOut(this.#settings.id, peer.id) : farewell === 'forged' ? expelled(peer.id) : cause;
    if (this.#clients.delete(peer.number) && this.#clientsByIncarnation.get(peer.info?.incarnation ?? 0) === peer) {
      this.#clientsByIncarnation.delete(peer.info?.incarnation ?? 0);
    }
    if (peer.number < MEMBERS_MAX) this.#diallers.get(peer.id)?.resume(performance.now() - peer.upSinceMs, error instanceof TenureError);
    this.#guard(() => this.#handlers?.down(peer.number, why, error));
  }

  #refused(who: string, error: TenureError): void {
    this.#guard(() => this.#handlers?.refused(who, error));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }

  #keepAlive(): void {
    const { pingMs, silentMs } = this.#settings.limits;
    const ticks = Math.max(2, Math.ceil(silentMs / pingMs));
    for (const peer of [...this.#members.values(), ...this.#clients.values()]) {
      if (!peer.connection) continue;
      if (peer.isSilent(ticks)) peer.part('silent', 'silent', null);
      else peer.ping();
    }
  }
}
