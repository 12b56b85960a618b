/**
 * The waiters at one acceptor: a queue per name, the turn of its head, and the word that a lease is
 * free. It knows of leases only what the acceptor it belongs to tells it.
 */
import { monoAfter, monoUs, NEVER, NumberMap, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap, type NameTable } from '../../tables/index.ts';
import type { QuorumStep } from './config.ts';
import { MEMBER_LIMITS, shareOf } from '../limits.ts';
import { Books, type Taken } from './line.ts';
import { lineBytes } from './line-told.ts';
import { FREE, IN_LINE, INVITE, LINE_TOLD, MODED, NO_PLACE, QUIET, QuorumMessage, REFUSED, UPGRADES, UPGRADING } from './messages.ts';
import { WANTS_ALL, type WantedMode } from './modes.ts';
import type { QuorumRules } from './rules.ts';
import { internText, namesInOrder } from '../snapshots.ts';
import type { Timing } from '../timing.ts';
import { NOT_TOLD, WaitQueue, type Waiter } from './wait-queue.ts';

/** This role's bit in the name table. */
const QUEUE_ROLE = 8;
/** Entries that may be left over before they are swept out. */
const SPARE_LOOKS = 16;

/** What the waiting room asks its acceptor. */
export interface LeaseView {
  /** The part of the name that live votes take, except this lease's own. */
  taken(id: number, but: Pick<Waiter, 'owner' | 'lease'> | null, step: QuorumStep): Taken;
  /** When the next live vote for the name ends, unless it is renewed. */
  nextExpiry(id: number, step: QuorumStep): number;
  /** Whether this lease is a reader's, and lives. */
  isReader(id: number, owner: Incarnation, lease: number, step: QuorumStep): boolean;
  freeSlots(id: number, slots: number, step: QuorumStep): Uint8Array;
  /** How high ballots are, as waiters are told. */
  toldClock(step: QuorumStep): BallotTime;
}

/** One process that waits, for whatever names. */
interface Client {
  /** Where it was heard of last: a process that connects again has another number. */
  node: NodeId;
  /** By the number of the lease, which a process chooses, and gives to one request only. */
  readonly waiters: NumberMap<Waiter>;
}

interface WaitingRoomOptions {
  readonly names: NameTable;
  readonly timing: Timing;
  readonly leases: LeaseView;
  readonly rules: QuorumRules;
  readonly placesMax?: number | undefined;
}

type WaiterSnapshot = readonly [NodeId, Incarnation, number, BallotTime, MonoUs, boolean, number, number, boolean];
type QueueSnapshot = [string, MonoUs, MonoUs, readonly WaiterSnapshot[]];

/** An upgrade stands before all tickets. */
const BEFORE_ALL = 1 as BallotTime;
/** Behind it the heir of a lease whose proposal did not come here in time. */
const FIRST_TICKET = 2 as BallotTime;

export class WaitingRoom {
  readonly #names: NameTable;
  #timing: Timing;
  readonly #leases: LeaseView;
  readonly #rules: QuorumRules;
  readonly #placesMax: number;
  readonly #queues = new Map<number, WaitQueue>();
  readonly #clients: NumberMap<Client>;
  readonly #due = new DueHeap();
  readonly #word = new QuorumMessage();

