/**
 * A store as a shared unit of a core. The version of a record is its bytes, as stores compare nothing else. What a store throws, and what it says
 * nobody knows, are the same to a core: the access has failed, and may have taken effect. The reason goes to whoever runs the core.
 */
import type { TenureError } from '../kernel/index.ts';
import type { Version } from '../core/index.ts';
import type { SharedUnit, UnitAnswer } from './shared-unit.ts';

interface Waiting {
  readonly timeoutMs?: number;
}

/** What a unit needs of a store; every store of `tenure/store` is one. */
export interface UnitStore {
  readonly lastUnknown: TenureError | null;
  read(key: string, options?: Waiting): Promise<Uint8Array | null>;
  write(key: string, value: Uint8Array | null, options?: Waiting): Promise<'done' | 'unknown'>;
  swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: Waiting): Promise<'won' | 'lost' | 'unknown'>;
  list(prefix: string, options?: Waiting & { readonly after?: string; readonly limit?: number }): Promise<string[]>;
}

export interface StoreUnitOptions {
  /** How long each access is waited for; the store's own default if nothing is said. */
  readonly timeoutMs?: number;
  /** Is told why an access failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** How many keys are asked for at a time: every store gives that many. */
const PAGE = 1000;

const FAILED = { ok: false, isLost: false, value: null, version: null, keys: null } as const;

export class StoreUnit implements SharedUnit {
  readonly #store: UnitStore;
  readonly #waiting: Waiting;
  readonly #onFailure: (error: unknown) => void;

  constructor(store: UnitStore, { timeoutMs, onFailure = () => undefined }: StoreUnitOptions = {}) {
    this.#store = store;
    this.#waiting = timeoutMs === undefined ? {} : { timeoutMs };
    this.#onFailure = onFailure;
  }

  read(key: string, done: UnitAnswer): void {
    this.#answer(this.#store.read(key, this.#waiting), done, (value) => ({ ...FAILED, ok: true, value, version: value }));
  }

  write(key: string, value: Uint8Array, done: UnitAnswer): void {
    const version = value.slice();
    this.#answer(this.#store.write(key, version, this.#waiting), done, (landing) => this.#changed(landing, version));
  }

  swap(key: string, seen: Version | null, value: Uint8Array | null, done: UnitAnswer): void {
    const version = value?.slice() ?? null;
    this.#answer(this.#store.swap(key, seen?.slice() ?? null, version, this.#waiting), done, (outcome) => this.#changed(outcome, version));
  }

  erase(key: string, done: UnitAnswer): void {
    this.#answer(this.#store.write(key, null, this.#waiting), done, (landing) => this.#changed(landing, null));
  }

  list(prefix: string, done: UnitAnswer): void {
    this.#answer(this.#pages(prefix), done, (keys) => ({ ...FAILED, ok: true, keys }));
  }

  async #pages(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    for (;;) {
      const last = keys.at(-1);
      const after = last === undefined ? {} : { after: last };
      const page = await this.#store.list(prefix, { ...this.#waiting, ...after, limit: PAGE });
      keys.push(...page);
      if (page.length < PAGE) return keys;
    }
  }

  #changed(outcome: 'done' | 'won' | 'lost' | 'unknown', version: Version | null): Parameters<UnitAnswer>[0] {
    if (outcome === 'lost') return { ...FAILED, ok: true, isLost: true };
    if (outcome !== 'unknown') return { ...FAILED, ok: true, version };
    this.#onFailure(this.#store.lastUnknown);
    return FAILED;
  }

  #answer<Answer>(access: Promise<Answer>, done: UnitAnswer, told: (answer: Answer) => Parameters<UnitAnswer>[0]): void {
    void this.#answerWhenDone(access, done, told);
  }

  async #answerWhenDone<Answer>(
    access: Promise<Answer>,
    done: UnitAnswer,
    told: (answer: Answer) => Parameters<UnitAnswer>[0],
  ): Promise<void> {
    let answer: Parameters<UnitAnswer>[0] = FAILED;
    try {
      answer = told(await access);
    } catch (error) {
      this.#onFailure(error);
    }
    // What comes of the answer is not the store's failure.
    done(answer);
  }
}
