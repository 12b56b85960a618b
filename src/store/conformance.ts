/**
 * What every store has to keep, as tests for any test runner. The suite is given a function that names and runs a test,
 * and a function that opens a place: a store with any number of connections. What a store can do decides what
 * is asked of it. A store that passes may carry leases; the suite itself is tested against stores that are broken.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { TenureError } from '../kernel/index.ts';
import { claimCuts, claimRestarts, claimStalls } from './conformance-faults.ts';
import { alongside, bytes, StoreTestKit, text, turn, type StoreTestClaim, type StorePlace } from './conformance-kit.ts';
import { claimKeyLists, claimKeyWatches, claimSwaps, claimSwapsAtOnce } from './conformance-swaps.ts';
import { VALUE_BYTES_MAX, type Store } from './contract.ts';

export type { StorePlace } from './conformance-kit.ts';

export interface StoreConformanceOptions {
  /** Of any test runner: names a test and runs it. */
  readonly test: (name: string, body: () => Promise<void>) => unknown;
  /** Called for each test. */
  readonly open: () => Promise<StorePlace>;
  /** The abilities of the stores; they are tested on no others. */
  readonly can?: {
    readonly swap?: boolean;
    readonly list?: boolean;
    readonly watch?: boolean;
    readonly restart?: boolean;
    readonly stall?: boolean;
    readonly cut?: boolean;
  };
}

export function storeConformance({ test, open, can = {} }: StoreConformanceOptions): void {
  const claim: StoreTestClaim = (name, body) => {
    test(name, async () => {
      const kit = new StoreTestKit(await open());
      try {
        await body(kit);
      } finally {
        await kit.close();
      }
    });
  };
  claimRegisters(claim);
  claimSeparateRegisters(claim);
  claimWhole(claim);
  claimArguments(claim, can.swap ?? false);
  claimEnding(claim);
  if (can.swap) {
    claimSwaps(claim);
    claimSwapsAtOnce(claim);
  }
  if (can.list) claimKeyLists(claim);
  if (can.watch) claimKeyWatches(claim);
  if (can.restart) claimRestarts(claim);
  if (can.stall) claimStalls(claim, can.swap ?? false);
  if (can.cut) claimCuts(claim, can.swap ?? false);
  claim('a store says what it can do, and no more', async (kit) => {
    const store = await kit.store();
    assert.deepEqual(store.can, { swap: can.swap ?? false, list: can.list ?? false, watch: can.watch ?? false });
    if (!store.can.swap) await assert.rejects(store.swap(kit.key(), null, bytes('a')), { code: 'TENURE_UNSUPPORTED' });
    if (!store.can.list) await assert.rejects(store.list(kit.prefix), { code: 'TENURE_UNSUPPORTED' });
    if (!store.can.watch)
      await assert.rejects(
        store.watch(kit.prefix, () => {}),
        { code: 'TENURE_UNSUPPORTED' },
      );
  });
}

/** How often a test looks again where a broken store shows itself only now and then. */
const ROUNDS = 40;

