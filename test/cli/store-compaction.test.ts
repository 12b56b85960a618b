/** What `tenure store compact` erases, what it leaves, and in which order. */
import { expect, test } from 'vitest';
import { compactStore } from '../../src/cli/store-compaction.ts';
import { decodeFloorRecord, encodeLeaseRecord, FLOOR_KEY, type LeaseRecord } from '../../src/core/index.ts';
import { incarnation } from '../../src/kernel/index.ts';
import { adoptParameters, MemorySpace, MemoryStore, raiseFloor, readFloor, type SwapOutcome } from '../../src/store/index.ts';

function recordOf(name: string, token: number, isHeld: boolean): Uint8Array {
  const record: LeaseRecord = { owner: incarnation(7), lease: 1, seq: 1, token, termUs: 1_000_000, meta: null, isHeld, isGrounded: true };
  return encodeLeaseRecord(name, record);
}

/** Keeps the order of its changes, and lets another change a record right after it was read. */
class Watched extends MemoryStore {
  readonly changes: string[] = [];
  onRead: (key: string) => Promise<void> = async () => {};

  override async read(key: string): Promise<Uint8Array | null> {
    const value = await super.read(key);
    await this.onRead(key);
    return value;
  }

  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null): Promise<SwapOutcome> {
    const outcome = await super.swap(key, seen, next);
    this.changes.push(key === FLOOR_KEY ? `floor ${decodeFloorRecord(next)}` : `${key} ${next === null ? 'erased' : 'written'} ${outcome}`);
    return outcome;
  }
}

test('records of leases that were given back are erased, after the floor was raised above their tokens; all others stay', async () => {
  const store = new Watched();
  await adoptParameters(store);
  await store.write('free', recordOf('free', 17, false));
  await store.write('free too', recordOf('free too', 11, false));
  await store.write('held', recordOf('held', 23, true));
  store.changes.length = 0;
  expect(await compactStore(store)).toEqual({ records: 3, erased: 2, held: 1, changed: 0, unreadable: [], floor: 17 });
  expect(store.changes).toEqual(['floor 17', 'free erased won', 'free too erased won']);
  expect((await store.list('')).filter((key) => !key.startsWith('_tenure/'))).toEqual(['held']);
  expect(await store.list('_tenure/')).toContain('_tenure/parameters');
});

test('a floor that is high enough is left as it is', async () => {
  const store = new Watched();
  await raiseFloor(store, 40);
  await store.write('free', recordOf('free', 17, false));
  store.changes.length = 0;
  expect(await compactStore(store)).toMatchObject({ erased: 1, floor: 40 });
  expect(store.changes).toEqual(['free erased won']);
});

test('a record that somebody takes meanwhile stays theirs', async () => {
  const space = new MemorySpace();
  const store = new Watched(space);
  await store.write('taken', recordOf('taken', 17, false));
  const taken = recordOf('taken', 18, true);
  store.onRead = async (key) => void (key === 'taken' && (await new MemoryStore(space).write('taken', taken)));
  expect(await compactStore(store)).toMatchObject({ records: 1, erased: 0, changed: 1, floor: 17 });
  expect(Buffer.from((await new MemoryStore(space).read('taken')) ?? []).equals(taken)).toBe(true);
});

test('a record that cannot be read is named, and left as it is', async () => {
  const store = new MemoryStore();
  await store.write('odd', Buffer.from('what is this'));
  // It is a record, but of another name.
  await store.write('moved', recordOf('free', 17, false));
  expect(await compactStore(store)).toMatchObject({ records: 2, erased: 0, unreadable: ['moved', 'odd'], floor: 0 });
  expect(await store.list('')).toEqual(['moved', 'odd']);
});

test('all pages are gone through', async () => {
  const store = new MemoryStore();
  for (let i = 0; i < 2100; i++) await store.write(`free/${i}`, recordOf(`free/${i}`, i + 1, false));
  expect(await compactStore(store)).toMatchObject({ records: 2100, erased: 2100, floor: 2100 });
  expect(await readFloor(store)).toBe(2100);
  expect(await store.list('free/')).toEqual([]);
});

test('a store that cannot compare and set is refused: nobody could tell that a record is not used', async () => {
  const store = new MemoryStore();
  Object.defineProperty(store, 'can', { value: { ...store.can, swap: false } });
  await expect(compactStore(store)).rejects.toMatchObject({ code: 'TENURE_UNSUPPORTED' });
});
