/**
 * A cell as one process sees it: who is connected, whether leases can be had, and the calls of its user. Here a
 * transport, a core and a driver come together; leases themselves are the lease service's.
 */
import { EventEmitter } from 'node:events';
import type { DiskFailure, LeaseEvent, Sender } from '../../core/index.ts';
import { hashText, nodeId, parseDuration, quorumOf, TenureError, type Duration, type Incarnation } from '../../kernel/index.ts';
import { KeepAlive, Pacer, type ClockWatchCounts } from '../../runtime/index.ts';
import type { Handlers, Transport } from '../../transport/index.ts';
import { Adoption } from './adoption.ts';
import { announce, stateOf, type CellEvents, type CellState } from './state.ts';
import { ClockRates } from './clock-rates.ts';
import { clockTrouble, type MemberReach } from './clock-skew.ts';
import type { CellCounters } from '../observing/counters.ts';
import { diskFailure } from './disk-failure.ts';
import { forged } from './forged.ts';
import { Election, type ElectionOptions } from '../elections/election.ts';
import { unsupported, type Engine, type LeaseCore, type RunningEngine } from '../engines/engine.ts';
import { closed } from '../leases/errors.ts';
import { LeaseService, type AcquireOptions, type HolderAnswer, type Listing, type TryResult } from '../leases/service.ts';
import type { Lease } from '../leases/lease.ts';
import { MemberCalls, type MemberStatus } from './member-calls.ts';
import { Observer } from '../observing/observer.ts';
import { SUCCESSION } from './options.ts';
import { replaced, talksToReplaced, waitsToBeNoted } from './replaced.ts';
import { nextEvent } from '../signals.ts';
import { TRIPS_A_TERM } from './short-term.ts';
import type { Surroundings } from './surroundings.ts';
import type { Watch, WatchOptions } from '../watches/watch.ts';

export type { CellState } from './state.ts';

/** What exists once it is known which engine the cell has. */
interface Running extends RunningEngine {
  readonly engine: Engine;
  readonly leases: LeaseService;
  readonly calls: MemberCalls;
  readonly pacer: Pacer;
  readonly rates: ClockRates;
}

export class Cell extends EventEmitter<CellEvents> {
  readonly #transport: Transport;
  readonly #memberIds: readonly string[];
  readonly #self: number;
  readonly #incarnation: Incarnation;
  readonly #surroundings: Surroundings;
  readonly #observer: Observer;
  readonly #alive = new KeepAlive();
  /** Who is connected, and who they have proved to be. */
  readonly #peers = new Map<number, Sender>();
  /** What clients that dialled in call themselves. */
  readonly #clientNames = new Map<number, string>();
  /** Members that turned a client away that has not reached any yet. */
  readonly #refusals = new Map<string, TenureError>();
  /** For calls that wait; listeners of callers may throw. */
  readonly #news = new EventEmitter<{ news: [] }>().setMaxListeners(0);
  readonly #adoption: Adoption;
  #run: Running | null = null;
  #silent: boolean;
  #hasFailed = false;
  /** Why this node will never be ready again. */
  #failure: TenureError | null = null;
  #isWarned = false;
  #isSkewed = false;
  #state: CellState = 'no-quorum';
  #closing: Promise<void> | null = null;

  /** Cells are made by `joinCell` and `connect`. */
  constructor(
    transport: Transport,
    memberIds: readonly string[],
    self: number,
    born: Incarnation,
    surroundings: Surroundings,
    observer: Observer = new Observer({ cell: '', node: memberIds[self] ?? `client-${born}`, incarnation: born }),
  ) {
    super();
    this.#transport = transport;
    this.#memberIds = memberIds;
    this.#self = self;
    this.#incarnation = born;
    this.#surroundings = surroundings;
    this.#observer = observer;
    observer.watchOver(() => ({
      state: this.#state,
      held: this.#run?.leases.held ?? 0,
      waiting: this.#run?.leases.waiting ?? 0,
      clocks: this.clockCounts,
      nowUs: surroundings.clocks.mono(),
      peers: this.members().filter((member) => !member.self),
    }));
    this.#silent = this.isMember && surroundings.restarted;
    this.#adoption = new Adoption({
      memberIds,
      clocks: surroundings.clocks,
      adopted: ({ engine, replication }) => {
        for (const peer of this.#peers.keys()) this.#turnAway(peer);
        this.begin(engine, replication);
        this.#news.emit('news');
      },
      contradicted: (error) => {
        if (this.#closing) return;
        this.#halt();
        this.#failed(error);
      },
    });
  }

