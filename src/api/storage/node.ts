/**
 * One process that has leases on a store: the core on its driver, the epoch of the store, the lease service on top, lists and
 * watches beside it. There are no peers. Callers have a `LeaseStorage`, which shows of this only what they may use.
 */
import { nameOfKey, type LeaseCommand, type StorageCommand, type StorageEvent, type Unreadable } from '../../core/index.ts';
import { encodeName, nodeId, TenureError, type Chooser, type Incarnation } from '../../kernel/index.ts';
import { Driver, KeepAlive, StoreUnit, type Clocks, type SharedUnit } from '../../runtime/index.ts';
import type { AccessOptions, Store } from '../../store/index.ts';
import { registerCodec } from '../../wire/index.ts';
import type { LeaseDriver } from '../leases/engine.ts';
import type { Lease } from '../leases/lease.ts';
import { tellName } from '../leases/questions.ts';
import { LeaseService } from '../leases/service.ts';
import { StoreDecisions } from './decisions.ts';
import { STORE_UNIT, type StorageEngine, type StorageLeaseCore } from './engine.ts';
import { Epochs } from './epochs.ts';
import { explainStorageRefusal, NOT_RENEWED, storageClosed, syncFailure } from './failures.ts';
import { Fetches } from './fetches.ts';
import { Lookouts } from './lookouts.ts';
import type { StorageObserver } from './observer.ts';
import { Surveys, type NameAnswer } from './surveys.ts';

/** What the testing kit plays. */
export interface StorageSurroundings {
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  /** The store as the core's unit; made of the store's own calls unless told otherwise. */
  readonly unit?: (onFailure: (error: unknown) => void) => SharedUnit;
}

export interface StorageNodeOptions {
  readonly store: Store;
  /** Whether the store is closed with the node. */
  readonly isOwned: boolean;
  readonly engine: StorageEngine;
  readonly incarnation: Incarnation;
  readonly surroundings: StorageSurroundings;
  readonly observer: StorageObserver;
}

/** The parts of it that callers hear of. */
export interface StorageNews {
  /** It broke one of its own rules, or the store was set up differently under it: it holds nothing any more. */
  readonly failure: (error: TenureError) => void;
}

/** A failure that was so many patiences ago explains nothing any more. */
const RECENT_PATIENCES = 8;

const NOBODY_THERE = { begin: () => null, end: () => undefined };

export class StorageNode {
  readonly alive: KeepAlive = new KeepAlive();
  readonly engine: StorageEngine;
  readonly leases: LeaseService;
  readonly decisions: StoreDecisions;
  readonly observer: StorageObserver;
  readonly fetches: Fetches;
  readonly #options: StorageNodeOptions;
  readonly #core: StorageLeaseCore;
  readonly #driver: Driver<never, StorageCommand, StorageEvent>;
  readonly #epochs: Epochs;
  readonly #surveys: Surveys;
  readonly #lookouts: Lookouts;
  /** Questions of the lease service: the callbacks that want the answer as well. */
  readonly #asked = new Map<number, (answer: NameAnswer) => void>();
  /** Requests whose record could not be read. */
  readonly #unreadable = new Map<number, Unreadable>();
  /** The names of syncs that were not answered, by their numbers. */
  readonly #syncs = new Map<number, string>();
  #lastFailure: { readonly error: TenureError; readonly atUs: number } | null = null;
  #isFirstEpoch = true;
  #endHints: () => Promise<void> = async () => {};
  #left: Promise<void> | null = null;
  #news: StorageNews = { failure: () => {} };

