/**
 * One process of a cell, a member or a client: the peers it is connected to, how it stands, and its life from the first
 * connection to the last. What runs inside it once the engine is known is `Running`; callers have a `Cell`, which shows of this
 * only what they may use.
 */
import { EventEmitter } from 'node:events';
import { isIn, type DiskFailure, type LeaseEvent, type View } from '../../core/index.ts';
import { nodeId, quorumOf, type Incarnation, type NodeId, type TenureError } from '../../kernel/index.ts';
import { KeepAlive } from '../../runtime/index.ts';
import type { Handlers, PeerInfo } from '../../transport/index.ts';
import { LEASE_SERVICE } from '../../wire/index.ts';
import type { Engine, StartView } from '../engines/engine.ts';
import { makeEngine } from '../engines/index.ts';
import type { Lease } from '../leases/lease.ts';
import type { LeaveOptions } from '../leases/releases.ts';
import type { CellCounters } from '../observing/counters.ts';
import { Observer } from '../observing/observer.ts';
import { atCaller } from '../call-stacks.ts';
import { Services } from '../services/services.ts';
import { nextEvent } from '../signals.ts';
import { Adoption } from './adoption.ts';
import type { MemberReach } from './clock-skew.ts';
import { closed, diskFailureError, forged, memberReplaced, membersMoved, talksToReplaced, waitsToBeNoted } from './failures.ts';
import { CLIENT_NUMBER, foundingView } from './membership.ts';
import { Peers } from './peers.ts';
import { Running } from './running.ts';
import { announce, stateOf, type CellEvents, type CellState } from './state.ts';
import type { NodeOptions } from './surroundings.ts';
import { MemberChanges } from './member-change.ts';
import { tellView } from './told-view.ts';
import { ViewWatch } from './view-watch.ts';

type Phase =
  /** A client that does not know yet which engine the cell has. */
  | { readonly kind: 'reaching' }
  | { readonly kind: 'running'; readonly run: Running }
  | { readonly kind: 'leaving'; readonly run: Running | null; readonly left: Promise<void> };

type Health =
  | { readonly kind: 'well' }
  /** A member that gives no vote yet. */
  | { readonly kind: 'silent' }
  /** A member whose disk has failed: it never votes again, and holds and acquires as before. */
  | { readonly kind: 'voteless'; readonly error: TenureError }
  /** Whatever it held is lost, and it will never hold anything again. */
  | { readonly kind: 'failed'; readonly error: TenureError };

const WELL: Health = { kind: 'well' };
const SILENT: Health = { kind: 'silent' };

export class CellNode {
  readonly alive: KeepAlive = new KeepAlive();
  /** Of the cell itself, that are under way here. */
  readonly changes: MemberChanges;
  /** Beside leases. */
  readonly services: Services;
  readonly #options: NodeOptions;
  readonly #observer: Observer;
  readonly #peers: Peers;
  readonly #adoption: Adoption;
  readonly #views: ViewWatch;
  /** Members that turned a client away that has not reached any yet. */
  readonly #refusals = new Map<string, TenureError>();
  /** For calls that wait; listeners of callers may throw. */
  readonly #news = new EventEmitter<{ news: [] }>().setMaxListeners(0);
  #listeners = new EventEmitter<CellEvents>();
  #phase: Phase = { kind: 'reaching' };
  #health: Health;
  #self: number;
  /** The start view of a member that has heard of it. */
  #start: StartView | undefined;
  #state: CellState = 'no-quorum';

