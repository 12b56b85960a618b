/** A cell of Flease or PaxosLease stepped by hand: clocks move only when told to, and every packet can be delivered, dropped or left lying. */
import { encodeName, hashName, incarnation, monoUs, nodeId, Random, wallUs } from '../../../src/kernel/index.ts';
import {
  deriveRoundTiming,
  ROUND_NAMES,
  RoundCore,
  type LeaseCommand,
  type LeaseEvent,
  type RoundConfig,
  type RoundMessage,
  type RoundStep,
} from '../../../src/core/index.ts';
import { ByteReader, ByteWriter, roundCodec } from '../../../src/wire/index.ts';
import { NO_STORAGE } from '../../support/storage.ts';

export const TERM_US = 1_000_000;
export const SKEW_US = 50_000;
export const RTT_US = 10_000;
const WALL_US = 1_800_000_000_000_000;
export const R: Uint8Array = encodeName('r');

interface Packet {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly bytes: Uint8Array;
}
type Pick = (packet: Packet) => boolean;

export interface CellOptions {
  readonly engine: RoundConfig['engine'];
  readonly algorithm?: 2 | 3 | 4;
  readonly clocks?: 'absolute' | 'relative';
  readonly skewUs?: number;
  readonly rttUs?: number;
  readonly members?: number;
  readonly clients?: number;
  readonly replication?: number;
  readonly seed?: number;
}

export class Node {
  readonly id: number;
  readonly cell: Cell;
  events: LeaseEvent[] = [];
  core: RoundCore;
  wallOffsetUs = WALL_US;
  down = false;
  #nextLease = 1;

  constructor(id: number, cell: Cell) {
    this.id = id;
    this.cell = cell;
    this.core = this.#boot(false);
  }

  get mono(): number {
    return this.cell.nowUs;
  }

  get wall(): number {
    return this.cell.nowUs + this.wallOffsetUs;
  }

  #boot(restarted: boolean): RoundCore {
    const boot = { self: nodeId(this.id), incarnation: incarnation(this.cell.nextIncarnation++), restarted, diskKept: false };
    return new RoundCore(this.cell.config, boot);
  }

  /** A new process in the place of the old one, which knows nothing. */
  restart(): void {
    this.events = [];
    this.down = false;
    this.core = this.#boot(true);
    this.core.start(this.cell.step(this));
  }

  command(command: LeaseCommand): void {
    this.core.command(command, this.cell.step(this));
  }

  acquire({ termUs = TERM_US, waitUs = 0, keep = false, name = R } = {}): number {
    const lease = this.#nextLease++;
    this.command({ kind: 'acquire', lease, name, termUs, waitUs, keep });
    return lease;
  }

  renew(lease: number): void {
    this.command({ kind: 'renew', lease, name: R, termUs: TERM_US });
  }

  release(lease: number, inUs = 0, name: Uint8Array = R): void {
    this.command({ kind: 'release', lease, name, inUs });
  }

  look(): number {
    const lease = this.#nextLease++;
    this.command({ kind: 'query', lease, name: R });
    return lease;
  }

  holds(lease: number): boolean {
    return this.remaining(lease) > 0;
  }

  remaining(lease: number): number {
    return this.core.remainingUs(lease, R, monoUs(this.mono), wallUs(this.wall));
  }

  believed(): number {
    return this.core.believed(R, monoUs(this.mono), wallUs(this.wall));
  }

  said<K extends LeaseEvent['kind']>(kind: K): Extract<LeaseEvent, { kind: K }>[] {
    return this.events.filter((event): event is Extract<LeaseEvent, { kind: K }> => event.kind === kind);
  }

  last<K extends LeaseEvent['kind']>(kind: K): Extract<LeaseEvent, { kind: K }> {
    const event = this.said(kind).at(-1);
    if (!event)
      throw new Error(`node ${this.id} has not said ${kind}, only ${this.events.map((other) => other.kind).join(', ') || 'nothing'}`);
    return event;
  }
}

export class Cell {
  readonly config: RoundConfig;
  readonly nodes: Node[] = [];
  flying: Packet[] = [];
  sent: Packet[] = [];
  nowUs = 1_000_000;
  nextIncarnation = 1001;
  readonly #random: Random;
  readonly #codec = roundCodec();

  constructor(options: CellOptions) {
    const { engine, algorithm = 4, clocks = 'absolute', members = 3, clients = 0, replication, rttUs = RTT_US, seed = 1 } = options;
    const skewUs = options.skewUs ?? (clocks === 'absolute' ? SKEW_US : 0);
    const memberKeys = Array.from({ length: members }, (_, member) => hashName(encodeName(`m${member}`), 0, 2));
    const skewsInSilence = engine === 'flease' ? 2 : 1;
    const timing = deriveRoundTiming({ maxTermUs: TERM_US, rateErrorPpm: 0, rttUs, clocks, skewUs, skewsInSilence });
    this.config = { engine, algorithm, memberKeys, timing, ...(replication === undefined ? {} : { replication }) };
    this.#random = new Random(seed);
    for (let id = 0; id < members + clients; id++) this.nodes.push(new Node(id, this));
    for (const node of this.nodes) node.core.start(this.step(node));
  }

  node(id: number): Node {
    const node = this.nodes[id];
    if (!node) throw new Error(`there is no node ${id}`);
    return node;
  }

  step(node: Node): RoundStep {
    return {
      monoUs: monoUs(node.mono),
      wallUs: wallUs(node.wall),
      choose: (bound) => this.#random.below(bound),
      send: (to, message) => this.#send(node.id, to, message),
      ...NO_STORAGE,
      emit: (event) => node.events.push(event),
    };
  }

  #send(from: number, to: number, message: RoundMessage): void {
    const writer = new ByteWriter();
    this.#codec.encode(message, writer);
    const packet = { from, to, kind: ROUND_NAMES[this.config.engine][message.kind] ?? '', bytes: writer.bytes.slice(0, writer.length) };
    this.flying.push(packet);
    this.sent.push(packet);
  }

  hand({ from, to, bytes }: Packet): void {
    const node = this.nodes[to];
    if (!node || node.down) return;
    const reader = new ByteReader();
    reader.reset(bytes, 0, bytes.length);
    const message = this.#codec.decode(reader);
    if (message) node.core.receive(nodeId(from), message, this.step(node));
  }

  /** Delivers the flying packets that match, but not what is sent meanwhile. */
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

  /** Delivers all that match, and what is sent because of it. */
  settle(pick: Pick = () => true): void {
    while (this.deliver(pick).length > 0);
  }

  pass(us: number): void {
    this.nowUs += us;
  }

  /** All clocks move on, cores are woken when they ask for it, and what matches is delivered at once. */
  run(us: number, pick: Pick = () => true): void {
    const end = this.nowUs + us;
    this.settle(pick);
    for (;;) {
      const up = this.nodes.filter(({ down }) => !down);
      this.nowUs = Math.max(this.nowUs, Math.min(end, ...up.map(({ core }) => core.wakeAt)));
      for (const node of up) {
        if (node.core.wakeAt <= node.mono) node.core.wake(this.step(node));
        this.settle(pick);
      }
      if (this.nowUs >= end && up.every((node) => node.core.wakeAt > node.mono)) return;
    }
  }
}

export const to =
  (...ids: number[]): Pick =>
  (packet) =>
    ids.includes(packet.to);

export const ofKind =
  (...kinds: string[]): Pick =>
  ({ kind }) =>
    kinds.includes(kind);
