/**
 * The lease service on the quorum engine: turns calls into commands of the core, and what the core says
 * into leases, answers and errors. One per process; every waiting call takes an AbortSignal.
 */
import type { QuorumCommand, QuorumCore, QuorumEvent, QuorumMessage, RefusalReason, Timing } from '../core/index.ts';
import {
  checkName,
  compareNames,
  decodeName,
  encodeName,
  parseDuration,
  TenureError,
  type Duration,
  type ErrorCode,
  type Incarnation,
} from '../kernel/index.ts';
import type { Clocks, Driver, KeepAlive } from '../runtime/index.ts';
import { Lease, type LeaseSource } from './lease.ts';
import { Watch } from './watch.ts';

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
/** A question that found no certain answer is asked again so often. */
const QUESTIONS_AGAIN = 2;

export class LeaseService implements LeaseSource {
  readonly #driver: QuorumDriver;
  readonly #core: QuorumCore;
  readonly #clocks: Clocks;
  readonly #timing: Timing;
  readonly #memberIds: readonly string[];
  readonly #alive: KeepAlive;
  readonly #asking = new Map<number, Asking>();
  readonly #held = new Map<number, Lease>();
  readonly #releasing = new Map<number, () => void>();
  readonly #questions = new Map<number, { resolve: (answer: HolderAnswer) => void; reject: (error: unknown) => void }>();
  readonly #watches = new Set<Watch>();
  #nextNumber = 1;
  #closed: TenureError | null = null;

  constructor(driver: QuorumDriver, core: QuorumCore, clocks: Clocks, timing: Timing, memberIds: readonly string[], alive: KeepAlive) {
    this.#alive = alive;
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
    const wasLost = !lease.valid && !lease.isGivenBack;
    await lease.release();
    if (wasLost) throw new LeaseLostError(name, result);
    return result;
  }

  /** Asks a quorum who holds it; asks again if too few answered in time. */
  async holder(name: string): Promise<HolderAnswer> {
    checkName(name);
    let answer = await this.#question(name);
    for (let again = 0; again < QUESTIONS_AGAIN && !answer.certain; again++) answer = await this.#question(name);
    return answer;
  }

  #question(name: string): Promise<HolderAnswer> {
    this.#checkOpen();
    const number = this.#nextNumber++;
    return new Promise((resolve, reject) => {
      this.#questions.set(number, { resolve, reject });
      this.#driver.command({ kind: 'query', lease: number, name: encodeName(name) });
    });
  }

  /** Takes all of them, or none: in one order everywhere (of their bytes), so that two who want the same names never wait for each other. */
  async acquireAll(names: readonly string[], options: AcquireOptions = {}): Promise<Lease[]> {
    const waitUs = options.wait === undefined ? WAIT_US_MAX : parseDuration(options.wait);
    const endUs = this.#clocks.mono() + waitUs;
    const leases: Lease[] = [];
    try {
      for (const name of [...new Set(names)].sort(compareNames)) {
        // What is left of the time given for all.
        const wait = Math.max(1, endUs - this.#clocks.mono()) / 1000;
        leases.push(await this.acquire(name, { ...options, wait }));
      }
      const lost = leases.find((lease) => !lease.valid);
      if (lost) throw new TenureError('TENURE_LEASE_LOST', `the lease on '${lost.name}' was lost while others were waited for`);
      return leases;
    } catch (error) {
      await Promise.all(leases.map((lease) => lease.release()));
      throw error;
    }
  }

  /** Tells of grants and ends of all names with the prefix, as hints, until the loop over it ends. What may have been missed is told as a gap. */
  watch(prefix = ''): Watch {
    this.#checkOpen();
    const bytes = Buffer.from(prefix);
    const watch = new Watch(prefix, this.#alive, () => {
      this.#watches.delete(watch);
      if (!this.#closed) this.#driver.command({ kind: 'unwatch', prefix: bytes });
    });
    this.#watches.add(watch);
    this.#driver.command({ kind: 'watch', prefix: bytes });
    return watch;
  }

  /** A member was lost, or came back: changes may have been missed. */
  noteGap(): void {
    for (const watch of this.#watches) watch.gap();
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
    lease.stop();
    const released = new Promise<void>((resolve) => {
      this.#releasing.set(number, resolve);
      this.#driver.command({ kind: 'release', lease: number, name: lease.nameBytes });
    });
    return this.#alive.during(released);
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
        const holder = event.holder ? tellHolder(event.holder) : null;
        for (const watch of this.#watches) watch.hear({ name, holder });
        return;
      }
      case 'renewed':
      case 'renewal-failed':
      case 'stopped':
      case 'ready':
        return;
    }
  }

  /** Whether a call waits for its answer. */
  get isAsked(): boolean {
    return this.#asking.size + this.#questions.size + this.#releasing.size > 0;
  }

  /** For the testing kit: the lease is over for its holder, and then for everyone. False if it is not held here. */
  lose(lease: Lease): boolean {
    if (this.#held.get(lease.number) !== lease || lease.isOver) return false;
    this.tell({ kind: 'lost', lease: lease.number });
    this.#driver.command({ kind: 'release', lease: lease.number, name: encodeName(lease.name) });
    return true;
  }

  /** Gives back all that is held; every waiting call ends with `why`. */
  async close(why: TenureError): Promise<void> {
    if (this.#closed) return;
    this.#closed = why;
    for (const number of this.#asking.keys()) this.#abandon(number, why);
    for (const { reject } of this.#questions.values()) reject(why);
    this.#questions.clear();
    for (const watch of this.#watches) watch.end();
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
    const termUs = options.term === undefined ? this.#timing.maxTermUs : wholeMs(parseDuration(options.term));
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
    const [code, message] = EXPLANATIONS[reason](`'${name}'`, missing || 'none');
    return new TenureError(code, message, reason === 'no-quorum' ? { unreached: missing } : {});
  }
}

/** Why a request came to nothing, and what to do next. */
const EXPLANATIONS: Record<RefusalReason, (name: string, missing: string) => [ErrorCode, string]> = {
  timeout: (name) => ['TENURE_WAIT_TIMEOUT', `${name} was not free in time; wait longer, or ask holder() who has it`],
  'no-quorum': (name, missing) => [
    'TENURE_NO_QUORUM',
    `no majority of members answered for ${name}; not reached: ${missing}. Start them or mend the network`,
  ],
  silent: (name) => ['TENURE_SILENT', `too many members keep silent after their start to vote on ${name}; try again in a moment, or wait`],
  skewed: (name) => [
    'TENURE_CLOCK_SKEW',
    `clocks are too far apart to vote on ${name}: members and clients must agree within the skew the cell was told. Mend the clocks`,
  ],
  'too-long': (name) => [
    'TENURE_CONFIG_MISMATCH',
    `members refuse the term asked for ${name}: their maxTerm is shorter than ours. Give all the same maxTerm`,
  ],
  held: (name) => ['TENURE_HELD', `${name} is held by another`],
  queued: (name) => ['TENURE_HELD', `others wait for ${name} already`],
  contended: (name) => ['TENURE_HELD', `others want ${name} at the same moment, and the vote was split; try again`],
  cancelled: (name) => ['TENURE_CLOSED', `the request for ${name} was cancelled`],
};

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

/** Terms are whole milliseconds; a third of something is rounded down. */
function wholeMs(span: number): number {
  return Math.floor(span / 1000) * 1000;
}

function tellHolder({ owner, token, remainingUsMax }: { owner: Incarnation; token: number; remainingUsMax: number }): HolderInfo {
  return { incarnation: owner, token, remainingMsMax: remainingUsMax / 1000 };
}
