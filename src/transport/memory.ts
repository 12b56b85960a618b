/**
 * A transport within one process, for tests and for programs that embed a whole cell: nodes that meet at a hub.
 * Nothing arrives within the turn it was sent in, links can be cut, and the bytes of a message are overwritten
 * after the call that delivered it, so that code which keeps them is found out.
 */
import type { ClockReading } from '../core/index.ts';
import { nodeId, TenureError, type Incarnation, type NodeId } from '../kernel/index.ts';
import {
  beginFrame,
  ByteWriter,
  endFrame,
  FRAME_BYTES_MAX,
  FrameSplitter,
  kindOfService,
  LEASE_SERVICE,
  serviceOfKind,
  VERSIONS,
  type Role,
  type StatedConfig,
  type StatedService,
} from '../wire/index.ts';
import type { DownReason, Handlers, PeerInfo, PeerStats, Transport } from './contract.ts';
import { MEMBERS_MAX } from './tcp/options.ts';
import { takenOver } from './tcp/refusals.ts';

export interface MemoryHubOptions {
  /** In the order of the view. */
  readonly members: readonly string[];
  readonly config?: StatedConfig;
  readonly queueBytesMax?: number;
  readonly frameBytesMax?: number;
  /** Runs a task soon, never within the call; `setImmediate` unless a virtual clock has its own. */
  readonly schedule?: (task: () => void) => void;
}

export interface MemoryNode {
  readonly role: Role;
  readonly id: string;
  readonly incarnation: Incarnation;
  /** The services it has beside leases, or may ask for. */
  readonly services?: readonly StatedService[];
  /** Runs this node's own tasks, arrivals among them, if not the hub: a node that stands still runs none. */
  readonly schedule?: (task: () => void) => void;
  /** Its monotonic clock, where rates are to be compared. */
  readonly monoUs?: () => number;
}

export class MemoryHub {
  readonly members: readonly string[];
  readonly config: StatedConfig;
  readonly queueBytesMax: number;
  readonly frameBytesMax: number;
  readonly schedule: (task: () => void) => void;
  readonly #open = new Set<MemoryTransport>();
  readonly #cuts = new Set<string>();

  constructor(options: MemoryHubOptions) {
    this.members = options.members;
    this.config = { ...options.config, members: options.members };
    this.queueBytesMax = options.queueBytesMax ?? 4 * 1024 * 1024;
    this.frameBytesMax = options.frameBytesMax ?? FRAME_BYTES_MAX;
    this.schedule = options.schedule ?? ((task) => void setImmediate(task));
  }

  transport(node: MemoryNode): Transport {
    if (node.role === 'member' && !this.members.includes(node.id)) {
      throw new TenureError('TENURE_UNKNOWN_MEMBER', `${node.id} is not among the members ${this.members.join(', ')}: add it there`, {
        id: node.id,
      });
    }
    return new MemoryTransport(this, node);
  }