  constructor(options: NodeOptions) {
    const { memberIds, self, incarnation, surroundings, membership } = options;
    this.#options = options;
    this.changes = new MemberChanges({ clocks: surroundings.clocks, membership });
    this.#self = self;
    this.#start = options.start;
    this.#observer = options.observer ?? new Observer({ cell: '', node: memberIds[self] ?? `client-${incarnation}`, incarnation });
    this.#peers = new Peers(membership, self);
    if (options.start) membership.follow(options.start.view);
    this.#views = new ViewWatch({
      membership,
      transport: options.transport,
      self: () => this.#self,
      store: options.onView,
      stored: ({ epoch, id }) => this.run?.driver.command({ kind: 'view-stored', epoch, id }),
      moved: () => this.services.fail(membersMoved()),
      removed: (error) => this.#removed(error),
      misnumbered: (error) => this.#end(error),
      changed: (view) => {
        this.#news.emit('news');
        announce(() => this.#listeners.emit('view', tellView(view)));
        this.#updateState();
      },
      storing: (error) => announce(() => this.#listeners.emit('warning', error)),
    });
    this.#health = this.isMember && surroundings.restarted ? SILENT : WELL;
    this.#observer.watchOver(() => ({
      state: this.#state,
      held: this.run?.leases.held ?? 0,
      waiting: this.run?.leases.waiting ?? 0,
      clocks: this.run?.driver.clockCounts ?? null,
      nowUs: surroundings.clocks.mono(),
      peers: this.members().filter((member) => !member.self),
    }));
    this.services = new Services({
      ...options,
      kinds: options.services ?? [],
      senderOf: (peer) => this.#peers.senderOf(peer),
      alive: this.alive,
      observer: this.#observer,
      news: (signal) => nextEvent(this.#news, 'news', signal),
      failed: (error) => {
        this.#observer.partFailed(error);
        announce(() => this.#listeners.emit('failure', error));
      },
      refused: (who, error) => this.#refused(who, error),
    });
    this.#adoption = new Adoption({
      memberIds,
      clocks: surroundings.clocks,
      adopted: ({ engine, replication, config }) => {
        for (const peer of this.#peers.members()) this.#turnAway(peer);
        const view =
          membership.view ??
          foundingView(membership.places, { replication, maxTermUs: engine.timing.maxTermUs, rateErrorPpm: engine.timing.rateErrorPpm });
        this.#start = engine.can.views ? { view, isStored: false } : undefined;
        if (config.viewBytes === undefined) membership.follow(view);
        this.begin(engine, replication);
        this.#news.emit('news');
      },
      contradicted: (error) => {
        if (this.#phase.kind === 'leaving') return;
        this.run?.stop();
        this.services.fail(error);
        this.#fail(error);
      },
    });
  }

  /** The listeners to this node's events. */
  announceTo(listeners: EventEmitter<CellEvents>): void {
    this.#listeners = listeners;
  }

  get isMember(): boolean {
    return this.#options.self < CLIENT_NUMBER;
  }

  get incarnation(): Incarnation {
    return this.#options.incarnation;
  }

  get mayBootstrap(): boolean {
    return this.#options.surroundings.mayBootstrap !== false;
  }

  get state(): CellState {
    return this.#state;
  }

  /** What runs here, if anything has begun. It may have ended. */
  get run(): Running | null {
    return this.#phase.kind === 'reaching' ? null : this.#phase.run;
  }

  get isOpen(): boolean {
    return this.#phase.kind === 'running';
  }

  /** Throws TENURE_CLOSED. */
  open(): Running {
    if (this.#phase.kind !== 'running') throw closed();
    return this.#phase.run;
  }

  lifeOf(member: number): Incarnation | null {
    return member === this.#self ? this.incarnation : (this.#peers.lifeOf(member) ?? null);
  }

  isSelf(member: number): boolean {
    return member === this.#self;
  }

  members(): MemberReach[] {
    const { membership, transport } = this.#options;
    const { view } = membership;
    return membership.places.map((place) => {
      const { number } = place;
      const self = this.isSelf(number);
      return {
        ...place,
        joins: view !== null && view.old !== null && !isIn(view.old, number),
        leaves: view !== null && !isIn(view.cur, number),
        self,
        stats: self ? null : transport.peerStats(nodeId(number)),
        pace: this.run?.rates.paceOf(number) ?? 'unknown',
      };
    });
  }

  counters(): CellCounters {
    return this.#observer.counters();
  }

  async ready(signal: AbortSignal | undefined): Promise<void> {
    while ((this.open(), this.#state !== 'ready' && this.#state !== 'degraded')) {
      if ('error' in this.#health) throw atCaller(this.#health.error);
      await this.alive.during(nextEvent(this.#news, 'news', signal));
    }
  }

  // ── How it begins ──────────────────────────────────────────────────────────────────────────────────

  connect(): Promise<void> {
    return this.alive.during(this.#options.transport.open(this.#handlers));
  }

  /** A client begins once it knows the cell's configuration. If a majority turns it away, it never will. */
  async begun(signal: AbortSignal | undefined): Promise<void> {
    while (!this.run) {
      const [refusal] = this.#refusals.values();
      if (refusal && this.#refusals.size >= quorumOf(this.#options.membership.places.length)) throw atCaller(refusal);
      await this.alive.during(nextEvent(this.#news, 'news', signal));
    }
  }

  /** A client that has no more time to wait begins with what most members state so far; false if none has stated anything. */
  beginWithMost(): boolean {
    return this.#adoption.adoptMost();
  }

  begin(engine: Engine, replication: number): void {
    const { transport, surroundings } = this.#options;
    const run = new Running({
      ...this.#options,
      self: this.#self,
      start: this.#start,
      engine,
      replication,
      link: this.isMember ? transport : this.#adoption.guard(transport, replication),
      peers: this.#peers,
      members: () => this.members(),
      alive: this.alive,
      observer: this.#observer,
      heard: (event) => this.#heard(event),
      failed: (error) => this.#fail(error),
      warn: (warning) => announce(() => this.#listeners.emit('warning', warning)),
      looked: () => this.#looked(),
    });
    this.#phase = { kind: 'running', run };
    for (const peer of this.#peers.members()) this.#greet(nodeId(peer));
    if (this.#health === SILENT) this.#observer.silenceBegan(engine.timing.silenceUs, surroundings.clocks.mono());
    run.start();
    this.services.begin();
    this.#updateState();
  }

  // ── What happens to it ─────────────────────────────────────────────────────────────────────────────

  readonly #handlers: Handlers = {
    judge: (info) => this.#adoption.judge(info),
    met: (info) => this.#met(info),
    up: (peer, info) => {
      const isMember = this.#peers.isMember(peer);
      this.#peers.add(peer, info);
      this.#observer.peer(info.id, true, null, isMember);
      this.services.met(peer, info);
      if (this.#phase.kind === 'reaching') this.#adoption.reached();
      this.#news.emit('news');
      if (isMember) this.run?.leases.noteGap();
      if (isMember) this.#greet(peer);
      this.#updateState();
    },
    down: (peer, why) => {
      const isMember = this.#peers.isMember(peer);
      this.#observer.peer(this.#peers.nameOf(peer), false, why, isMember);
      this.#peers.delete(peer);
      this.services.lost(peer);
      if (isMember) this.run?.leases.noteGap();
      this.#updateState();
    },
    message: (peer, service, bytes, start, end) => {
      const isHeard =
        service === LEASE_SERVICE
          ? (this.run?.driver.receive(peer, bytes, start, end) ?? true)
          : this.services.receive(peer, service, bytes, start, end);
      // A member's message is left unheard; a peer that is sure not to be a member is closed.
      if (!isHeard && !this.#peers.isMember(peer)) this.#options.transport.expel(peer, forged(this.#peers.nameOf(peer)));
    },
    refused: (who, error) => {
      if (this.#options.membership.ids.includes(who)) this.#refusals.set(who, error);
      this.#news.emit('news');
      this.#refused(who, error);
    },
  };

  #greet(member: NodeId): void {
    const [plain, single] = [this.#peers.isPlain(member), this.#peers.isSingle(member)];
    // A client greets members of this version, too: one may have been of an earlier one when it was connected last.
    this.run?.driver.command({ kind: 'greet', member, plain, single });
  }

  #refused(who: string, error: TenureError): void {
    this.#observer.peerRefused(who, error);
    announce(() => this.#listeners.emit('refused', who, error));
  }

  /** A member that states something else than what this client adopted. */
  #turnAway(peer: number): void {
    const error = this.#adoption.objection(this.#peers.nameOf(peer));
    if (error) this.#options.transport.turnAway(nodeId(peer), error);
  }

  #heard(event: LeaseEvent): void {
    if (event.kind === 'ready') this.#silenceEnded();
    else if (event.kind === 'disk-failed') this.#diskFailed(event.why);
    else if (event.kind === 'noting') this.#observer.noting(waitsToBeNoted(event.missing, this.#options.membership));
    else if (event.kind === 'view') this.#views.follow(event.view);
    else if (event.kind === 'view-adopted') this.#views.adopted(event.view, event.isKept);
    else if (event.kind === 'outlived') this.#outlived(event.member);
    this.run?.hear(event);
    this.changes.hear(event);
  }

  // ── Views ──────────────────────────────────────────────────────────────────────────────────────────

  /** A member states the view it is in; a node that begins only when it knows a view begins with it. */
  #met(info: PeerInfo): void {
    const view = this.#views.statedBy(info);
    if (view === null) return;
    if (this.#phase.kind === 'running') {
      this.#views.heard(view);
      this.#phase.run.driver.command({ kind: 'hear-view', view });
    } else if (this.#phase.kind === 'reaching') this.#reachedIn(view);
  }

  #reachedIn(view: View): void {
    const { membership, joining } = this.#options;
    this.#views.heard(view);
    const number = joining && membership.numberOf(joining.id);
    if (joining === undefined || number === undefined) return;
    this.#self = number;
    this.#start = { view, isStored: false };
    const { maxTermUs, rateErrorPpm, replication } = view.cur;
    this.begin(makeEngine(joining.engine, { maxTermUs, rateErrorPpm }), replication);
    // A disk of its own keeps the view; otherwise the member's caller does.
    this.#views.adopted(view, this.#options.surroundings.kept !== undefined);
    this.#news.emit('news');
  }

  /** It votes no more, and says so. Its leases go on as long as its connections do. */
  #removed(error: TenureError): void {
    if ('error' in this.#health) return;
    this.#health = { kind: 'voteless', error };
    this.#observer.partFailed(error);
    this.#hasFailure(error);
  }

  /** Views that are told to this process otherwise than by a member: its configuration was read anew. */
  takeView(view: View): void {
    const { run } = this;
    if (!run) return;
    run.driver.command({ kind: 'hear-view', view });
    run.driver.command({ kind: 'view-stored', epoch: view.epoch, id: view.id });
  }

  get view(): View | null {
    return this.run?.views?.view ?? this.#options.membership.view;
  }

  /** Connected members that know of no view but the first. */
  plainMembers(): string[] {
    return this.#peers.plainMembers().map((member) => this.#peers.nameOf(member));
  }

  #silenceEnded(): void {
    if (this.#health === SILENT) this.#health = WELL;
    this.#observer.silenceEnded(this.#options.surroundings.clocks.mono());
    this.#updateState();
  }

  /** Rates of clocks were compared: a node whose own is off neither votes nor acquires, and a member votes again only after a silence. */
  #looked(): void {
    const { run } = this;
    const isMending = run !== null && run.rates.wasOff && this.isMember;
    if (isMending && !('error' in this.#health)) this.#health = run.silentForUs() > 0 ? SILENT : WELL;
    this.#updateState();
  }

  /** Another process is that member now. If it was this one, peers that are still connected here must look for the other. */
  #outlived(member: number): void {
    const { transport } = this.#options;
    const id = this.#peers.nameOf(member);
    if (!this.isSelf(member)) return transport.turnAway(nodeId(member), talksToReplaced(id));
    this.#end(memberReplaced(id));
  }

  /** This process is not the member that it took itself for. */
  #end(error: TenureError): void {
    this.run?.stop();
    this.services.fail(error);
    this.#fail(error);
    void this.#options.transport.close();
  }

  /** It promises nothing that it cannot keep: others vote without it. */
  #diskFailed(why: DiskFailure): void {
    const { run } = this;
    if (!run) return;
    const error = diskFailureError(why, run.engine.timing.aheadUsMax);
    if (this.#health.kind !== 'failed') this.#health = { kind: 'voteless', error };
    this.#observer.partFailed(error);
    this.#hasFailure(error);
  }

  #fail(error: TenureError): void {
    this.run?.fail(error);
    this.changes.fail(error);
    this.#health = { kind: 'failed', error };
    this.#observer.failed(error);
    this.#hasFailure(error);
  }

  #hasFailure(error: TenureError): void {
    this.#updateState();
    // Callers that wait for it to be ready are told, though the state may be the same as before.
    this.#news.emit('news');
    announce(() => this.#listeners.emit('failure', error));
  }

  #updateState(): void {
    const { kind } = this.#health;
    const state = stateOf({
      isWell: this.run !== null && kind !== 'failed' && this.run.rates.off === null,
      isSilent: kind === 'silent' || kind === 'voteless',
      connected: this.#options.membership.current.filter(({ number }) => this.isSelf(number) || this.#peers.senderOf(number)).length,
      members: this.#options.membership.current.length,
    });
    if (state !== this.#state) this.#enter(state);
  }

  #enter(state: CellState): void {
    this.#observer.state(state, this.#state, this.#phase.kind === 'leaving');
    this.#state = state;
    this.#news.emit('news');
    announce(() => this.#listeners.emit('state', state));
  }

  // ── How it ends ────────────────────────────────────────────────────────────────────────────────────

  async close(how: LeaveOptions = {}): Promise<void> {
    if (this.#phase.kind !== 'leaving') {
      const { run } = this;
      let follow = (_leaving: Promise<void>): void => {};
      const left = new Promise<void>((resolve) => (follow = resolve));
      // Holders are told to stop before this returns, and may call anything.
      this.#phase = { kind: 'leaving', run, left: this.alive.during(left) };
      follow(this.#leave(run, how));
    }
    return this.#phase.left;
  }

  async #leave(run: Running | null, how: LeaveOptions): Promise<void> {
    this.#adoption.stop();
    this.changes.fail(closed());
    await Promise.all([run?.leases.close(closed(), how), this.services.close(closed())]);
    run?.calls.fail(closed());
    await this.#options.transport.close();
    run?.stop();
    await this.#options.surroundings.kept?.disk.close?.();
    this.#enter('no-quorum');
    await this.#observer.close();
  }

  // ── For the testing kit ────────────────────────────────────────────────────────────────────────────

  get isAsked(): boolean {
    return this.services.isAsked || this.changes.isAsked || (this.run?.isAsked ?? false);
  }

  /** Takes a lease from its holder here; false if it is not held here. */
  lose(lease: Lease): boolean {
    return this.run?.leases.lose(lease) ?? false;
  }

  /** As if the process had died: it says and hears nothing more, and whatever is held or waited for here is over. */
  die(): void {
    const { run } = this;
    this.#adoption.stop();
    if (this.#phase.kind !== 'leaving') this.#phase = { kind: 'leaving', run, left: Promise.resolve() };
    run?.stop();
    run?.fail(closed());
    this.services.fail(closed());
    this.#peers.clear();
    this.#updateState();
  }
}
