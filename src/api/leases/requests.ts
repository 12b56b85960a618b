/**
 * Requests for leases that were not answered yet: the request, how to call it off, and its outcome.
 * The lease that a request gets is the lease service's.
 */
import type { LeaseCommand, LeaseEvent, RefusalReason } from '../../core/index.ts';
import {
  checkName,
  encodeName,
  NumberMap,
  parseDuration,
  TenureError,
  type Duration,
  type LeaseMode,
  type OptionTable,
} from '../../kernel/index.ts';
import type { Clocks, KeepAlive } from '../../runtime/index.ts';
import type { Lease, RenewWhile } from './lease.ts';
import type { LeaseObserver } from '../observing/lease-observer.ts';
import { unsupportedByEngine, type LeaseEngine } from './engine.ts';
import { tellHolder, type HolderInfo } from './questions.ts';

export interface AcquireOptions {
  /** How long a grant lasts unless it is renewed; it is renewed until it is released. The longest term of the cell unless told otherwise. */
  readonly term?: Duration;
  /** How long to wait while another holds it; without it, as long as it takes. 0 asks once and, if another has it, fails with TENURE_HELD. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
  /** Called once, if it must wait, when it stands in line at a majority: a request that begins after that is served after it. Only by engines that serve in order. */
  readonly onQueued?: () => void;
  /** `shared`: any number of readers hold it together, and no writer beside them; `exclusive` unless told otherwise. Not every engine can: TENURE_UNSUPPORTED. */
  readonly mode?: LeaseMode;
  /** The collection that this is an item of: it is held shared as long as the item is. An exclusive holder of the collection excludes all its items. */
  readonly within?: string;
  /**
   * Any of so many slots of the name, each held by one: worker ids, connections to something that allows a few. `slot` is tried first. Plain
   * `acquire` excludes them all. Not every engine can: TENURE_UNSUPPORTED.
   */
  readonly slots?: number;
  readonly slot?: number;
  /** With `slots`: so long after its end a slot has no holder. Together with the term at most the cell's maxTerm. */
  readonly quarantine?: Duration;
  /** It is held for this long at most, from when it was won: then it ends, renewed or not. Not every engine can: TENURE_UNSUPPORTED. */
  readonly maxHold?: Duration;
  /**
   * Asked before each renewal: a lease whose holder is not well is better lost. If it returns anything but true, throws, or has not answered
   * by the deadline, the lease is renewed no more and runs out. Not every engine can: TENURE_UNSUPPORTED.
   */
  readonly renewWhile?: RenewWhile;
  /** A few bytes that questions for the holder are answered with. */
  readonly meta?: Uint8Array | string;
  /** Whether the process stays alive as long as the lease is held: no. A held lease alone does not keep a process that has nothing else to do. */
  readonly keepAlive?: boolean;
}

export type TryResult =
  | { readonly ok: true; readonly lease: Lease }
  | {
      readonly ok: false;
      readonly reason: 'held' | 'queued' | 'contended';
      readonly holder: HolderInfo | null;
      readonly remainingMsMax: number;
      /** What the holder says of itself, as bytes and, if it is text, as text. */
      readonly meta: Uint8Array | null;
      readonly text: string | null;
    };

export type RefusedTry = Extract<TryResult, { ok: false }>;

export const TRY_OPTIONS: OptionTable<Omit<AcquireOptions, 'wait'>> = {
  term: 'any',
  signal: 'signal',
  onQueued: 'function',
  mode: 'any',
  slots: 'number',
  slot: 'number',
  quarantine: 'any',
  maxHold: 'any',
  renewWhile: 'function',
  meta: 'any',
  keepAlive: 'boolean',
  within: 'text',
};
export const ACQUIRE_OPTIONS: OptionTable<AcquireOptions> = { wait: 'any', ...TRY_OPTIONS };

export type Refused = Extract<LeaseEvent, { kind: 'refused' }>;