function claimRegisters(claim: StoreTestClaim): void {
  claim('what one wrote, another reads; before that there is nothing', async (kit) => {
    const [one, two] = await kit.two();
    assert.equal(await two.read(kit.key()), null);
    assert.equal(await one.write(kit.key(), bytes('first')), 'done');
    assert.equal(text(await two.read(kit.key())), 'first');
    assert.equal(await two.write(kit.key(), bytes('second')), 'done');
    assert.equal(text(await one.read(kit.key())), 'second');
    assert.equal(await one.write(kit.key(), null), 'done');
    assert.equal(await two.read(kit.key()), null);
    assert.equal(await one.write(kit.key(), bytes('third')), 'done');
    assert.equal(text(await two.read(kit.key())), 'third');
  });

  claim('a read sees every write that was acknowledged before it began', async (kit) => {
    const stores = await kit.stores(3);
    for (let round = 0; round < ROUNDS; round++) {
      const writer = stores[round % stores.length] ?? fail();
      assert.equal(await writer.write(kit.key(), bytes(String(round))), 'done');
      const seen = await Promise.all(stores.map(async (store) => text(await store.read(kit.key()))));
      assert.deepEqual(
        seen,
        Array.from(stores, () => String(round)),
      );
    }
  });

  claim('reads never go back in time, also while writes are under way', async (kit) => {
    const [writer, reader] = await kit.two();
    let last = -1;
    await alongside(
      async () => {
        for (let round = 0; round < ROUNDS; round++) await writer.write(kit.key(), bytes(String(round)));
      },
      async () => {
        const seen = Number(text(await reader.read(kit.key())) ?? -1);
        assert.ok(seen >= last, `read ${seen} after ${last}`);
        last = seen;
      },
    );
  });

  claim('a write lands once: it does not come back over a later one', async (kit) => {
    const [one, two] = await kit.two();
    for (let round = 0; round < 5; round++) {
      await one.write(kit.key(), bytes(`early ${round}`));
      await one.write(kit.key(), bytes(`late ${round}`));
      for (let look = 0; look < ROUNDS; look++, await turn()) assert.equal(text(await two.read(kit.key())), `late ${round}`);
    }
  });

  claim('an erased register stays erased: a write before does not come back', async (kit) => {
    const [one, two] = await kit.two();
    assert.equal(await one.write(kit.key(), null), 'done');
    await one.write(kit.key(), bytes('gone'));
    assert.equal(await one.write(kit.key(), null), 'done');
    assert.equal(await two.write(kit.key(), null), 'done');
    for (let look = 0; look < ROUNDS; look++, await turn()) assert.equal(await two.read(kit.key()), null);
  });
}

function claimSeparateRegisters(claim: StoreTestClaim): void {
  claim('registers are apart: a write touches its own and no other', async (kit) => {
    const store = await kit.store();
    const names = [
      'a',
      'A',
      'a/b',
      'a/b/c',
      'ab',
      'a.b',
      '.',
      '..',
      '../a',
      'a%2fb',
      '%',
      '~',
      'ä',
      'a\u0308',
      '\u{1F600}',
      ' ',
      ' a',
      'a:b',
      'a\\b',
      'NUL',
      '{a}',
      '*',
      '$1',
    ];
    const longest = 'x'.repeat(255 - kit.prefix.length);
    const keys = [...names, longest, `${longest.slice(1)}y`].map((name) => kit.key(name));
    for (const key of keys) assert.equal(await store.write(key, bytes(key)), 'done');
    for (const key of keys) assert.equal(text(await store.read(key)), key);
    for (const [index, key] of keys.entries()) if (index % 2 === 0) await store.write(key, null);
    for (const [index, key] of keys.entries()) assert.equal(text(await store.read(key)), index % 2 === 0 ? null : key);
  });

  claim('all connections are to the same store, in the same epoch', async (kit) => {
    const [one, two] = await kit.two();
    assert.ok((await one.identity()) !== '');
    assert.equal(await one.identity(), await two.identity());
    assert.equal(await one.epoch(), await two.epoch());
    assert.equal(await one.epoch(), await one.epoch());
  });
}

function claimWhole(claim: StoreTestClaim): void {
  claim('any bytes come back as they were, from none to the limit', async (kit) => {
    const [one, two] = await kit.two();
    const every = Uint8Array.from({ length: 256 }, (_, index) => index);
    for (const value of [new Uint8Array(0), every, new Uint8Array(randomBytes(mostOf(one)))]) {
      assert.equal(await one.write(kit.key(), value), 'done');
      assert.deepEqual(await two.read(kit.key()), value);
    }
  });

  claim('a write is whole or not at all, whatever else is under way', async (kit) => {
    const [one, two, reader] = (await kit.stores(3)) as [Store, Store, Store];
    const writing = async (store: Store, writer: number): Promise<void> => {
      for (let round = 0; round < ROUNDS / 2; round++) {
        const mark = 1 + ((round * 2 + writer) % 250);
        await store.write(kit.key(), new Uint8Array(sizeOf(mark, mostOf(store))).fill(mark));
      }
    };
    await alongside(
      async () => void (await Promise.all([writing(one, 0), writing(two, 1)])),
      async () => {
        const value = await reader.read(kit.key());
        if (value === null) return;
        const first = value[0] ?? 0;
        assert.ok(
          value.every((byte) => byte === first),
          'a value is of two writes',
        );
        assert.equal(value.length, sizeOf(first, mostOf(reader)), 'a value is cut short');
      },
    );
  });

  claim('bytes that were handed in or out may be used again', async (kit) => {
    const store = await kit.store();
    const value = bytes('before');
    const writing = store.write(kit.key(), value);
    value.fill(0);
    await writing;
    const read = await store.read(kit.key());
    assert.equal(text(read), 'before');
    read?.fill(0);
    assert.equal(text(await store.read(kit.key())), 'before');
  });
}

