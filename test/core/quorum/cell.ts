/**
 * A cell stepped by hand: cores of members and clients, clocks that move only when told to, and a network whose
 * every packet can be delivered, dropped, copied or left lying. Packets are bytes of the real codec.
 */
import { encodeName, hashName, incarnation, monoUs, nodeId, Random, wallUs } from '../../../src/kernel/index.ts';
import {
  ALL_RULES,
  deriveTiming,
  encodeView,
  KIND_NAMES,
  QuorumCore,
  QuorumMessage,
  VIEW_TOLD,
  type Keeps,
  type MemberLimits,
  type QuorumCommand,
  type QuorumConfig,
  type QuorumEvent,
  type QuorumRules,
  type QuorumStep,
  type SuccessionMode,
  type Timing,
  type View,
  type ViewInitiator,
} from '../../../src/core/index.ts';
import { ByteReader, ByteWriter, quorumCodec } from '../../../src/wire/index.ts';
import { diskCompletion, NO_STORAGE } from '../../support/storage.ts';

export const TERM_US = 1_000_000;
export const RTT_US = 10_000;
const RATE_PPM = 10_000;
const WALL_US = 1_800_000_000_000_000;
/** Wakes in a row without the clock moving: more is a driver that spins for ever. */
const WAKES_MAX = 100;

export interface Packet {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly bytes: Uint8Array;
}

export interface CellOptions {
  readonly members?: number;
  readonly clients?: number;
  readonly replication?: number;
  readonly timing?: Timing;
  /** The members have lived before. */
  readonly restarted?: boolean;
  readonly seed?: number;
  readonly limits?: MemberLimits;
  readonly keeps?: Keeps;
  readonly succession?: SuccessionMode;
  /** So many numbers that members may have, of which the first are members. */
  readonly numbers?: number;
  readonly rules?: QuorumRules;
  readonly bundles?: boolean;
}

type Pick = (packet: Packet) => boolean;
type EventKind = QuorumEvent['kind'];
type EventOf<K extends EventKind> = Extract<QuorumEvent, { kind: K }>;

export const TIMING: Timing = deriveTiming({ maxTermUs: TERM_US, rateErrorPpm: RATE_PPM, rttUs: RTT_US });

export function name(text: string): Uint8Array {
  return encodeName(text);
}

export const R: Uint8Array = name('r');

/** One process: what it is told and what it says. */
export class Node {
  readonly id: number;
  readonly cell: Cell;
  events: QuorumEvent[] = [];
  core: QuorumCore;
  incarnation: number;
  monoOffsetUs = 0;
  wallOffsetUs = 0;
  /** Not woken and not reached. */
  down = false;
  readonly disk = new Map<string, Uint8Array>();
  /** Accesses to the disk that are not answered yet. */
  accesses: { readonly op: number; readonly key: string; readonly value: Uint8Array | null }[] = [];
  /** What is read and written is not answered, and what is written is lost with the process. */
  diskHangs = false;
  /** The view that its next start is told of. */
  view: View | undefined;
  #nextLease = 1;

  constructor(id: number, cell: Cell, restarted: boolean) {
    this.id = id;
    this.cell = cell;
    this.incarnation = cell.nextIncarnation++;
    this.core = this.#boot(restarted);
  }

  get mono(): number {
    return this.cell.nowUs + this.monoOffsetUs;
  }

  get wall(): number {
    return this.cell.nowUs + this.wallOffsetUs;
  }

  /** A new process in the place of the old one, which knows what its disk has. */
  restart(): void {
    this.accesses = [];
    this.incarnation = this.cell.nextIncarnation++;
    this.events = [];
    this.#nextLease = 1;
    this.down = false;
    this.core = this.#boot(true);
    this.start();
  }

