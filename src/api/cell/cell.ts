/** A cell as one process sees it: a client of leases, and what can be asked of the members and told of this process. */
import { EventEmitter } from 'node:events';
import { checkOptions, parseDuration, TenureError } from '../../kernel/index.ts';
import type { ClockWatchCounts } from '../../runtime/index.ts';
import { BroadcastLog, MAIN_LOG } from '../broadcast/log.ts';
import { ClaimSpace } from '../claims/claim-space.ts';
import { Election, type ElectionOptions } from '../elections/election.ts';
import { CLOSE_OPTIONS, optionsBefore, type CloseOptions, type LeaseClient, type Work, type WorkUnderAll } from '../leases/client.ts';
import { unsupportedByEngine } from '../leases/engine.ts';
import type { Lease } from '../leases/lease.ts';
import type { HolderAnswer, Listing } from '../leases/questions.ts';
import type { AcquireOptions, TryResult } from '../leases/requests.ts';
import type { LeaseWaiter } from '../leases/lease-waiter.ts';
import type { CellCounters } from '../observing/counters.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import type { WatchOptions } from '../watches/feed.ts';
import type { Watch } from '../watches/watch.ts';
import type { MemberReach } from './clock-skew.ts';
import { closed, countsOnMembers, tooOldToChange } from './failures.ts';
import type { MemberStatus } from './member-calls.ts';
import { CHANGE_OPTIONS, MEMBER_CHANGE, targetOf, type ChangeOptions, type MemberChange } from './member-change.ts';
import { readViewText } from './membership.ts';
import type { CellNode } from './node.ts';
import {
  beginBroadcast,
  beginClaims,
  serviceStandings,
  withServices,
  BOOTSTRAP_OPTIONS,
  type BootstrapOptions,
  type CellPart,
} from './service-calls.ts';
import type { CellEvents, CellState } from './state.ts';
import { tellView, type CellView } from './told-view.ts';

/** The node behind a cell, for services that are mounted on it, and for Tenure's own tests. */
export let nodeOf: (cell: Cell) => CellNode;

export class Cell extends EventEmitter<CellEvents> implements LeaseClient {
  readonly #node: CellNode;

  static {
    nodeOf = (cell) => cell.#node;
  }

  /** Cells are made by `joinCell` and `connect`. */
  constructor(node: CellNode) {
    super();
    this.#node = node;
    node.announceTo(this);
  }

  get isMember(): boolean {
    return this.#node.isMember;
  }

  get incarnation(): number {
    return this.#node.incarnation;
  }

  get state(): CellState {
    return this.#node.state;
  }

  /** The engine of the cell, with its parameters: `quorum`, `flease:4,skew=500ms`. */
  get engine(): string {
    return this.#node.run?.engine.text ?? 'unknown';
  }

