/**
 * The long examination of a store: several connections work on it for a while, a part of the answers is thrown away on
 * purpose, and in the end the books must balance. With compare-and-set they raise one counter, and every try that won, or
 * is found to have won, must be in it exactly once. Without, each has registers of its own that may never go back.
 */
import { randomBytes } from 'node:crypto';
import { AccessTimes } from './access-times.ts';
import { equalValues, type AccessOptions, type Store } from './contract.ts';

export interface ContestResult {
  readonly times: AccessTimes;
  readonly changes: number;
  /** Changes whose answer was thrown away. */
  readonly thrownAway: number;
  /** How many of these changes had happened all the same. */
  readonly foundLater: number;
  readonly lost: number;
  readonly violations: readonly string[];
}

export interface ContestOptions {
  readonly forMs: number;
  /** Called now and then with how far it is, from 0 to 1. */
  readonly progress?: (part: number) => void;
}

/** One of so many answers is not waited for. */
const THROWN_AWAY = 4;
/** Timers are too coarse for faster stores: there, turns of the event loop are counted. */
const FAST_MS = 4;
const VIOLATIONS_MAX = 20;
/** So often another connection may come first. */
const SETTLE_MAX = 1000;

export async function contest(stores: readonly Store[], { forMs, progress = () => {} }: ContestOptions): Promise<ContestResult> {
  const books = new Books();
  const prefix = `_tenure/doctor/${randomBytes(6).toString('hex')}`;
  const startMs = performance.now();
  const isOver = (): boolean => performance.now() - startMs >= forMs || books.violations.length >= VIOLATIONS_MAX;
  const canSwap = stores.every(({ can }) => can.swap);
  const workers = stores.map((store, index) =>
    canSwap ? new Contender(store, books, prefix, `c${index}`) : new Owner(store, books, `${prefix}/${index}`),
  );
  try {
    await Promise.all(
      workers.map(async (worker) => {
        while (!isOver()) {
          await worker.round();
          await new Promise((resolve) => setImmediate(resolve));
          progress(Math.min(1, (performance.now() - startMs) / forMs));
        }
        await worker.finishOpenTry();
      }),
    );
    for (const worker of workers) await worker.balance();
  } finally {
    for (const worker of workers) await worker.cleanUp();
  }
  return books;
}

/** What all workers write down together. */
class Books implements ContestResult {
  readonly times: AccessTimes = new AccessTimes();
  readonly violations: string[] = [];
  changes = 0;
  thrownAway = 0;
  foundLater = 0;
  lost = 0;
  #meanMs = 1;

  violated(what: string): void {
    if (this.violations.length < VIOLATIONS_MAX && !this.violations.includes(what)) this.violations.push(what);
  }

  async read(store: Store, key: string): Promise<Uint8Array | null> {
    return await this.#timed(async () => await store.read(key));
  }

  /** A change, sometimes without waiting for the end of it. A change that threw has not happened, and is not spoken of. */
  async change<Answer extends string>(work: (options: AccessOptions) => Promise<Answer>): Promise<Answer | 'not sent'> {
    this.changes++;
    if (this.changes % THROWN_AWAY !== 0) return await this.#timed(async () => await work({}));
    const giveUp = new AbortController();
    const takeBack = soon(this.#meanMs, () => giveUp.abort(new GaveUp()));
    try {
      const answer = await work({ signal: giveUp.signal });
      if (answer === 'unknown') this.thrownAway++;
      return answer;
    } catch (error) {
      if (error instanceof GaveUp) return 'not sent';
      throw error;
    } finally {
      takeBack();
    }
  }

  async #timed<Answer>(access: () => Promise<Answer>): Promise<Answer> {
    const startMs = performance.now();
    const answer = await access();
    const ms = performance.now() - startMs;
    this.times.add(ms);
    this.#meanMs += (ms - this.#meanMs) / 32;
    return answer;
  }
}

class GaveUp extends Error {}

/** Somewhere in the middle of an access, as far as one can tell. Returns a function that takes it back. */
function soon(accessMs: number, act: () => void): () => void {
  if (accessMs >= FAST_MS) {
    const timer = setTimeout(act, Math.random() * accessMs * 1.5);
    return () => clearTimeout(timer);
  }
  let turns = Math.floor(Math.random() * 6);
  let immediate = setImmediate(function next() {
    if (turns-- > 0) immediate = setImmediate(next);
    else act();
  });
  return () => clearImmediate(immediate);
}

interface Slot {
  /** The last try of this contender that landed, and how many have. */
  readonly attempt: number;
  readonly landed: number;
}

interface Counter {
  readonly count: number;
  readonly slots: Readonly<Record<string, Slot>>;
}

