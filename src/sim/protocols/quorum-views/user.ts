/**
 * Applications that use leases while administrators change the cell under them. An administrator is any process that runs an initiator; many
 * leave their work half done. The operator of a member stores the views that it adopts, in time or not.
 */
import { monoUs } from '../../../kernel/index.ts';
import {
  isIn,
  longestTermUsOf,
  VIEW_NAME,
  ViewInitiator,
  type QuorumCommand,
  type QuorumCore,
  type QuorumEvent,
  type QuorumRules,
  type View,
  type ViewConfig,
} from '../../../core/index.ts';
import type { Desk, User } from '../../protocol.ts';
import { ModesUser, type ModeHabits } from '../quorum-modes/user.ts';

/** How a change of members is drawn: `all` for others, one after the other; `one` for another; or `some` more, fewer or others. */
export type Moves = 'all' | 'one' | 'some';

/** This process makes these the members, so long after the world began. */
export interface PlannedChange {
  readonly node: number;
  readonly atUs: number;
  readonly members: readonly number[];
}

export interface ViewHabits {
  readonly modes: ModeHabits;
  readonly rules: QuorumRules;
  /** How often this process changes the cell, in parts of a million whenever it thinks of it. */
  readonly changesPpm: number;
  /** So many changes it owes once the world has healed. */
  readonly changesOwed: number;
  /** How long the operator of a member takes to store a view; Infinity for an operator that never does. */
  readonly storeUsMax: number;
  /** Where views are stored that members adopt, by member. */
  readonly stored: Map<number, View>;
  /** What the cell may become. */
  readonly numbers: number;
  readonly keyOf: (number: number) => number;
  readonly termsUs: readonly number[];
  /** Most changes are of the longest term, and leases are asked for as long as the view allows. */
  readonly termOften: boolean;
  readonly splits: boolean;
  readonly moves: Moves;
  /** Changes that are planned, so long after the start. */
  readonly planned: readonly PlannedChange[];
  /** This process is ended again and again while all goes well: its machine is being set up. */
  readonly isLate: boolean;
  /** Its applications start once it is a member, and the change that made it one is over. */
  readonly isIdle: boolean;
}

/** Timers of the applications have lower numbers, and so have their leases. */
const OWN_TAGS = 1_000_000_000;
const OWN_LEASES = 1_000_000;
const MILLION = 1_000_000;

export class ViewsUser implements User<QuorumEvent> {
  readonly #habits: ViewHabits;
  readonly #core: QuorumCore;
  readonly #desk: Desk<QuorumCommand>;
  readonly #applications: ModesUser;
  readonly #timers = new Map<number, () => void>();
  #nextTimer = OWN_TAGS;
  #nextLease = OWN_LEASES;
  #initiator: ViewInitiator | null = null;
  #owed = 0;
  #isServed = false;
  #isIdle = false;

  constructor(habits: ViewHabits, core: QuorumCore, desk: Desk<QuorumCommand>) {
    this.#habits = habits;
    this.#core = core;
    this.#desk = desk;
    // The applications are done when they are; this process is when its changes are, too.
    this.#applications = new ModesUser(
      habits.termOften ? { ...habits.modes, termUsNow: () => longestTermUsOf(core.view) } : habits.modes,
      core,
      deskOf(desk, () => this.#served()),
    );
  }

