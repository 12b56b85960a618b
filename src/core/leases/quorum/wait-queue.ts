/**
 * Who waits for one name at one acceptor, in the order of their tickets. A ticket is taken after a
 * majority was heard, and is above every ticket that majority had seen: so a request that began after
 * another was queued at a majority stands behind it everywhere.
 */
import { NEVER, type BallotTime, type Incarnation, type MonoUs } from '../../../kernel/index.ts';
import { TicketOrder } from './ticket-order.ts';

export interface Waiter {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ticket: BallotTime;
  readonly queue: WaitQueue;
  /** Forgotten then, unless it is heard of again. */
  until: MonoUs;
  /** When it was told that the lease is free, as its queue counts how often it became free or was taken. */
  toldIn: number;
  /** In the order in which they are to be forgotten. */
  before: Waiter | null;
  after: Waiter | null;
}

/** What `toldIn` is of one that was not told. */
export const NOT_TOLD = -1;

export class WaitQueue {
  /** The name's. */
  readonly id: number;
  /** Since when the lease is free here with somebody waiting; NEVER while it is held. */
  freeSince: MonoUs = NEVER;
  /** When this queue is looked at next; NEVER if no look is planned. */
  lookAt: MonoUs = NEVER;
  readonly #order = new TicketOrder<Waiter>();
  #first: Waiter | null = null;
  #last: Waiter | null = null;
  #changes = 0;
  /** The first so many were told, but for those that have asked again or come since, which are seen to when they do: here the search for others begins. */
  #told = 0;

  constructor(id: number) {
    this.id = id;
  }

  get length(): number {
    return this.#order.length;
  }

  /** The head of the line. */
  get head(): Waiter | undefined {
    return this.#order.first;
  }

  add(waiter: Waiter): void {
    this.#order.add(waiter);
    this.#link(waiter);
  }

  remove(waiter: Waiter): void {
    if (this.#told > 0 && this.#order.placeOf(waiter) < this.#told) this.#told--;
    this.#order.remove(waiter);
    this.#unlink(waiter);
  }

  /** It was heard of again. All are kept equally long, so whoever was heard of last is forgotten last. */
  refresh(waiter: Waiter, until: MonoUs): void {
    this.#unlink(waiter);
    waiter.until = until;
    // Perhaps what it was told got lost.
    waiter.toldIn = NOT_TOLD;
    this.#link(waiter);
  }

  /** The next one that is to be forgotten by now. */
  expired(now: MonoUs): Waiter | null {
    return this.#first && this.#first.until <= now ? this.#first : null;
  }

  /** The lease became free, or is taken again: in either case nobody was told yet. */
  setFreeSince(instant: MonoUs): void {
    this.freeSince = instant;
    this.#changes++;
    this.#told = 0;
  }

  isTold({ toldIn }: Waiter): boolean {
    return toldIn === this.#changes;
  }

  setTold(waiter: Waiter): void {
    waiter.toldIn = this.#changes;
  }

  /** How many from the head on may take the lease: one more with every head start that went unused. */
  eligible(now: MonoUs, headStartUs: number): number {
    if (this.freeSince === NEVER) return 0;
    return Math.min(this.length, 1 + Math.floor((now - this.freeSince) / headStartUs));
  }

  /** Calls `tell` with those of the first `eligible` that were not told yet, and with `asked` if it is one of them. */
  tellEligible(eligible: number, asked: Waiter | null, tell: (waiter: Waiter) => void): void {
    for (; this.#told < eligible; this.#told++) {
      const waiter = this.#order.at(this.#told);
      if (waiter && !this.isTold(waiter)) tell(waiter);
    }
    if (asked && !this.isTold(asked) && this.#order.placeOf(asked) < eligible) tell(asked);
  }

  /** Whether somebody else has the turn. */
  blocks(waiter: Waiter | undefined, now: MonoUs, headStartUs: number): boolean {
    if (this.freeSince === NEVER) return this.length > 0;
    if (waiter && this.#order.placeOf(waiter) < this.eligible(now, headStartUs)) return false;
    // Once every waiter has had its head start, the lease is for whoever comes.
    return now < this.freeSince + this.length * headStartUs;
  }

  toArray(): Waiter[] {
    return this.#order.toArray();
  }

  #link(waiter: Waiter): void {
    waiter.before = this.#last;
    waiter.after = null;
    if (this.#last) this.#last.after = waiter;
    else this.#first = waiter;
    this.#last = waiter;
  }

  #unlink(waiter: Waiter): void {
    if (waiter.before) waiter.before.after = waiter.after;
    else this.#first = waiter.after;
    if (waiter.after) waiter.after.before = waiter.before;
    else this.#last = waiter.before;
  }
}
