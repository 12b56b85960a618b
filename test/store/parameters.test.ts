/** Records that carry their own proof, and the parameters that all users of a store share. */
import { describe, expect, test } from 'vitest';
import { decodeFloorRecord, encodeFloorRecord, FLOOR_KEY } from '../../src/core/index.ts';
import { spanUs } from '../../src/kernel/index.ts';
import {
  adoptParameters,
  defaultParameters,
  initParameters,
  isWaitedOut,
  MemorySpace,
  MemoryStore,
  noteWaitedOut,
  openStoreRecord,
  PARAMETERS_KEY,
  raiseFloor,
  readFloor,
  readParameters,
  sealJson,
  sealStoreRecord,
  type AccessOptions,
  type Capabilities,
  type SwapOutcome,
} from '../../src/store/index.ts';

/** A store that cannot compare and set. */
class PlainStore extends MemoryStore {
  override readonly can: Capabilities = { swap: false, list: false, watch: false };
}

/** A store whose answers to swaps are lost, though the swaps land. */
class Forgetful extends MemoryStore {
  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    await super.swap(key, seen, next, options);
    return 'unknown';
  }
}

describe('a record', () => {
  const sealed = sealStoreRecord('k', 'waited', Buffer.from('content'));

  test('opens to what was sealed', () => {
    expect(openStoreRecord('k', 'waited', sealed).toString()).toBe('content');
    expect(openStoreRecord('k', 'waited', sealStoreRecord('k', 'waited', new Uint8Array(0)))).toHaveLength(0);
  });

  test('is refused with any bit changed, any byte missing, any byte more', () => {
    const accepted: string[] = [];
    const tryOut = (what: string, bytes: Uint8Array): void => {
      try {
        openStoreRecord('k', 'waited', bytes);
        accepted.push(what);
      } catch (error) {
        if (!/^TENURE_STORE_(?:CORRUPT|FORMAT)$/.test((error as { code: string }).code)) throw error;
      }
    };
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      tryOut(`bit ${bit}`, changed);
    }
    for (let length = 0; length < sealed.length; length++) tryOut(`${length} bytes`, sealed.subarray(0, length));
    tryOut('one byte more', Buffer.concat([sealed, Buffer.alloc(1)]));
    expect(accepted).toEqual([]);
  });

  test('is refused under another key, and as another kind', () => {
    expect(() => openStoreRecord('other', 'waited', sealed)).toThrow(expect.objectContaining({ code: 'TENURE_STORE_CORRUPT' }));
    expect(() => openStoreRecord('k', 'parameters', sealed)).toThrow(expect.objectContaining({ code: 'TENURE_STORE_CORRUPT' }));
  });
});

