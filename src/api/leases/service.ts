/**
 * The lease service, on any engine: turns calls into commands of the core, and what the core says
 * into leases, answers and errors. One per process; every waiting call takes an AbortSignal.
 */
import type { LeaseCommand, LeaseEvent } from '../../core/index.ts';
import { checkName, compareNames, encodeName, encodePrefix, NumberMap, parseDuration, TenureError } from '../../kernel/index.ts';
import type { Clocks, KeepAlive } from '../../runtime/index.ts';
import type { MemberReach } from '../cell/clock-skew.ts';
import { unsupported, type Engine, type LeaseCore, type LeaseDriver, type RunningEngine } from '../engines/engine.ts';
import { Lease, type LeaseSource } from './lease.ts';
import { LeaseLostError, lost } from './errors.ts';
import { FIRST_CALL_NUMBER } from '../cell/member-calls.ts';
import type { Observer } from '../observing/observer.ts';
import { Proclaims } from './proclaims.ts';
import { Questions, tellHolder, tellName, type HolderAnswer, type HolderInfo, type Listing } from './questions.ts';
import { copyMeta, Requests, type AcquireOptions, type Asking, type TryResult } from './requests.ts';
import { Watch, type WatchOptions } from '../watches/watch.ts';
import { Watches } from '../watches/watches.ts';

export type { HolderAnswer, HolderInfo, ListedLease, Listing } from './questions.ts';
export type { AcquireOptions, TryResult } from './requests.ts';

/** Names that one call takes together, at most. */
export const ACQUIRE_ALL_MAX = 1000;
/** A wait without limit: a year. The longest duration there is. */
const WAIT_US_MAX = parseDuration('365d');
/** What is given back in passing is waited for as long as so many attempts take. */
const GIVE_BACK_ATTEMPTS = 4;

/** Those above are for calls that ask all members. */
export const LEASE_NUMBERS_MAX: number = FIRST_CALL_NUMBER - 1;

const RAN_OUT = 'ran out: no quorum renewed it in time';
const CLOCK_OFF = "may be over: this process's clock runs otherwise than the members', or stood still";
const NO_OPTIONS: AcquireOptions = {};

/** What a lease service lives on. */
interface ServiceGround extends RunningEngine {
  readonly engine: Engine;
  readonly clocks: Clocks;
  readonly members: () => readonly MemberReach[];
  readonly alive: KeepAlive;
  readonly observer: Observer;
  /** Why nothing is acquired or renewed here, if this node's clock is off. */
  readonly clockOff: () => TenureError | null;
  readonly firstNumber?: number | undefined;
}

export class LeaseService implements LeaseSource {
  readonly #engine: Engine;
  readonly #driver: LeaseDriver;
  readonly #core: LeaseCore;
  readonly #clocks: Clocks;
  readonly #alive: KeepAlive;
  readonly #observer: Observer;
  readonly #clockOff: () => TenureError | null;
  readonly #requests: Requests;
  readonly #held = new NumberMap<Lease>();
  /** Work of `using` that has not ended, and its end. What it runs under is given back by it and nobody else (rule 6). */
  readonly #works = new Map<Lease, Promise<void>>();
  readonly #releasing = new NumberMap<() => void>();
  readonly #questions: Questions;
  readonly #proclaims = new Proclaims();
  readonly #watches = new Watches();
  #nextNumber: number;
  #closed: TenureError | null = null;

  constructor({ engine, driver, core, clocks, members, alive, observer, clockOff, firstNumber = 1 }: ServiceGround) {
    this.#nextNumber = firstNumber;
    this.#clockOff = clockOff;
    this.#observer = observer;
    this.#alive = alive;
    this.#engine = engine;
    this.#driver = driver;
    this.#core = core;
    this.#clocks = clocks;
    const command = (one: LeaseCommand): void => driver.command(one);
    const nextNumber = (): number => this.#number();
    this.#questions = new Questions(command, nextNumber);
    this.#requests = new Requests({ command, nextNumber, clocks, timing: engine.timing, members, alive, observer, clockOff });
  }

