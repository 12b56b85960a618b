/** The part of the suite for stores that can compare and set, list and watch. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { alongside, bytes, text, turn, type StoreTestClaim } from './conformance-kit.ts';
import type { Store } from './contract.ts';

export function claimSwaps(claim: StoreTestClaim): void {
  claim('a swap wins on what is there, and loses on anything else', async (kit) => {
    const [one, two] = await kit.two();
    const key = kit.key();
    assert.equal(await one.swap(key, bytes('a'), bytes('b')), 'lost');
    assert.equal(await one.read(key), null);
    assert.equal(await one.swap(key, null, bytes('a')), 'won');
    assert.equal(await two.swap(key, null, bytes('b')), 'lost');
    assert.equal(text(await two.read(key)), 'a');
    assert.equal(await two.swap(key, bytes('a'), bytes('b')), 'won');
    for (const stale of [bytes('a'), bytes('B'), bytes('b\0'), bytes('bb'), new Uint8Array(0), null]) {
      assert.equal(await one.swap(key, stale, bytes('c')), 'lost');
    }
    assert.equal(text(await one.read(key)), 'b');
    assert.equal(await one.swap(key, bytes('b'), bytes('b')), 'won');
    assert.equal(text(await two.read(key)), 'b');
  });

  claim('nothing and no bytes are two things', async (kit) => {
    const [one, two] = await kit.two();
    const none = new Uint8Array(0);
    assert.equal(await one.swap(kit.key(), none, bytes('a')), 'lost');
    assert.equal(await one.swap(kit.key(), null, none), 'won');
    assert.equal(await two.swap(kit.key(), null, bytes('a')), 'lost');
    assert.equal(await two.swap(kit.key(), none, bytes('a')), 'won');
  });

  claim('a swap erases only what it has seen, and what was erased can be created once', async (kit) => {
    const [one, two] = await kit.two();
    const key = kit.key();
    assert.equal(await one.swap(key, bytes('a'), null), 'lost');
    assert.equal(await one.swap(key, null, bytes('a')), 'won');
    assert.equal(await two.swap(key, bytes('b'), null), 'lost');
    assert.equal(await two.swap(key, bytes('a'), null), 'won');
    assert.equal(await one.read(key), null);
    assert.equal(await one.swap(key, bytes('a'), bytes('b')), 'lost');
    assert.equal(await one.swap(key, null, bytes('c')), 'won');
    assert.equal(await two.swap(key, null, bytes('d')), 'lost');
    assert.equal(text(await two.read(key)), 'c');
  });

  claim('a swap lands once: a creation does not come back after it was erased', async (kit) => {
    const [one, two] = await kit.two();
    for (let round = 0; round < 3; round++) {
      assert.equal(await one.swap(kit.key(), null, bytes(`a${round}`)), 'won');
      assert.equal(await one.swap(kit.key(), bytes(`a${round}`), null), 'won');
      for (let look = 0; look < 20; look++, await turn()) assert.equal(await two.read(kit.key()), null);
    }
  });
}

export function claimSwapsAtOnce(claim: StoreTestClaim): void {
  claim('of several that create at once, one wins', async (kit) => {
    const stores = await kit.stores(6);
    for (let round = 0; round < 5; round++) {
      const key = kit.key(String(round));
      await oneWinner(stores, key, null);
    }
  });

  claim('of several that update at once, one wins, and the others have changed nothing', async (kit) => {
    const stores = await kit.stores(6);
    let seen = await oneWinner(stores, kit.key(), null);
    for (let round = 0; round < 12; round++) seen = await oneWinner(stores, kit.key(), seen);
  });

  claim('of several that erase and create at once, none gets in the way of the other', async (kit) => {
    const stores = await kit.stores(4);
    const key = kit.key();
    const tally = { created: 0, erased: 0, unknown: 0 };
    const work = stores.map(async (store, index) => {
      for (let round = 0; round < 12; round++) {
        const seen = await store.read(key);
        const outcome = await store.swap(key, seen, seen === null ? bytes(`${index} ${round}`) : null);
        if (outcome === 'won') tally[seen === null ? 'created' : 'erased']++;
        // A store may not know what became of a change whose key was erased before it could look.
        if (outcome === 'unknown') tally.unknown++;
      }
    });
    await Promise.all(work);
    const left = (await stores[0]?.read(key)) === null ? 0 : 1;
    assert.ok(Math.abs(tally.created - tally.erased - left) <= tally.unknown, JSON.stringify({ ...tally, left }));
    assert.ok(tally.created > tally.unknown);
  });

  claim('a counter that several raise by swaps is exact', async (kit) => {
    const stores = await kit.stores(4);
    const times = 12;
    await Promise.all(
      stores.map(async (store, index) => {
        for (let done = 0; done < times;) {
          const seen = await store.read(kit.key());
          const next = Number(text(seen)?.split(' ')[0] ?? 0) + 1;
          const outcome = await store.swap(kit.key(), seen, bytes(`${next} ${index}`));
          assert.notEqual(outcome, 'unknown', store.lastUnknown?.message ?? '');
          if (outcome === 'won') done++;
        }
      }),
    );
    assert.equal(text((await stores[0]?.read(kit.key())) ?? null)?.split(' ')[0], String(stores.length * times));
  });

  claim('plain writes and swaps are of one register', async (kit) => {
    const [one, two] = await kit.two();
    await one.write(kit.key(), bytes('a'));
    assert.equal(await two.swap(kit.key(), null, bytes('b')), 'lost');
    assert.equal(await two.swap(kit.key(), bytes('a'), bytes('b')), 'won');
    await one.write(kit.key(), bytes('c'));
    assert.equal(await two.swap(kit.key(), bytes('b'), bytes('d')), 'lost');
    assert.equal(text(await two.read(kit.key())), 'c');
  });
}

async function oneWinner(stores: readonly Store[], key: string, seen: Uint8Array | null): Promise<Uint8Array> {
  const values = stores.map((_, index) => bytes(`${index} ${randomBytes(8).toString('hex')}`));
  const outcomes = await Promise.all(stores.map(async (store, index) => await store.swap(key, seen, values[index] ?? null)));
  assert.equal(outcomes.filter((outcome) => outcome === 'won').length, 1, `outcomes were ${outcomes.join(', ')}`);
  assert.equal(outcomes.filter((outcome) => outcome === 'lost').length, stores.length - 1);
  const winner = values[outcomes.indexOf('won')] ?? new Uint8Array(0);
  for (const store of stores) assert.deepEqual(await store.read(key), winner);
  return winner;
}

export function claimKeyLists(claim: StoreTestClaim): void {
  claim('a list has every key under the prefix and no other, in the order of their bytes', async (kit) => {
    const [one, two] = await kit.two();
    const names = ['b', 'a', 'a/1', 'a/2', 'ab', 'A', 'ä', '\u{1F600}', '\uffff', 'a%', 'a_', 'a*'];
    for (const name of names) await one.write(kit.key(name), bytes('x'));
    await one.write(kit.key('a/gone'), bytes('x'));
    await one.write(kit.key('a/gone'), null);
    const expected = (prefix: string): string[] =>
      names
        .filter((name) => name.startsWith(prefix))
        .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        .map((name) => kit.key(name));
    for (const prefix of ['', 'a', 'a/', 'A', 'ä', 'a%', 'a_', 'a*', 'nothing']) {
      assert.deepEqual(await two.list(kit.key(prefix)), expected(prefix));
    }
  });

  claim('a list comes in pages, and misses nothing that was there all the time', async (kit) => {
    const [one, two] = await kit.two();
    const keys = Array.from({ length: 60 }, (_, index) => kit.key(`p/${String(index).padStart(3, '0')}`));
    await Promise.all(keys.map(async (key) => await one.write(key, bytes('x'))));
    await alongside(
      async () => {
        for (const limit of [7, 25, 1000]) {
          const listed = await allPages(two, kit.key('p/'), limit);
          assert.deepEqual(
            listed.filter((key) => !key.endsWith('-new')),
            keys,
          );
          assert.equal(new Set(listed).size, listed.length);
        }
      },
      async (round) => {
        await one.write(kit.key(`p/${String(round % 60).padStart(3, '0')}-new`), round % 3 === 0 ? null : bytes('y'));
        await one.write(keys[round % 60] ?? '', bytes(String(round)));
      },
    );
  });

  claim('a list without a sensible limit is refused', async (kit) => {
    const store = await kit.store();
    for (const limit of [0, -1, 1.5, 1001]) await assert.rejects(store.list(kit.prefix, { limit }), { code: 'TENURE_BAD_ARGUMENT' });
    await assert.rejects(store.list('a\nb'), { code: 'TENURE_BAD_NAME' });
  });
}

async function allPages(store: Store, prefix: string, limit: number): Promise<string[]> {
  const listed: string[] = [];
  for (;;) {
    const after = listed.at(-1);
    const page = await store.list(prefix, { limit, ...(after === undefined ? {} : { after }) });
    listed.push(...page);
    if (page.length < limit) return listed;
  }
}

export function claimKeyWatches(claim: StoreTestClaim): void {
  claim('a watcher gets hints of what changes under its prefix, until it stops', async (kit) => {
    const [one, two] = await kit.two();
    const hints: string[] = [];
    let wake = (): void => {};
    const stop = await two.watch(kit.key('w/'), (key) => {
      hints.push(key);
      wake();
    });
    const hinted = async (key: string): Promise<void> => {
      while (!hints.includes(key)) await new Promise<void>((resolve) => (wake = resolve));
    };
    await one.write(kit.key('elsewhere'), bytes('x'));
    await one.write(kit.key('w/written'), bytes('x'));
    await hinted(kit.key('w/written'));
    assert.ok(!hints.includes(kit.key('elsewhere')));
    if (one.can.swap) {
      await one.swap(kit.key('w/swapped'), null, bytes('x'));
      await hinted(kit.key('w/swapped'));
    }
    await stop();
    const before = hints.length;
    await one.write(kit.key('w/later'), bytes('x'));
    for (let look = 0; look < 10; look++, await turn()) await two.read(kit.key('w/later'));
    assert.equal(hints.length, before);
  });
}