  get isMember(): boolean {
    return this.#self < this.#memberIds.length;
  }

  /** Changes with every start: what holds leases is this, not the process's name. */
  get incarnation(): number {
    return this.#incarnation;
  }

  get state(): CellState {
    return this.#state;
  }

  /** The longest term of any lease here, as all members were told. */
  get maxTermMs(): number {
    return (this.#run?.engine.timing.maxTermUs ?? 0) / 1000;
  }

  /** Waits until leases can be had: the silence is over and a majority is connected. */
  async ready({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    while ((this.#running(), this.#state !== 'ready' && this.#state !== 'degraded')) {
      if (this.#failure) throw this.#failure;
      await this.#alive.during(nextEvent(this.#news, 'news', signal));
    }
  }

  /** How long this member will still vote for nobody; 0 when it votes and for a client, Infinity if its disk has failed. */
  get silentForMs(): number {
    return (this.#run?.core.silentForUs(this.#surroundings.clocks.mono()) ?? 0) / 1000;
  }

  /** The engine of the cell, with its parameters: `quorum`, `flease:4,skew=500ms`. */
  get engine(): string {
    return this.#run?.engine.text ?? 'unknown';
  }

  /** Asks every member how it stands. Where the engine has no such question, tells who is connected. */
  async status(): Promise<MemberStatus[]> {
    const { calls, engine, core } = this.#running();
    if (engine.can.status) return this.#alive.during(calls.status());
    const silentForUs = core.silentForUs(this.#surroundings.clocks.mono());
    return calls.connections((member) =>
      member === this.#self
        ? { incarnation: this.#incarnation, silentForUs }
        : { incarnation: this.#peers.get(member)?.incarnation ?? null, silentForUs: null },
    );
  }

  /**
   * Ends the silence of a brand-new cell at once. Every member must be present and silent, and nobody may have
   * used the cell before: members cannot know what they have forgotten. Refused with TENURE_BOOTSTRAP_REFUSED otherwise.
   */
  async bootstrap({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const { calls, engine } = this.#running();
    if (!engine.can.bootstrap) throw unsupported(engine, 'bootstrap', 'ends no silence early', 'wait until it is over');
    if (this.#surroundings.mayBootstrap === false) {
      throw new TenureError('TENURE_BOOTSTRAP_REFUSED', "a client needs the members' secret to bootstrap: connect with it as `secret`");
    }
    return this.#alive.during(calls.bootstrap(signal));
  }

  /** Waits for the lease, in order; it is renewed until it is released. Not re-entrant: who holds it and asks again waits like any other. */
  acquire(name: string, options?: AcquireOptions): Promise<Lease> {
    return this.#isOpen() ? this.#leases().acquire(name, options) : Promise.reject(closed());
  }

  /** Takes the lease if it is free, and says who holds it if not. */
  tryAcquire(name: string, options?: Omit<AcquireOptions, 'wait'>): Promise<TryResult> {
    return this.#isOpen() ? this.#leases().tryAcquire(name, options) : Promise.reject(closed());
  }

  /** Runs `work` under the lease. Its own error always comes out; if the lease was lost though it succeeded, `TENURE_LEASE_LOST` with the `result`. */
  using<T>(name: string, work: (lease: Lease) => Promise<T> | T): Promise<T>;
  using<T>(name: string, options: AcquireOptions, work: (lease: Lease) => Promise<T> | T): Promise<T>;
  async using<T>(
    name: string,
    ...rest: [(lease: Lease) => Promise<T> | T] | [AcquireOptions, (lease: Lease) => Promise<T> | T]
  ): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    return this.#alive.during(this.#leases().using(name, options, work));
  }

  /** Takes all of them, or none. */
  async acquireAll(names: readonly string[], options?: AcquireOptions): Promise<Lease[]> {
    return this.#alive.during(this.#leases().acquireAll(names, options));
  }

  /** An election: candidates, a leader, and those who want to know who leads. */
  elect(name: string, options?: ElectionOptions): Election {
    return new Election(this, name, options);
  }

  /** Tells what is held under the prefix and then, as hints, what changes; what may have been missed is told as a gap. */
  watch(prefix?: string, options?: WatchOptions): Watch {
    return this.#leases().watch(prefix, options);
  }

  /** Asks a quorum who holds the lease. */
  async holder(name: string, options?: { signal?: AbortSignal }): Promise<HolderAnswer> {
    return this.#alive.during(this.#leases().holder(name, options));
  }

  /** Asks a quorum who holds what, under a prefix or at all. */
  async list(prefix?: string, options?: { signal?: AbortSignal }): Promise<Listing> {
    return this.#alive.during(this.#leases().list(prefix, options));
  }

  /** How each member is reached: connection, round trip, clock offset, the pace of its clock. */
  members(): MemberReach[] {
    return this.#memberIds.map((id, member) => ({
      id,
      self: member === this.#self,
      stats: member === this.#self ? null : this.#transport.peerStats(nodeId(member)),
      pace: this.#run?.rates.paceOf(member) ?? 'unknown',
    }));
  }

  /** What was counted so far: a plain object, cheap enough to be asked for every second. */
  counters(): CellCounters {
    return this.#observer.counters();
  }

  /** Stalls of the event loop, sleeps of the machine and steps of its wall clock, seen so far. */
  get clockCounts(): Readonly<ClockWatchCounts> | null {
    return this.#run?.driver.clockCounts ?? null;
  }

  /**
   * Ends every waiting call with TENURE_CLOSED, aborts the signals of what is held, gives it back and leaves. Work under
   * `using` is waited for up to its deadline, or for `timeout`: what has not stopped by then keeps its lease, which runs
   * out. What was acquired by hand is given back at once: you have stopped. If members do not answer it leaves after a
   * moment. Any number of calls.
   */
  async close({ timeout }: { timeout?: Duration } = {}): Promise<void> {
    const timeoutUs = timeout === undefined ? undefined : parseDuration(timeout);
    this.#closing ??= this.#alive.during(this.#close(timeoutUs));
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ── For joinCell and connect ───────────────────────────────────────────────────────────────────────

  open(): Promise<void> {
    return this.#alive.during(this.#transport.open(this.#handlers));
  }

  /** A client begins once it knows the cell's configuration. If a majority turns it away, it never will. */
  async begun(signal: AbortSignal | undefined): Promise<void> {
    while (!this.#run) {
      const [refusal] = this.#refusals.values();
      if (refusal && this.#refusals.size >= quorumOf(this.#memberIds.length)) throw refusal;
      await this.#alive.during(nextEvent(this.#news, 'news', signal));
    }
  }

  /** A client that has no more time to wait begins with what it was told so far; false if that is nothing. */
  settle(): boolean {
    return this.#adoption.settle();
  }

  begin(engine: Engine, replication: number): void {
    const memberKeys = this.#memberIds.map(hashText);
    const { clocks, restarted, kept, firstNumber, succession = SUCCESSION } = this.#surroundings;
    const { driver, core } = engine.run({
      ...this.#surroundings,
      memberKeys,
      replication,
      boot: { self: nodeId(this.#self), incarnation: this.#incarnation, restarted, diskKept: kept?.isKept ?? false },
      keeps: kept?.keeps ?? 'nothing',
      succession,
      link: this.isMember ? this.#transport : this.#adoption.guard(this.#transport, replication),
      disk: kept?.disk,
      senderOf: (peer) => this.#peers.get(peer),
      onClockNotice: (kind, us) => this.#observer.stalled(kind, us),
      onEvent: (event) => this.#heard(event),
      onFailure: (error) => this.#failed(error),
    });
    const members = (): MemberReach[] => this.members();
    const rates = new ClockRates({
      timing: engine.timing,
      members,
      lifeOf: (member) => this.#peers.get(member)?.incarnation,
      command: (command) => driver.command(command),
      onOff: (warning) => announce(() => this.emit('warning', this.#observer.clockRate(warning))),
      onFine: () => this.#observer.clockRateFine(),
    });
    const ground = { engine, driver, core, clocks, members, alive: this.#alive, observer: this.#observer, firstNumber };
    const leases = new LeaseService({ ...ground, clockOff: () => rates.off });
    const calls = new MemberCalls(driver, this.#transport, this.#memberIds, engine.timing, (member) => rates.paceOf(member));
    const pacer = new Pacer({
      clocks,
      quorum: quorumOf(replication),
      roundTripsUs: () => members().map(({ self, stats }) => (self ? 0 : stats?.connected ? stats.rttUs : null)),
      onRoundTrip: (rttUs) => this.#pace(rttUs),
      onLook: () => this.#lookAtClocks(rates, core),
    });
    this.#run = { engine, driver, core, leases, calls, pacer, rates };
    if (this.#silent) this.#observer.silenceBegan(engine.timing.silenceUs, clocks.mono());
    for (const one of [driver, pacer]) one.start();
    this.#updateState();
  }

  #heard(event: LeaseEvent): void {
    const run = this.#run;
    if (event.kind === 'ready') {
      this.#silent = false;
      this.#observer.silenceEnded(this.#surroundings.clocks.mono());
      this.#updateState();
    } else if (event.kind === 'disk-failed') {
      this.#diskFailed(event.why);
    } else if (event.kind === 'noting') {
      this.#observer.noting(waitsToBeNoted(event.missing, this.#memberIds));
    } else if (event.kind === 'outlived') {
      this.#outlived(event.member);
    }
    if (run && !run.calls.tell(event)) run.leases.tell(event);
  }

  #failed(error: TenureError): void {
    this.#run?.leases.fail(error);
    this.#run?.calls.fail(error);
    this.#observer.failed(error);
    this.#hasFailed = true;
    this.#failure = error;
    this.#updateState();
    this.#news.emit('news');
    announce(() => this.emit('failure', error));
  }

  // ── For the testing kit ────────────────────────────────────────────────────────────────────────────

  get isAsked(): boolean {
    return (this.#run?.leases.isAsked ?? false) || (this.#run?.calls.isAsked ?? false);
  }

  /** Takes a lease from its holder here; false if it is not held here. */
  lose(lease: Lease): boolean {
    return this.#run?.leases.lose(lease) ?? false;
  }

  /** As if the process had died: it says and hears nothing more, and whatever is held or waited for here is over. */
  die(): void {
    const error = closed();
    this.#adoption.stop();
    this.#closing ??= Promise.resolve();
    this.#halt();
    this.#run?.leases.fail(error);
    this.#run?.calls.fail(error);
    this.#peers.clear();
    this.#updateState();
  }

  readonly #handlers: Handlers = {
    judge: (info) => this.#adoption.judge(info),
    up: (peer, info) => {
      this.#peers.set(peer, { node: peer, incarnation: info.incarnation, isAdmin: info.isAdmin === true });
      const isMember = peer < this.#memberIds.length;
      if (!isMember) this.#clientNames.set(peer, info.id);
      this.#observer.peer(info.id, true, null, isMember);
      if (!this.#run) this.#adoption.reached();
      this.#news.emit('news');
      if (isMember) this.#run?.leases.noteGap();
      if (isMember && this.isMember) this.#run?.driver.command({ kind: 'greet', member: peer });
      this.#updateState();
    },
    down: (peer, why) => {
      this.#peers.delete(peer);
      this.#observer.peer(this.#memberIds[peer] ?? this.#clientNames.get(peer) ?? '', false, why, peer < this.#memberIds.length);
      this.#clientNames.delete(peer);
      if (peer < this.#memberIds.length) this.#run?.leases.noteGap();
      this.#updateState();
    },
    message: (peer, bytes, start, end) => {
      const isHeard = this.#run?.driver.receive(peer, bytes, start, end) ?? true;
      // Of a member it is left unheard; who is sure not to be one leaves.
      if (!isHeard && peer >= this.#memberIds.length) this.#transport.expel(peer, forged(this.#clientNames.get(peer) ?? ''));
    },
    refused: (who, error) => {
      if (this.#memberIds.includes(who)) this.#refusals.set(who, error);
      this.#news.emit('news');
      this.#observer.peerRefused(who, error);
      announce(() => this.emit('refused', who, error));
    },
  };

  /** A member that states something else than what this client adopted. */
  #turnAway(peer: number): void {
    const error = this.#adoption.objection(this.#memberIds[peer] ?? '');
    if (error) this.#transport.turnAway(nodeId(peer), error);
  }

  /**
   * Round trips were measured: the core's patience follows, and whoever asks for terms too short for them is told,
   * once. So is one whose clock is too far from others' (rule 13); the core counts no votes across such a gap.
   */
  #pace(rttUs: number): void {
    const run = this.#run;
    if (!run || run.driver.isStopped) return;
    run.driver.command({ kind: 'retime', rttUs });
    const trouble = clockTrouble(this.members(), run.engine);
    if (trouble !== null && !this.#isSkewed) announce(() => this.emit('warning', trouble));
    this.#isSkewed = trouble !== null;
    const termUs = run.leases.shortestTermUs;
    const isShort = termUs < TRIPS_A_TERM * rttUs;
    if (isShort && !this.#isWarned) announce(() => this.emit('warning', this.#observer.shortTerm(termUs, rttUs)));
    this.#isWarned = isShort;
  }

  /** Rates of clocks were read: a node whose own is off neither votes nor acquires, and a member votes again only after a silence. */
  #lookAtClocks(rates: ClockRates, core: LeaseCore): void {
    rates.look();
    if (rates.wasOff && this.isMember) this.#silent = core.silentForUs(this.#surroundings.clocks.mono()) > 0;
    this.#updateState();
  }

  #updateState(): void {
    const members = this.#memberIds.length;
    let connected = this.isMember ? 1 : 0;
    for (const peer of this.#peers.keys()) if (peer < members) connected++;
    const isWell = this.#run !== null && !this.#hasFailed && this.#run.rates.off === null;
    const state = stateOf({ isWell, isSilent: this.#silent, connected, members });
    if (state === this.#state) return;
    this.#observer.state(state, this.#state, this.#closing !== null);
    this.#state = state;
    this.#news.emit('news');
    announce(() => this.emit('state', state));
  }

  readonly #isOpen = (): boolean => this.#run !== null && this.#closing === null;

  #halt(): void {
    this.#run?.driver.stop();
    this.#run?.pacer.stop();
  }

  /** Another process is that member now. If it was this one, whoever is still connected here is to look for the other. */
  #outlived(member: number): void {
    const id = this.#memberIds[member] ?? '';
    if (member !== this.#self) return this.#transport.turnAway(nodeId(member), talksToReplaced(id));
    this.#halt();
    this.#failed(replaced(id));
    void this.#transport.close();
  }

  /** What it cannot keep it does not promise: others vote without it. */
  #diskFailed(why: DiskFailure): void {
    const run = this.#run;
    if (!run) return;
    const error = diskFailure(why, run.engine.timing.aheadUsMax);
    this.#failure = error;
    this.#observer.diskFailed(error);
    this.#silent = true;
    this.#updateState();
    // Whoever waits for it to be ready is told, though the state may be the same as before.
    this.#news.emit('news');
    announce(() => this.emit('failure', error));
  }

  #running(): Running {
    if (!this.#run || this.#closing) throw closed();
    return this.#run;
  }

  readonly #leases = (): LeaseService => this.#running().leases;

  async #close(timeoutUs: number | undefined): Promise<void> {
    this.#adoption.stop();
    await this.#run?.leases.close(closed(), timeoutUs);
    this.#run?.calls.fail(closed());
    await this.#transport.close();
    this.#halt();
    await this.#surroundings.kept?.disk.close?.();
    this.#observer.state('no-quorum', this.#state, true);
    this.#state = 'no-quorum';
    this.#news.emit('news');
    announce(() => this.emit('state', this.#state));
    await this.#observer.close();
  }
}
