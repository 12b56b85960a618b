/**
 * Those who wait at one acceptor: a queue per name, the turn of its head, and the word that a lease is
 * free. It knows of leases only what it is told by the acceptor it belongs to.
 */
import { monoAfter, monoUs, NEVER, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { NameTable } from '../../tables/index.ts';
import { WAITERS_MAX, type QuorumStep } from './config.ts';
import { DueHeap } from './due-heap.ts';
import { FREE, IN_LINE, QUIET, QuorumMessage } from './messages.ts';
import type { QuorumRules } from './rules.ts';
import { internText, namesInOrder } from './snapshots.ts';
import type { Timing } from './timing.ts';
import { WaitQueue, type Waiter } from './wait-queue.ts';

/** This role's bit in the name table. */
const QUEUE_ROLE = 8;
/** Entries that may be left over before they are swept out. */
const SPARE_LOOKS = 16;

/** What the waiting room asks its acceptor. */
export interface LeaseView {
  isLive(id: number, step: QuorumStep): boolean;
  expiresAt(id: number): number;
  readonly clock: BallotTime;
}

type QueueSnapshot = [string, MonoUs, MonoUs, readonly (readonly [NodeId, Incarnation, number, BallotTime, MonoUs, boolean])[]];

export class WaitingRoom {
  readonly #names: NameTable;
  #timing: Timing;
  readonly #leases: LeaseView;
  readonly #rules: QuorumRules;
  readonly #queues = new Map<number, WaitQueue>();
  readonly #due = new DueHeap();
  readonly #word = new QuorumMessage();

  constructor(names: NameTable, timing: Timing, leases: LeaseView, rules: QuorumRules) {
    this.#rules = rules;
    this.#names = names;
    this.#timing = timing;
    this.#leases = leases;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  retime(timing: Timing): void {
    this.#timing = timing;
  }

  enter(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const id = this.#names.intern(message.name, message.nameStart, message.nameEnd);
    let queue = this.#queues.get(id);
    if (!queue) {
      this.#queues.set(id, (queue = new WaitQueue()));
      this.#names.retain(id, QUEUE_ROLE);
    }
    const until = monoAfter(step.monoUs, this.#timing.waiterUs);
    let waiter = queue.find(message.owner, message.lease);
    const isAsked = (message.flags & QUIET) === 0 || !waiter;
    if (waiter) {
      // It asks again: perhaps what it was told got lost.
      waiter.until = until;
      waiter.told = false;
    } else if (queue.waiters.length < WAITERS_MAX) {
      waiter = { node: from, owner: message.owner, lease: message.lease, ticket: message.ballot, until, told: false };
      queue.add(waiter);
    }
    this.#attend(id, queue, step);
    // That it is free says as much.
    if (isAsked && waiter && !waiter.told) this.#say(IN_LINE, waiter, step);
  }

  /** A waiter gave up, or has what it waited for. */
  leave(id: number, owner: Incarnation, lease: number, step: QuorumStep): void {
    const queue = this.#queues.get(id);
    if (queue?.remove(owner, lease)) this.#attend(id, queue, step);
  }

  /** The lease on this name was taken or became free. */
  leaseChanged(id: number, step: QuorumStep): void {
    const queue = this.#queues.get(id);
    if (queue) this.#attend(id, queue, step);
  }

  /** Whether it is somebody else's turn. */
  blocks(id: number, owner: Incarnation, lease: number, step: QuorumStep): boolean {
    const queue = this.#queues.get(id);
    if (!queue || !this.#rules.turns) return false;
    // The lease may have run out since the queue was last seen to.
    if (queue.freeSince === NEVER && !this.#leases.isLive(id, step)) this.#attend(id, queue, step);
    return queue.blocks(owner, lease, step.monoUs, this.#timing.headStartUs);
  }

  wake(step: QuorumStep): void {
    for (let id = this.#due.take(step.monoUs); id >= 0; id = this.#due.take(step.monoUs)) this.leaseChanged(id, step);
  }

  /** Sees to a queue: who is gone, whether the lease is free, whose turn it is, when to look again. */
  #attend(id: number, queue: WaitQueue, step: QuorumStep): void {
    const now = step.monoUs;
    queue.dropExpired(now);
    if (queue.waiters.length === 0) {
      this.#queues.delete(id);
      this.#names.drop(id, QUEUE_ROLE);
      return;
    }
    if (this.#leases.isLive(id, step)) {
      if (queue.freeSince !== NEVER) queue.setFreeSince(NEVER);
      this.#lookAt(id, queue, this.#leases.expiresAt(id), now);
      return;
    }
    if (queue.freeSince === NEVER) queue.setFreeSince(now);
    const { headStartUs } = this.#timing;
    const eligible = queue.eligible(now, headStartUs);
    for (let i = 0; i < eligible; i++) {
      const waiter = queue.waiters[i] as Waiter;
      if (!waiter.told) this.#tellFree(waiter, step);
    }
    // One look per head start while it lasts; after that the waiters ask again by themselves.
    const isLast = eligible === queue.waiters.length;
    this.#lookAt(id, queue, isLast ? (queue.waiters[0] as Waiter).until : queue.freeSince + eligible * headStartUs, now);
  }

  /** Plans the next look at a queue, unless one is planned before that. */
  #lookAt(id: number, queue: WaitQueue, at: number, now: MonoUs): void {
    const next = monoUs(Math.max(at, now + 1));
    if (queue.lookAt > now && queue.lookAt <= next) return;
    queue.lookAt = next;
    this.#due.push(next, id);
    if (this.#due.size > SPARE_LOOKS + 4 * this.#queues.size) this.#planAnew();
  }

  /** Each change of a lease may leave an entry behind that is no longer wanted: now and then they are swept out. */
  #planAnew(): void {
    this.#due.clear();
    for (const [id, { lookAt }] of this.#queues) this.#due.push(lookAt, id);
  }

  #tellFree(waiter: Waiter, step: QuorumStep): void {
    waiter.told = true;
    this.#say(FREE, waiter, step);
  }

  #say(kind: number, waiter: Waiter, step: QuorumStep): void {
    const word = this.#word;
    word.kind = kind;
    word.owner = waiter.owner;
    word.lease = waiter.lease;
    word.flags = 0;
    word.clock = this.#leases.clock;
    step.send(waiter.node, word);
  }

  snapshot(): Snapshot {
    return namesInOrder(this.#names, (id) => this.#queues.has(id)).map(({ id, text }) => {
      const { waiters, freeSince, lookAt } = this.#queues.get(id) as WaitQueue;
      return [
        text,
        freeSince,
        lookAt,
        waiters.map(({ node, owner, lease, ticket, until, told }) => [node, owner, lease, ticket, until, told]),
      ];
    });
  }

  restore(snapshot: Snapshot): void {
    for (const [text, freeSince, lookAt, waiters] of snapshot as unknown as QueueSnapshot[]) {
      const id = internText(this.#names, text);
      this.#names.retain(id, QUEUE_ROLE);
      const queue = new WaitQueue();
      queue.freeSince = freeSince;
      queue.lookAt = lookAt;
      for (const [node, owner, lease, ticket, until, told] of waiters) queue.add({ node, owner, lease, ticket, until, told });
      this.#queues.set(id, queue);
      this.#due.push(lookAt, id);
    }
  }
}
