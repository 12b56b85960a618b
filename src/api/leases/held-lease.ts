/**
 * A lease as its process keeps it: whether it is over and why, and the signal of its holder. Its validity and remaining time are
 * computed from the clocks when it is asked, so a stalled or sleeping process learns the truth with its first
 * question, whatever timers did. Callers have a `Lease`, which shows of this only what they may use.
 */
import { abortMarginUs } from '../../core/index.ts';
import { parseDuration, type Duration, type LeaseMode, type TenureError } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { endedEarly, lost, type EarlyEnd } from './errors.ts';
import type { LeaseWaiter } from './lease-waiter.ts';
import type { UpgradeOptions } from './upgrade-options.ts';

/** What a lease asks of the service that granted it. */
export interface LeaseSource {
  /** How long it may still be acted under, by both clocks; 0 when it is over. */
  remainingUs(lease: HeldLease): number;
  readonly clocks: Pick<Clocks, 'mono' | 'after'>;
  release(lease: HeldLease): Promise<void>;
  /** Gives it back as of a later time; resolves when that has come. */
  releaseLater(lease: HeldLease, afterUs: number): Promise<void>;
  proclaim(lease: HeldLease, meta: Uint8Array | string, signal: AbortSignal | undefined): Promise<void>;
  sync(lease: HeldLease, data: Uint8Array, signal: AbortSignal | undefined): Promise<void>;
  /** Renews it no more. */
  lapse(lease: HeldLease): void;
  upgrade(lease: HeldLease, options: UpgradeOptions): Promise<void>;
  downgrade(lease: HeldLease): void;
  transfer(lease: HeldLease, to: LeaseWaiter | undefined): Promise<boolean>;
}

export interface Grant {
  /** Of this lease among the leases of its process. */
  readonly number: number;
  readonly name: string;
  /** Its name as the core knows it. */
  readonly nameBytes: Uint8Array;
  readonly token: number;
  readonly mode: LeaseMode;
  /** Which one, of a name that is held by slot. */
  readonly slot?: number | undefined;
  readonly termUs: number;
  /** When it was asked for, and how long it may be held at most. */
  readonly askedUs: number;
  readonly maxHoldUs: number;
  /** On the monotonic clock. */
  readonly grantedUs: number;
}

type Stage =
  | { readonly kind: 'held' }
  /** Its holder is to stop now. Until it has, or the deadline comes, the lease is not given back. */
  | { readonly kind: 'cut-short'; readonly why: TenureError }
  /** Its holder gave it back, or wanted to when it had just run out. No error is kept: one with its stack costs more than a release. */
  | { readonly kind: 'released'; readonly inTime: boolean }
  | { readonly kind: 'lost'; readonly why: TenureError };

const HELD: Stage = { kind: 'held' };
const IN_TIME: Stage = { kind: 'released', inTime: true };
const TOO_LATE: Stage = { kind: 'released', inTime: false };

export class HeldLease {
  readonly grant: Grant;
  readonly #source: LeaseSource;
  /** Its holder's own condition that is about to end it. */
  endingBy: EarlyEnd | undefined;
  #stage: Stage = HELD;
  #termUs: number;
  #token: number;
  #mode: LeaseMode;
  #wanted: (() => void)[] | undefined;
  #controller: AbortController | undefined;
  #disarm: (() => void) | undefined;
  #released: Promise<void> | undefined;
  #leaving: Promise<void> | undefined;
  /** The lease on the collection that this is an item of, and the item that this is the collection of. */
  #above: HeldLease | undefined;
  #below: HeldLease | undefined;

  constructor(source: LeaseSource, grant: Grant) {
    this.#source = source;
    this.grant = grant;
    this.#termUs = grant.termUs;
    this.#token = grant.token;
    this.#mode = grant.mode;
  }

  /** It is held otherwise from here on. */
  retune(mode: LeaseMode, token: number): void {
    this.#mode = mode;
    this.#token = token;
  }

  upgrade(options: UpgradeOptions): Promise<void> {
    return this.#source.upgrade(this, options);
  }

  downgrade(): void {
    this.#source.downgrade(this);
  }

  transfer(to: LeaseWaiter | undefined): Promise<boolean> {
    return this.#source.transfer(this, to);
  }

