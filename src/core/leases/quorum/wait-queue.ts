/**
 * Who waits for one name at one acceptor, in the order of their tickets. A ticket is taken after a
 * majority was heard, and is above every ticket that majority had seen: so a request that began after
 * another was queued at a majority stands behind it everywhere.
 */
import { NEVER, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';

export interface Waiter {
  readonly node: NodeId;
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ticket: BallotTime;
  /** Forgotten then, unless it is heard of again. */
  until: MonoUs;
  /** Was told that the lease is free, since it last became free. */
  told: boolean;
}

export class WaitQueue {
  readonly waiters: Waiter[] = [];
  /** Since when the lease is free here with somebody waiting; NEVER while it is held. */
  freeSince: MonoUs = NEVER;
  /** When this queue is looked at next; NEVER if no look is planned. */
  lookAt: MonoUs = NEVER;
  /** Nobody here is to be forgotten before this. */
  #allUntil: MonoUs = NEVER;

  find(owner: Incarnation, lease: number): Waiter | undefined {
    return this.waiters.find((waiter) => waiter.owner === owner && waiter.lease === lease);
  }

  add(waiter: Waiter): void {
    const { waiters } = this;
    if (waiter.until < this.#allUntil) this.#allUntil = waiter.until;
    let at = waiters.length;
    while (at > 0 && isBefore(waiter, waiters[at - 1] as Waiter)) at--;
    waiters.splice(at, 0, waiter);
  }

  remove(owner: Incarnation, lease: number): boolean {
    const at = this.waiters.findIndex((waiter) => waiter.owner === owner && waiter.lease === lease);
    if (at < 0) return false;
    this.waiters.splice(at, 1);
    return true;
  }

  dropExpired(now: MonoUs): void {
    // Seen to with every message: in a long queue, looking at all of them each time would be most of the work.
    if (now < this.#allUntil) return;
    const { waiters } = this;
    this.#allUntil = NEVER;
    let kept = 0;
    for (const waiter of waiters) {
      if (waiter.until <= now) continue;
      waiters[kept++] = waiter;
      if (waiter.until < this.#allUntil) this.#allUntil = waiter.until;
    }
    waiters.length = kept;
  }

  /** The lease became free, or is taken again: in either case nobody was told yet. */
  setFreeSince(instant: MonoUs): void {
    this.freeSince = instant;
    for (const waiter of this.waiters) waiter.told = false;
  }

  /** How many from the head on may take the lease: one more with every head start that went unused. */
  eligible(now: MonoUs, headStartUs: number): number {
    if (this.freeSince === NEVER) return 0;
    return Math.min(this.waiters.length, 1 + Math.floor((now - this.freeSince) / headStartUs));
  }

  /** Whether somebody else has the turn. */
  blocks(owner: Incarnation, lease: number, now: MonoUs, headStartUs: number): boolean {
    const eligible = this.eligible(now, headStartUs);
    for (let i = 0; i < eligible; i++) {
      const waiter = this.waiters[i] as Waiter;
      if (waiter.owner === owner && waiter.lease === lease) return false;
    }
    // Once every waiter has had its head start, the lease is for whoever comes.
    return this.freeSince === NEVER ? this.waiters.length > 0 : now < this.freeSince + this.waiters.length * headStartUs;
  }
}

function isBefore(a: Waiter, b: Waiter): boolean {
  return a.ticket !== b.ticket ? a.ticket < b.ticket : a.owner !== b.owner ? a.owner < b.owner : a.lease < b.lease;
}
