/**
 * The way of a message into a batch. A process sends its groups to a member, a member sends them to the leader, and the leader proposes as many at once as a batch takes. The publisher of a message sends it until it
 * has a position: to the next leader as well, or, if nothing moves, by proposing it itself. The log delivers each message once, however often it is proposed.
 */
import type { Incarnation, NodeId } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { BROADCAST_LIMITS, type BroadcastConfig, type BroadcastLimits } from './config.ts';
import type { Publication } from './contract.ts';
import type { BroadcastStep, EpochConsensus } from './epoch-consensus.ts';
import { GroupCursor } from './group.ts';
import type { MessageLog, Placement } from './log.ts';
import type { BroadcastOwnMessage } from './messages.ts';
import { OwnMessages } from './own-messages.ts';
import { Pool } from './pool.ts';

export interface PublishingGround {
  readonly config: BroadcastConfig;
  readonly self: number;
  readonly life: Incarnation;
  readonly log: MessageLog;
  /** In which the log is; 0 is none. */
  epoch(): number;
  /** The consensus in which this member may propose now; null if it may not. */
  deciding(): EpochConsensus | null;
  send(to: number, message: BroadcastOwnMessage, step: BroadcastStep): void;
  /** A batch of this member's is proposed. */
  proposed(instance: number, batch: Uint8Array): void;
}

export class Publishing {
  readonly #ground: PublishingGround;
  readonly #limits: BroadcastLimits;
  readonly #own: OwnMessages;
  readonly #pool: Pool;
  /** Instances above the log that this member has proposed a batch in. */
  readonly #proposed = new Set<number>();
  /** The nodes of clients that publish through this member; the client heard longest ago first. */
  readonly #clients = new Map<Incarnation, NodeId>();
  #leader = -1;
  /** The first message without a position, when it was last looked whether anything moves. */
  #firstThen = 0;
  /** Nothing has moved: this member proposes its messages itself, whichever member leads. */
  #isStalled = false;
  readonly #cursor = new GroupCursor();

  constructor(ground: PublishingGround) {
    const { life, config } = ground;
    this.#ground = ground;
    this.#limits = config.limits ?? BROADCAST_LIMITS;
    this.#own = new OwnMessages(life, config.from, this.#limits);
    this.#pool = new Pool(this.#limits.poolBytes, ground.log);
  }

  get room(): number {
    return this.#own.room;
  }

  /** Messages of this process without a position. */
  get size(): number {
    return this.#own.size;
  }

  // ── Publishing ─────────────────────────────────────────────────────────────────────────────────────

  publish(messages: readonly Publication[], step: BroadcastStep): void {
    for (const group of this.#own.publish(messages, this.#ground.log.position)) this.#forward(group, step);
  }

  #forward(group: Uint8Array, step: BroadcastStep): void {
    if (this.#leads) this.#pool.add(group);
    else if (this.#leader >= 0) this.#ground.send(this.#leader, { kind: 'publish', group }, step);
  }

  get #leads(): boolean {
    return this.#leader === this.#ground.self || this.#isStalled;
  }

  /** A group came, of a client or of another member. The bytes are the driver's. */
  receive(from: NodeId, bytes: Uint8Array, step: BroadcastStep): void {
    const { log, config } = this.#ground;
    const cursor = this.#cursor.open(bytes);
    if (!cursor.nextGroup()) return;
    const { origin, first, last, count, since } = cursor;
    const isClient = from >= config.members;
    if (isClient) this.#noteClient(origin, from);
    const known = log.lastOf(origin);
    if (isClient && known !== null && known >= first) this.#repeat(origin, first, step);
    if (known !== null && known >= last) return;
    if (log.hasForgotten(origin, since)) {
      if (isClient) this.#tellClient(from, { origin, first, count, position: 0 }, step);
      return;
    }
    if (this.#leads) this.#pool.add(bytes.slice());
    else if (isClient) this.#forward(bytes, step);
  }

  #noteClient(origin: Incarnation, node: NodeId): void {
    this.#clients.delete(origin);
    this.#clients.set(origin, node);
    if (this.#clients.size > this.#limits.clients) for (const oldest of this.#clients.keys()) return void this.#clients.delete(oldest);
  }

  /** The answer to a client was lost. */
  #repeat(origin: Incarnation, first: number, step: BroadcastStep): void {
    this.#ground.log.find(origin, first, (placement) => this.#answer(placement, step));
  }

  #answer(placement: Placement, step: BroadcastStep): void {
    const node = this.#clients.get(placement.origin);
    if (node !== undefined) this.#tellClient(node, placement, step);
  }

