/**
 * The lease service on the quorum engine: turns calls into commands of the core, and what the core says
 * into leases, answers and errors. One per process; every waiting call takes an AbortSignal.
 */
import type { QuorumCommand, QuorumCore, QuorumEvent, QuorumMessage, Timing } from '../core/index.ts';
import { checkName, decodeName, encodeName, parseDuration, TenureError, type Duration, type Incarnation } from '../kernel/index.ts';
import type { Clocks, Driver } from '../runtime/index.ts';
import { Lease, type LeaseSource } from './lease.ts';

export interface AcquireOptions {
  /** How long a grant lasts unless it is renewed; it is renewed until it is released. The longest term of the cell unless told otherwise. */
  readonly term?: Duration;
  /** How long to wait while another holds it; without it, as long as it takes. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
  /** A few bytes for whoever asks who holds it. */
  readonly meta?: Uint8Array | string;
}

export interface HolderInfo {
  /** Which start of which process: changes with every restart. */
  readonly incarnation: number;
  readonly token: number;
  /** It cannot last longer than this unless it is renewed. */
  readonly remainingMsMax: number;
}

export interface HolderAnswer {
  readonly holder: HolderInfo | null;
  /** False if too few members answered to be sure. */
  readonly certain: boolean;
  readonly meta: Uint8Array | null;
}

export type TryResult =
  | { readonly ok: true; readonly lease: Lease }
  | {
      readonly ok: false;
      readonly reason: 'held' | 'queued' | 'contended';
      readonly holder: HolderInfo | null;
      readonly remainingMsMax: number;
    };

export interface Change {
  readonly name: string;
  /** Null when it became free. */
  readonly holder: HolderInfo | null;
}

type QuorumDriver = Driver<QuorumMessage, QuorumCommand, QuorumEvent>;
type Refused = Extract<QuorumEvent, { kind: 'refused' }>;

/** A request that was not answered yet. */
interface Asking {
  readonly name: string;
  readonly nameBytes: Uint8Array;
  readonly termUs: number;
  readonly answered: (outcome: Lease | Refused) => void;
  readonly failed: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/** A wait without limit: a year. The longest duration there is. */
const WAIT_US_MAX = parseDuration('365d');

export class LeaseService implements LeaseSource {
  readonly #driver: QuorumDriver;
  readonly #core: QuorumCore;
  readonly #clocks: Clocks;
  readonly #timing: Timing;
  readonly #memberIds: readonly string[];
  readonly #asking = new Map<number, Asking>();
  readonly #held = new Map<number, Lease>();
  readonly #releasing = new Map<number, () => void>();
  readonly #questions = new Map<number, { resolve: (answer: HolderAnswer) => void; reject: (error: unknown) => void }>();
  readonly #watches = new Set<(change: Change) => void>();
  #nextNumber = 1;
  #closed: TenureError | null = null;

  constructor(driver: QuorumDriver, core: QuorumCore, clocks: Clocks, timing: Timing, memberIds: readonly string[]) {
    this.#driver = driver;
    this.#core = core;
    this.#clocks = clocks;
    this.#timing = timing;
    this.#memberIds = memberIds;
  }

  /** Waits for the lease, in order: not overtaken by a request that began after this one was queued at a majority. */
  async acquire(name: string, options: AcquireOptions = {}): Promise<Lease> {
    const waitUs = options.wait === undefined ? WAIT_US_MAX : parseDuration(options.wait);
    const outcome = await this.#ask(name, options, Math.max(1, waitUs));
    if (outcome instanceof Lease) return outcome;
    throw this.#explain(name, outcome);
  }

  /** Takes it if it is free, and says who holds it if not. */
  async tryAcquire(name: string, options: Omit<AcquireOptions, 'wait'> = {}): Promise<TryResult> {
    const outcome = await this.#ask(name, options, 0);
    if (outcome instanceof Lease) return { ok: true, lease: outcome };
    const { reason, holder } = outcome;
    if (reason !== 'held' && reason !== 'queued' && reason !== 'contended') throw this.#explain(name, outcome);
    const info = holder ? tellHolder(holder) : null;
    return { ok: false, reason, holder: info, remainingMsMax: info?.remainingMsMax ?? 0 };
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
    let result: T;
    try {
      result = await work(lease);
    } catch (error) {
      await lease.release();
      throw error;
    }
    const wasLost = !lease.valid;
    await lease.release();
    if (wasLost) throw new LeaseLostError(name, result);
    return result;
  }

  /** Asks a quorum who holds it. */
  async holder(name: string): Promise<HolderAnswer> {
    checkName(name);
    this.#checkOpen();
    const number = this.#nextNumber++;
    return new Promise((resolve, reject) => {
      this.#questions.set(number, { resolve, reject });
      this.#driver.command({ kind: 'query', lease: number, name: encodeName(name) });
    });
  }

  // ── For leases ─────────────────────────────────────────────────────────────────────────────────────

