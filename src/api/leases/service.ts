/**
 * The lease service, on any engine: turns calls into commands of the core, and what the core says
 * into leases, answers and errors. One per process; every waiting call takes an AbortSignal.
 */
import type { LeaseCommand, LeaseEvent } from '../../core/index.ts';
import { checkFunction, checkName, checkOptions, LEASE_NUMBER_MAX, NumberMap, parseDuration, TenureError } from '../../kernel/index.ts';
import type { Clocks, KeepAlive } from '../../runtime/index.ts';
import { failAtCaller } from '../call-stacks.ts';
import type { LeaseObserver } from '../observing/lease-observer.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import { WATCH_OPTIONS, type WatchOptions } from '../watches/feed.ts';
import type { Watch } from '../watches/watch.ts';
import { Watches } from '../watches/watches.ts';
import { acquireAll } from './acquire-all.ts';
import { acquireWithin, tryAcquireWithin, withinOf, type CollectionGround } from './collections.ts';
import { unsupportedByEngine, type LeaseCore, type LeaseDriver, type LeaseEngine } from './engine.ts';
import { endedEarly, lost } from './errors.ts';
import { Gates } from './gates.ts';
import { HeldLease, type Grant, type LeaseSource } from './held-lease.ts';
import { heldBehind, Lease } from './lease.ts';
import { ModeChanges } from './mode-changes.ts';
import type { UpgradeOptions } from './upgrade-options.ts';
import { Proclaims } from './proclaims.ts';
import { asText, Questions, tellHolder, tellName, type HolderAnswer, type Listing } from './questions.ts';
import { Releases, type LeaveOptions } from './releases.ts';
import {
  ACQUIRE_OPTIONS,
  Requests,
  TRY_OPTIONS,
  type AcquireOptions,
  type PendingRequest,
  type Refused,
  type RefusedTry,
  type TryResult,
} from './requests.ts';
import type { LeaseWaiter } from './lease-waiter.ts';
import { Transfers } from './transfers.ts';
import { Works } from './works.ts';

/** A wait without limit: a year. The longest duration there is. */
const WAIT_US_MAX = parseDuration('365d');
/** The upper half of all numbers is for leases that are not this service's. */
export const LEASE_NUMBERS_MAX: number = (LEASE_NUMBER_MAX + 1) / 2 - 1;

const NO_OPTIONS: AcquireOptions = {};

/** What a lease service lives on. */
export interface ServiceGround {
  readonly engine: LeaseEngine;
  readonly driver: LeaseDriver;
  readonly core: LeaseCore;
  readonly clocks: Clocks;
  readonly alive: KeepAlive;
  readonly observer: LeaseObserver;
  /** Why a request came to nothing, and what to do next. */
  readonly explain: (name: string, refused: Refused) => TenureError | Promise<TenureError>;
  /** How a lease ended that was not given back: what follows "the lease on 'x'". */
  readonly loss: () => string;
  /** Stores data under a lease, where leases have data. */
  readonly sync?: (grant: Grant, data: Uint8Array, number: number) => void;
  readonly firstNumber?: number | undefined;
}

export class LeaseService implements LeaseSource {
  readonly clocks: Clocks;
  readonly transfers: Transfers;
  readonly #ground: ServiceGround;
  readonly #requests: Requests;
  readonly #held = new NumberMap<HeldLease>();
  /** Leases that keep the process until they are over. */
  readonly #keeping = new Set<HeldLease>();
  readonly #gates: Gates;
  readonly #changes: ModeChanges;
  readonly #releases: Releases;
  readonly #works: Works;
  readonly #questions: Questions;
  readonly #proclaims: Proclaims;
  readonly #watches: Watches;
  readonly #collections: CollectionGround;
  #nextNumber: number;
  #closed: TenureError | null = null;

