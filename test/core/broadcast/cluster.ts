/** Members and clients of a broadcast without a simulator: virtual time, links that tests cut, disks that tests lose, messages that tests look at. */
import { incarnation, monoUs, nodeId, spanUs, wallUs, type NodeId } from '../../../src/kernel/index.ts';
import {
  BROADCAST_LIMITS,
  BroadcastClientCore,
  BroadcastCore,
  type BroadcastCommand,
  type BroadcastConfig,
  type BroadcastEvent,
  type BroadcastMessage,
  type Completion,
  type LogEntry,
  type Step,
} from '../../../src/core/index.ts';
import { ByteReader, ByteWriter, broadcastCodec } from '../../../src/wire/index.ts';

export const LATENCY_US = 1000;
const FLUSH_US = 100;

const CONFIG: BroadcastConfig = {
  members: 3,
  consensus: 'fast-ct',
  keeps: 'memory',
  from: 'tester',
  window: 4,
  kept: 8,
  detector: { heartbeatUs: spanUs(10_000), timeoutUs: spanUs(50_000) },
  retryUs: spanUs(20_000),
  lambda: { kind: 'adaptive', max: 64, isOptimistic: false },
  rttUs: 2 * LATENCY_US,
};

interface Planned {
  readonly atUs: number;
  readonly act: () => void;
}

type ClusterStep = Step<BroadcastMessage, BroadcastEvent>;
type Of<Kind extends BroadcastEvent['kind']> = Extract<BroadcastEvent, { readonly kind: Kind }>;

export class ClusterNode {
  readonly self: NodeId;
  readonly disk = new Map<string, Uint8Array>();
  core: BroadcastCore | BroadcastClientCore;
  life = 0;
  isUp = true;
  events: BroadcastEvent[] = [];
  readonly #cluster: Cluster;

  constructor(cluster: Cluster, self: number, restarted: boolean) {
    this.#cluster = cluster;
    this.self = nodeId(self);
    this.core = this.#born(restarted, false);
  }

  #born(restarted: boolean, diskKept: boolean): BroadcastCore | BroadcastClientCore {
    const { config } = this.#cluster;
    this.life = ++this.#cluster.lives;
    const boot = { self: this.self, incarnation: incarnation(this.life), restarted, diskKept };
    if (this.self < config.members) return new BroadcastCore(config, boot);
    return new BroadcastClientCore({ members: config.members, from: 'client', retryUs: config.retryUs, limits: config.limits }, boot);
  }

  get member(): BroadcastCore {
    if (this.core instanceof BroadcastCore) return this.core;
    throw new Error(`node ${this.self} is a client`);
  }

  of<Kind extends BroadcastEvent['kind']>(kind: Kind): Of<Kind>[] {
    return this.events.filter((event): event is Of<Kind> => event.kind === kind);
  }

  publish(...texts: string[]): void {
    this.command({ kind: 'publish', messages: texts.map((text) => ({ name: bytesOf('n'), message: bytesOf(text) })) });
  }

  /** All messages after this position, page by page, as far as they are there. */
  read(after = 0, name: string | null = null): LogEntry[] {
    const entries: LogEntry[] = [];
    let upTo = after;
    for (;;) {
      const before = this.of('page').length;
      this.command({ kind: 'read', reader: 1, after: upTo, name: name === null ? null : bytesOf(name), bytesMax: 1000 });
      this.#cluster.run(this.self < this.#cluster.config.members ? 0 : 4 * LATENCY_US);
      const page = this.of('page')[before];
      if (!page) return entries;
      entries.push(...page.entries);
      upTo = page.upTo;
    }
  }

  texts(after = 0): string[] {
    return this.read(after).map(({ message }) => textOf(message));
  }

  command(command: BroadcastCommand): void {
    this.do((step) => this.core.command(command, step));
  }

  crash(): void {
    this.isUp = false;
    this.life = 0;
  }

  restart(diskKept: boolean): void {
    if (!diskKept) this.disk.clear();
    this.events = [];
    this.core = this.#born(true, diskKept);
    this.isUp = true;
    this.do((step) => this.core.start(step));
  }

  do(act: (step: ClusterStep) => void): void {
    act(this.#step());
    this.#cluster.planWake(this);
  }

  #step(): ClusterStep {
    const cluster = this.#cluster;
    const { life } = this;
    const answer = (completion: Partial<Completion> & { op: number }, effect: () => void): void =>
      cluster.plan(FLUSH_US, () => {
        if (!this.isUp || this.life !== life) return;
        effect();
        this.do((step) => this.core.completed({ ok: true, isLost: false, value: null, version: null, keys: null, ...completion }, step));
      });
    return {
      monoUs: monoUs(cluster.nowUs),
      wallUs: wallUs(cluster.nowUs),
      choose: () => 0,
      send: (to, message) => cluster.send(this.self, to, message),
      read: (_unit, key, op) => answer({ op, value: this.disk.get(key) ?? null }, () => undefined),
      write: (_unit, key, value, op) => {
        if (cluster.hangs(this.self, key)) return;
        // As they are when the write is done: nobody may change them before.
        answer({ op }, () => void this.disk.set(key, value.slice()));
      },
      swap: () => undefined,
      erase: () => undefined,
      list: () => undefined,
      emit: (event) => void this.events.push(event),
    };
  }
}

