/** `openStorage`: what is particular to leases on a store, on real time. What every lease service has to keep is in the suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStorage, type LeaseStorage, type StorageOptions } from '../../src/api/index.ts';
import { encodeLeaseRecord } from '../../src/core/index.ts';
import { incarnation, TenureError } from '../../src/kernel/index.ts';
import { adoptParameters, initParameters, MemorySpace, MemoryStore, openStore, type Store } from '../../src/store/index.ts';

const SHORT: StorageOptions = { maxTerm: '1500ms', delta: '50ms' };

async function open(where: string | Store, options: StorageOptions = {}): Promise<LeaseStorage> {
  const storage = await openStorage(where, options);
  onTestFinished(async () => await storage.close());
  return storage;
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-storage-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('opening', () => {
  test('the first process writes the parameters, the others adopt them or are refused', async () => {
    const url = `file://${directory()}?sync=off`;
    const first = await open(url, SHORT);
    const second = await open(url);
    expect([second.maxTermMs, second.deltaMs, second.engine]).toEqual([1500, 50, 'compare-and-set']);
    expect([first.url, second.url]).toEqual([url, url]);
    await expect(open(url, { maxTerm: '2s' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    await expect(open(url, { rateError: 0.05 })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  });

  test('a store that can only read and write is set up first', async () => {
    const url = `file://${directory()}?swap=off&sync=off`;
    await expect(open(url)).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    const store = await openStore(url, { create: 'init' });
    await initParameters(store);
    await store.close();
    expect((await open(url)).engine).toBe('plain');
    await expect(open(url, { engine: 'compare-and-set' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  });

  test('the two ways to keep leases do not exclude each other, so all users of a store use the same', async () => {
    const space = new MemorySpace();
    expect((await open(new MemoryStore(space), { ...SHORT, engine: 'plain' })).engine).toBe('plain');
    expect((await open(new MemoryStore(space))).engine).toBe('plain');
    const other = open(new MemoryStore(space), { engine: 'compare-and-set' });
    await expect(other).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS', details: { field: 'isPlain' } });
    const swapping = new MemoryStore();
    await adoptParameters(swapping);
    await expect(open(swapping, { engine: 'plain' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  });

  test('a store that does not keep its word is refused, and one that is none', async () => {
    class Careless extends MemoryStore {
      override swap(...[key, , next]: Parameters<MemoryStore['swap']>): ReturnType<MemoryStore['swap']> {
        return this.write(key, next).then(() => 'won');
      }
    }
    await expect(open(new Careless())).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
    await expect(open('ftp://nowhere')).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await expect(open('redis://127.0.0.1:1')).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    // @ts-expect-error: a caller without types
    await expect(open('memory:', { engine: 'best' })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  });

  test('a store that was handed over stays open, one that was opened by its URL does not keep the process', async () => {
    const store = new MemoryStore();
    const storage = await open(store, SHORT);
    await storage.close();
    expect(await store.read('x')).toBeNull();
  });
});

describe.each(['compare-and-set', 'plain'] as const)('leases with %s', (engine) => {
  test('go from one process to the next, with rising tokens', async () => {
    const space = new MemorySpace();
    const one = await open(new MemoryStore(space), { ...SHORT, engine });
    const two = await open(new MemoryStore(space));
    const first = await one.acquire('x', { meta: 'one' });
    const waiting = two.acquire('x');
    const { holder, certain, meta } = await two.holder('x');
    expect([holder?.token, certain, Buffer.from(meta ?? []).toString()]).toEqual([first.token, engine !== 'plain', 'one']);
    await first.release();
    expect((await waiting).token).toBeGreaterThan(first.token);
  });

  test('are on the list, and names of the longest kind as well', async () => {
    const storage = await open(new MemoryStore(), { ...SHORT, engine });
    const long = 'n'.repeat(255);
    const lease = await storage.acquire(long);
    await storage.acquire('m');
    expect((await storage.list()).leases.map(({ name }) => name)).toEqual(['m', long]);
    await lease.release();
    expect((await storage.tryAcquire(long)).ok).toBe(true);
  });
});

test('a record that is damaged is refused by its name, and one that a later version wrote as well', async () => {
  const space = new MemorySpace();
  const store = new MemoryStore(space);
  const storage = await open(store, SHORT);
  await store.write('damaged', Buffer.from('something else'));
  const record = { owner: incarnation(1), lease: 1, seq: 1, token: 1, termUs: 1000, meta: null, isHeld: false, isGrounded: true };
  const later = encodeLeaseRecord('later', record);
  later[4] = 99;
  await store.write('later', later);
  await expect(storage.acquire('damaged')).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
  await expect(storage.tryAcquire('later')).rejects.toMatchObject({ code: 'TENURE_STORE_FORMAT' });
  expect(await storage.holder('damaged')).toMatchObject({ holder: null, certain: false });
});

test('why a try came to nothing is told from what the store said a moment ago, or else from its accesses being late', async () => {
  class Troubled extends MemoryStore {
    trouble: 'none' | 'full' | 'late' = 'none';
    override async write(...args: Parameters<MemoryStore['write']>): ReturnType<MemoryStore['write']> {
      if (this.trouble === 'full') throw new TenureError('TENURE_STORE_FULL', 'no room');
      const landing = await super.write(...args);
      if (this.trouble === 'late') await sleep(100);
      return landing;
    }
  }
  const store = new Troubled();
  const storage = await open(store, { engine: 'plain', maxTerm: '1s', delta: '25ms' });
  store.trouble = 'full';
  await expect(storage.tryAcquire('x')).rejects.toMatchObject({ code: 'TENURE_STORE_FULL', message: /no room$/ });
  store.trouble = 'late';
  await sleep(1000);
  const late = { code: 'TENURE_STORE_UNREACHABLE', message: /longer than delta: tenure store doctor/ };
  await expect(storage.tryAcquire('y')).rejects.toMatchObject(late);
});

test('a store that cannot list refuses lists and watches of a prefix, and watches names', async () => {
  class Listless extends MemoryStore {
    override readonly can = { swap: true, list: false, watch: false };
  }
  const storage = await open(new Listless(), SHORT);
  await expect(storage.list()).rejects.toMatchObject({
    code: 'TENURE_UNSUPPORTED',
    message: /^the store memory: .* another kind of store$/,
  });
  expect(() => storage.watch('x')).toThrow(expect.objectContaining({ code: 'TENURE_UNSUPPORTED' }));
  const watch = storage.watch('x', { exact: true });
  expect(await watch.next()).toEqual({ done: false, value: { kind: 'current' } });
  const lease = await storage.acquire('x');
  expect(await watch.next()).toMatchObject({ value: { kind: 'change', name: 'x', holder: { token: lease.token } } });
});
