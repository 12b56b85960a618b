/**
 * Applications that act as in other worlds, in processes that keep some leases of their own all the time: so there are bundles, which outlive
 * the leases that come and go.
 */
import { encodeName } from '../../../kernel/index.ts';
import type { QuorumCommand, QuorumCore, QuorumEvent } from '../../../core/index.ts';
import type { Desk, User } from '../../protocol.ts';

export interface KeeperHabits {
  /** Leases that each process keeps. */
  readonly kept: number;
  /** All of them for the same term. */
  readonly alike: boolean;
  /** All but one are given back and taken again. */
  readonly churns: boolean;
  readonly maxTermUs: number;
  readonly waitUs: number;
}

/** Timers and leases of the applications have lower numbers. */
const OWN_TAGS = 2_000_000_000;
const OWN_LEASES = 2_000_000;
/** Leases to be given back are numbered above leases to be taken. */
const GIVE_BACK = 1000;
/** A lease that is given back is held for so many terms at most. */
const CHURN_TERMS = 3;

export class BundlesUser implements User<QuorumEvent> {
  readonly #habits: KeeperHabits;
  readonly #applications: User<QuorumEvent>;
  readonly #core: QuorumCore;
  readonly #desk: Desk<QuorumCommand>;
  /** Which of its own each lease is. */
  readonly #kept = new Map<number, number>();
  #nextLease = OWN_LEASES;

  constructor(habits: KeeperHabits, applications: User<QuorumEvent>, core: QuorumCore, desk: Desk<QuorumCommand>) {
    this.#habits = habits;
    this.#applications = applications;
    this.#core = core;
    this.#desk = desk;
  }

  start(): void {
    this.#applications.start();
    for (let which = 0; which < this.#habits.kept; which++) this.#askLater(which);
  }

  #askLater(which: number): void {
    this.#desk.after(1 + this.#desk.choose(this.#habits.maxTermUs), OWN_TAGS + which);
  }

  timer(tag: number): void {
    if (tag < OWN_TAGS) {
      this.#applications.timer(tag);
      return;
    }
    const number = tag - OWN_TAGS;
    if (number < GIVE_BACK) this.#take(number);
    else this.#giveBack(number - GIVE_BACK);
  }

  #take(which: number): void {
    const { maxTermUs, waitUs, alike } = this.#habits;
    const lease = ++this.#nextLease;
    this.#kept.set(lease, which);
    const name = this.#nameOf(which);
    const parts = alike ? 4 : 4 - (which % 4);
    // The view may have shorter terms than the cell began with.
    const termUs = Math.min(Math.ceil((maxTermUs * parts) / 4000) * 1000, this.#core.view.cur.maxTermUs);
    this.#desk.command({ kind: 'acquire', lease, name, termUs, waitUs, keep: true });
  }

  #giveBack(which: number): void {
    for (const [lease, one] of this.#kept) if (one === which) this.#desk.command({ kind: 'release', lease, name: this.#nameOf(which) });
  }

  #nameOf(which: number): Uint8Array {
    return encodeName(`own/${this.#desk.node}/${which}`);
  }

  healed(): void {
    this.#applications.healed();
  }

  waitingFor(): string {
    return this.#applications.waitingFor();
  }

  event(event: QuorumEvent): void {
    if (event.kind === 'renewed' && this.#core.renewedInBulk > 0) this.#desk.sometimes('renewed-in-bulk');
    if (this.#core.bundlesRepaired > 0) this.#desk.sometimes('bundle-repaired');
    const which = 'lease' in event ? this.#kept.get(event.lease) : undefined;
    if (which === undefined) {
      this.#applications.event(event);
      return;
    }
    if (event.kind === 'granted' && this.#habits.churns && which > 0)
      this.#desk.after(1 + this.#desk.choose(this.#habits.maxTermUs * CHURN_TERMS), OWN_TAGS + GIVE_BACK + which);
    if (event.kind !== 'lost' && event.kind !== 'refused' && event.kind !== 'released') return;
    this.#kept.delete((event as { readonly lease: number }).lease);
    this.#askLater(which);
  }
}