  remainingUs(lease: Lease): number {
    if (this.#driver.isStopped) return 0;
    return this.#core.remainingUs(lease.number, lease.nameBytes, this.#clocks.mono(), this.#clocks.wall());
  }

  monoUs(): number {
    return this.#clocks.mono();
  }

  release(lease: Lease): Promise<void> {
    const { number } = lease;
    if (lease.isOver || !this.#held.has(number)) return Promise.resolve();
    lease.stop();
    return new Promise((resolve) => {
      this.#releasing.set(number, resolve);
      this.#driver.command({ kind: 'release', lease: number, name: lease.nameBytes });
    });
  }

  // ── The core speaks ────────────────────────────────────────────────────────────────────────────────

  tell(event: QuorumEvent): void {
    switch (event.kind) {
      case 'granted': {
        const asking = this.#takeAsking(event.lease);
        if (!asking) return;
        const lease = new Lease(this, event.lease, asking.name, asking.nameBytes, event.token, asking.termUs);
        this.#held.set(event.lease, lease);
        asking.answered(lease);
        return;
      }
      case 'refused':
        this.#takeAsking(event.lease)?.answered(event);
        return;
      case 'lost': {
        const lease = this.#held.get(event.lease);
        this.#held.delete(event.lease);
        lease?.end(new TenureError('TENURE_LEASE_LOST', `the lease on '${lease.name}' ran out: no quorum renewed it in time`));
        return;
      }
      case 'released':
        this.#held.delete(event.lease);
        this.#releasing.get(event.lease)?.();
        this.#releasing.delete(event.lease);
        return;
      case 'answered': {
        const { holder, certain, meta } = event;
        this.#questions.get(event.lease)?.resolve({ holder: holder ? tellHolder(holder) : null, certain, meta });
        this.#questions.delete(event.lease);
        return;
      }
      case 'learned': {
        const name = decodeName(event.name, 0, event.name.length) ?? '';
        const change = { name, holder: event.holder ? tellHolder(event.holder) : null };
        for (const hear of this.#watches) hear(change);
        return;
      }
      case 'renewed':
      case 'renewal-failed':
      case 'stopped':
      case 'ready':
        return;
    }
  }

  /** Gives back all that is held; every waiting call ends with `error`. */
  async close(error: TenureError): Promise<void> {
    if (this.#closed) return;
    this.#closed = error;
    for (const number of this.#asking.keys()) this.#abandon(number, error);
    for (const { reject } of this.#questions.values()) reject(error);
    this.#questions.clear();
    await Promise.all([...this.#held.values()].map((lease) => lease.release()));
  }

  /** The node fell silent: everything it held is lost. */
  fail(error: TenureError): void {
    this.#closed ??= error;
    for (const number of this.#asking.keys()) this.#takeAsking(number)?.failed(error);
    for (const { reject } of this.#questions.values()) reject(error);
    for (const lease of this.#held.values()) lease.end(error);
    for (const done of this.#releasing.values()) done();
    for (const map of [this.#questions, this.#held, this.#releasing]) map.clear();
  }

  #ask(name: string, options: AcquireOptions, waitUs: number): Promise<Lease | Refused> {
    checkName(name);
    this.#checkOpen();
    const { signal, meta } = options;
    const termUs = options.term === undefined ? this.#timing.maxTermUs : parseDuration(options.term);
    signal?.throwIfAborted();
    const number = this.#nextNumber++;
    const nameBytes = encodeName(name);
    const metaBytes = typeof meta === 'string' ? Buffer.from(meta) : meta;
    return new Promise((answered, failed) => {
      const onAbort = signal && ((): void => this.#abandon(number, signal.reason));
      if (onAbort) signal.addEventListener('abort', onAbort, { once: true });
      this.#asking.set(number, { name, nameBytes, termUs, answered, failed, signal, onAbort });
      try {
        this.#driver.command({ kind: 'acquire', lease: number, name: nameBytes, termUs, waitUs, keep: true, meta: metaBytes });
      } catch (error) {
        this.#takeAsking(number)?.failed(error);
      }
    });
  }

  /** The caller wants it no more. */
  #abandon(number: number, reason: unknown): void {
    const asking = this.#takeAsking(number);
    if (!asking) return;
    this.#driver.command({ kind: 'cancel', lease: number });
    asking.failed(reason);
  }

  /** The request, which is nobody's from here on. */
  #takeAsking(number: number): Asking | undefined {
    const asking = this.#asking.get(number);
    if (!asking) return undefined;
    this.#asking.delete(number);
    if (asking.onAbort) asking.signal?.removeEventListener('abort', asking.onAbort);
    return asking;
  }

  #checkOpen(): void {
    if (this.#closed) throw this.#closed;
  }

  #explain(name: string, { reason, unreached }: Refused): TenureError {
    const missing = unreached.map((member) => this.#memberIds[member] ?? String(member)).join(', ');
    switch (reason) {
      case 'timeout':
        return new TenureError('TENURE_WAIT_TIMEOUT', `'${name}' was not free in time; wait longer, or ask holder() who has it`);
      case 'no-quorum':
        return new TenureError(
          'TENURE_NO_QUORUM',
          `no majority of members answered for '${name}'; not reached: ${missing || 'none'}. Start them or mend the network`,
          {
            unreached: missing,
          },
        );
      case 'silent':
        return new TenureError(
          'TENURE_SILENT',
          `too many members are still silent after their start to vote on '${name}'; try again in a moment, or wait`,
        );
      case 'too-long':
        return new TenureError(
          'TENURE_CONFIG_MISMATCH',
          `members refuse the term asked for '${name}': their maxTerm is shorter than ours. Give all the same maxTerm`,
        );
      case 'held':
      case 'queued':
      case 'contended':
        return new TenureError('TENURE_HELD', `'${name}' is held or wanted by others`);
      case 'cancelled':
        return new TenureError('TENURE_CLOSED', `the request for '${name}' was cancelled`);
    }
  }
}

/** The lease ran out while the work under it went on and, in its own eyes, succeeded. */
export class LeaseLostError extends TenureError {
  /** What the work returned. */
  readonly result: unknown;

  constructor(name: string, result: unknown) {
    super(
      'TENURE_LEASE_LOST',
      `the lease on '${name}' was lost before the work under it was done: someone else may have worked at the same time`,
    );
    this.result = result;
  }
}

function tellHolder({ owner, token, remainingUsMax }: { owner: Incarnation; token: number; remainingUsMax: number }): HolderInfo {
  return { incarnation: owner, token, remainingMsMax: remainingUsMax / 1000 };
}