  constructor({ names, timing, leases, rules, placesMax = MEMBER_LIMITS.waiters }: WaitingRoomOptions) {
    this.#rules = rules;
    this.#names = names;
    this.#timing = timing;
    this.#leases = leases;
    this.#placesMax = placesMax;
    this.#clients = new NumberMap(names.key);
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  retime(timing: Timing): void {
    this.#timing = timing;
  }

  /** It stands in line from here on, or is told that there is no place for it. */
  enter(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd);
    const until = monoAfter(step.monoUs, this.#timing.waiterUs);
    const client = this.#clients.get(message.owner);
    if (client) client.node = from;
    let waiter = client?.waiters.get(message.lease);
    const upgrades = (message.flags & UPGRADES) !== 0;
    if (waiter && (waiter.queue.id !== id || (upgrades && !waiter.upgrades))) {
      // One number for two requests: the later one counts. An upgrade has the number of the lease that it is of, which may have waited before.
      this.leave(waiter.queue.id, message.owner, message.lease, step);
      waiter = undefined;
    }
    const isAsked = (message.flags & QUIET) === 0 || !waiter;
    // Its vote as a reader may have come to this acceptor only now.
    const isFirstNow = waiter?.upgrades === true && waiter.ticket !== BEFORE_ALL && this.#standsFirst(id, message, step);
    if (upgrades && (!waiter || isFirstNow) && this.#rules.oneUpgrade && this.#hasUpgrade(id, waiter, step)) {
      if (waiter) this.leave(id, message.owner, message.lease, step);
      this.#turnAway(from, UPGRADING, message, step);
      return;
    }
    if (waiter && isFirstNow) {
      this.#remove(waiter);
      waiter = this.#add(from, message, until, step);
    } else if (waiter) {
      waiter.queue.refresh(waiter, until);
    } else if (this.#hasPlace(message.owner)) waiter = this.#add(from, message, until, step);
    else {
      this.#turnAway(from, NO_PLACE, message, step);
      return;
    }
    this.#attend(waiter.queue, waiter, step);
    // That it is free says as much.
    if (isAsked && !waiter.queue.isTold(waiter)) this.#say(IN_LINE, waiter, step);
  }

  /** A waiter gave up, or has its lease. */
  leave(id: number, owner: Incarnation, lease: number, step: QuorumStep): void {
    const waiter = this.#find(id, owner, lease);
    if (!waiter) return;
    const { queue } = waiter;
    const wasHead = queue.head === waiter;
    this.#remove(waiter);
    if (wasHead) queue.headGone(step.monoUs);
    this.#attend(queue, null, step);
  }

  /** The lease on this name was taken or became free. */
  leaseChanged(id: number, step: QuorumStep): void {
    const queue = this.#queues.get(id);
    if (queue) this.#attend(queue, null, step);
  }

  /** Whether it is another waiter's turn. */
  blocks(id: number, owner: Incarnation, lease: number, step: QuorumStep, wanted: WantedMode = WANTS_ALL): boolean {
    const queue = this.#queues.get(id);
    if (!queue || !this.#rules.turns) return false;
    // The lease may have run out since the queue was last seen to.
    if (queue.freeSince === NEVER && this.#canGo(queue.head, step)) this.#attend(queue, null, step);
    const takenFor = (waiter?: Waiter): Taken => this.#leases.taken(id, waiter ?? { owner, lease }, step);
    return queue.blocks(this.#find(id, owner, lease), wanted, step.monoUs, this.#timing.headStartUs, takenFor);
  }

  /** Whether the name has a waiter. */
  isWanted(id: number): boolean {
    return this.#names.isUsed(id, QUEUE_ROLE);
  }

  // ── Hand-over ──────────────────────────────────────────────────────────────────────────────────────

  /**
   * The heir of a lease that its holder hands over: the waiter that is named, or the head of the line. Not a waiter that holds the name already: it waits
   * for other leases to end.
   */
  heirOf(id: number, named: Pick<Waiter, 'owner' | 'lease'> | null, step: QuorumStep): Pick<Waiter, 'owner' | 'lease'> | null {
    const queue = this.#queues.get(id);
    if (queue) this.#attend(queue, null, step);
    const waiter = named ? this.#find(id, named.owner, named.lease) : this.#queues.get(id)?.head;
    return waiter && !waiter.upgrades ? { owner: waiter.owner, lease: waiter.lease } : null;
  }

  stands(id: number, { owner, lease }: Pick<Waiter, 'owner' | 'lease'>): boolean {
    return this.#find(id, owner, lease) !== undefined;
  }

  /** Tells a waiter which vote it may ask for. */
  invite(id: number, { owner, lease }: Pick<Waiter, 'owner' | 'lease'>, mode: number, step: QuorumStep): void {
    const waiter = this.#find(id, owner, lease);
    if (waiter) this.#say(INVITE, waiter, step, mode);
  }

  /** It is the next one's in line, before all tickets. */
  putFirst(id: number, { owner, lease }: Pick<Waiter, 'owner' | 'lease'>, step: QuorumStep): void {
    const waiter = this.#find(id, owner, lease);
    const node = this.#clients.get(owner)?.node;
    if (!waiter || waiter.ticket <= FIRST_TICKET || node === undefined) return;
    const { queue, wanted, upgrades, until } = waiter;
    this.#remove(waiter);
    this.#enroll({ owner, lease, ticket: FIRST_TICKET, queue, wanted, upgrades, until, toldIn: NOT_TOLD, before: null, after: null }, node);
    // Told by its place, and no waiter has this place yet.
    if (queue.freeSince !== NEVER) queue.setFreeSince(NEVER);
    this.#attend(queue, null, step);
  }

  /** LINE: tells the waiters here. */
  tellLine(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const queue = this.#queues.get(this.#names.find(message.name, message.nameStart, message.nameEnd));
    const word = this.#word;
    word.kind = LINE_TOLD;
    word.owner = message.owner;
    word.lease = message.lease;
    word.flags = 0;
    word.page = 0;
    word.count = queue?.length ?? 0;
    word.setMeta(lineBytes(queue?.toArray() ?? []));
    word.clock = this.#leases.toldClock(step);
    step.send(from, word);
  }

  #canGo(head: Waiter | undefined, step: QuorumStep): boolean {
    return head !== undefined && new Books().fits(head.wanted, this.#leases.taken(head.queue.id, head, step));
  }

  wake(step: QuorumStep): void {
    for (let id = this.#due.take(step.monoUs); id >= 0; id = this.#due.take(step.monoUs)) {
      const queue = this.#queues.get(id);
      // A look that was planned before another one was: snapshots have only the next.
      if (queue && queue.lookAt <= step.monoUs) this.#attend(queue, null, step);
    }
  }

  #hasPlace(owner: Incarnation): boolean {
    const client = this.#clients.get(owner);
    const others = this.#clients.size - (client ? 1 : 0);
    return (client?.waiters.size ?? 0) < shareOf(this.#placesMax, others + 1);
  }

  #find(id: number, owner: Incarnation, lease: number): Waiter | undefined {
    // Mostly there are no waiters.
    if (this.#clients.size === 0) return undefined;
    const waiter = this.#clients.get(owner)?.waiters.get(lease);
    return waiter?.queue.id === id ? waiter : undefined;
  }

  #add(node: NodeId, message: QuorumMessage, until: MonoUs, step: QuorumStep): Waiter {
    const { name, nameStart, nameEnd, owner, lease, ballot, mode, slots } = message;
    const id = this.#names.intern(name, nameStart, nameEnd);
    const queue = this.#queueOf(id);
    const wanted = (message.flags & MODED) === 0 ? WANTS_ALL : { mode, slots };
    const upgrades = (message.flags & UPGRADES) !== 0;
    const ticket = upgrades && this.#standsFirst(id, message, step) ? BEFORE_ALL : ballot;
    const waiter: Waiter = { owner, lease, ticket, queue, wanted, upgrades, until, toldIn: NOT_TOLD, before: null, after: null };
    this.#enroll(waiter, node);
    return waiter;
  }

  /** Only a reader stands first: a waiter that claims an upgrade and is no reader stands behind. */
  #standsFirst(id: number, { owner, lease }: QuorumMessage, step: QuorumStep): boolean {
    return this.#rules.upgradeFirst && this.#leases.isReader(id, owner, lease, step);
  }

  /** Whether another reader waits to have the name alone. A waiter that claims an upgrade and is no reader keeps no reader from its own. */
  #hasUpgrade(id: number, but: Waiter | undefined, step: QuorumStep): boolean {
    const upgrade = this.#queues.get(id)?.upgrade ?? null;
    return upgrade !== null && upgrade !== but && this.#leases.isReader(id, upgrade.owner, upgrade.lease, step);
  }

  #queueOf(id: number): WaitQueue {
    let queue = this.#queues.get(id);
    if (!queue) {
      this.#queues.set(id, (queue = new WaitQueue(id)));
      this.#names.retain(id, QUEUE_ROLE);
    }
    return queue;
  }

  #enroll(waiter: Waiter, node: NodeId): void {
    let client = this.#clients.get(waiter.owner);
    if (!client) this.#clients.set(waiter.owner, (client = { node, waiters: new NumberMap(this.#names.key) }));
    client.waiters.set(waiter.lease, waiter);
    waiter.queue.add(waiter);
  }