  start(): void {
    this.#isIdle = this.#habits.isIdle && !this.#desk.healed;
    if (!this.#isIdle) this.#applications.start();
    if (this.#habits.changesPpm > 0 && !this.#desk.healed) this.#thinkLater();
    for (const { atUs, members } of this.#habits.planned) this.#later(atUs, () => this.#change(members));
  }

  timer(tag: number): void {
    if (tag < OWN_TAGS) {
      this.#applications.timer(tag);
      return;
    }
    const act = this.#timers.get(tag);
    this.#timers.delete(tag);
    act?.();
  }

  healed(): void {
    if (this.#habits.isLate && this.#desk.choose(4) > 0) this.#desk.quit(this.#desk.choose(this.#habits.modes.maxTermUs));
    this.#owed = this.#habits.changesOwed;
    this.#begin();
    this.#applications.healed();
    if (this.#owed > 0) this.#change();
  }

  #served(): void {
    this.#isServed = true;
    if (this.#owed === 0) this.#desk.done();
  }

  waitingFor(): string {
    const state = JSON.stringify(this.#initiator?.state);
    return this.#owed > 0
      ? `${this.#owed} changes of the cell (${state}); ${this.#applications.waitingFor()}`
      : this.#applications.waitingFor();
  }

  event(event: QuorumEvent): void {
    const desk = this.#desk;
    if (event.kind === 'view-adopted') {
      desk.sometimes(event.view.old === null ? 'view-sealed' : 'view-joint');
      if (!isIn(event.view.cur, desk.node)) desk.sometimes('member-out');
      if (!event.isKept) this.#store(event.view);
      if (event.view.old === null && isIn(event.view.cur, desk.node)) this.#begin();
    }
    if (event.kind === 'view') desk.sometimes('view-followed');
    this.#initiator?.event(event, desk.monoUs);
    this.#applications.event(event);
    this.#plan();
  }

  #begin(): void {
    if (!this.#isIdle) return;
    this.#isIdle = false;
    this.#applications.start();
  }

  /** The operator of the member stores the view, in time or not. */
  #store(view: View): void {
    const { storeUsMax, stored } = this.#habits;
    if (storeUsMax === Infinity) return;
    this.#later(this.#desk.choose(storeUsMax), () => {
      const { epoch, id } = view;
      const before = stored.get(this.#desk.node);
      if (before && (before.epoch > epoch || (before.epoch === epoch && before.id >= id))) return;
      stored.set(this.#desk.node, view);
      this.#desk.command({ kind: 'view-stored', epoch, id });
    });
  }

  // ── Changes ────────────────────────────────────────────────────────────────────────────────────────

  #thinkLater(): void {
    this.#later(this.#desk.choose(this.#habits.modes.maxTermUs), () => {
      const { healed } = this.#desk;
      if (healed) return;
      if (this.#desk.choose(MILLION) < this.#habits.changesPpm) this.#change();
      this.#thinkLater();
    });
  }

  #change(planned?: readonly number[]): void {
    const desk = this.#desk;
    if (this.#initiator !== null) return;
    const core = this.#core;
    const host = {
      get view(): View {
        return core.view;
      },
      nextLease: () => ++this.#nextLease,
      clockBallot: () => desk.wallUs,
      command: (command: QuorumCommand) => desk.command(command),
    };
    const { cur } = core.view;
    this.#initiator = new ViewInitiator(host, planned ? this.#madeOf(planned, cur) : this.#draw(cur), this.#habits.rules);
    this.#initiator.start(desk.monoUs);
    if (!planned && !desk.healed && desk.choose(3) === 0) this.#later(desk.choose(this.#habits.modes.maxTermUs * 3), () => this.#abandon());
    this.#plan();
  }

  /** It goes away in the middle of things; its lease runs out. */
  #abandon(): void {
    if (this.#initiator === null || this.#desk.healed) return;
    this.#desk.sometimes('change-abandoned');
    this.#desk.command({ kind: 'lapse', lease: this.#initiator.lease, name: VIEW_NAME });
    this.#desk.command({ kind: 'cancel', lease: this.#initiator.lease });
    this.#initiator = null;
  }

  #plan(): void {
    const initiator = this.#initiator;
    if (initiator === null) return;
    if (initiator.state.kind === 'done') {
      this.#desk.sometimes('change-done');
      this.#initiator = null;
      if (this.#owed === 0 || !this.#desk.healed) return;
      this.#owed--;
      if (this.#owed > 0) this.#later(this.#desk.choose(this.#habits.modes.maxTermUs), () => this.#change());
      else if (this.#isServed) this.#desk.done();
      return;
    }
    const { wakeAt } = initiator;
    if (wakeAt === Infinity) return;
    this.#later(Math.max(1, wakeAt - this.#desk.monoUs), () => {
      if (this.#initiator !== initiator || initiator.wakeAt > this.#desk.monoUs) return;
      initiator.wake(monoUs(this.#desk.monoUs));
      this.#plan();
    });
  }

  /** One thing or two that could be otherwise. */
  #draw(cur: ViewConfig): ViewConfig {
    const desk = this.#desk;
    const { numbers, keyOf, termsUs, termOften, splits, moves } = this.#habits;
    let members = [...cur.members];
    let { replication, maxTermUs } = cur;
    if (moves === 'all') return this.#moved(cur);
    const isWhole = replication === members.length;
    const out = Array.from({ length: numbers }, (_, number) => number).filter((number) => !isIn(cur, number));
    const choice = moves === 'one' ? 3 : termOften && desk.choose(3) > 0 ? 5 : desk.choose(8);
    if (choice < 5) {
      const adds = out.length > 0 && (members.length <= 2 || choice > 1);
      const removes = members.length > 3 ? choice < 4 : choice === 3 || choice === 4;
      if (removes) members.splice(desk.choose(members.length), 1);
      const [number = 0] = out.splice(desk.choose(Math.max(1, out.length)), 1);
      if (adds || members.length < 2) members = [...members, { number, key: keyOf(number), text: '' }].sort((a, b) => a.number - b.number);
    }
    if (choice === 5 || choice === 6) maxTermUs = termsUs[desk.choose(termsUs.length)] as number;
    if (isWhole && (choice !== 7 || !splits)) replication = members.length;
    else if (choice === 7) replication = Math.min(members.length, 2 + desk.choose(2));
    replication = Math.min(replication, members.length);
    return { ...cur, members, replication, maxTermUs };
  }

  /** As many members, from the other end of the numbers. */
  #moved(cur: ViewConfig): ViewConfig {
    const first = isIn(cur, 0) ? this.#habits.numbers - cur.members.length : 0;
    return this.#madeOf(
      cur.members.map((_, i) => first + i),
      cur,
    );
  }

  #madeOf(numbers: readonly number[], cur: ViewConfig): ViewConfig {
    return { ...cur, members: numbers.map((number) => ({ number, key: this.#habits.keyOf(number), text: '' })) };
  }

  #later(spanUs: number, act: () => void): void {
    const tag = this.#nextTimer++;
    this.#timers.set(tag, act);
    this.#desk.after(spanUs, tag);
  }
}

/** The same desk, but what its user has done is told to another. */
function deskOf(desk: Desk<QuorumCommand>, done: () => void): Desk<QuorumCommand> {
  return new Proxy(desk, {
    get(target, key): unknown {
      if (key === 'done') return done;
      // What leases can do is reached in worlds of their own.
      if (key === 'sometimes') return () => {};
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