  /** Waits for the lease; where the engine has queues in order: not overtaken by a request that began after this one was queued at a majority. */
  acquire(name: string, options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    return new Promise((answered, failed) => {
      const waitUs = options.wait === undefined ? WAIT_US_MAX : Math.max(1, parseDuration(options.wait));
      // Only a try is answered with anything but a lease.
      this.#checkOpen();
      this.#requests.ask(name, options, waitUs, false, answered as Asking['answered'], failed);
    });
  }

  /** Takes it if it is free, and says who holds it if not. */
  tryAcquire(name: string, options: Omit<AcquireOptions, 'wait'> = NO_OPTIONS): Promise<TryResult> {
    return new Promise((answered, failed) => {
      this.#checkOpen();
      this.#requests.ask(name, options, 0, true, answered as Asking['answered'], failed);
    });
  }

  /**
   * Runs `work` under the lease and gives the lease back. An error of `work` always comes out as it is; if
   * the lease was lost though `work` succeeded, TENURE_LEASE_LOST is thrown, with the result as its `result`.
   */
  async using<T>(name: string, work: (lease: Lease) => Promise<T> | T): Promise<T>;
  async using<T>(name: string, options: AcquireOptions, work: (lease: Lease) => Promise<T> | T): Promise<T>;
  async using<T>(
    name: string,
    ...rest: [(lease: Lease) => Promise<T> | T] | [AcquireOptions, (lease: Lease) => Promise<T> | T]
  ): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    const lease = await this.acquire(name, options);
    // Closed or over between the grant and this moment: the work does not begin.
    if (!lease.valid) throw this.#closed ?? lost(lease, 'was over before the work could begin');
    let ended = (): void => {};
    this.#works.set(lease, new Promise((resolve) => (ended = resolve)));
    try {
      return await this.#run(lease, work);
    } finally {
      this.#works.delete(lease);
      ended();
    }
  }

  async #run<T>(lease: Lease, work: (lease: Lease) => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await work(lease);
    } catch (error) {
      await this.#giveBack([lease]);
      throw error;
    }
    const wasLost = !lease.valid && !lease.isGivenBack;
    await this.#giveBack([lease]);
    if (wasLost) throw new LeaseLostError(lease.name, result);
    return result;
  }

  /** Asks a quorum who holds it; asks again if too few answered in time. */
  async holder(name: string, { signal }: { signal?: AbortSignal } = {}): Promise<HolderAnswer> {
    checkName(name);
    this.#checkOpen();
    return this.#questions.holder(name, signal);
  }

  /** Asks a quorum what is held under the prefix. No snapshot: what begins or ends meanwhile may be on the list or not. */
  async list(prefix = '', { signal }: { signal?: AbortSignal } = {}): Promise<Listing> {
    this.#checkOpen();
    if (!this.#engine.can.list) throw unsupported(this.#engine, 'list', 'has no list of what is held', 'ask holder() of a name');
    return this.#questions.list(prefix, signal);
  }

  /** Takes all of them, or none: in one order everywhere (of their bytes), so that two who want the same names never wait for each other. */
  async acquireAll(names: readonly string[], options: AcquireOptions = {}): Promise<Lease[]> {
    const waitUs = options.wait === undefined ? WAIT_US_MAX : parseDuration(options.wait);
    const endUs = this.#clocks.mono() + waitUs;
    const leases: Lease[] = [];
    const wanted = [...new Set(names)];
    for (const name of wanted) checkName(name);
    if (wanted.length > ACQUIRE_ALL_MAX) {
      throw new TenureError('TENURE_LIMIT', `${wanted.length} names at once, and ${ACQUIRE_ALL_MAX} are the limit: take them in parts`, {
        limit: 'names of acquireAll',
        max: ACQUIRE_ALL_MAX,
      });
    }
    try {
      for (const name of wanted.sort(compareNames)) {
        // What is left of the time given for all.
        const wait = Math.max(1, endUs - this.#clocks.mono()) / 1000;
        leases.push(await this.acquire(name, { ...options, wait }));
      }
      const gone = leases.find((lease) => !lease.valid);
      if (gone) throw lost(gone, 'was lost while others were waited for');
      return leases;
    } catch (error) {
      await this.#giveBack(leases);
      throw error;
    }
  }

  /** Tells what is held under the prefix and then, as hints, what begins, ends and is proclaimed, until the loop over it ends. */
  watch(prefix = '', options: WatchOptions = {}): Watch {
    this.#checkOpen();
    this.#checkWatch(options);
    options.signal?.throwIfAborted();
    if (options.exact) checkName(prefix);
    const bytes = encodePrefix(prefix);
    this.#watches.checkRoom();
    const watch: Watch = new Watch(prefix, options, this.#alive, {
      present: () => (options.exact ? this.#listOne(prefix) : this.list(prefix)),
      after: (delayUs, act) => this.after(delayUs, act),
      ended: () => {
        this.#watches.delete(bytes, watch);
        if (!this.#closed) this.#driver.command({ kind: 'unwatch', prefix: bytes });
      },
    });
    this.#watches.add(bytes, watch);
    this.#driver.command({ kind: 'watch', prefix: bytes });
    watch.begin();
    return watch;
  }

  #checkWatch({ exact = false }: WatchOptions): void {
    const { watch } = this.#engine.can;
    if (watch === 'none') throw unsupported(this.#engine, 'watch', 'tells nobody of its leases', 'ask holder() now and then');
    if (watch === 'name' && !exact)
      throw unsupported(this.#engine, 'watch of a prefix', 'cannot say what is held under a prefix', 'watch one name, with exact: true');
  }

  async #listOne(name: string): Promise<Listing> {
    const { holder, certain, meta } = await this.holder(name);
    return { leases: holder ? [{ name, holder, certain, meta }] : [], certain };
  }

  /** A member was lost, or came back: changes may have been missed. */
  noteGap(): void {
    for (const watch of this.#watches.all()) watch.gap();
  }

  // ── For leases ─────────────────────────────────────────────────────────────────────────────────────

  remainingUs(lease: Lease): number {
    if (this.#driver.isStopped) return 0;
    return this.#core.remainingUs(lease.number, lease.nameBytes, this.#clocks.mono(), this.#clocks.wall());
  }

  monoUs(): number {
    return this.#clocks.mono();
  }

  after(delayUs: number, act: () => void): () => void {
    return this.#clocks.after(delayUs, act);
  }

  release(lease: Lease): Promise<void> {
    const { number } = lease;
    if (lease.isOver || !this.#held.has(number)) return Promise.resolve();
    this.#stop(lease);
    return lease.leaving ?? this.#sendRelease(lease, 0);
  }

  releaseLater(lease: Lease, afterUs: number): Promise<void> {
    if (!this.#engine.can.releaseLater) {
      throw unsupported(this.#engine, 'releaseLater', 'gives leases back at once', 'release it when that time has come');
    }
    if (lease.isOver || !this.#held.has(lease.number)) return Promise.resolve();
    return this.#sendRelease(lease, afterUs);
  }

  /** Its holder has stopped. Told before the others can hear of it: in a history, whoever comes next comes after this. */
  #stop(lease: Lease): void {
    lease.stop();
    if (lease.isGivenBack) this.#observer.released(lease, this.#clocks.mono() - lease.grantedUs);
    else this.#observer.lost(lease, this.#clocks.mono() - lease.grantedUs, lost(lease, RAN_OUT));
    if (this.#proclaims.count > 0) this.#proclaims.reject(lost(lease, 'was released'), lease.number);
  }

  #sendRelease(lease: Lease, inUs: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#alive.hold();
      this.#releasing.set(lease.number, resolve);
      this.#driver.command({ kind: 'release', lease: lease.number, name: lease.nameBytes, inUs });
    });
  }

  async proclaim(lease: Lease, meta: Uint8Array | string, signal: AbortSignal | undefined): Promise<void> {
    this.#checkOpen();
    if (!lease.valid) throw lost(lease, 'is over');
    if (!this.#engine.can.renew) throw unsupported(this.#engine, 'renew', 'writes a lease once', 'say it with meta when you acquire');
    const number = this.#number();
    const bytes = copyMeta(meta);
    await this.#proclaims.wait(lease.number, number, signal, () =>
      this.#driver.command({ kind: 'proclaim', lease: lease.number, name: lease.nameBytes, meta: bytes, number }),
    );
  }

  /** Never the same twice: one that came again would be taken for the lease that had it before. */
  #number(): number {
    if (this.#nextNumber <= LEASE_NUMBERS_MAX) return this.#nextNumber++;
    throw new TenureError('TENURE_LIMIT', `this process has numbered ${LEASE_NUMBERS_MAX} leases and questions: join or connect again`, {
      limit: 'lease numbers of a process',
      max: LEASE_NUMBERS_MAX,
    });
  }

  during<T>(promise: Promise<T>): Promise<T> {
    return this.#alive.during(promise);
  }

  // ── The core speaks ────────────────────────────────────────────────────────────────────────────────

  tell(event: LeaseEvent): void {
    switch (event.kind) {
      case 'granted': {
        const asking = this.#requests.take(event.lease);
        if (!asking) return;
        const { monoUs } = this.#driver;
        const lease = new Lease(this, event.lease, asking.name, asking.nameBytes, event.token, asking.termUs, monoUs);
        this.#held.set(event.lease, lease);
        this.#observer.granted(lease, asking.termUs, monoUs - asking.askedUs, event.waited);
        asking.answered(asking.isTry ? { ok: true, lease } : lease);
        return;
      }
      case 'refused':
        this.#requests.refused(event);
        return;
      case 'lost': {
        const lease = this.#held.get(event.lease);
        this.#held.delete(event.lease);
        if (lease) this.#lost(lease, lost(lease, this.#clockOff() ? CLOCK_OFF : RAN_OUT));
        return;
      }
      case 'released': {
        const lease = this.#held.get(event.lease);
        this.#held.delete(event.lease);
        // As of a later time, and that has come.
        if (lease && !lease.isOver) this.#stop(lease);
        this.#endRelease(event.lease);
        return;
      }
      case 'answered':
      case 'listed':
        this.#questions.tell(event);
        return;
      case 'proclaimed':
        this.#proclaims.done(event.lease, event.number);
        return;
      case 'learned': {
        const { meta } = event;
        const holder: HolderInfo | null = event.holder && tellHolder(event.holder);
        this.#watches.hear(event.name, { kind: 'change', name: tellName(event.name), holder, meta });
        return;
      }
      case 'watch-refused':
        this.#watches.refuse(event.prefix);
        return;
      case 'renewed': {
        const lease = this.#held.get(event.lease);
        if (lease) this.#observer.renewed(lease);
        return;
      }
      case 'renewal-failed': {
        const lease = this.#held.get(event.lease);
        if (lease) this.#observer.renewalFailed(lease);
        return;
      }
      case 'queued':
        this.#requests.queued(event.lease);
        return;
      case 'stopped':
      case 'ready':
      case 'disk-failed':
      case 'noting':
      case 'outlived':
      case 'status-told':
      case 'bootstrapped':
        return;
    }
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
    return this.#requests.count + this.#questions.count + this.#proclaims.count + this.#releasing.size > 0;
  }

  /** For the testing kit: the lease is over for its holder, and then for everyone. False if it is not held here. */
  lose(lease: Lease): boolean {
    if (this.#held.get(lease.number) !== lease || lease.isOver) return false;
    this.tell({ kind: 'lost', lease: lease.number });
    this.#driver.command({ kind: 'release', lease: lease.number, name: encodeName(lease.name) });
    return true;
  }

  /**
   * Ends every waiting call with `why`, tells every holder to stop, and gives back what has stopped: a lease that was
   * acquired by hand at once, since its holder calls this, and the lease of a work when the work has ended. What goes on
   * at its deadline, or after the time given, keeps its lease, which is renewed no more and runs out.
   */
  async close(why: TenureError, timeoutUs?: number): Promise<void> {
    if (this.#closed) return;
    this.#closed = why;
    this.#requests.abandonAll(why);
    this.#questions.rejectAll(why);
    this.#proclaims.reject(why);
    for (const watch of this.#watches.all()) watch.end();
    const leases = this.#held.values();
    // Whoever holds what is about to end was told to stop, and has not said that it did: let it run out.
    const byHand = leases.filter((lease) => !this.#works.has(lease) && (lease.isOver || !lease.isEnding));
    for (const { number, nameBytes } of this.#works.keys()) this.#driver.command({ kind: 'lapse', lease: number, name: nameBytes });
    for (const lease of leases) lease.cutShort(why);
    await Promise.all([this.#giveBack(byHand, timeoutUs), this.#worksEnded(timeoutUs)]);
    // What was not answered ends by itself, without us.
    for (const number of this.#releasing.keys()) this.#endRelease(number);
    for (const lease of this.#held.values()) this.#lost(lease, why);
    this.#held.clear();
  }

  /** Waits for each work until it has ended and given back its lease, at most until the lease is over. */
  async #worksEnded(timeoutUs = Infinity): Promise<void> {
    const ends = [...this.#works].map(([lease, ended]) => this.#atMost(ended, Math.min(timeoutUs, this.remainingUs(lease))));
    await Promise.all(ends);
  }

  /**
   * Gives leases back and waits for the answers, but not for members that do not answer: as long as answers
   * keep coming, or at most for the time given. Whatever is not answered by then ends by itself.
   */
  async #giveBack(leases: readonly Lease[], timeoutUs?: number): Promise<void> {
    let left = leases.length;
    const all = Promise.all(
      leases.map(async (lease) => {
        await lease.release();
        left--;
      }),
    );
    const patienceUs = GIVE_BACK_ATTEMPTS * this.#engine.timing.attemptUs;
    for (let before = Infinity; left > 0 && left < before;) {
      before = timeoutUs === undefined ? left : 0;
      await this.#atMost(all, timeoutUs ?? patienceUs);
    }
  }

  async #atMost(promise: Promise<unknown>, delayUs: number): Promise<void> {
    if (delayUs <= 0) return;
    let enough = (): void => {};
    const passed = new Promise<void>((resolve) => {
      enough = this.after(delayUs, resolve);
    });
    await Promise.race([promise, passed]);
    enough();
  }

  /** The node fell silent: everything it held is lost. */
  fail(error: TenureError): void {
    this.#closed ??= error;
    this.#requests.failAll(error);
    this.#questions.rejectAll(error);
    this.#proclaims.reject(error);
    for (const watch of this.#watches.all()) watch.end();
    for (const lease of this.#held.values()) this.#lost(lease, error);
    for (const number of this.#releasing.keys()) this.#endRelease(number);
    this.#held.clear();
  }

  #endRelease(number: number): void {
    const done = this.#releasing.get(number);
    if (!done) return;
    this.#releasing.delete(number);
    this.#alive.letGo();
    done();
  }

  #lost(lease: Lease, error: TenureError): void {
    // One that is being given back was told of already.
    if (!lease.isOver) this.#observer.lost(lease, this.#clocks.mono() - lease.grantedUs, error);
    lease.end(error);
    if (this.#proclaims.count > 0) this.#proclaims.reject(error, lease.number);
  }

  #checkOpen(): void {
    if (this.#closed) throw this.#closed;
  }
}