  /** Nothing passes between the two until `heal`; both see the other go down. */
  cut(a: string, b: string): void {
    this.#cuts.add(pair(a, b));
    for (const one of this.#open) if (one.node.id === a) one.unlink((other) => other.node.id === b, 'lost', null);
  }

  heal(a: string, b: string): void {
    this.#cuts.delete(pair(a, b));
    for (const one of this.#open) this.#meet(one);
  }

  enter(newcomer: MemoryTransport): void {
    const { role, id, incarnation } = newcomer.node;
    for (const old of this.#open) {
      if (role !== 'member' || old.node.role !== 'member' || old.node.id !== id) continue;
      const error = takenOver(id, old.node.incarnation, incarnation);
      for (const peer of old.peers()) peer.handlers?.refused(id, error);
      old.unlink(() => true, 'replaced', error);
      this.#open.delete(old);
    }
    this.#open.add(newcomer);
    this.#meet(newcomer);
  }

  exit(node: MemoryTransport): void {
    this.#open.delete(node);
  }

  #meet(one: MemoryTransport): void {
    for (const other of this.#open) {
      if (other === one || (one.node.role === 'client' && other.node.role === 'client')) continue;
      if (this.#cuts.has(pair(one.node.id, other.node.id))) continue;
      this.schedule(() => {
        const cut = this.#cuts.has(pair(one.node.id, other.node.id));
        if (!cut && this.#open.has(one) && this.#open.has(other) && !one.knows(other)) join(one, other);
      });
    }
  }
}

function pair(a: string, b: string): string {
  return a < b ? `${a}\n${b}` : `${b}\n${a}`;
}

function join(a: MemoryTransport, b: MemoryTransport): void {
  if (!a.admits(b) || !b.admits(a)) return;
  const [there, here] = [a.numberFor(b), b.numberFor(a)];
  const toB = new Link(there, b, here);
  const toA = new Link(here, a, there);
  toB.twin = toA;
  toA.twin = toB;
  a.attach(toB);
  b.attach(toA);
  a.greet(toB);
  b.greet(toA);
}

/** One direction: what this side has for the other. */
class Link {
  /** The other side, as this side counts. */
  readonly peer: NodeId;
  readonly target: MemoryTransport;
  /** This side, as the other side counts. */
  readonly self: NodeId;
  readonly splitter: FrameSplitter;
  out: ByteWriter = new ByteWriter();
  /** The other direction. */
  twin: Link | null = null;
  frameAt = -1;
  writes = 0;
  messagesOut = 0;
  messagesIn = 0;
  dropped = 0;

  constructor(peer: NodeId, target: MemoryTransport, self: NodeId) {
    this.peer = peer;
    this.target = target;
    this.self = self;
    this.splitter = new FrameSplitter(target.hub.frameBytesMax);
  }
}

class MemoryTransport implements Transport {
  readonly hub: MemoryHub;
  readonly node: MemoryNode;
  readonly schedule: (task: () => void) => void;
  handlers: Handlers | null = null;
  readonly #links = new Map<NodeId, Link>();
  readonly #ups = new Map<NodeId, number>();
  #nextClient: number;
  #scheduled = false;
  #closing: Promise<void> = Promise.resolve();
  #state: 'new' | 'open' | 'closed' = 'new';

  constructor(hub: MemoryHub, node: MemoryNode) {
    this.hub = hub;
    this.node = node;
    this.schedule = node.schedule ?? hub.schedule;
    this.#nextClient = MEMBERS_MAX;
  }

  open(handlers: Handlers): Promise<void> {
    if (this.#state !== 'new') {
      return Promise.reject(new TenureError('TENURE_BAD_ARGUMENT', 'a transport is opened once: make a new one'));
    }
    this.#state = 'open';
    this.handlers = handlers;
    this.hub.enter(this);
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (this.#state === 'open') {
      this.flush();
      this.handlers = null;
      this.hub.exit(this);
      // Messages on their way arrive before the goodbye.
      this.#closing = new Promise((resolve) => {
        this.hub.schedule(() => {
          this.unlink(() => true, 'goodbye', null);
          resolve();
        });
      });
    }
    this.#state = 'closed';
    return this.#closing;
  }

  begin(to: NodeId, service: number = LEASE_SERVICE): ByteWriter | null {
    const link = this.#links.get(to);
    if (link === undefined || this.#state !== 'open') return null;
    const { out } = link;
    if (link.frameAt >= 0) out.length = link.frameAt;
    const { queueBytesMax } = this.hub;
    if (out.length >= (service === LEASE_SERVICE ? queueBytesMax : queueBytesMax / 2)) {
      link.dropped++;
      return null;
    }
    if (!this.#scheduled) {
      this.#scheduled = true;
      this.schedule(() => this.flush());
    }
    link.frameAt = beginFrame(out, kindOfService(service));
    return out;
  }

  end(to: NodeId): void {
    const link = this.#links.get(to);
    if (link === undefined || link.frameAt < 0) return;
    const start = link.frameAt;
    link.frameAt = -1;
    endFrame(link.out, start, this.hub.frameBytesMax);
    link.messagesOut++;
  }

  flush(): void {
    this.#scheduled = false;
    for (const link of this.#links.values()) {
      if (link.frameAt >= 0) link.out.length = link.frameAt;
      link.frameAt = -1;
      if (link.out.length === 0) continue;
      const batch = link.out.bytes.subarray(0, link.out.length);
      link.out = new ByteWriter();
      link.writes++;
      link.target.schedule(() => link.target.deliver(link.twin, batch));
    }
  }

  peerStats(peer: NodeId): PeerStats | null {
    const link = this.#links.get(peer);
    const isMember = peer < this.hub.members.length && this.hub.members[peer] !== this.node.id;
    if (link === undefined && !isMember) return null;
    return {
      connected: link !== undefined,
      rttUs: link ? 0 : null,
      offsetUs: link ? 0 : null,
      clock: link ? this.#readingOf(link.target) : null,
      queuedBytes: link?.out.length ?? 0,
      messagesIn: link?.messagesIn ?? 0,
      messagesOut: link?.messagesOut ?? 0,
      dropped: link?.dropped ?? 0,
      writes: link?.writes ?? 0,
      reconnects: Math.max(0, (this.#ups.get(peer) ?? 0) - 1),
      lastError: link ? null : 'lost',
    };
  }

  /** Both clocks at the same instant. */
  #readingOf({ node: { monoUs: theirs } }: MemoryTransport): ClockReading | null {
    const { monoUs: ours } = this.node;
    if (ours === undefined || theirs === undefined) return null;
    const nowUs = ours();
    return { beforeUs: nowUs, afterUs: nowUs, peerUs: theirs() };
  }

  *peers(): Iterable<MemoryTransport> {
    for (const link of this.#links.values()) yield link.target;
  }

  knows(other: MemoryTransport): boolean {
    for (const peer of this.peers()) if (peer === other) return true;
    return false;
  }

  numberFor(other: MemoryTransport): NodeId {
    return nodeId(other.node.role === 'member' ? this.hub.members.indexOf(other.node.id) : this.#nextClient++);
  }

  attach(link: Link): void {
    this.#links.set(link.peer, link);
    this.#ups.set(link.peer, (this.#ups.get(link.peer) ?? 0) + 1);
  }

  /** A client judges members before they come up. */
  admits(other: MemoryTransport): boolean {
    if (this.node.role !== 'client') return true;
    const error = this.handlers?.judge?.(other.info) ?? null;
    if (error) this.handlers?.refused(other.node.id, error);
    return error === null;
  }

  get info(): PeerInfo {
    const { role, id, incarnation, services = [] } = this.node;
    return { role, id, incarnation, services, version: VERSIONS.max, config: this.hub.config, isAdmin: true };
  }

  greet(link: Link): void {
    this.#attempt(link, () => this.handlers?.up(link.peer, link.target.info));
  }

  turnAway(member: NodeId, error: TenureError): void {
    const id = this.hub.members[member];
    if (!this.#links.has(member) || id === undefined) return;
    this.unlink((other) => other.node.role === 'member' && other.node.id === id, 'refused', error);
    this.handlers?.refused(id, error);
  }

  expel(client: NodeId, error: TenureError): void {
    const target = this.#links.get(client)?.target;
    if (target === undefined || client < MEMBERS_MAX) return;
    this.unlink((other) => other === target, 'refused', error);
    this.handlers?.refused(target.node.id, error);
  }

  deliver(link: Link | null, batch: Uint8Array): void {
    const from = link?.peer;
    if (link === null || from === undefined || this.#links.get(from) !== link) return;
    this.#attempt(link, () => {
      link.splitter.push(batch, {
        frame: (kind, bytes, start, end) => {
          link.messagesIn++;
          this.handlers?.message(from, serviceOfKind(kind) ?? LEASE_SERVICE, bytes, start, end);
          bytes.fill(0xdd, start, end);
          return this.#links.get(from) === link;
        },
      });
    });
  }

  /** Both sides lose the links to the nodes that `chosen` picks. */
  unlink(chosen: (other: MemoryTransport) => boolean, why: DownReason, error: Error | null): void {
    for (const link of this.#links.values()) {
      if (!chosen(link.target)) continue;
      this.#links.delete(link.peer);
      this.#tellDown(link.peer, why, error);
      link.target.#links.delete(link.self);
      if (why === 'refused') link.target.#tellDown(link.self, 'goodbye', null);
      else link.target.#tellDown(link.self, why, error);
    }
  }

  /** A handler that throws costs the link. */
  #attempt(link: Link, call: () => void): void {
    try {
      call();
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.unlink((other) => other === link.target, 'failed', error);
    }
  }

  #tellDown(peer: NodeId, why: DownReason, error: Error | null): void {
    try {
      this.handlers?.down(peer, why, error);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  }
}
