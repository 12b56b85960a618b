/**
 * The waiters for one name at one acceptor, in the order of their tickets. A ticket is taken after a
 * majority was heard, and is above every ticket that majority had seen: so a request that began after
 * another was queued at a majority stands behind it everywhere.
 */
import { NEVER, type BallotTime, type Incarnation, type MonoUs } from '../../../kernel/index.ts';
import { Books, type Taken } from './line.ts';
import { EXCLUSIVE, type WantedMode } from './modes.ts';
import { TicketOrder } from './ticket-order.ts';

export interface Waiter {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ticket: BallotTime;
  readonly queue: WaitQueue;
  readonly wanted: WantedMode;
  /** It holds the name as a reader, and waits to have it alone. */
  readonly upgrades: boolean;
  /** Forgotten then, unless it is heard of again. */
  until: MonoUs;
  /** When it was told that the lease is free, as its queue counts how often it became free or was taken. */
  toldIn: number;
  /** In the order in which they are to be forgotten. */
  before: Waiter | null;
  after: Waiter | null;
}

/** The `toldIn` of a waiter that was not told. */
export const NOT_TOLD = -1;

export class WaitQueue {
  /** The name's. */
  readonly id: number;
  /** Since when the lease is free here while a waiter stands in line; NEVER while it is held. */
  freeSince: MonoUs = NEVER;
  /** When this queue is looked at next; NEVER if no look is planned. */
  lookAt: MonoUs = NEVER;
  readonly #order = new TicketOrder<Waiter>();
  /** How many of them wait for something else than to have the name alone. */
  #moded = 0;
  #upgrade: Waiter | null = null;
  #first: Waiter | null = null;
  #last: Waiter | null = null;
  #changes = 0;
  /** The first so many were told, except for waiters that have asked again or come since, which are seen to when they do: the search for further waiters begins here. */
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

  /** The reader that waits to have the name alone; there is one at most, besides waiters that claim it and are no readers. */
  get upgrade(): Waiter | null {
    return this.#upgrade;
  }

  add(waiter: Waiter): void {
    if (isModed(waiter)) this.#moded++;
    if (waiter.upgrades) this.#upgrade = waiter;
    this.#order.add(waiter);
    this.#link(waiter);
  }

  remove(waiter: Waiter): void {
    if (this.#told > 0 && this.#order.placeOf(waiter) < this.#told) this.#told--;
    this.#order.remove(waiter);
    if (isModed(waiter)) this.#moded--;
    if (this.#upgrade === waiter) this.#upgrade = null;
    this.#unlink(waiter);
  }

  /** The waiter was heard of again. All are kept equally long, so the waiter heard of last is forgotten last. */
  refresh(waiter: Waiter, until: MonoUs): void {
    this.#unlink(waiter);
    waiter.until = until;
    // Perhaps the last message to it got lost.
    waiter.toldIn = NOT_TOLD;
    this.#link(waiter);
  }

  /** The next waiter that is to be forgotten by now. */
  expired(now: MonoUs): Waiter | null {
    return this.#first && this.#first.until <= now ? this.#first : null;
  }

  /** The lease became free, or is taken again: in either case no waiter was told yet. */
  setFreeSince(instant: MonoUs): void {
    this.freeSince = instant;
    this.#changes++;
    this.#told = 0;
  }

  /**
   * The head has gone: the next one's head start begins now, and waiters that were told stay told. Only readers and slots need it: a lease that is taken alone is free no
   * more, but slots stay free while one waiter after the other goes, and their head starts would add up until the whole line may go at once.
   */
  headGone(now: MonoUs): void {
    if (this.freeSince !== NEVER && this.#moded > 0) this.freeSince = now;
  }

  isTold({ toldIn }: Waiter): boolean {
    return toldIn === this.#changes;
  }

  setTold(waiter: Waiter): void {
    waiter.toldIn = this.#changes;
  }

  /** How many waiters from the head on may go: one more with every head start that went unused, and all that can go beside each other. */
  eligible(now: MonoUs, headStartUs: number, takenFor: (waiter: Waiter) => Taken): number {
    if (this.freeSince === NEVER) return 0;
    const passed = this.headStarts(now, headStartUs);
    return this.#moded === 0 ? Math.min(this.length, 1 + passed) : this.#walk(passed, takenFor).admitted;
  }

  /** How many head starts went by since the head could go. */
  headStarts(now: MonoUs, headStartUs: number): number {
    return Math.floor((now - this.freeSince) / headStartUs);
  }

  /** From the head: the first waiter that cannot go ends the walk. Each head start that went by takes one waiter that may go off the books. */
  #walk(passed: number, takenFor: (waiter: Waiter) => Taken): { readonly admitted: number; readonly books: Books } {
    const books = new Books();
    let admitted = 0;
    for (; admitted < this.length; admitted++) {
      const waiter = this.#order.at(admitted) as Waiter;
      if (!books.fits(waiter.wanted, takenFor(waiter))) break;
      if (admitted >= passed) books.enter(waiter.wanted);
    }
    return { admitted, books };
  }

  /** Calls `tell` with each of the first `eligible` waiters that was not told yet, and with `asked` if it is among them. */
  tellEligible(eligible: number, asked: Waiter | null, tell: (waiter: Waiter) => void): void {
    // A turn can be taken back, by a head start that begins anew or a slot that is taken: a waiter that asks again meanwhile is to be told of the next.
    this.#told = Math.min(this.#told, eligible);
    for (; this.#told < eligible; this.#told++) {
      const waiter = this.#order.at(this.#told);
      if (waiter && !this.isTold(waiter)) tell(waiter);
    }
    if (asked && !this.isTold(asked) && this.#order.placeOf(asked) < eligible) tell(asked);
  }

  /** Whether another waiter has the turn. A proposer without a ticket stands behind all. */
  blocks(waiter: Waiter | undefined, wanted: WantedMode, now: MonoUs, headStartUs: number, takenFor: (waiter?: Waiter) => Taken): boolean {
    if (this.freeSince === NEVER) return this.length > 0;
    if (waiter && this.#order.placeOf(waiter) < this.eligible(now, headStartUs, takenFor)) return false;
    // Once every waiter has had its head start, any proposer may have the lease.
    if (this.#moded === 0 && !isModed({ wanted })) return now < this.freeSince + this.length * headStartUs;
    const { admitted, books } = this.#walk(this.headStarts(now, headStartUs), takenFor);
    return admitted < this.length || !books.fits(wanted, takenFor());
  }

  placeOf(waiter: Waiter): number {
    return this.#order.placeOf(waiter);
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

function isModed({ wanted }: Pick<Waiter, 'wanted'>): boolean {
  return wanted.mode !== EXCLUSIVE || wanted.slots > 0;
}
