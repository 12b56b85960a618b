/**
 * What a watch tells its reader, in order. It begins with the held leases, which it asks for. Hints follow, pushed
 * by holders; whenever some may have been missed (a connection was lost, the reader was too slow) it says so, and
 * then tells the held leases anew. Readers have a `Watch`, which shows of this only what they may use.
 */
import type { OptionTable } from '../../kernel/index.ts';
import type { KeepAlive } from '../../runtime/index.ts';
import type { HolderInfo, Listing } from '../leases/questions.ts';
import { onAbort } from '../signals.ts';

export type Change =
  /** `holder` is null when the lease ended; `meta` is what the holder says of itself, `text` the same if it is text. The same holder is told again when that changes. */
  | {
      readonly kind: 'change';
      readonly name: string;
      readonly holder: HolderInfo | null;
      readonly meta: Uint8Array | null;
      readonly text: string | null;
    }
  /** Something may have been missed: forget what you know. Held leases are told anew, up to the next `current`. */
  | { readonly kind: 'gap' }
  /** All that was held when the watch began, or after a gap, has been told. Names not told of are free. */
  | { readonly kind: 'current' };

export interface WatchOptions {
  /** Only the very name, not all that begin like it. */
  readonly exact?: boolean;
  readonly signal?: AbortSignal;
}

export const WATCH_OPTIONS: OptionTable<WatchOptions> = { exact: 'boolean', signal: 'signal' };

export type LeaseChange = Extract<Change, { kind: 'change' }>;
export type ChangeResult = IteratorResult<Change, undefined>;

/** What a feed asks of its service. */
export interface FeedSource {
  /** The leases held now. */
  present(): Promise<Listing>;
  /** Runs `act` once, after so long. Returns a function that calls it off. */
  after(delayUs: number, act: () => void): () => void;
  ended(): void;
}

/** A reader that is so many changes behind is told of a gap instead. */
export const BACKLOG_MAX = 10_000;
/** After an uncertain answer, the held leases are asked for again after this. */
const ASK_AGAIN_US = 1_000_000;
const DONE: ChangeResult = { done: true, value: undefined };

export class WatchFeed {
  readonly #prefix: string;
  readonly #isExact: boolean;
  readonly #alive: KeepAlive;
  readonly #source: FeedSource;
  readonly #calm: () => void;
  /** The held leases, told before the backlog; read up to `#presentRead`. */
  #present: Change[] = [];
  #presentRead = 0;
  readonly #backlog: Change[] = [];
  #waiting: { readonly resolve: (result: ChangeResult) => void; readonly reject: (error: unknown) => void }[] = [];
  /** Names heard of since it asked for the held leases: the answer may be older. */
  #heard: Set<string> | null = null;
  #askAgain: (() => void) | null = null;
  #ended = false;
  /** Why it was given up, until a reader was told. */
  #givenUp: { readonly reason: Error } | null = null;

  constructor(prefix: string, { exact = false, signal }: WatchOptions, alive: KeepAlive, source: FeedSource) {
    this.#prefix = prefix;
    this.#isExact = exact;
    this.#alive = alive;
    this.#source = source;
    this.#calm = onAbort(signal, (reason) => this.fail(reason));
  }

  /** Asks for the held leases. */
  ask(): void {
    this.#askAgain?.();
    this.#askAgain = null;
    const heard = new Set<string>();
    this.#heard = heard;
    void this.#answer(heard);
  }

  async #answer(heard: Set<string>): Promise<void> {
    let listing: Listing;
    try {
      listing = await this.#source.present();
    } catch {
      // The service is closed, and ends its watches.
      return;
    }
    // Asked anew since: that answer counts.
    if (this.#heard === heard && !this.#ended) this.#begin(listing, heard);
  }

  /** A learner heard something. */
  hear(change: LeaseChange): void {
    if (this.#isExact ? change.name !== this.#prefix : !change.name.startsWith(this.#prefix)) return;
    this.#heard?.add(change.name);
    this.#push(change);
  }

  /** Something may have been missed. */
  gap(): void {
    if (this.#backlog.at(-1)?.kind !== 'gap') this.#push({ kind: 'gap' });
  }

  /** Nothing more will be told. The loop over it ends with the error. */
  fail(reason: Error): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.end();
    this.#forget();
    if (waiting.length === 0) this.#givenUp = { reason };
    for (const { reject } of waiting) reject(reason);
  }

  /** Ends the loop over it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#calm();
    this.#askAgain?.();
    this.#source.ended();
    for (const { resolve } of this.#waiting) resolve(DONE);
    this.#waiting = [];
  }

  next(): Promise<ChangeResult> {
    if (this.#givenUp) {
      const { reason } = this.#givenUp;
      this.#givenUp = null;
      return Promise.reject(reason);
    }
    const value = this.#take();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve(DONE);
    const heard = new Promise<ChangeResult>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
    return this.#alive.during(heard);
  }

  /** Its reader has left the loop. */
  leave(): Promise<ChangeResult> {
    this.end();
    this.#forget();
    this.#givenUp = null;
    return Promise.resolve(DONE);
  }

  #begin({ leases, certain }: Listing, heard: ReadonlySet<string>): void {
    this.#heard = null;
    if (!certain) {
      this.#askAgain = this.#source.after(ASK_AGAIN_US, () => this.ask());
      return;
    }
    // Changes heard meanwhile are told with the held leases; changes after a gap are told after it.
    const gap = this.#backlog.findIndex(({ kind }) => kind === 'gap');
    const present = this.#backlog.splice(0, gap < 0 ? Infinity : gap);
    for (const lease of leases) {
      const { name, holder, meta, text } = lease;
      if (lease.certain && !heard.has(name)) present.push({ kind: 'change', name, holder, meta, text });
    }
    present.push({ kind: 'current' });
    this.#present = present;
    this.#presentRead = 0;
    while (this.#waiting.length > 0) {
      const value = this.#take();
      if (value === undefined) return;
      this.#waiting.shift()?.resolve({ done: false, value });
    }
  }

  #take(): Change | undefined {
    const present = this.#present[this.#presentRead];
    if (present) {
      this.#presentRead++;
      if (this.#presentRead === this.#present.length) this.#present = [];
      return present;
    }
    const change = this.#backlog.shift();
    if (change?.kind === 'gap') this.#took(change);
    return change;
  }

  /** Only a reader that has come to a gap is told the held leases anew: a reader that is behind would only fall further behind. */
  #took(change: Change): void {
    if (change.kind === 'gap' && !this.#ended) this.ask();
  }

  #push(change: Change): void {
    if (this.#ended) return;
    const waiting = this.#waiting.shift();
    if (waiting) {
      waiting.resolve({ done: false, value: change });
      this.#took(change);
      return;
    }
    if (this.#backlog.length >= BACKLOG_MAX) this.#backlog.splice(0, Infinity, { kind: 'gap' });
    else this.#backlog.push(change);
  }

  #forget(): void {
    this.#present = [];
    this.#presentRead = 0;
    this.#backlog.length = 0;
  }
}
