/** A group of consensus cores without a simulator: virtual time, links that tests cut, disks that tests lose, messages that tests look at. */
import { incarnation, monoUs, nodeId, spanUs, wallUs, type NodeId } from '../../../src/kernel/index.ts';
import {
  ConsensusCore,
  type Completion,
  type ConsensusConfig,
  type ConsensusEvent,
  type ConsensusMessage,
  type Step,
} from '../../../src/core/index.ts';
import { ByteReader, ByteWriter, consensusCodec } from '../../../src/wire/index.ts';

const HEARTBEAT_US = 10_000;
export const TIMEOUT_US = 50_000;
const RETRY_US = 20_000;
export const LATENCY_US = 1000;
const FLUSH_US = 100;

export const CONFIG: ConsensusConfig = {
  members: 3,
  mode: { kind: 'chandra-toueg', shortcut: false },
  keeps: 'disk',
  window: 4,
  kept: 8,
  detector: { heartbeatUs: spanUs(HEARTBEAT_US), timeoutUs: spanUs(TIMEOUT_US) },
  retryUs: spanUs(RETRY_US),
};

interface Planned {
  readonly atUs: number;
  readonly order: number;
  readonly act: () => void;
}

type GroupStep = Step<ConsensusMessage, ConsensusEvent>;

export class Member {
  readonly self: NodeId;
  readonly disk = new Map<string, Uint8Array>();
  core: ConsensusCore;
  life = 0;
  isUp = true;
  readonly events: ConsensusEvent[] = [];
  readonly #group: Group;

  constructor(group: Group, self: number) {
    this.#group = group;
    this.self = nodeId(self);
    this.core = this.#born(false, false);
  }

  #born(restarted: boolean, diskKept: boolean): ConsensusCore {
    this.life = ++this.#group.lives;
    return new ConsensusCore(this.#group.config, { self: this.self, incarnation: incarnation(this.life), restarted, diskKept });
  }

  get decisions(): Record<number, string> {
    return Object.fromEntries(
      this.events.flatMap((event) => (event.kind === 'decided' ? [[event.instance, String.fromCharCode(...event.value)]] : [])),
    );
  }

  propose(instance: number, text: string): void {
    const value = Uint8Array.from(text, (character) => character.charCodeAt(0));
    this.do((step) => this.core.command({ kind: 'propose', instance, value }, step));
  }

  crash(): void {
    this.isUp = false;
    this.life = 0;
  }

  restart(diskKept: boolean): void {
    if (!diskKept) this.disk.clear();
    this.core = this.#born(true, diskKept);
    this.isUp = true;
    this.do((step) => this.core.start(step));
  }

  do(act: (step: GroupStep) => void): void {
    act(this.#step());
    this.#group.planWake(this);
  }

  #step(): GroupStep {
    const group = this.#group;
    const { life } = this;
    const answer = (completion: Partial<Completion> & { op: number }, effect: () => void): void =>
      group.plan(group.flushUs, () => {
        if (!this.isUp || this.life !== life) return;
        effect();
        this.do((step) => this.core.completed({ ok: true, isLost: false, value: null, version: null, keys: null, ...completion }, step));
      });
    return {
      monoUs: monoUs(group.nowUs),
      wallUs: wallUs(group.nowUs),
      choose: () => 0,
      send: (to, message) => group.send(this.self, to, message),
      read: (_unit, key, op) => {
        const value = this.disk.get(key) ?? null;
        answer({ op, value }, () => undefined);
      },
      write: (_unit, key, value, op) => {
        const kept = value.slice();
        group.writes++;
        answer({ op }, () => void this.disk.set(key, kept));
      },
      swap: () => undefined,
      erase: () => undefined,
      list: () => undefined,
      emit: (event) => {
        this.events.push(event);
        group.heard(this, event);
      },
    };
  }
}

export class Group {
  readonly config: ConsensusConfig;
  readonly members: Member[];
  nowUs = 0;
  lives = 0;
  writes = 0;
  flushUs = FLUSH_US;
  /** Says which messages are lost. */
  loses: (from: number, to: number, message: ConsensusMessage) => boolean = () => false;
  /** Is told of every event. */
  heard: (member: Member, event: ConsensusEvent) => void = () => undefined;
  /** All that was sent but heartbeats. */
  readonly sent: { readonly from: number; readonly to: number; readonly message: ConsensusMessage }[] = [];
  #planned: Planned[] = [];
  #order = 0;

  constructor(config: Partial<ConsensusConfig> = {}) {
    this.config = { ...CONFIG, ...config };
    this.members = Array.from({ length: this.config.members }, (_, self) => new Member(this, self));
    for (const member of this.members) member.do((step) => member.core.start(step));
  }

  member(number: number): Member {
    const member = this.members[number];
    if (!member) throw new Error(`there is no member ${number}`);
    return member;
  }

  plan(afterUs: number, act: () => void): void {
    this.#planned.push({ atUs: this.nowUs + afterUs, order: this.#order++, act });
  }

  planWake(member: Member): void {
    const { life, core } = member;
    const { wakeAt } = core;
    if (wakeAt === Infinity) return;
    this.plan(Math.max(0, wakeAt - this.nowUs), () => {
      if (member.isUp && member.life === life && core.wakeAt <= this.nowUs) member.do((step) => core.wake(step));
    });
  }

  send(from: number, to: number, message: ConsensusMessage): void {
    const copy = copied(message);
    if (message.kind !== 'heartbeat') this.sent.push({ from, to, message: copied(message) });
    if (this.loses(from, to, copy)) return;
    this.plan(LATENCY_US, () => {
      const member = this.member(to);
      if (member.isUp) member.do((step) => member.core.receive(nodeId(from), copy, step));
    });
  }

  run(durationUs: number): void {
    const endUs = this.nowUs + durationUs;
    for (;;) {
      this.#planned.sort((one, other) => one.atUs - other.atUs || one.order - other.order);
      const next = this.#planned[0];
      if (!next || next.atUs > endUs) break;
      this.#planned.shift();
      this.nowUs = next.atUs;
      next.act();
    }
    this.nowUs = endUs;
  }

  /** How many of these were sent. */
  count(kind: ConsensusMessage['kind']): number {
    return this.sent.filter(({ message }) => message.kind === kind).length;
  }

  /** What each member that is up has decided in an instance; undefined if it has not. */
  decided(instance: number): (string | undefined)[] {
    return this.members.filter(({ isUp }) => isUp).map(({ decisions }) => decisions[instance]);
  }
}

/** As on a real wire: what is received is a view of bytes. */
function copied(message: ConsensusMessage): ConsensusMessage {
  const out = new ByteWriter();
  consensusCodec.encode(message, out);
  const reader = new ByteReader();
  reader.reset(out.bytes.slice(0, out.length), 0, out.length);
  const read = consensusCodec.decode(reader);
  if (read === null) throw new Error(`${message.kind} does not survive its codec`);
  return read;
}