/** A request that was not answered yet. */
export interface PendingRequest {
  readonly name: string;
  readonly nameBytes: Uint8Array;
  readonly termUs: number;
  readonly mode: LeaseMode;
  readonly slots: number;
  readonly maxHoldUs: number;
  readonly renewWhile: RenewWhile | undefined;
  readonly askedUs: number;
  /** It does not wait, and is told why rather than refused. */
  readonly isTry: boolean;
  /** The lease that comes of it keeps the process. */
  readonly keepsAlive: boolean;
  readonly answered: (outcome: Lease | TryResult) => void;
  readonly failed: (error: unknown) => void;
  readonly onQueued: (() => void) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/** So many names are kept encoded. */
const ENCODED_MAX = 1024;

/** What requests are made with. */
interface RequestGround {
  readonly command: (command: LeaseCommand) => void;
  readonly nextNumber: () => number;
  readonly clocks: Clocks;
  readonly engine: LeaseEngine;
  readonly alive: KeepAlive;
  readonly observer: LeaseObserver;
  /** Why a request came to nothing, and what to do next, in the words of whatever grants leases. */
  readonly explain: (name: string, refused: Refused) => TenureError | Promise<TenureError>;
}

export class Requests {
  readonly #ground: RequestGround;
  readonly #asking = new NumberMap<PendingRequest>();
  readonly #encoded = new Map<string, Uint8Array>();
  #shortestTermUs = Infinity;

  constructor(ground: RequestGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#asking.size;
  }

  /** Of all terms asked for; the longest there is before any was. */
  get shortestTermUs(): number {
    return Math.min(this.#shortestTermUs, this.#ground.engine.timing.maxTermUs);
  }

  /** Throws what is wrong with the arguments: within the executor of a promise, that is its rejection. */
  ask(
    name: string,
    options: AcquireOptions,
    waitUs: number,
    isTry: boolean,
    answered: PendingRequest['answered'],
    failed: PendingRequest['failed'],
  ): void {
    const { signal, meta, onQueued, mode = 'exclusive', keepAlive: keepsAlive = false, renewWhile } = options;
    if (mode !== 'exclusive') this.#checkMode(mode);
    const nameBytes = this.#nameBytes(name);
    const { slots = 0, slot } = options;
    const quarantineUs = options.quarantine === undefined ? 0 : parseDuration(options.quarantine);
    if (options.slots !== undefined || slot !== undefined || quarantineUs > 0) this.#checkSlots(options);
    const { maxTermUs } = this.#ground.engine.timing;
    const termUs = wholeMs(options.term === undefined ? Math.max(1000, maxTermUs - quarantineUs) : parseDuration(options.term));
    const maxHoldUs = options.maxHold === undefined ? Infinity : parseDuration(options.maxHold);
    if (maxHoldUs < Infinity || renewWhile) this.#checkEnds(options);
    signal?.throwIfAborted();
    const number = this.#ground.nextNumber();
    const onAbort = signal && ((): void => this.#abandon(number, signal.reason));
    if (onAbort) signal.addEventListener('abort', onAbort, { once: true });
    this.#ground.alive.hold();
    const askedUs = this.#ground.clocks.mono();
    this.#asking.set(number, {
      name,
      nameBytes,
      termUs,
      mode,
      slots,
      maxHoldUs,
      renewWhile,
      askedUs,
      isTry,
      keepsAlive,
      answered,
      failed,
      onQueued,
      signal,
      onAbort,
    });
    this.#ground.observer.requested(name, number, slots > 0 ? 'shared' : mode);
    try {
      const copy = meta === undefined ? undefined : copyMeta(meta);
      const gated = renewWhile !== undefined;
      this.#ground.command({
        kind: 'acquire',
        lease: number,
        name: nameBytes,
        termUs,
        waitUs,
        keep: true,
        meta: copy,
        mode,
        slots,
        slot,
        quarantineUs,
        maxHoldUs,
        gated,
      });
      if (termUs < this.#shortestTermUs) this.#shortestTermUs = termUs;
    } catch (error) {
      this.#cameToNothing(number, 'cancelled')?.failed(error);
    }
  }