export interface ClusterOptions extends Partial<BroadcastConfig> {
  readonly clients?: number;
  /** Members are not brand-new: they have nothing, and do not know whether they ever had. */
  readonly isBlank?: boolean;
  /** As {@link Cluster.hangs}, from the start. */
  readonly hangs?: (node: number, key: string) => boolean;
}

export class Cluster {
  readonly config: BroadcastConfig;
  readonly nodes: ClusterNode[];
  nowUs = 0;
  lives = 0;
  /** Says which messages are lost. */
  loses: (from: number, to: number, message: BroadcastMessage) => boolean = () => false;
  /** Says which writes are never answered, and not on the disk after a crash. */
  hangs: (node: number, key: string) => boolean;
  readonly sent: { readonly from: number; readonly to: number; readonly message: BroadcastMessage; readonly bytes: number }[] = [];
  /** In the order of time. */
  readonly #planned: Planned[] = [];
  readonly #codec = broadcastCodec();

  constructor({ clients = 0, isBlank = false, hangs = () => false, ...config }: ClusterOptions = {}) {
    this.hangs = hangs;
    this.config = { ...CONFIG, limits: BROADCAST_LIMITS, ...config };
    this.nodes = Array.from({ length: this.config.members + clients }, (_, self) => new ClusterNode(this, self, isBlank));
    for (const node of this.nodes) node.do((step) => node.core.start(step));
  }

  node(number: number): ClusterNode {
    const node = this.nodes[number];
    if (!node) throw new Error(`there is no node ${number}`);
    return node;
  }

  plan(afterUs: number, act: () => void): void {
    const atUs = this.nowUs + afterUs;
    let at = this.#planned.length;
    while (at > 0 && (this.#planned[at - 1] as Planned).atUs > atUs) at--;
    this.#planned.splice(at, 0, { atUs, act });
  }

  planWake(node: ClusterNode): void {
    const { life } = node;
    const { wakeAt } = node.core;
    if (wakeAt === Infinity) return;
    this.plan(Math.max(0, wakeAt - this.nowUs), () => {
      if (node.isUp && node.life === life && node.core.wakeAt <= this.nowUs) node.do((step) => node.core.wake(step));
    });
  }

  send(from: NodeId, to: NodeId, message: BroadcastMessage): void {
    const out = new ByteWriter();
    this.#codec.encode(message, out);
    const bytes = out.bytes.slice(0, out.length);
    const copy = this.#decoded(bytes);
    this.sent.push({ from, to, message: copy, bytes: bytes.length });
    const sender = this.node(from);
    const { life } = sender;
    if (this.loses(from, to, copy)) return;
    this.plan(from === to ? 0 : LATENCY_US, () => {
      const node = this.nodes[to];
      if (!node?.isUp) return;
      const frame = bytes.slice();
      const received = this.#decoded(frame);
      if (!node.core.admits({ node: from, incarnation: incarnation(life), isAdmin: true }, received)) return;
      node.do((step) => node.core.receive(from, received, step));
      // The bytes are the driver's, which reads the next frame into them.
      frame.fill(0xee);
    });
  }

  #decoded(bytes: Uint8Array): BroadcastMessage {
    const input = new ByteReader();
    input.reset(bytes, 0, bytes.length);
    const message = broadcastCodec().decode(input);
    if (message === null) throw new Error('a message does not survive its codec');
    return message;
  }

  run(forUs: number): void {
    const untilUs = this.nowUs + forUs;
    for (;;) {
      const next = this.#planned[0];
      if (!next || next.atUs > untilUs) break;
      this.#planned.shift();
      this.nowUs = Math.max(this.nowUs, next.atUs);
      next.act();
    }
    this.nowUs = untilUs;
  }
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function textOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
