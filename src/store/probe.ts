/**
 * The short test that a store passes every time it is opened, before anything relies on it: clones of servers and proxies
 * that take a condition and ignore it are real. It works on a key of its own and leaves nothing behind.
 */
import { randomBytes } from 'node:crypto';
import { TenureError } from '../kernel/index.ts';
import { equalValues, type AccessOptions, type Landing, type SwapOutcome, type Store } from './contract.ts';
import { unfit } from './failures.ts';

/** So many try at once, where one may win. */
const AT_ONCE = 5;
/** Places that are tried, one after the other, where probes of several processes may meet. */
const PLACES_MAX = 8;

export interface ProbeFinding {
  readonly check: string;
  /** What is wrong; null if nothing is. */
  readonly wrong: string | null;
}

/** Throws `TENURE_STORE_UNFIT` unless every check passes, now or before. */
export async function qualify(store: Store, options?: AccessOptions): Promise<void> {
  if (store.isProbed === true) return;
  for (let placesLeft = store.probesMayMeet === true ? PLACES_MAX : 1; ;) {
    const failure = await failureOf(store, options);
    if (failure === null) return;
    if (--placesLeft === 0) throw failure;
  }
}

/** What the probe says against the store; null if nothing. Throws if the store does not answer. */
async function failureOf(store: Store, options: AccessOptions | undefined): Promise<TenureError | null> {
  try {
    const found = (await probe([store], options)).find(({ wrong }) => wrong !== null);
    return found === undefined ? null : unfit(store.url, `${found.check}: ${found.wrong}`);
  } catch (error) {
    if (store.probesMayMeet === true && error instanceof TenureError && error.code === 'TENURE_STORE_FULL') return error;
    throw error;
  }
}

/** Every check, in order; a check that fails ends the probe, because the next checks build on it. Several connections are tried against each other. */
export async function probe(stores: readonly Store[], options?: AccessOptions): Promise<ProbeFinding[]> {
  const prober = new Prober(stores, options);
  const findings: ProbeFinding[] = [];
  try {
    for (const [check, run] of prober.checks()) {
      const wrong = await run();
      findings.push({ check, wrong });
      if (wrong !== null) break;
    }
  } finally {
    await prober.cleanUp();
  }
  return findings;
}

type Check = readonly [name: string, run: () => Promise<string | null>];

class Prober {
  readonly #stores: readonly Store[];
  readonly #options: AccessOptions;
  readonly #key = `_tenure/probe/${randomBytes(9).toString('hex')}`;
  /** What the register holds if the store is right. */
  #held: Uint8Array | null = null;
  #turn = 0;

  constructor(stores: readonly Store[], options: AccessOptions = {}) {
    this.#stores = stores;
    this.#options = options;
  }

  checks(): Check[] {
    const plain: Check[] = [
      ['what was written is read', async () => await this.#writes()],
      ['what was overwritten is gone', async () => await this.#writes()],
      ['what was erased is gone', async () => await this.#erases()],
    ];
    if (!this.#next().can.swap) return plain;
    return [
      ...plain,
      ['a creation wins where nothing is', async () => await this.#swaps(null, 'won')],
      ['a second creation loses', async () => await this.#swaps(null, 'lost')],
      ['an update wins on what it has seen', async () => await this.#swaps(this.#held, 'won')],
      ['an update loses on what it has not seen', async () => await this.#swaps(fresh(), 'lost')],
      [`of ${AT_ONCE} updates at once one wins`, async () => await this.#race()],
    ];
  }

  /** No other process knows the key, so a blind write will do. */
  async cleanUp(): Promise<void> {
    await this.#next()
      .write(this.#key, null, this.#options)
      .catch(() => undefined);
  }

  async #writes(): Promise<string | null> {
    const store = this.#next();
    this.#held = fresh();
    this.#answered(store, await store.write(this.#key, this.#held, this.#options));
    return await this.#reads();
  }

  async #erases(): Promise<string | null> {
    const store = this.#next();
    this.#held = null;
    this.#answered(store, await store.write(this.#key, null, this.#options));
    return await this.#reads();
  }

  async #swaps(seen: Uint8Array | null, expected: SwapOutcome): Promise<string | null> {
    const store = this.#next();
    const next = fresh();
    const outcome = this.#answered(store, await store.swap(this.#key, seen, next, this.#options));
    if (outcome !== expected) return `it ${outcome}`;
    if (outcome === 'won') this.#held = next;
    return await this.#reads();
  }

  async #race(): Promise<string | null> {
    const seen = this.#held;
    const tries = Array.from({ length: AT_ONCE }, () => ({ store: this.#next(), next: fresh() }));
    const outcomes = await Promise.all(
      tries.map(async ({ store, next }) => this.#answered(store, await store.swap(this.#key, seen, next, this.#options))),
    );
    const winners = outcomes.filter((outcome) => outcome === 'won').length;
    if (winners !== 1) return `${winners} won`;
    this.#held = tries[outcomes.indexOf('won')]?.next ?? null;
    return await this.#reads();
  }

  async #reads(): Promise<string | null> {
    for (const store of this.#stores) {
      if (!equalValues(await store.read(this.#key, this.#options), this.#held)) return 'a read saw something else';
    }
    return null;
  }

  /** A store that does not answer now is neither fit nor unfit. */
  #answered<Answer extends Landing | SwapOutcome>(store: Store, answer: Answer): Exclude<Answer, 'unknown'> {
    if (answer === 'unknown') {
      throw store.lastUnknown ?? new TenureError('TENURE_STORE_UNREACHABLE', `the store ${store.url} lost an answer`, { url: store.url });
    }
    return answer as Exclude<Answer, 'unknown'>;
  }

  #next(): Store {
    const store = this.#stores[this.#turn++ % this.#stores.length];
    if (!store) throw new TenureError('TENURE_INTERNAL', 'a probe needs a store');
    return store;
  }
}

function fresh(): Uint8Array {
  return new Uint8Array(randomBytes(24));
}