  #boot(restarted: boolean): QuorumCore {
    const diskKept = restarted && this.cell.config.keeps !== undefined;
    const boot = { self: nodeId(this.id), incarnation: incarnation(this.incarnation), restarted, diskKept };
    return new QuorumCore({ ...this.cell.config, view: this.view }, boot, this.cell.rules);
  }

  /** The same core, written down and read again: nothing of it may be missed. */
  refresh(): void {
    const snapshot = this.core.snapshot();
    this.core = this.#boot(false);
    this.core.restore(structuredClone(snapshot));
  }

  start(): void {
    this.core.start(this.cell.step(this));
    this.answerDisk();
  }

  /** Answers what the disk was asked, until there is nothing. */
  answerDisk(): void {
    while (!this.diskHangs && this.accesses.length > 0) {
      for (const { op, key, value } of this.accesses.splice(0)) {
        if (value !== null) this.disk.set(key, value);
        const found = value === null ? (this.disk.get(key) ?? null) : null;
        this.core.completed(diskCompletion(op, true, found), this.cell.step(this));
      }
    }
  }

  command(command: QuorumCommand): void {
    this.core.command(command, this.cell.step(this));
  }

  /** The number of the lease asked for. */
  acquire(
    options: { name?: Uint8Array; termUs?: number; waitUs?: number; keep?: boolean; meta?: Uint8Array; lease?: number } = {},
  ): number {
    const { termUs = TERM_US, waitUs = 0, keep = false, meta } = options;
    const lease = options.lease ?? this.#nextLease++;
    this.command({ kind: 'acquire', lease, name: options.name ?? R, termUs, waitUs, keep, ...(meta ? { meta } : {}) });
    return lease;
  }

  release(lease: number, of: Uint8Array = R): void {
    this.command({ kind: 'release', lease, name: of });
  }

  renew(lease: number, termUs: number = TERM_US, of: Uint8Array = R): void {
    this.command({ kind: 'renew', lease, name: of, termUs });
  }

  /** Replaces what the lease says of itself; the number of the proclaim. */
  proclaim(lease: number, text: string, of: Uint8Array = R): number {
    const number = this.#nextLease++;
    this.command({ kind: 'proclaim', lease, name: of, meta: new TextEncoder().encode(text), number });
    return number;
  }

  list(prefix = ''): number {
    const lease = this.#nextLease++;
    this.command({ kind: 'list', lease, prefix: new TextEncoder().encode(prefix) });
    return lease;
  }

  cancel(lease: number): void {
    this.command({ kind: 'cancel', lease });
  }

  query(of: Uint8Array = R): number {
    const lease = this.#nextLease++;
    this.command({ kind: 'query', lease, name: of });
    return lease;
  }

  remaining(lease: number, of: Uint8Array = R): number {
    return this.core.remainingUs(lease, of, monoUs(this.mono), wallUs(this.wall));
  }

  holds(lease: number, of: Uint8Array = R): boolean {
    return this.remaining(lease, of) > 0;
  }

  hint(of: Uint8Array = R): ReturnType<QuorumCore['hint']> {
    return this.core.hint(of, monoUs(this.mono));
  }

  /** Events of a kind so far, oldest first. */
  said<K extends EventKind>(kind: K): EventOf<K>[] {
    return this.events.filter((event): event is EventOf<K> => event.kind === kind);
  }

  /** The last event of a kind; there must be one. */
  last<K extends EventKind>(kind: K): EventOf<K> {
    const event = this.said(kind).at(-1);
    if (!event)
      throw new Error(`node ${this.id} has not said ${kind}, only ${this.events.map((other) => other.kind).join(', ') || 'nothing'}`);
    return event;
  }

  /** Wakes the core while it asks for it. */
  wake(): void {
    for (let wakes = 0; !this.down && this.core.wakeAt <= this.mono; wakes++) {
      if (wakes === WAKES_MAX) throw new Error(`node ${this.id} wants to be woken at ${this.core.wakeAt} and it is ${this.mono}: for ever`);
      this.core.wake(this.cell.step(this));
      this.answerDisk();
    }
  }
}

export class Cell {
  readonly config: QuorumConfig;
  readonly nodes: Node[] = [];
  /** Sent and not yet delivered or lost. */
  flying: Packet[] = [];
  /** All that was ever sent. */
  sent: Packet[] = [];
  nowUs = 1_000_000;
  nextIncarnation = 1001;
  readonly random: Random;
  readonly rules: QuorumRules;
  readonly #codec = quorumCodec();
  readonly #writer = new ByteWriter();
  readonly #reader = new ByteReader();

  constructor(options: CellOptions = {}) {
    const {
      members = 3,
      clients = 0,
      replication,
      timing = TIMING,
      restarted = false,
      seed = 1,
      limits,
      keeps,
      succession,
      numbers = members,
      rules = ALL_RULES,
      bundles = false,
    } = options;
    const memberKeys = Array.from({ length: members }, (_, member) => hashName(name(`m${member}`), 0, 2));
    this.config = {
      memberKeys,
      memberNumbers: numbers,
      timing,
      limits,
      bundles,
      floorBuckets: 16,
      changeBuckets: 64,
      ...(replication === undefined ? {} : { replication }),
      ...(keeps === undefined ? {} : { keeps }),
      ...(succession === undefined ? {} : { succession }),
    };
    this.random = new Random(seed);
    this.rules = rules;
    for (let id = 0; id < numbers + clients; id++) {
      const node = new Node(id, this, restarted && id < numbers);
      node.wallOffsetUs = WALL_US;
      this.nodes.push(node);
    }
    for (const node of this.nodes) node.start();
  }

  node(id: number): Node {
    const node = this.nodes[id];
    if (!node) throw new Error(`there is no node ${id}`);
    return node;
  }

  get timing(): Timing {
    return this.config.timing;
  }