  constructor(ground: ServiceGround) {
    this.#ground = ground;
    const { engine, driver, clocks, alive, observer, explain, sync, firstNumber = 1 } = ground;
    this.#nextNumber = firstNumber;
    this.clocks = clocks;
    const command = (one: LeaseCommand): void => driver.command(one);
    const nextNumber = (): number => this.#number();
    const { attemptUs } = engine.timing;
    this.#questions = new Questions(command, nextNumber);
    this.#requests = new Requests({ command, nextNumber, clocks, engine, alive, observer, explain });
    this.#gates = new Gates(command);
    const checkOpen = (): void => this.#checkOpen();
    this.#changes = new ModeChanges({ command, nextNumber, engine, observer, explain, checkOpen, waitUsMax: WAIT_US_MAX });
    this.#proclaims = new Proclaims({ command, nextNumber, engine, checkOpen, sync });
    this.transfers = new Transfers({ command, nextNumber, engine, alive, checkOpen });
    this.#releases = new Releases({ command, clocks, alive, attemptUs });
    this.#works = new Works(this.#releases);
    this.#collections = {
      clocks,
      acquire: (name, options) => this.acquire(name, options),
      tryAcquire: (name, options) => this.tryAcquire(name, options),
      giveBack: (leases) => this.#releases.giveBack(leases),
    };
    this.#watches = new Watches({
      engine,
      alive,
      command: (one) => (this.#closed ? undefined : command(one)),
      after: (delayUs, act) => clocks.after(delayUs, act),
      list: (prefix) => this.list(prefix),
      holder: (name) => this.holder(name),
    });
  }

  acquire(name: string, options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    const within = withinOf(options);
    if (within !== undefined) return this.#ground.alive.during(acquireWithin(within, name, options, this.#collections));
    return new Promise((answered) => {
      checkOptions('acquire', options, ACQUIRE_OPTIONS);
      const waitUs = options.wait === undefined ? WAIT_US_MAX : parseDuration(options.wait);
      this.#checkOpen();
      // Only a try is answered with anything but a lease.
      this.#requests.ask(name, options, waitUs, false, answered as PendingRequest['answered'], (error) => failAtCaller(answered, error));
    });
  }

  tryAcquire(name: string, options: Omit<AcquireOptions, 'wait'> = NO_OPTIONS): Promise<TryResult> {
    const within = withinOf(options);
    if (within !== undefined) return this.#ground.alive.during(tryAcquireWithin(within, name, options, this.#collections));
    return new Promise((answered) => {
      checkOptions('tryAcquire', options, TRY_OPTIONS);
      this.#checkOpen();
      const told = (result: TryResult): void => answered(result.ok ? result : this.#withNote(name, result));
      this.#requests.ask(name, options, 0, true, told as PendingRequest['answered'], (error) => failAtCaller(answered, error));
    });
  }

  /** What the holder says of itself is no part of a refusal: it is asked for. */
  async #withNote(name: string, refused: RefusedTry): Promise<TryResult> {
    if (refused.holder === null) return refused;
    const asking = this.#questions.note(name, refused.holder.token);
    const meta = await this.#ground.alive.during(asking).catch(() => null);
    return { ...refused, meta, text: asText(meta) };
  }

  async using<T>(name: string, options: AcquireOptions, work: (lease: Lease) => Promise<T> | T): Promise<T> {
    checkFunction('using', 'the work', work);
    const lease = await this.acquire(name, options);
    this.#checkValid([lease]);
    return this.#works.under([heldBehind(lease)], () => work(lease));
  }

  async usingAll<T>(
    names: readonly string[],
    options: AcquireOptions,
    work: (leases: readonly Lease[], signal: AbortSignal) => Promise<T> | T,
  ): Promise<T> {
    checkFunction('usingAll', 'the work', work);
    const leases = await this.acquireAll(names, options);
    this.#checkValid(leases);
    return this.#works.under(leases.map(heldBehind), () => work(leases, AbortSignal.any(leases.map(({ signal }) => signal))));
  }

  /** Closed or over between the grant and this moment: the work does not begin. */
  #checkValid(leases: readonly Lease[]): void {
    const over = leases.find(({ valid }) => !valid);
    if (over) throw this.#closed ?? lost(over, 'was over before the work could begin');
  }

  acquireAll(names: readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<Lease[]> {
    return acquireAll(names, options, {
      clocks: this.clocks,
      acquire: (name, one) => this.acquire(name, one),
      giveBack: (leases) => this.#releases.giveBack(leases.map(heldBehind)),
    });
  }

  async holder(name: string, options: SignalOnly = {}): Promise<HolderAnswer> {
    const { signal } = checkOptions('holder', options, SIGNAL_ONLY);
    checkName(name);
    this.#checkOpen();
    return this.#questions.holder(name, signal);
  }

  async list(prefix = '', options: SignalOnly = {}): Promise<Listing> {
    const { signal } = checkOptions('list', options, SIGNAL_ONLY);
    this.#checkOpen();
    const { engine } = this.#ground;
    if (!engine.can.list) throw unsupportedByEngine(engine, 'list', 'has no list of what is held', 'ask holder() of a name');
    return this.#questions.list(prefix, signal);
  }

  watch(prefix = '', options: WatchOptions = {}): Watch {
    checkOptions('watch', options, WATCH_OPTIONS);
    this.#checkOpen();
    return this.#watches.open(prefix, options);
  }

  /** Changes may have been missed. */
  noteGap(): void {
    this.#watches.noteGap();
  }

  // ── For leases ─────────────────────────────────────────────────────────────────────────────────────

  remainingUs({ grant: { number, nameBytes } }: HeldLease): number {
    const { driver, core } = this.#ground;
    if (driver.isStopped) return 0;
    return core.remainingUs(number, nameBytes, this.clocks.mono(), this.clocks.wall());
  }

  release(lease: HeldLease): Promise<void> {
    if (lease.isOver || !this.#held.has(lease.number)) return Promise.resolve();
    this.#endReleased(lease);
    return lease.leaving ?? this.#releases.send(lease, 0);
  }

  releaseLater(lease: HeldLease, afterUs: number): Promise<void> {
    const { engine } = this.#ground;
    if (!engine.can.releaseLater) {
      throw unsupportedByEngine(engine, 'releaseLater', 'gives leases back at once', 'release it when that time has come');
    }
    if (lease.isOver || !this.#held.has(lease.number)) return Promise.resolve();
    return this.#releases.send(lease, afterUs);
  }

  /** It is renewed no more, nor is the lease it stands under. */
  lapse({ grant, above }: HeldLease): void {
    this.#ground.driver.command({ kind: 'lapse', lease: grant.number, name: grant.nameBytes });
    if (above) this.lapse(above);
  }

  sync(lease: HeldLease, data: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    return this.#ground.alive.during(this.#proclaims.sync(lease, data, signal));
  }

  /** Nothing was stored, or it is unknown. */
  syncFailed(number: number, error: TenureError): void {
    this.#proclaims.fail(number, error);
  }

  proclaim(lease: HeldLease, meta: Uint8Array | string, signal: AbortSignal | undefined): Promise<void> {
    return this.#ground.alive.during(this.#proclaims.proclaim(lease, meta, signal));
  }

  /** Never the same twice: a number that came again would be taken for the lease that had it before. */
  #number(): number {
    if (this.#nextNumber <= LEASE_NUMBERS_MAX) return this.#nextNumber++;
    throw new TenureError(
      'TENURE_LIMIT',
      `this process has numbered ${LEASE_NUMBERS_MAX} leases and questions: join, connect or open again`,
      {
        limit: 'lease numbers of a process',
        max: LEASE_NUMBERS_MAX,
      },
    );
  }

  // ── The core speaks ────────────────────────────────────────────────────────────────────────────────

  hear(event: LeaseEvent): void {
    switch (event.kind) {
      case 'granted':
        this.#granted(event);
        return;
      case 'refused':
        this.#requests.refused(event);
        return;
      case 'queued':
        this.#requests.queued(event.lease);
        return;
      case 'renewed':
      case 'renewal-failed':
        this.#renewalEnded(event);
        return;
      case 'lost': {
        const lease = this.#held.get(event.lease);
        this.#held.delete(event.lease);
        if (lease) this.#endLost(lease, this.#lossOf(lease, event.why === 'max-hold'));
        // It may have been given back as of a later time.
        this.#releases.answered(event.lease);
        return;
      }
      case 'handed-over':
      case 'released': {
        const lease = this.#held.get(event.lease);
        // As of a later time, and that has come; or to its heir.
        if (lease && !lease.isOver) this.#endReleased(lease, event.kind === 'handed-over');
        if (event.kind === 'handed-over') return;
        this.#held.delete(event.lease);
        this.#releases.answered(event.lease);
        this.transfers.ended(event.lease, true);
        return;
      }
      case 'answered':
      case 'listed':
        this.#questions.resolveAnswer(event);
        return;
      case 'proclaimed':
        this.#proclaims.done(event.lease, event.number);
        return;
      case 'learned': {
        const holder = event.holder && tellHolder(event.holder);
        const { meta } = event;
        this.#watches.hear(event.name, { kind: 'change', name: tellName(event.name), holder, meta, text: asText(meta) });
        return;
      }
      case 'upgraded':
      case 'downgraded':
      case 'upgrade-refused':
        this.#changes.hear(event, this.#held.get(event.lease));
        return;
      case 'wanted':
        this.#held.get(event.lease)?.tellWanted();
        return;
      case 'renewal-due':
        this.#gates.due(event.lease);
        return;
      case 'watch-refused':
        this.#watches.refuse(event.prefix);
        return;
      case 'hand-over-failed':
      case 'line-told':
        this.transfers.hear(event);
        return;
      case 'stopped':
      case 'shortened':
      case 'ready':
      case 'disk-failed':
      case 'noting':
      case 'outlived':
      case 'status-told':
      case 'bootstrapped':
      case 'view':
      case 'view-adopted':
      case 'view-vote':
        return;
    }
  }

  #renewalEnded({ kind, lease: number }: Extract<LeaseEvent, { kind: 'renewed' | 'renewal-failed' }>): void {
    const lease = this.#held.get(number);
    if (!lease) return;
    if (kind === 'renewed') this.#ground.observer.renewed(lease);
    else this.#ground.observer.renewalFailed(lease);
  }

  #granted(event: Extract<LeaseEvent, { kind: 'granted' }>): void {
    const asking = this.#requests.take(event.lease);
    if (!asking) return;
    const { driver, observer } = this.#ground;
    const { name, nameBytes, termUs, mode, slots, maxHoldUs, askedUs, renewWhile } = asking;
    const grantedUs = driver.monoUs;
    const number = event.lease;
    const { token, slot } = event;
    const how = slots > 0 ? 'shared' : mode;
    const held = new HeldLease(this, { number, name, nameBytes, token, mode: how, slot, termUs, maxHoldUs, askedUs, grantedUs });
    this.#held.set(event.lease, held);
    if (asking.keepsAlive) {
      this.#keeping.add(held);
      this.#ground.alive.hold();
    }
    observer.granted(held, termUs, grantedUs - askedUs, event.waited);
    const lease = new Lease(held);
    if (renewWhile) this.#gates.begin(held, lease, renewWhile);
    asking.answered(asking.isTry ? { ok: true, lease } : lease);
  }

  upgrade(lease: HeldLease, options: UpgradeOptions): Promise<void> {
    return this.#ground.alive.during(this.#changes.upgrade(lease, options));
  }

  downgrade(lease: HeldLease): void {
    this.#changes.downgrade(lease);
  }

  transfer(lease: HeldLease, to: LeaseWaiter | undefined): Promise<boolean> {
    return this.transfers.transfer(lease, to);
  }

  get held(): number {
    return this.#held.size;
  }

  get waiting(): number {
    return this.#requests.count;
  }

  get shortestTermUs(): number {
    return this.#requests.shortestTermUs;
  }

  /** Whether a call waits for its answer. */
  get isAsked(): boolean {
    return (
      this.#requests.count +
        this.#questions.count +
        this.#proclaims.count +
        this.#releases.count +
        this.#changes.count +
        this.transfers.count >
      0
    );
  }

  /** For the testing kit: the lease is over for its holder, and then for every process. False if it is not held here. */
  lose(lease: Lease): boolean {
    const held = heldBehind(lease);
    const { number, nameBytes } = held.grant;
    if (this.#held.get(number) !== held || held.isOver) return false;
    this.hear({ kind: 'lost', lease: number });
    this.#ground.driver.command({ kind: 'release', lease: number, name: nameBytes });
    return true;
  }

  // ── How it ends ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Ends every waiting call with `why`, tells every holder to stop, and gives back leases whose holders have stopped: a lease that was
   * acquired by hand at once, since its holder calls this, and the lease of a work when the work has ended. Work that goes on
   * at its deadline, or after the time given, keeps its lease, which is renewed no more and runs out. `handsOver`: leases that are given back go to their waiters.
   */
  async close(why: TenureError, { timeoutUs, handsOver = false }: LeaveOptions = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = why;
    this.#requests.abandonAll(why);
    this.#endQuestions(why);
    const leases = this.#held.values();
    // The holder of a lease that is about to end was told to stop, and has not said that it did: let it run out.
    const byHand = leases.filter((lease) => !this.#works.has(lease) && !lease.isStoodUnder && (lease.isOver || !lease.isEnding));
    for (const lease of this.#works.leases()) this.lapse(lease);
    for (const lease of leases) lease.cutShort(why);
    const to = handsOver ? this.transfers : null;
    await Promise.all([this.#releases.giveBack(byHand, timeoutUs, to), this.#works.ended(timeoutUs)]);
    this.#releases.abandonAll();
    this.#endAll(why);
  }

  /** The node fell silent: everything it held is lost. */
  fail(error: TenureError): void {
    this.#closed ??= error;
    this.#requests.failAll(error);
    this.#endQuestions(error);
    this.#endAll(error);
    this.#releases.abandonAll();
  }

  #endQuestions(why: TenureError): void {
    this.#questions.rejectAll(why);
    this.#proclaims.reject(why);
    this.#changes.reject(why);
    this.transfers.rejectAll(why);
    this.#watches.endAll();
  }

  #endAll(why: TenureError): void {
    for (const lease of this.#held.values()) this.#endLost(lease, why);
    this.#held.clear();
  }

  /** Its holder has stopped. Told before other processes can hear of it: in a history, the next holder comes after this. */
  #endReleased(lease: HeldLease, isHandedOver = false): void {
    const { observer } = this.#ground;
    this.#gates.forget(lease.number);
    lease.endReleased(isHandedOver);
    this.#letProcessGo(lease);
    if (lease.isGivenBack) observer.released(lease, this.#heldUs(lease));
    else observer.lost(lease, this.#heldUs(lease), this.#lossOf(lease, false));
    if (this.#proclaims.count > 0) this.#proclaims.reject(lost(lease, 'was released'), lease.number);
    if (this.#changes.count > 0) this.#changes.reject(lost(lease, 'was released'), lease.number);
  }

  #endLost(lease: HeldLease, why: TenureError): void {
    this.#gates.forget(lease.number);
    // The release of a lease that is being given back was told already.
    if (!lease.isOver) this.#ground.observer.lost(lease, this.#heldUs(lease), why);
    lease.endLost(why);
    this.#letProcessGo(lease);
    if (this.#proclaims.count > 0) this.#proclaims.reject(why, lease.number);
    if (this.#changes.count > 0) this.#changes.reject(why, lease.number);
  }

  #letProcessGo(lease: HeldLease): void {
    if (this.#keeping.delete(lease)) this.#ground.alive.letGo();
  }

  #lossOf(lease: HeldLease, isAtLimit: boolean): TenureError {
    const ended = isAtLimit ? 'maxHold' : lease.endingBy;
    return ended ? endedEarly(lease, ended) : lost(lease, this.#ground.loss());
  }

  #heldUs({ grant }: HeldLease): number {
    return this.clocks.mono() - grant.grantedUs;
  }

  #checkOpen(): void {
    if (this.#closed) throw this.#closed;
  }
}
