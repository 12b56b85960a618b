/**
 * A store as a shared unit of a core. The version of a record is its bytes, as stores compare nothing else. An error that a store throws, and an
 * outcome that it calls unknown, are the same to a core: the access has failed, and may have taken effect. The reason goes to the core's caller.
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
  /** How long each access is waited for; the store's own default if nothing is said. An access that could not be sent within that time is never sent. */
  readonly timeoutMs?: number;
  /** How many accesses are under way at most: 16 unless told otherwise. */
  readonly atOnce?: number;
  /** Is told why an access failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** How many keys are asked for at a time: every store gives that many. */
const PAGE = 1000;
const AT_ONCE = 16;

const FAILED = { ok: false, isLost: false, value: null, version: null, keys: null } as const;

type Answer = Parameters<UnitAnswer>[0];

interface WaitingAccess {
  readonly sinceMs: number;
  readonly send: () => Promise<Answer>;
  readonly done: UnitAnswer;
}

export class StoreUnit implements SharedUnit {
  readonly #store: UnitStore;
  readonly #waiting: Waiting;
  readonly #atOnce: number;
  readonly #onFailure: (error: unknown) => void;
  /**
   * Accesses that were not sent yet. The latest goes first: where more is asked than the store can do, an access that has waited for long
   * is of no use to its caller, and a new access may still come in time. Otherwise all would be late, and nothing come of any.
   */
  readonly #unsent: WaitingAccess[] = [];
  #underWay = 0;

  constructor(store: UnitStore, { timeoutMs, atOnce = AT_ONCE, onFailure = () => undefined }: StoreUnitOptions = {}) {
    this.#store = store;
    this.#waiting = timeoutMs === undefined ? {} : { timeoutMs };
    this.#atOnce = atOnce;
    this.#onFailure = onFailure;
  }

  read(key: string, done: UnitAnswer): void {
    this.#access(done, async () => {
      const value = await this.#store.read(key, this.#waiting);
      return { ...FAILED, ok: true, value, version: value };
    });
  }

  write(key: string, value: Uint8Array, done: UnitAnswer): void {
    this.#change(done, value.slice(), (version) => this.#store.write(key, version, this.#waiting));
  }

  swap(key: string, seen: Version | null, value: Uint8Array | null, done: UnitAnswer): void {
    const before = seen?.slice() ?? null;
    this.#change(done, value?.slice() ?? null, (version) => this.#store.swap(key, before, version, this.#waiting));
  }

  erase(key: string, done: UnitAnswer): void {
    this.#change(done, null, () => this.#store.write(key, null, this.#waiting));
  }

  list(prefix: string, done: UnitAnswer): void {
    this.#access(done, async () => ({ ...FAILED, ok: true, keys: await this.#pages(prefix) }));
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

  #change<Bytes extends Version | null>(
    done: UnitAnswer,
    version: Bytes,
    send: (version: Bytes) => Promise<'done' | 'won' | 'lost' | 'unknown'>,
  ): void {
    this.#access(done, async () => {
      const outcome = await send(version);
      if (outcome === 'lost') return { ...FAILED, ok: true, isLost: true };
      if (outcome !== 'unknown') return { ...FAILED, ok: true, version };
      this.#onFailure(this.#store.lastUnknown);
      return FAILED;
    });
  }

  #access(done: UnitAnswer, send: () => Promise<Answer>): void {
    if (this.#underWay < this.#atOnce) void this.#send({ sinceMs: 0, send, done });
    else this.#wait({ sinceMs: performance.now(), send, done });
  }

  /** Where more is asked than the store can ever do, the oldest are never come to: they must not pile up. */
  #wait(access: WaitingAccess): void {
    this.#unsent.push(access);
    const { timeoutMs = Infinity } = this.#waiting;
    const first = this.#unsent.findIndex(({ sinceMs }) => access.sinceMs - sinceMs <= timeoutMs);
    if (first > 0) failLater(this.#unsent.splice(0, first));
  }

  async #send({ send, done }: WaitingAccess): Promise<void> {
    this.#underWay++;
    let answer: Answer = FAILED;
    try {
      answer = await send();
    } catch (error) {
      this.#onFailure(error);
    }
    this.#underWay--;
    try {
      // An error of `done` is not the store's failure. The core's next accesses go before those that wait already.
      done(answer);
    } finally {
      this.#sendNext();
    }
  }

  #sendNext(): void {
    const next = this.#underWay < this.#atOnce ? this.#unsent.pop() : undefined;
    if (!next) return;
    const { timeoutMs = Infinity } = this.#waiting;
    if (performance.now() - next.sinceMs <= timeoutMs) {
      void this.#send(next);
      return;
    }
    // Those below it have waited even longer.
    failLater([...this.#unsent.splice(0), next]);
  }
}

function failLater(accesses: readonly WaitingAccess[]): void {
  for (const { done } of accesses) queueMicrotask(() => done(FAILED));
}