  /** The longest term of any lease here, as all members were told. */
  get maxTermMs(): number {
    return (this.#node.run?.engine.timing.maxTermUs ?? 0) / 1000;
  }

  /** How long this member will still give no vote; 0 when it votes and for a client, Infinity if its disk has failed. */
  get silentForMs(): number {
    return (this.#node.run?.silentForUs() ?? 0) / 1000;
  }

  /** Waits until leases can be had: the silence is over and a majority is connected. */
  async ready(options: SignalOnly = {}): Promise<void> {
    return this.#node.ready(checkOptions('ready', options, SIGNAL_ONLY).signal);
  }

  /** Asks every member how it stands. Where the engine has no such question, tells which members are connected. */
  async status(): Promise<MemberStatus[]> {
    const run = this.#node.open();
    const services = serviceStandings(this.#node);
    if (run.engine.can.status) return withServices(await this.#node.alive.during(run.calls.status()), await services);
    const connections = run.calls.connections((member) => ({
      incarnation: this.#node.lifeOf(member),
      silentForUs: this.#node.isSelf(member) ? run.silentForUs() : null,
    }));
    return withServices(connections, await services);
  }

  /**
   * Begins a brand-new cell: ends the silence of its members at once, begins broadcast, and claims if every member can keep them. Every member must be present and silent,
   * and no process may have used the cell before: members cannot know what they have forgotten. Refused with TENURE_BOOTSTRAP_REFUSED otherwise. With
   * `only: 'claims'` it begins the claims of a cell whose leases are in use; the disk of every member must be blank. With `only: 'broadcast'` it begins broadcast, also anew
   * where so many members have lost their memory that it stands still: messages that only those members knew are lost.
   */
  async bootstrap(options: BootstrapOptions = {}): Promise<void> {
    const { signal, only } = checkOptions('bootstrap', options, BOOTSTRAP_OPTIONS);
    const { calls, engine } = this.#node.open();
    const begins = (part: CellPart): boolean => only === undefined || only === part;
    if (begins('leases') && !engine.can.bootstrap)
      throw unsupportedByEngine(engine, 'bootstrap', 'ends no silence early', 'wait until it is over');
    if (!this.#node.mayBootstrap) {
      throw new TenureError('TENURE_BOOTSTRAP_REFUSED', "a client needs the members' secret to bootstrap: connect with it as `secret`");
    }
    if (begins('leases')) await this.#node.alive.during(calls.bootstrap(signal));
    if (begins('claims')) await beginClaims(this.#node, only === 'claims', signal);
    if (begins('broadcast')) await beginBroadcast(this.#node, only === 'broadcast', signal);
  }

  /** The integers of a space, to claim some of them for ever. Throws TENURE_BAD_NAME. */
  claims(space: string): ClaimSpace {
    if (!this.#node.isOpen) throw closed();
    return new ClaimSpace(space, this.#node.services, this.#node.alive);
  }

  /** A log of the cell: messages that every process reads in the same order. Throws TENURE_BAD_NAME. */
  broadcast(name: string = MAIN_LOG): BroadcastLog {
    if (!this.#node.isOpen) throw closed();
    return new BroadcastLog(name, this.#node.services, this.#node.alive);
  }

  acquire(name: string, options?: AcquireOptions): Promise<Lease> {
    return this.#node.isOpen ? this.#node.open().leases.acquire(name, options) : Promise.reject(closed());
  }

  tryAcquire(name: string, options?: Omit<AcquireOptions, 'wait'>): Promise<TryResult> {
    return this.#node.isOpen ? this.#node.open().leases.tryAcquire(name, options) : Promise.reject(closed());
  }

  using<T>(name: string, work: Work<T>): Promise<T>;
  using<T>(name: string, options: AcquireOptions, work: Work<T>): Promise<T>;
  async using<T>(name: string, ...rest: [Work<T>] | [AcquireOptions, Work<T>]): Promise<T> {
    return this.#node.alive.during(this.#node.open().leases.using(name, ...optionsBefore(rest)));
  }

  usingAll<T>(names: readonly string[], work: WorkUnderAll<T>): Promise<T>;
  usingAll<T>(names: readonly string[], options: AcquireOptions, work: WorkUnderAll<T>): Promise<T>;
  async usingAll<T>(names: readonly string[], ...rest: [WorkUnderAll<T>] | [AcquireOptions, WorkUnderAll<T>]): Promise<T> {
    return this.#node.alive.during(this.#node.open().leases.usingAll(names, ...optionsBefore(rest)));
  }

  async acquireAll(names: readonly string[], options?: AcquireOptions): Promise<Lease[]> {
    return this.#node.alive.during(this.#node.open().leases.acquireAll(names, options));
  }

  elect(name: string, options?: ElectionOptions): Election {
    return new Election(this, name, options);
  }

  watch(prefix?: string, options?: WatchOptions): Watch {
    return this.#node.open().leases.watch(prefix, options);
  }

  async holder(name: string, options?: SignalOnly): Promise<HolderAnswer> {
    return this.#node.alive.during(this.#node.open().leases.holder(name, options));
  }

  async list(prefix?: string, options?: SignalOnly): Promise<Listing> {
    return this.#node.alive.during(this.#node.open().leases.list(prefix, options));
  }

  /** The first 32 waiters for a name, in order, as a majority of the members tells. Not every engine can: TENURE_UNSUPPORTED. */
  async waiters(name: string, options?: SignalOnly): Promise<LeaseWaiter[]> {
    return this.#node.alive.during(this.#node.open().leases.transfers.waiters(name, options));
  }

  /** How each member is reached: connection, round trip, clock offset, the pace of its clock. */
  members(): MemberReach[] {
    return this.#node.members();
  }

  /** The members of the cell, and its terms, as this process knows them; null before it has reached a member, and where engines have no views. */
  get view(): CellView | null {
    const view = this.#node.run?.engine.can.views === false ? null : this.#node.view;
    return view && tellView(view);
  }

  /**
   * Changes the members of the cell, how many of them vote on a name, and its terms, while it runs; resolves with the view that it came to. Holders lose
   * nothing over it. It can be given up, or die, anywhere: the next process that asks for the same finishes it. Needs the members' secret.
   */
  async changeMembers(change: MemberChange, options: ChangeOptions = {}): Promise<CellView> {
    const target = targetOf(checkOptions('changeMembers', change, MEMBER_CHANGE));
    checkOptions('changeMembers', options, CHANGE_OPTIONS);
    const { engine } = this.#node.open();
    if (!engine.can.views)
      throw unsupportedByEngine(engine, 'changeMembers', 'keeps the members it has', 'stop the cell, and start it with others');
    if (!this.#node.mayBootstrap) {
      throw new TenureError('TENURE_MEMBERS_REFUSED', "a client needs the members' secret to change them: connect with it as `secret`");
    }
    const plain = this.#node.plainMembers();
    if (plain.length > 0) throw tooOldToChange(plain);
    if (!change.dropServices) await this.#checkServices(change);
    return this.#node.alive.during(this.#node.changes.change(this.#node.open(), target, options));
  }

  /** Services that count on the cell's first members keep them. */
  async #checkServices({ add, remove, replace }: MemberChange): Promise<void> {
    if (add === undefined && remove === undefined && replace === undefined) return;
    const { claims, broadcast } = await serviceStandings(this.#node);
    const service = claims.some((disk) => disk !== null && disk.phase !== 'blank')
      ? 'claims'
      : broadcast.some((log) => log !== null)
        ? 'broadcast'
        : null;
    if (service !== null) throw countsOnMembers(service);
  }

  /** Its configuration was read anew: the next start of this member begins in this view, or a later one. `text` is the text of a view. */
  takeView(text: string): void {
    this.#node.takeView(readViewText(text));
  }

  /** The counts so far: a plain object, cheap enough to be asked for every second. */
  counters(): CellCounters {
    return this.#node.counters();
  }

  /** Stalls of the event loop, sleeps of the machine and steps of its wall clock, seen so far. */
  get clockCounts(): Readonly<ClockWatchCounts> | null {
    return this.#node.run?.driver.clockCounts ?? null;
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const { timeout, handOver } = checkOptions('close', options, CLOSE_OPTIONS);
    if (handOver) this.#node.run?.leases.transfers.checkEngine();
    return this.#node.close({ timeoutUs: timeout === undefined ? undefined : parseDuration(timeout), handsOver: handOver === true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