  #tellClient(node: NodeId, { origin, first, count, position }: Placement, step: BroadcastStep): void {
    this.#ground.send(node, { kind: 'published', origin, first, count, position, epoch: this.#ground.epoch() }, step);
  }

  // ── Delivery ───────────────────────────────────────────────────────────────────────────────────────

  /** Messages have positions, or had some. */
  placed(placement: Placement, step: BroadcastStep): void {
    const { origin, first, count, position } = placement;
    if (origin !== this.#ground.life) return this.#answer(placement, step);
    const settled = this.#own.conclude(first, first + count - 1);
    if (!settled) return;
    if (position === 0) step.emit({ kind: 'uncertain', ...settled });
    else step.emit({ kind: 'published', ...settled, position: position + settled.first - first });
  }

  /** The log has another instance. */
  delivered(instance: number): void {
    this.#proposed.delete(instance);
    this.#pool.endUpTo(instance);
  }

  /** The log has been copied up to here, or begun anew. */
  copiedUpTo(instance: number, step: BroadcastStep): void {
    const { life, log } = this.#ground;
    for (const proposed of this.#proposed) if (proposed <= instance) this.#proposed.delete(proposed);
    this.#pool.endUpTo(instance);
    const known = log.lastOf(life);
    if (!this.#own.isIdle && known !== null && known >= this.#own.first)
      log.find(life, this.#own.first, (placement) => this.placed(placement, step));
  }

  /** The epoch of the proposals is over. Clients publish their messages again in the next epoch. */
  withdraw(): void {
    this.#proposed.clear();
    this.#pool.endUpTo(Infinity);
    this.#pool.dropOthers(this.#ground.life);
  }

  /** The log of this member was given up with its epoch: messages of this process may be lost with it, and later ones would wait for them for ever. */
  giveUp(step: BroadcastStep): void {
    const own = this.#own;
    this.#pool.drop(this.#ground.life);
    const lost = own.isIdle ? null : own.conclude(own.first, own.first + own.size - 1);
    if (lost) step.emit({ kind: 'uncertain', ...lost });
  }

  /** Reports after a step: of room, and of messages that the log cannot tell of any more. */
  reportRoom(step: BroadcastStep): void {
    const { life, log } = this.#ground;
    const own = this.#own;
    if (!own.isIdle && log.hasForgotten(life, own.since)) this.giveUp(step);
    if (own.hasRoomAgain()) step.emit({ kind: 'room' });
  }

  // ── Proposals ──────────────────────────────────────────────────────────────────────────────────────

  /** Sends its own messages to a new leader, and proposes if it leads itself. True if it has proposed something. */
  advance(step: BroadcastStep): boolean {
    const deciding = this.#ground.deciding();
    if (!deciding) return false;
    if (deciding.leader !== this.#leader) this.#follow(deciding.leader, step);
    return this.#leads && this.#propose(deciding, step);
  }

  #follow(leader: number, step: BroadcastStep): void {
    const { self, life } = this.#ground;
    if (this.#leader === self) this.#pool.dropOthers(life);
    this.#leader = leader;
    this.sendAgain(step);
  }

  /** A connection to this member has come up. */
  reached(member: number, step: BroadcastStep): void {
    if (member === this.#leader) this.sendAgain(step);
  }

  sendAgain(step: BroadcastStep): void {
    for (const { bytes } of this.#own.groups) this.#forward(bytes, step);
  }

  #propose(deciding: EpochConsensus, step: BroadcastStep): boolean {
    const { log } = this.#ground;
    let hasProposed = false;
    for (let instance = log.instance + 1; instance <= deciding.openUpTo; instance++) {
      if (this.#pool.waitingBytes === 0 || (this.#proposed.size > 0 && this.#pool.waitingBytes < this.#limits.pipelinedBytes)) break;
      if (this.#proposed.has(instance) || instance <= deciding.decidedUpTo) continue;
      const batch = this.#pool.take(instance, this.#limits.batchBytes);
      if (batch === null) break;
      this.#proposed.add(instance);
      deciding.command({ kind: 'propose', instance, value: batch }, step);
      this.#ground.proposed(instance, batch);
      hasProposed = true;
    }
    return hasProposed;
  }

  /** Called now and then: messages that do not move are sent again, and proposed by this member. */
  retry(step: BroadcastStep): void {
    const own = this.#own;
    this.#isStalled = !own.isIdle && own.first === this.#firstThen;
    this.#firstThen = own.isIdle ? 0 : own.first;
    if (!this.#isStalled) return;
    // First to the leader: this member proposes the same as well.
    if (this.#leader >= 0 && this.#leader !== this.#ground.self)
      for (const { bytes } of own.groups) this.#ground.send(this.#leader, { kind: 'publish', group: bytes }, step);
    this.sendAgain(step);
  }

  /** An instance that others have begun or decided, without any proposal, keeps later instances waiting: it gets an empty batch. */
  fillGaps(upTo: number, step: BroadcastStep): void {
    const deciding = this.#ground.deciding();
    if (!deciding) return;
    const last = Math.min(upTo, deciding.openUpTo);
    for (let instance = deciding.decidedUpTo + 1; instance <= last; instance++) {
      if (!deciding.isOpen(instance) && !this.#proposed.has(instance))
        deciding.command({ kind: 'propose', instance, value: new Uint8Array(0) }, step);
    }
  }

  snapshot(): Snapshot {
    return {
      own: this.#own.snapshot(),
      pool: this.#pool.snapshot(),
      proposed: [...this.#proposed].sort((one, other) => one - other),
      clients: [...this.#clients].map(([origin, node]) => [origin, node] as const),
      leader: this.#leader,
      firstThen: this.#firstThen,
      isStalled: this.#isStalled,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as PublishingSnapshot;
    this.#own.restore(told.own);
    this.#pool.restore(told.pool);
    this.#proposed.clear();
    for (const instance of told.proposed) this.#proposed.add(instance);
    this.#clients.clear();
    for (const [origin, node] of told.clients) this.#clients.set(origin, node);
    this.#leader = told.leader;
    this.#firstThen = told.firstThen;
    this.#isStalled = told.isStalled;
  }
}

interface PublishingSnapshot {
  readonly own: Snapshot;
  readonly pool: Snapshot;
  readonly proposed: readonly number[];
  readonly clients: readonly (readonly [Incarnation, NodeId])[];
  readonly leader: number;
  readonly firstThen: number;
  readonly isStalled: boolean;
}
