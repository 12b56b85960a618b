/**
 * One unit of a replicated store, as its driver reaches it. A unit that cannot be opened, or is another store by now, is opened again now and then, and never
 * made a store on the way: a directory that was wiped is for `tenure store repair`. Whatever goes wrong is an access that failed; the last reason is kept for people.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Completion } from '../../core/index.ts';
import type { AccessOptions, Store } from '../contract.ts';

export type UnitAnswerOf = Omit<Completion, 'op'>;

export interface UnitLinkOptions {
  /** How it is called in logs and errors. */
  readonly url: string;
  readonly connect: () => Promise<Store>;
  readonly canSwap: boolean;
  readonly timeoutMs: number;
  readonly retryMs: number;
  /** From here on accesses are made in this epoch. */
  readonly inEpoch: (epoch: string) => void;
}

const FAILED: UnitAnswerOf = { ok: false, isLost: false, value: null, version: null, keys: null };
const DONE: UnitAnswerOf = { ...FAILED, ok: true };
/** How many keys are asked for at a time: every store gives that many. */
const PAGE = 1000;

/** After these errors the connection is of no use: another store is there now, or none. */
const ENDS: ReadonlySet<string> = new Set(['TENURE_STORE_REPLACED', 'TENURE_CLOSED', 'TENURE_STORE_CORRUPT']);

export class UnitLink {
  readonly url: string;
  readonly #options: UnitLinkOptions;
  #store: Store | null;
  #opening: Promise<void> | null = null;
  #openAgainMs = 0;
  #isClosed = false;
  /** Why the unit failed last; null if it answered since. */
  lastFailure: TenureError | null = null;

  constructor(options: UnitLinkOptions, store: Store | null = null) {
    this.url = options.url;
    this.#options = options;
    this.#store = store;
  }

  /** The connection, if there is one. */
  get store(): Store | null {
    return this.#store;
  }

  async read(key: string): Promise<UnitAnswerOf> {
    return await this.#access(async (store, access) => {
      const value = await store.read(key, access);
      return { ...DONE, value, version: value };
    });
  }

  async write(key: string, value: Uint8Array | null): Promise<UnitAnswerOf> {
    return await this.#access(async (store, access) => {
      if ((await store.write(key, value, access)) === 'done') return { ...DONE, version: value };
      throw store.lastUnknown ?? unanswered(this.url);
    });
  }

  async swap(key: string, seen: Uint8Array | null, value: Uint8Array | null): Promise<UnitAnswerOf> {
    return await this.#access(async (store, access) => {
      const outcome = await store.swap(key, seen, value, access);
      if (outcome === 'unknown') throw store.lastUnknown ?? unanswered(this.url);
      return outcome === 'lost' ? { ...DONE, isLost: true } : { ...DONE, version: value };
    });
  }

  async list(prefix: string): Promise<UnitAnswerOf> {
    return await this.#access(async (store, access) => ({ ...DONE, keys: await allKeys(store, prefix, access) }));
  }

  /** Opens it if it is not open, unless that was tried a moment ago. */
  async open(): Promise<void> {
    if (this.#store !== null || this.#isClosed) return;
    this.#opening ??= this.#open();
    await this.#opening;
    this.#opening = null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening;
    await this.#store?.close();
  }

  async #open(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < this.#openAgainMs) return;
    this.#openAgainMs = nowMs + this.#options.retryMs;
    let store: Store | null = null;
    try {
      store = await this.#options.connect();
      if (store.can.swap !== this.#options.canSwap || !store.can.list) throw changedAbility(this.url, store.can.swap);
      this.#options.inEpoch(await store.epoch(this.#waiting));
      if (this.#isClosed) throw unanswered(this.url);
      this.#store = store;
      this.lastFailure = null;
    } catch (error) {
      this.#failed(error);
      await store?.close();
    }
  }

  get #waiting(): AccessOptions {
    return { timeoutMs: this.#options.timeoutMs };
  }

  async #access(work: (store: Store, access: AccessOptions) => Promise<UnitAnswerOf>): Promise<UnitAnswerOf> {
    const store = this.#store;
    if (store === null) {
      await this.open();
      return FAILED;
    }
    try {
      const answer = await work(store, this.#waiting);
      this.lastFailure = null;
      return answer;
    } catch (error) {
      await this.#trouble(store, error);
      return FAILED;
    }
  }

  async #trouble(store: Store, error: unknown): Promise<void> {
    const code = this.#failed(error);
    if (this.#store !== store || this.#isClosed) return;
    if (code === 'TENURE_STORE_EPOCH') {
      try {
        this.#options.inEpoch(await store.epoch(this.#waiting));
      } catch (later) {
        this.#failed(later);
      }
    } else if (ENDS.has(code)) {
      this.#store = null;
      await store.close();
    }
  }

  #failed(error: unknown): string {
    this.lastFailure = error instanceof TenureError ? error : unanswered(this.url);
    return this.lastFailure.code;
  }
}

/** All keys that begin so. */
export async function allKeys(store: Store, prefix: string, access?: AccessOptions): Promise<string[]> {
  const keys: string[] = [];
  for (;;) {
    const last = keys.at(-1);
    const page = await store.list(prefix, { ...access, ...(last === undefined ? {} : { after: last }), limit: PAGE });
    keys.push(...page);
    if (page.length < PAGE) return keys;
  }
}

function unanswered(url: string): TenureError {
  return new TenureError('TENURE_STORE_UNREACHABLE', `the unit ${url} did not answer`, { url });
}

function changedAbility(url: string, canSwap: boolean): TenureError {
  return new TenureError(
    'TENURE_STORE_PARAMS',
    `the unit ${url} was set up ${canSwap ? 'without' : 'with'} compare-and-set, and is kept the other way now, or cannot list`,
    { url },
  );
}
