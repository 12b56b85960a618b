/**
 * A lease as its holder sees it. What it says of itself is computed from the clocks when it is asked, so
 * a stalled or sleeping process learns the truth with its first question, whatever timers did.
 */
import { abortMarginUs } from '../../core/index.ts';
import { parseDuration, TenureError, type Duration } from '../../kernel/index.ts';

/** What a lease asks of whoever gave it. */
export interface LeaseSource {
  /** How long it may still be acted under, by both clocks; 0 when it is over. */
  remainingUs(lease: Lease): number;
  monoUs(): number;
  /** Runs `act` once, after so long; what it returns calls that off. */
  after(delayUs: number, act: () => void): () => void;
  release(lease: Lease): Promise<void>;
  /** Gives it back as of a later time; resolves when that has come. */
  releaseLater(lease: Lease, afterUs: number): Promise<void>;
  proclaim(lease: Lease, meta: Uint8Array | string, signal: AbortSignal | undefined): Promise<void>;
  /** Keeps the process alive while somebody waits. */
  during<T>(promise: Promise<T>): Promise<T>;
}

export class Lease {
  readonly name: string;
  /** The fencing token: a positive safe integer that rises with every grant of this name, for ever. Pass it to whatever the lease protects. */
  readonly token: number;
  /** For the service: when it was granted, on the monotonic clock. */
  readonly grantedUs: number;
  readonly #source: LeaseSource;
  readonly #number: number;
  readonly #nameBytes: Uint8Array;
  #termUs: number;
  #controller: AbortController | undefined;
  #disarm: (() => void) | undefined;
  /** Why it ended; null if nobody was told and nobody asked: an error with its stack costs more than a release. */
  #over: TenureError | null | undefined;
  #released: Promise<void> | undefined;
  #leaving: Promise<void> | undefined;
  #isGivenBack = false;
  /** Why its holder is to stop, though it is not over yet. */
  #cutShort: TenureError | undefined;

  /** Leases are made by `acquire`, `tryAcquire` and `using`. */
  constructor(source: LeaseSource, number: number, name: string, nameBytes: Uint8Array, token: number, termUs: number, grantedUs: number) {
    this.#source = source;
    this.#number = number;
    this.name = name;
    this.#nameBytes = nameBytes;
    this.token = token;
    this.grantedUs = grantedUs;
    this.#termUs = termUs;
  }

  /** Of this lease among those of its process. */
  get number(): number {
    return this.#number;
  }

  /** Its name as the core knows it. */
  get nameBytes(): Uint8Array {
    return this.#nameBytes;
  }

  /** Milliseconds left to act under it; 0 when it is over. */
  remainingMs(): number {
    return this.isOver ? 0 : this.#source.remainingUs(this) / 1000;
  }

  /** The instant it ends unless it is renewed, as `performance.now()` counts. */
  get deadline(): number {
    return this.#source.monoUs() / 1000 + this.remainingMs();
  }

  /** Whether it may be acted under at this very moment. */
  get valid(): boolean {
    return this.remainingMs() > 0;
  }

  /**
   * Aborts when it is time to stop: a margin before the deadline if no renewal came, network or not. Its
   * reason is the error with code TENURE_LEASE_LOST. Also when the cell is closed under it, with TENURE_CLOSED.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#over === undefined && this.#cutShort === undefined) this.#armAbort();
      else
        this.#controller.abort(
          this.#over ?? this.#cutShort ?? new TenureError('TENURE_LEASE_LOST', `the lease on '${this.name}' was released`),
        );
    }
    return this.#controller.signal;
  }

  /**
   * Gives it back. You must have stopped before you call this. Resolves when a quorum has forgotten it, or it has run out; calling again is harmless.
   * With `after`, you may go on until then: the deadline is then at the latest, it is renewed no more, and others can have it without hearing from you
   * again. Resolves when that time has come. Not every engine can: TENURE_UNSUPPORTED.
   */
  release({ after }: { after?: Duration } = {}): Promise<void> {
    if (after !== undefined) return this.#releaseLater(after);
    this.#released ??= this.#source.release(this);
    return this.#released;
  }

  /**
   * Replaces the metadata, without giving the lease up. Resolves when a quorum has it: whoever asks from then on
   * is told. If the lease ends first it rejects with TENURE_LEASE_LOST, and others may have been told or not.
   */
  proclaim(meta: Uint8Array | string, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#source.during(this.#source.proclaim(this, meta, signal));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** For the service: it ended, and why. */
  end(error: TenureError): void {
    if (this.isOver) return;
    this.#over = error;
    this.#disarm?.();
    this.#controller?.abort(error);
  }

  /** For the service: its holder is to stop now. Until it has, or the deadline comes, the lease is not given back. */
  cutShort(error: TenureError): void {
    if (this.isOver) return;
    this.#cutShort = error;
    this.#disarm?.();
    this.#controller?.abort(error);
  }

  /** For the service: it ended as asked. Nothing is to be aborted any more. */
  stop(): void {
    if (this.isOver) return;
    this.#isGivenBack = this.valid || this.#leaving !== undefined;
    this.#over = null;
    this.#disarm?.();
  }

  /** For the service: it is given back already, as of a later time. */
  get leaving(): Promise<void> | undefined {
    return this.#leaving;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** For the service: it was given back while its holder still had it. */
  get isGivenBack(): boolean {
    return this.#isGivenBack;
  }

  /** For the service: so little is left that its holder was told to stop, and may be about to. */
  get isEnding(): boolean {
    return this.#source.remainingUs(this) <= abortMarginUs(this.#termUs);
  }

  async #releaseLater(after: Duration): Promise<void> {
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

  #armAbort(): void {
    const marginUs = abortMarginUs(this.#termUs);
    const leftUs = this.#source.remainingUs(this) - marginUs;
    if (leftUs <= 0) {
      this.#controller?.abort(
        new TenureError(
          'TENURE_LEASE_LOST',
          `the lease on '${this.name}' ${this.#leaving ? 'was given back as of now' : 'could not be renewed in time'}: stop before it ends`,
        ),
      );
      return;
    }
    // A renewal moves the deadline on; whether one came is seen when the timer fires.
    this.#disarm = this.#source.after(leftUs, () => this.#armAbort());
  }
}