  #remove(waiter: Waiter): void {
    waiter.queue.remove(waiter);
    const client = this.#clients.get(waiter.owner);
    client?.waiters.delete(waiter.lease);
    if (client?.waiters.size === 0) this.#clients.delete(waiter.owner);
  }

  /** Sees to a queue: which waiters are gone, whether the lease is free, whose turn it is, when to look again. `asked` is the waiter that was just heard of. */
  #attend(queue: WaitQueue, asked: Waiter | null, step: QuorumStep): void {
    const now = step.monoUs;
    for (let waiter = queue.expired(now); waiter; waiter = queue.expired(now)) this.#remove(waiter);
    const { id, head } = queue;
    if (!head) {
      this.#queues.delete(id);
      this.#names.drop(id, QUEUE_ROLE);
      return;
    }
    if (!this.#canGo(head, step)) {
      if (queue.freeSince !== NEVER) queue.setFreeSince(NEVER);
      this.#lookAt(queue, this.#leases.nextExpiry(id, step), now);
      return;
    }
    if (queue.freeSince === NEVER) queue.setFreeSince(now);
    const { headStartUs } = this.#timing;
    const eligible = queue.eligible(now, headStartUs, (waiter) => this.#leases.taken(id, waiter, step));
    queue.tellEligible(eligible, asked, (waiter) => {
      queue.setTold(waiter);
      this.#say(FREE, waiter, step);
    });
    // One look per head start while it lasts; after that the waiters ask again by themselves.
    const isLast = eligible === queue.length;
    this.#lookAt(queue, isLast ? head.until : queue.freeSince + (queue.headStarts(now, headStartUs) + 1) * headStartUs, now);
  }

  /** Plans the next look at a queue, unless one is planned before that. */
  #lookAt(queue: WaitQueue, at: number, now: MonoUs): void {
    const next = monoUs(Math.max(at, now + 1));
    if (queue.lookAt > now && queue.lookAt <= next) return;
    queue.lookAt = next;
    this.#due.push(next, queue.id);
    if (this.#due.size > SPARE_LOOKS + 4 * this.#queues.size) this.#planAnew();
  }

  /** Each change of a lease may leave an entry behind that is no longer wanted: now and then they are swept out. */
  #planAnew(): void {
    this.#due.clear();
    for (const [id, { lookAt }] of this.#queues) this.#due.push(lookAt, id);
  }

  #say(kind: number, waiter: Waiter, step: QuorumStep, mode = 0): void {
    const { owner, lease, wanted, queue } = waiter;
    const node = this.#clients.get(owner)?.node;
    if (node === undefined) return;
    const word = this.#word;
    word.kind = kind;
    word.owner = owner;
    word.lease = lease;
    word.flags = 0;
    word.clock = this.#leases.toldClock(step);
    if (kind === INVITE) word.setMode(mode);
    if (kind === FREE && wanted.slots > 0) {
      // The place keeps apart waiters that are told the same free slots.
      word.setMode(queue.placeOf(waiter), wanted.slots);
      word.freeSlots = this.#leases.freeSlots(queue.id, wanted.slots, step);
    }
    step.send(node, word);
  }

  /** As the answer to its ticket. */
  #turnAway(from: NodeId, reason: number, message: QuorumMessage, step: QuorumStep): void {
    const word = this.#word;
    word.kind = REFUSED;
    word.reason = reason;
    word.owner = message.owner;
    word.lease = message.lease;
    word.ballot = message.ballot;
    word.flags = 0;
    word.remainingUs = 0;
    word.clock = this.#leases.toldClock(step);
    step.send(from, word);
  }

  snapshot(): Snapshot {
    return namesInOrder(this.#names, (id) => this.#queues.has(id)).map(({ id, text }) => {
      const queue = this.#queues.get(id) as WaitQueue;
      const waiters = queue.toArray().map((waiter) => {
        const { owner, lease, ticket, until, wanted, upgrades } = waiter;
        const node = this.#clients.get(owner)?.node as NodeId;
        return [node, owner, lease, ticket, until, queue.isTold(waiter), wanted.mode, wanted.slots, upgrades];
      });
      return [text, queue.freeSince, queue.lookAt, waiters];
    });
  }

  restore(snapshot: Snapshot): void {
    for (const [text, freeSince, lookAt, waiters] of snapshot as unknown as QueueSnapshot[]) {
      const queue = this.#queueOf(internText(this.#names, text));
      queue.freeSince = freeSince;
      queue.lookAt = lookAt;
      // In the order in which they are to be forgotten.
      for (const [node, owner, lease, ticket, until, told, mode, slots, upgrades] of [...waiters].sort((a, b) => a[4] - b[4])) {
        const wanted = { mode, slots };
        const waiter: Waiter = { owner, lease, ticket, queue, wanted, upgrades, until, toldIn: NOT_TOLD, before: null, after: null };
        this.#enroll(waiter, node);
        if (told) queue.setTold(waiter);
      }
      this.#due.push(lookAt, queue.id);
    }
  }
}