  #checkSlots({ slots, slot, quarantine }: AcquireOptions): void {
    const { engine } = this.#ground;
    if (slots === undefined || slots === 0) {
      const what = slot !== undefined ? 'slot' : quarantine !== undefined ? 'quarantine' : 'slots';
      throw new TenureError('TENURE_BAD_ARGUMENT', `${what} needs slots: how many there are, at least one`);
    }
    if (!engine.can.slots) throw unsupportedByEngine(engine, 'slots', 'has no slots', 'use a name for each');
  }

  #checkEnds({ maxHold }: AcquireOptions): void {
    const { engine } = this.#ground;
    const missing = maxHold === undefined ? 'renewWhile' : 'maxHold';
    if (!engine.can.endEarly) throw unsupportedByEngine(engine, missing, `has no ${missing}`, 'release the lease when its time has come');
  }

  #checkMode(mode: string): void {
    const { engine } = this.#ground;
    if (mode !== 'shared') throw new TenureError('TENURE_BAD_ARGUMENT', `mode is 'exclusive' or 'shared', not '${mode}'`);
    if (!engine.can.shared) throw unsupportedByEngine(engine, 'shared', 'has no shared leases', 'hold it exclusively');
  }

  /** Every one of them comes to nothing. */
  failAll(error: unknown): void {
    for (const number of this.#asking.keys()) this.#cameToNothing(number, 'cancelled')?.failed(error);
  }

  /** Their callers want none of them any more. */
  abandonAll(reason: unknown): void {
    for (const number of this.#asking.keys()) this.#abandon(number, reason);
  }

  refused(event: Refused): void {
    const { reason } = event;
    const asking = this.#cameToNothing(event.lease, reason);
    if (!asking) return;
    if (!asking.isTry || (reason !== 'held' && reason !== 'queued' && reason !== 'contended')) {
      asking.failed(this.#ground.explain(asking.name, event));
      return;
    }
    const holder = event.holder ? tellHolder(event.holder) : null;
    asking.answered({ ok: false, reason, holder, remainingMsMax: holder?.remainingMsMax ?? 0, meta: null, text: null });
  }

  queued(number: number): void {
    const asking = this.#asking.get(number);
    if (!asking) return;
    this.#ground.observer.queued(asking.name, number);
    try {
      asking.onQueued?.();
    } catch (thrown) {
      // What a caller's function throws is no business of the connection that brought the word.
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  }

  /** Removes the request and returns it. */
  take(number: number): PendingRequest | undefined {
    const asking = this.#asking.get(number);
    if (!asking) return undefined;
    this.#asking.delete(number);
    this.#ground.alive.letGo();
    if (asking.onAbort) asking.signal?.removeEventListener('abort', asking.onAbort);
    return asking;
  }

  /** The caller wants it no more. */
  #abandon(number: number, reason: unknown): void {
    const asking = this.#cameToNothing(number, 'cancelled');
    if (!asking) return;
    this.#ground.command({ kind: 'cancel', lease: number });
    // It may have been granted in this very step, and its caller not been told yet.
    this.#ground.command({ kind: 'release', lease: number, name: asking.nameBytes });
    asking.failed(reason);
  }

  /** The request, which gets no lease any more. */
  #cameToNothing(number: number, reason: RefusalReason): PendingRequest | undefined {
    const asking = this.take(number);
    if (asking) this.#ground.observer.refused(asking.name, number, reason, this.#ground.clocks.mono() - asking.askedUs);
    return asking;
  }

  /** Checked and encoded; most processes ask for the same few names again and again. */
  #nameBytes(name: string): Uint8Array {
    const known = this.#encoded.get(name);
    if (known) return known;
    checkName(name);
    const bytes = encodeName(name);
    if (this.#encoded.size >= ENCODED_MAX) this.#encoded.clear();
    this.#encoded.set(name, bytes);
    return bytes;
  }
}

/** The caller may use its buffer again, and the metadata must stay. */
export function copyMeta(meta: Uint8Array | string): Uint8Array {
  if (typeof meta === 'string') return Buffer.from(meta);
  if (meta instanceof Uint8Array) return Uint8Array.from(meta);
  throw new TenureError('TENURE_BAD_ARGUMENT', 'metadata is text or bytes (a Uint8Array)');
}

/** Terms are whole milliseconds; a third of something is rounded down. */
function wholeMs(span: number): number {
  return Math.floor(span / 1000) * 1000;
}