  step(node: Node): QuorumStep {
    return {
      monoUs: monoUs(node.mono),
      wallUs: wallUs(node.wall),
      choose: (bound) => this.random.below(bound),
      send: (to, message) => this.#send(node.id, to, message),
      ...NO_STORAGE,
      read: (_unit, key, op) => void node.accesses.push({ op, key, value: null }),
      write: (_unit, key, value, op) => void node.accesses.push({ op, key, value: value.slice() }),
      emit: (event) => node.events.push(event),
    };
  }

  #send(from: number, to: number, message: QuorumMessage): void {
    const writer = this.#writer;
    writer.reset();
    this.#codec.encode(message, writer);
    const packet = { from, to, kind: KIND_NAMES[message.kind] ?? '', bytes: writer.bytes.slice(0, writer.length) };
    this.flying.push(packet);
    this.sent.push(packet);
  }

  // ── The network ────────────────────────────────────────────────────────────────────────────────────

  /** Hands over one packet, also one that was handed over before. */
  hand({ from, to, bytes }: Packet): void {
    const node = this.nodes[to];
    if (!node || node.down) return;
    this.#reader.reset(bytes, 0, bytes.length);
    const message = this.#codec.decode(this.#reader);
    if (message) node.core.receive(nodeId(from), message, this.step(node));
    node.answerDisk();
  }

  /** Whether the one it is for would look at it, if its sender were so trusted. */
  admits({ from, to, bytes }: Packet, isAdmin: boolean): boolean {
    this.#reader.reset(bytes, 0, bytes.length);
    const message = this.#codec.decode(this.#reader);
    const sender = { node: nodeId(from), incarnation: incarnation(this.node(from).incarnation), isAdmin };
    return message !== null && this.node(to).core.admits(sender, message);
  }

  /** One member tells another of a view. */
  tell(from: number, to: number, view: View): void {
    const message = new QuorumMessage();
    message.kind = VIEW_TOLD;
    message.setMeta(encodeView(view) ?? undefined);
    this.node(to).core.receive(nodeId(from), message, this.step(this.node(to)));
    this.node(to).answerDisk();
  }

  /** Delivers the flying packets that match, oldest first, but not what is sent meanwhile. */
  deliver(pick: Pick = () => true): Packet[] {
    const now = this.flying.filter(pick);
    this.flying = this.flying.filter((packet) => !now.includes(packet));
    for (const packet of now) this.hand(packet);
    return now;
  }

  drop(pick: Pick = () => true): Packet[] {
    const lost = this.flying.filter(pick);
    this.flying = this.flying.filter((packet) => !lost.includes(packet));
    return lost;
  }

  /** Delivers all that match, and what is sent because of it, until nothing of it flies. Says how many rounds that took. */
  settle(pick: Pick = () => true): number {
    for (let rounds = 0; ; rounds++) {
      if (rounds > 1000) throw new Error('the network does not come to rest');
      if (this.deliver(pick).length === 0) return rounds;
    }
  }

  /** How many packets of each kind were sent since the mark. */
  tally(since = 0): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { kind } of this.sent.slice(since)) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  /** All clocks move on; nobody is woken, nothing is delivered. */
  pass(us: number): void {
    this.nowUs += us;
  }

  /** All clocks move on, cores are woken when they ask for it, and what matches is delivered at once. */
  run(us: number, pick: Pick = () => true): void {
    const end = this.nowUs + us;
    this.settle(pick);
    for (;;) {
      let next = end;
      for (const node of this.nodes) if (!node.down) next = Math.min(next, node.core.wakeAt - node.monoOffsetUs);
      this.nowUs = Math.max(this.nowUs, next);
      for (const node of this.nodes) {
        node.wake();
        this.settle(pick);
      }
      if (this.nowUs >= end && this.nodes.every((node) => node.down || node.core.wakeAt > node.mono)) return;
    }
  }

  /** Who acts under a lease of the name now, as node and lease. */
  holders(leases: readonly (readonly [Node, number])[], of: Uint8Array = R): string[] {
    return leases.filter(([node, lease]) => node.holds(lease, of)).map(([node, lease]) => `${node.id}/${lease}`);
  }
}

export const ofKind =
  (...kinds: string[]): Pick =>
  ({ kind }) =>
    kinds.includes(kind);

export const to =
  (...ids: number[]): Pick =>
  (packet) =>
    ids.includes(packet.to);

export const not =
  (pick: Pick): Pick =>
  (packet) =>
    !pick(packet);

/** What whoever changes a cell needs of the node that it runs on. */
export function viewHost(node: Node): ConstructorParameters<typeof ViewInitiator>[0] {
  let leases = 10_000;
  return {
    get view(): View {
      return node.core.view;
    },
    nextLease: () => ++leases,
    command: node.command.bind(node),
  };
}