  constructor(options: StorageNodeOptions) {
    this.#options = options;
    const { store, engine, incarnation, surroundings, observer } = options;
    const { clocks, chooser } = surroundings;
    this.engine = engine;
    this.observer = observer;
    const makeUnit = surroundings.unit ?? ((onFailure) => new StoreUnit(store, { ...this.access, onFailure }));
    this.#epochs = new Epochs({
      store,
      parameters: engine.parameters,
      unit: makeUnit((error) => this.#accessFailed(error)),
      clocks,
      access: this.access,
      retryUs: engine.timing.retryUs,
      entered: (isWaitedOut) => this.#enteredEpoch(isWaitedOut),
      refused: (error) => this.#fail(error),
    });
    this.#core = engine.make({ self: nodeId(0), incarnation, restarted: true, diskKept: false });
    this.#driver = new Driver({
      core: this.#core,
      codec: registerCodec,
      ownCodec: registerCodec,
      self: nodeId(0),
      link: NOBODY_THERE,
      clocks,
      chooser,
      units: new Map([[STORE_UNIT, this.#epochs.unit]]),
      senderOf: () => undefined,
      onEvent: (event) => this.#hear(event),
      onClockNotice: (kind, us) => observer.stalled(kind, us),
      onFailure: (error) => this.#fail(error),
    });
    this.#surveys = new Surveys({
      atOnce: engine.askedAtOnce,
      unit: this.#epochs.unit,
      command: (command) => this.#driver.command(command),
    });
    this.fetches = new Fetches({
      url: store.url,
      nextNumber: () => this.#surveys.nextNumber(),
      command: (command) => this.#driver.command(command),
      lastFailure: () => this.lastFailure,
    });
    this.leases = new LeaseService({
      engine,
      driver: this.#leaseDriver(),
      core: this.#core,
      clocks,
      alive: this.alive,
      observer: observer.leases,
      explain: (name, refused) => {
        const unreadable = this.#unreadable.get(refused.lease);
        this.#unreadable.delete(refused.lease);
        return explainStorageRefusal(name, refused, { url: store.url, lastFailure: this.lastFailure, unreadable });
      },
      loss: () => NOT_RENEWED,
      sync: ({ number: lease, nameBytes, name }, data, number) => {
        this.#syncs.set(number, name);
        this.#driver.command({ kind: 'sync', lease, name: nameBytes, data, number });
      },
    });
    this.decisions = new StoreDecisions({ store, acquire: (name, wanted) => this.leases.acquire(name, wanted) });
    this.#lookouts = new Lookouts({
      surveys: this.#surveys,
      clocks,
      told: (event) => this.leases.hear(event),
      gap: () => this.leases.noteGap(),
    });
  }

  /** The listener to this node's news. */
  announceTo(news: StorageNews): void {
    this.#news = news;
  }

  get incarnation(): Incarnation {
    return this.#options.incarnation;
  }

  get url(): string {
    return this.#options.store.url;
  }

  /** How long nothing is taken, because the store may have lost writes. */
  get silentForUs(): number {
    return this.#core.silentForUs(this.#options.surroundings.clocks.mono());
  }

  /** Why an access failed a moment ago; null if none did, or no reason was given. */
  get lastFailure(): TenureError | null {
    if (this.#lastFailure === null) return null;
    const { error, atUs } = this.#lastFailure;
    const agoUs = this.#options.surroundings.clocks.mono() - atUs;
    return agoUs <= RECENT_PATIENCES * this.engine.timing.patienceUs ? error : null;
  }

  /** How long an access is waited for: the core asks no longer. */
  get access(): AccessOptions {
    return { timeoutMs: Math.ceil(this.#options.engine.timing.patienceUs / 1000) };
  }

  get isOpen(): boolean {
    return this.#left === null;
  }

  /** Throws TENURE_CLOSED. */
  open(): LeaseService {
    if (this.#left) throw storageClosed();
    return this.leases;
  }

  // ── How it begins ──────────────────────────────────────────────────────────────────────────────────

  /** `access`: how long it waits for the store while it begins. */
  async begin(access: AccessOptions): Promise<void> {
    this.#driver.start();
    await this.#epochs.begin(access);
    await this.#hearHints();
  }

  /** Hints are a favour of the store: without them it is looked at as often as there is need. */
  async #hearHints(): Promise<void> {
    const { store } = this.#options;
    if (!store.can.watch) return;
    const hint = (key: string): void => {
      const name = nameOfKey(key);
      if (name === null || this.#driver.isStopped) return;
      this.#driver.command({ kind: 'hint', name: encodeName(name) });
      this.#lookouts.hint(name);
    };
    this.#endHints = await store.watch('', hint, this.access).catch(() => this.#endHints);
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────

  /** The core answers for single names. Lists and watches are done here. */
  #leaseDriver(): LeaseDriver {
    const driver = this.#driver;
    return {
      get isStopped() {
        return driver.isStopped;
      },
      get monoUs() {
        return driver.monoUs;
      },
      command: (command) => this.#command(command),
    };
  }

  #command(command: LeaseCommand): void {
    switch (command.kind) {
      case 'list':
        this.#surveys.list(command.lease, tellPrefix(command.prefix), (event) => this.leases.hear(event), this.#lookouts.listener());
        return;
      case 'unlist':
        this.#surveys.unlist(command.lease);
        return;
      case 'watch':
        this.#lookouts.begin(tellPrefix(command.prefix), command.exact ?? false);
        return;
      case 'unwatch':
        this.#lookouts.end(tellPrefix(command.prefix), command.exact ?? false);
        return;
      case 'query': {
        const [name, heard] = [tellName(command.name), this.#lookouts.listener()];
        this.#asked.set(command.lease, (answer) => heard(name, answer));
        break;
      }
      default:
    }
    this.#driver.command(command);
  }

  // ── What happens to it ─────────────────────────────────────────────────────────────────────────────

  #hear(event: StorageEvent): void {
    switch (event.kind) {
      case 'voided':
        this.observer.voided();
        return;
      case 'unreadable':
        this.#unreadable.set(event.lease, event.why);
        this.observer.unreadable(event.key, event.why);
        return;
      case 'epoch-waited':
        void this.#epochs.waited();
        return;
      case 'compacted':
        return;
      case 'fetched':
        this.fetches.hear(event);
        return;
      case 'sync-failed':
        this.#syncFailed(event);
        return;
      case 'answered': {
        this.#unreadable.delete(event.lease);
        if (this.#surveys.hear(event)) return;
        this.#asked.get(event.lease)?.(event);
        this.#asked.delete(event.lease);
        this.leases.hear(event);
        return;
      }
      case 'proclaimed':
        this.#syncs.delete(event.number);
        this.leases.hear(event);
        return;
      case 'lost':
      case 'released':
        this.#unreadable.delete(event.lease);
        this.leases.hear(event);
        return;
      default:
        this.leases.hear(event);
    }
  }

  #syncFailed({ number, refused }: Extract<StorageEvent, { kind: 'sync-failed' }>): void {
    const name = this.#syncs.get(number) ?? '';
    this.#syncs.delete(number);
    this.leases.syncFailed(number, syncFailure(this.url, name, refused, this.lastFailure));
  }

  #accessFailed(error: unknown): void {
    const failure = error instanceof TenureError ? error : null;
    this.#lastFailure = failure && { error: failure, atUs: this.#options.surroundings.clocks.mono() };
    this.observer.accessFailed(failure);
    this.#lookouts.noteTrouble();
    this.#epochs.heard(error);
  }

  #enteredEpoch(isWaitedOut: boolean): void {
    if (!this.#driver.isStopped) this.#driver.command({ kind: 'epoch', isWaitedOut });
    this.observer.enteredEpoch(this.silentForUs / 1000, this.#isFirstEpoch);
    if (!this.#isFirstEpoch) this.leases.noteGap();
    this.#isFirstEpoch = false;
  }

  #fail(error: TenureError): void {
    this.#stop();
    this.leases.fail(error);
    this.observer.failed(error);
    this.#news.failure(error);
  }

  // ── How it ends ────────────────────────────────────────────────────────────────────────────────────

  close(timeoutUs?: number): Promise<void> {
    if (!this.#left) {
      let follow = (_leaving: Promise<void>): void => {};
      // Holders are told to stop before this returns, and may call anything.
      this.#left = this.alive.during(new Promise<void>((resolve) => (follow = resolve)));
      follow(this.#leave(timeoutUs));
    }
    return this.#left;
  }

  async #leave(timeoutUs: number | undefined): Promise<void> {
    const { store, isOwned, surroundings } = this.#options;
    const beganUs = surroundings.clocks.mono();
    this.decisions.close();
    await this.leases.close(storageClosed(), { timeoutUs });
    await this.#letGo(beganUs);
    this.#stop();
    await this.#endHints().catch(() => undefined);
    if (isOwned) await store.close();
    await this.observer.close();
  }

  /**
   * A request that was called off in the middle of its write may become a lease yet: it is given back if it does, and no other process has to wait
   * for its term. It was called off when the close began, so its answer was waited for since then.
   */
  async #letGo(beganUs: number): Promise<void> {
    const { clocks } = this.#options.surroundings;
    const { patienceUs, pollUs } = this.engine.timing;
    const endUs = beganUs + patienceUs;
    while (this.#core.isLettingGo && clocks.mono() < endUs && !this.#driver.isStopped) {
      await new Promise<void>((resolve) => void clocks.after(pollUs / 4, resolve));
    }
  }

  #stop(): void {
    this.decisions.close();
    this.fetches.failAll(storageClosed());
    this.#lookouts.stop();
    this.#epochs.stop();
    this.#driver.stop();
  }

  // ── For the testing kit ────────────────────────────────────────────────────────────────────────────

  /** Takes a lease from its holder here; false if it is not held here. */
  lose(lease: Lease): boolean {
    return this.leases.lose(lease);
  }

  /** As if the process had died: it does nothing more, and whatever is held or waited for here is over. */
  die(): void {
    this.#left ??= Promise.resolve();
    this.#stop();
    this.leases.fail(storageClosed());
  }
}

function tellPrefix(prefix: Uint8Array): string {
  return prefix.length === 0 ? '' : tellName(prefix);
}