/** Raises the counter, and knows the outcome of each of its tries. */
class Contender {
  readonly #store: Store;
  readonly #books: Books;
  readonly #key: string;
  readonly #self: string;
  #attempt = 0;
  #landed = 0;
  #highest = 0;
  /** Unanswered tries, all on the same value. Once that value is gone, none of them can land any more. */
  #open: { readonly seen: Uint8Array | null; readonly attempts: number[] } | null = null;

  constructor(store: Store, books: Books, key: string, self: string) {
    this.#store = store;
    this.#books = books;
    this.#key = key;
    this.#self = self;
  }

  async round(): Promise<'won' | 'lost' | 'unknown' | 'not sent'> {
    const seen = await this.#books.read(this.#store, this.#key);
    const { count, slots } = this.#look(seen);
    const attempt = ++this.#attempt;
    const slot: Slot = { attempt, landed: (slots[this.#self]?.landed ?? 0) + 1 };
    const next: Counter = { count: count + 1, slots: { ...slots, [this.#self]: slot } };
    const bytes = Buffer.from(JSON.stringify(next));
    const outcome = await this.#books.change(async (options) => await this.#store.swap(this.#key, seen, bytes, options));
    if (outcome === 'won') {
      this.#landed++;
      this.#highest = count + 1;
      this.#open = null;
    } else if (outcome === 'lost') this.#books.lost++;
    else if (outcome === 'unknown') {
      this.#open ??= { seen, attempts: [] };
      this.#open.attempts.push(attempt);
    }
    return outcome;
  }

  /** A try that wins leaves none open. */
  async finishOpenTry(): Promise<void> {
    for (let tries = 0; this.#open !== null; tries++) {
      if (tries > SETTLE_MAX) {
        this.#books.violated('a value can no longer be swapped, though it does not change');
        return;
      }
      await this.round();
    }
  }

  async balance(): Promise<void> {
    const { count, slots } = this.#look(await this.#store.read(this.#key));
    const booked = Object.values(slots).reduce((sum, { landed }) => sum + landed, 0);
    if (booked !== count) this.#books.violated(`the counter is ${count}, and ${booked} changes are booked in it`);
    const landed = slots[this.#self]?.landed ?? 0;
    if (landed !== this.#landed) this.#books.violated(`${this.#landed} swaps of a connection have won, and ${landed} are in the counter`);
  }

  async cleanUp(): Promise<void> {
    await this.#store.write(this.#key, null).catch(() => undefined);
  }

  #look(seen: Uint8Array | null): Counter {
    const counter = this.#parse(seen);
    if (counter.count < this.#highest) this.#books.violated(`a read saw ${counter.count} after ${this.#highest} had been seen: it was old`);
    this.#highest = Math.max(this.#highest, counter.count);
    if (this.#open && !equalValues(this.#open.seen, seen)) {
      if (this.#open.attempts.includes(counter.slots[this.#self]?.attempt ?? 0)) {
        this.#landed++;
        this.#books.foundLater++;
      }
      this.#open = null;
    }
    return counter;
  }

  #parse(seen: Uint8Array | null): Counter {
    if (seen === null) return { count: 0, slots: {} };
    try {
      return JSON.parse(Buffer.from(seen).toString()) as Counter;
    } catch {
      this.#books.violated('a read saw what nobody wrote: a write was not whole');
      return { count: this.#highest, slots: {} };
    }
  }
}

/** Writes registers that no other connection writes. A register whose last write was not answered may still change, and is left alone. */
class Owner {
  readonly #store: Store;
  readonly #books: Books;
  readonly #prefix: string;
  readonly #left: string[] = [];
  #register = 0;
  #value = 0;

  constructor(store: Store, books: Books, prefix: string) {
    this.#store = store;
    this.#books = books;
    this.#prefix = prefix;
  }

  get #key(): string {
    return `${this.#prefix}/${this.#register}`;
  }

  async round(): Promise<void> {
    const value = Buffer.from(String(++this.#value));
    const outcome = await this.#books.change(async (options) => await this.#store.write(this.#key, value, options));
    const seen = await this.#books.read(this.#store, this.#key);
    if (outcome === 'unknown') {
      if (equalValues(seen, value)) this.#books.foundLater++;
      this.#left.push(this.#key);
      this.#register++;
    } else if (outcome === 'done' && !equalValues(seen, value)) {
      this.#books.violated('a write that was acknowledged was not read right after it');
    } else if (outcome === 'not sent' && equalValues(seen, value)) {
      this.#books.violated('a write that was called off before it was sent has happened');
    }
  }

  async finishOpenTry(): Promise<void> {}

  async balance(): Promise<void> {}

  async cleanUp(): Promise<void> {
    for (const key of [...this.#left, this.#key]) await this.#store.write(key, null).catch(() => undefined);
  }
}