  onWanted(listener: () => void): void {
    (this.#wanted ??= []).push(listener);
  }

  /** A waiter stands in line for it. */
  tellWanted(): void {
    for (const listener of this.#wanted ?? []) {
      try {
        listener();
      } catch (thrown) {
        process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
      }
    }
  }

  get name(): string {
    return this.grant.name;
  }

  get token(): number {
    return this.#token;
  }

  get mode(): LeaseMode {
    return this.#mode;
  }

  get slot(): number | undefined {
    return this.grant.slot;
  }

  get number(): number {
    return this.grant.number;
  }

  get remainingUs(): number {
    if (this.isOver) return 0;
    const ownUs = this.#source.remainingUs(this);
    return this.#above ? Math.min(ownUs, this.#above.remainingUs) : ownUs;
  }

  remainingMs(): number {
    return this.remainingUs / 1000;
  }

  get deadline(): number {
    return this.#source.clocks.mono() / 1000 + this.remainingMs();
  }

  get valid(): boolean {
    return this.remainingMs() > 0;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      const stage = this.#stage;
      if (stage.kind === 'held') this.#armAbort();
      else this.#controller.abort(stage.kind === 'released' ? lost(this, 'was released') : stage.why);
    }
    return this.#controller.signal;
  }

  release(): Promise<void> {
    this.#released ??= this.#above ? this.#releaseBoth(this.#above) : this.#source.release(this);
    return this.#released;
  }

  /** From here on the collection is given back with the item, and the item is over when the collection is. */
  standUnder(above: HeldLease): void {
    this.#above = above;
    above.#below = this;
  }

  get above(): HeldLease | undefined {
    return this.#above;
  }

  /** It is given back by an item of it. */
  get isStoodUnder(): boolean {
    return this.#below !== undefined && !this.#below.isOver;
  }

  /** The item is over for its holder before the first word of either leaves. */
  async #releaseBoth(above: HeldLease): Promise<void> {
    const released = this.#source.release(this);
    await Promise.all([released, above.release()]);
  }

  async releaseLater(after: Duration): Promise<void> {
    const afterUs = parseDuration(after);
    if (afterUs === 0) return this.release();
    if (this.#released ?? this.#leaving) return this.#released ?? this.#leaving;
    this.#leaving = this.#source.releaseLater(this, afterUs);
    // The deadline has come nearer, and so has the time to stop.
    this.#termUs = Math.min(this.#termUs, afterUs);
    this.#disarm?.();
    if (this.#controller && !this.isOver) this.#armAbort();
    return this.#leaving;
  }

  proclaim(meta: Uint8Array | string, signal: AbortSignal | undefined): Promise<void> {
    return this.#source.proclaim(this, meta, signal);
  }

  sync(data: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    return this.#source.sync(this, data, signal);
  }

  /** It ended though its holder did not give it back. */
  endLost(why: TenureError): void {
    if (this.isOver) return;
    this.#stage = { kind: 'lost', why };
    // The holder of both has to stop, and has nothing more to give back of the other.
    if (this.#above) void this.#above.release();
    if (this.#below && !this.#below.isOver) {
      this.#below.cutShort(why);
      this.#source.lapse(this.#below);
    }
    this.#disarm?.();
    this.#controller?.abort(why);
  }

  /** It ended as its holder asked. Nothing is to be aborted any more. A lease that its heir has was held until then. */
  endReleased(isHandedOver = false): void {
    if (this.isOver) return;
    this.#stage = isHandedOver || this.valid || this.#leaving !== undefined ? IN_TIME : TOO_LATE;
    this.#disarm?.();
  }

  cutShort(why: TenureError): void {
    if (this.isOver) return;
    this.#stage = { kind: 'cut-short', why };
    this.#disarm?.();
    this.#controller?.abort(why);
  }

  /** It is given back already, as of a later time. */
  get leaving(): Promise<void> | undefined {
    return this.#leaving;
  }

  get isOver(): boolean {
    return this.#stage.kind === 'released' || this.#stage.kind === 'lost';
  }

  /** Which of its holder's own conditions ends it, if it is not renewed. */
  get ended(): EarlyEnd | undefined {
    if (this.#leaving) return 'after';
    if (this.endingBy) return this.endingBy;
    const { askedUs, maxHoldUs } = this.grant;
    return this.#source.clocks.mono() + this.#source.remainingUs(this) >= askedUs + maxHoldUs ? 'maxHold' : undefined;
  }

  /** It was given back while its holder still had it. */
  get isGivenBack(): boolean {
    return this.#stage === IN_TIME;
  }

  /** So little is left that its holder was told to stop, and may be about to. */
  get isEnding(): boolean {
    return this.remainingUs <= abortMarginUs(this.#termUs);
  }

  #armAbort(): void {
    const marginUs = abortMarginUs(this.#termUs);
    const leftUs = this.remainingUs - marginUs;
    if (leftUs <= 0) {
      const { ended } = this;
      const why = ended
        ? endedEarly(this, ended, ': stop before it ends')
        : lost(this, 'could not be renewed in time: stop before it ends');
      this.#controller?.abort(why);
      return;
    }
    // A renewal moves the deadline on; whether one came is seen when the timer fires.
    this.#disarm = this.#source.clocks.after(leftUs, () => this.#armAbort());
  }
}