/** Sizes that differ a lot, so that parts of two writes do not fit together. */
function sizeOf(mark: number, most: number): number {
  return Math.min(most, 1 + mark * 1000);
}

function mostOf({ valueBytesMax = VALUE_BYTES_MAX }: Store): number {
  return valueBytesMax;
}

function claimArguments(claim: StoreTestClaim, canSwap: boolean): void {
  claim('what is no key or no value is refused, and changes nothing', async (kit) => {
    const store = await kit.store();
    await store.write(kit.key(), bytes('kept'));
    for (const key of ['', 'line\nend', 'x'.repeat(256), '\ud800']) {
      await assert.rejects(store.read(key), { code: 'TENURE_BAD_NAME' });
      await assert.rejects(store.write(key, bytes('a')), { code: 'TENURE_BAD_NAME' });
    }
    const large = new Uint8Array(mostOf(store) + 1);
    await assert.rejects(store.write(kit.key(), large), { code: 'TENURE_BAD_ARGUMENT' });
    if (canSwap) {
      await assert.rejects(store.swap(kit.key(), bytes('kept'), large), { code: 'TENURE_BAD_ARGUMENT' });
      await assert.rejects(store.swap(kit.key(), null, null), { code: 'TENURE_BAD_ARGUMENT' });
    }
    assert.equal(text(await store.read(kit.key())), 'kept');
  });
}

function claimEnding(claim: StoreTestClaim): void {
  claim('an access that is given up before it begins never happens', async (kit) => {
    const store = await kit.store();
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await assert.rejects(store.read(kit.key(), { signal }), reason);
    await assert.rejects(store.write(kit.key(), bytes('a'), { signal }), reason);
    for (const timeoutMs of [0, -1, Number.NaN]) {
      await assert.rejects(store.write(kit.key(), bytes('a'), { timeoutMs }), { code: 'TENURE_BAD_ARGUMENT' });
    }
    assert.equal(await store.read(kit.key()), null);
  });

  claim('an access that is given up has not happened, or says that it does not know', async (kit) => {
    const [one, two] = await kit.two();
    for (let round = 0; round < ROUNDS; round++) {
      const key = kit.key(String(round));
      const giveUp = new AbortController();
      const writing = one.write(key, bytes('a'), { signal: giveUp.signal });
      for (let turns = 0; turns < round % 8; turns++) await turn();
      giveUp.abort(new Error('enough'));
      const outcome = await writing.catch((error: unknown) => (error as Error).message);
      if (outcome === 'done') assert.equal(text(await two.read(key)), 'a');
      else if (outcome === 'unknown') assert.ok(one.lastUnknown instanceof TenureError);
      else {
        assert.equal(outcome, 'enough');
        for (let look = 0; look < 5; look++, await turn()) assert.equal(await two.read(key), null);
      }
    }
  });

  claim('a store that was closed says so, and closing it disturbs no other', async (kit) => {
    const [one, two] = await kit.two();
    await one.write(kit.key(), bytes('a'));
    await Promise.all([one.close(), one.close()]);
    await assert.rejects(one.read(kit.key()), { code: 'TENURE_CLOSED' });
    await assert.rejects(one.write(kit.key(), bytes('b')), { code: 'TENURE_CLOSED' });
    await assert.rejects(one.epoch(), { code: 'TENURE_CLOSED' });
    assert.equal(text(await two.read(kit.key())), 'a');
  });
}

function fail(): never {
  throw new Error('unreachable');
}