describe('the parameters of a store', () => {
  const wanted = { deltaUs: spanUs(50_000), maxTermUs: spanUs(5_000_000) };

  test('are written by the first and adopted by the rest', async () => {
    const space = new MemorySpace();
    expect(await readParameters(new MemoryStore(space))).toBeNull();
    const first = await adoptParameters(new MemoryStore(space), wanted);
    expect(first).toEqual({ ...defaultParameters('memory'), ...wanted });
    expect(await adoptParameters(new MemoryStore(space))).toEqual(first);
    expect(await adoptParameters(new MemoryStore(space), wanted)).toEqual(first);
  });

  test('are those of one, if several come at once', async () => {
    const space = new MemorySpace();
    const deltas = [10_000, 20_000, 30_000, 40_000].map(spanUs);
    const outcomes = await Promise.allSettled(deltas.map(async (deltaUs) => await adoptParameters(new MemoryStore(space), { deltaUs })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [(outcome.reason as { code: string }).code] : []));
    expect(codes).toEqual(Array.from({ length: 3 }, () => 'TENURE_STORE_PARAMS'));
  });

  test('that differ from what is asked for are refused, naming the field', async () => {
    const store = new MemoryStore();
    await adoptParameters(store, wanted);
    await expect(adoptParameters(store, { maxTermUs: spanUs(6_000_000) })).rejects.toMatchObject({
      code: 'TENURE_STORE_PARAMS',
      message: expect.stringContaining('maxTerm 5s'),
      details: { field: 'maxTermUs' },
    });
    await expect(adoptParameters(store, { rateErrorPpm: 7 })).rejects.toMatchObject({ details: { field: 'rateErrorPpm' } });
  });

  test('are found though the answer to their creation was lost', async () => {
    expect(await adoptParameters(new Forgetful(), wanted)).toMatchObject(wanted);
  });

  test('are written by an explicit act where nothing can be created exclusively', async () => {
    const store = new PlainStore();
    await expect(adoptParameters(store)).rejects.toMatchObject({
      code: 'TENURE_STORE_PARAMS',
      message: expect.stringContaining('store init'),
    });
    expect(await initParameters(store, wanted)).toMatchObject({ created: true, parameters: wanted });
    expect(await initParameters(store)).toMatchObject({ created: false, parameters: wanted });
    await expect(initParameters(store, { deltaUs: spanUs(1) })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    expect(await adoptParameters(store)).toMatchObject(wanted);
  });

  test('that cannot work are refused', async () => {
    for (const odd of [
      { deltaUs: spanUs(0) },
      { deltaUs: spanUs(9_000_000) },
      { rateErrorPpm: 600_000 },
      { rateErrorPpm: -1 },
      { maxTermUs: spanUs(1.5) },
    ]) {
      await expect(adoptParameters(new MemoryStore(), odd)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    }
  });

  test('that no engine can use are not written: nobody could ever use the store', async () => {
    for (const odd of [{ rateErrorPpm: 300_000 }, { rateErrorPpm: 0.5 }, { maxTermUs: spanUs(2 * 86_400_000_000) }]) {
      const store = new MemoryStore();
      await expect(adoptParameters(store, odd)).rejects.toMatchObject({ code: 'TENURE_BAD_TIMING' });
      expect(await readParameters(store)).toBeNull();
    }
  });

  test('that are damaged or of a later version are refused, never written anew', async () => {
    const store = new MemoryStore();
    await store.write(PARAMETERS_KEY, sealJson(PARAMETERS_KEY, 'parameters', { format: 2 }));
    await expect(adoptParameters(store)).rejects.toMatchObject({ code: 'TENURE_STORE_FORMAT' });
    for (const content of [Buffer.from('{}'), sealJson(PARAMETERS_KEY, 'parameters', {}), sealJson(PARAMETERS_KEY, 'parameters', null)]) {
      await store.write(PARAMETERS_KEY, content);
      await expect(adoptParameters(store)).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
    }
  });
});

describe('what else users of a store tell each other', () => {
  test('an epoch that was waited out need not be waited out again, another must', async () => {
    const store = new MemoryStore();
    expect(await isWaitedOut(store, 'e1')).toBe(false);
    await noteWaitedOut(store, 'e1');
    expect(await isWaitedOut(store, 'e1')).toBe(true);
    expect(await isWaitedOut(store, 'e2')).toBe(false);
  });

  test('the floor under tokens only rises', async () => {
    const space = new MemorySpace();
    const stores = [new MemoryStore(space), new Forgetful(space), new MemoryStore(space)];
    expect(await readFloor(new MemoryStore(space))).toBe(0);
    await Promise.all([5, 17, 11].map(async (floor, index) => await raiseFloor(stores[index] ?? new MemoryStore(space), floor)));
    expect(await readFloor(new MemoryStore(space))).toBe(17);
    await raiseFloor(new MemoryStore(space), 3);
    expect(await readFloor(new MemoryStore(space))).toBe(17);
    // What the cores read.
    expect(decodeFloorRecord(await new MemoryStore(space).read(FLOOR_KEY))).toBe(17);
  });

  test('a floor that cannot be read is refused by name', async () => {
    const store = new MemoryStore();
    await store.write(FLOOR_KEY, Uint8Array.of(1, 2, 3));
    await expect(readFloor(store)).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
    const later = encodeFloorRecord(17);
    later[4] = 2;
    await store.write(FLOOR_KEY, later);
    await expect(raiseFloor(store, 18)).rejects.toMatchObject({ code: 'TENURE_STORE_FORMAT' });
  });
});
