/** The long examination: it finds stores that break their promise, passes those that do not, and measures honestly. */
import { describe, expect, test } from 'vitest';
import { spanUs } from '../../src/kernel/index.ts';
import {
  AccessTimes,
  contest,
  MemorySpace,
  MemoryStore,
  type AccessOptions,
  type Capabilities,
  type Landing,
  type SwapOutcome,
} from '../../src/store/index.ts';
import { BROKEN_STORES } from './broken-stores.ts';

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Accesses take a few turns, so that answers can be thrown away. */
class SlowStore extends MemoryStore {
  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    return await answered(super.swap(key, seen, next), 'unknown', options);
  }

  override async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    return await answered(super.write(key, value), 'unknown', options);
  }
}

class SlowRegisters extends SlowStore {
  override readonly can: Capabilities = { swap: false, list: false, watch: false };
}

/** A swap whose answer was thrown away has no effect, though it says that nobody knows. */
class LostUpdates extends SlowStore {
  #count = 0;

  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    if (++this.#count % 5 === 0 && Buffer.compare((await this.read(key)) ?? Buffer.alloc(0), seen ?? Buffer.alloc(0)) === 0) return 'won';
    return await super.swap(key, seen, next, options);
  }
}

/** Reads what was there a while ago. */
class OldRegisters extends SlowRegisters {
  readonly #last = new Map<string, Uint8Array | null>();

  override async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    const old = this.#last.get(key);
    this.#last.set(key, await super.read(key, options));
    return old ?? null;
  }
}

async function answered<Answer>(access: Promise<Answer>, otherwise: Answer, { signal }: AccessOptions = {}): Promise<Answer> {
  const answer = await access;
  for (let turns = 0; turns < 3; turns++) {
    await turn();
    if (signal?.aborted) return otherwise;
  }
  return answer;
}

async function contestOn(make: (space: MemorySpace) => MemoryStore): ReturnType<typeof contest> {
  const space = new MemorySpace();
  const result = await contest(
    Array.from({ length: 4 }, () => make(space)),
    { forMs: 200 },
  );
  expect([...space.records.keys()]).toEqual([]);
  return result;
}

describe('a contest', () => {
  test.each([
    ['with compare-and-set', (space: MemorySpace) => new SlowStore(space)],
    ['without', (space: MemorySpace) => new SlowRegisters(space)],
  ])('has nothing to object to in a store that keeps the contract (%s), though answers are thrown away', async (_, make) => {
    const { violations, changes, thrownAway, foundLater, times } = await contestOn(make);
    expect(violations).toEqual([]);
    expect(Math.min(changes, thrownAway, foundLater, times.count)).toBeGreaterThan(0);
  });

  test.each([
    ...['a swap that ignores its condition', 'a swap in two steps', 'stale reads'].map((name) => [name, BROKEN_STORES[name]] as const),
    ['updates that are acknowledged and lost', (space: MemorySpace) => new LostUpdates(space)] as const,
    ['registers that are read late', (space: MemorySpace) => new OldRegisters(space)] as const,
  ])('finds out %s', async (_, make) => {
    const { violations } = await contestOn(make ?? ((space) => new MemoryStore(space)));
    expect(violations.length).toBeGreaterThan(0);
  });
});

describe('access times', () => {
  const timesOf = (...ms: number[]): AccessTimes => {
    const times = new AccessTimes();
    for (const one of ms) times.add(one);
    return times;
  };

  test('are told by quantiles', () => {
    const times = timesOf(...Array.from({ length: 1000 }, (_, index) => 1000 - index));
    expect([0.5, 0.99, 0.999, 1].map((part) => times.quantile(part))).toEqual([500, 990, 999, 1000]);
    expect(timesOf().quantile(0.5)).toBe(0);
  });

  test('make a round delta of twice the longest, and a term of thirty of them', () => {
    expect(timesOf(0.1, 0.2).proposal('memory')).toEqual({ deltaUs: 1000, maxTermUs: 15_000_000 });
    expect(timesOf(3, 60).proposal('file')).toEqual({ deltaUs: 200_000, maxTermUs: 15_000_000 });
    expect(timesOf(250).proposal('file')).toEqual({ deltaUs: 500_000, maxTermUs: 20_000_000 });
    expect(timesOf(2600).proposal('file')).toEqual({ deltaUs: 10_000_000, maxTermUs: 500_000_000 });
  });

  test('bound the part of late ones as Clopper and Pearson do', () => {
    const none = timesOf(...Array.from({ length: 100 }, () => 1));
    expect(none.latePartMax(spanUs(2000))).toBeCloseTo(1 - 0.05 ** (1 / 100), 9);
    const one = timesOf(5, ...Array.from({ length: 9 }, () => 1));
    expect([one.later(spanUs(2000)), one.latePartMax(spanUs(2000))]).toEqual([1, expect.closeTo(0.3942, 4)]);
    expect(timesOf().latePartMax(spanUs(1))).toBe(1);
    expect(timesOf(1, 1).latePartMax(spanUs(1))).toBe(1);
  });
});
