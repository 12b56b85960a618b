/** Readers and one writer, collections, and data under leases, on stores of both kinds and on virtual time. */
import { describe, expect, test } from 'vitest';
import { testStorage, type LeaseStorage, type TestStorage, type TestStorageOptions } from '../../src/api/testing.ts';

const OPTIONS: TestStorageOptions = { maxTerm: '4s', delta: '50ms' };
const ENGINES = ['compare-and-set', 'plain'] as const;
/** Nobody has to wait longer for a lease that has run out: W, and some accesses. */
const OVER_MS = 6500;

async function clients(count: number, options: TestStorageOptions): Promise<[TestStorage, ...LeaseStorage[]]> {
  const storage = await testStorage({ ...OPTIONS, ...options });
  return [storage, ...(await Promise.all(Array.from({ length: count }, () => storage.client())))];
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}

/** What has to come within the time that a lease takes to run out. */
async function comes<T>(storage: TestStorage, promise: Promise<T>): Promise<T> {
  for (const endMs = storage.now() + OVER_MS; storage.now() < endMs && (await isPending(promise));) await storage.advance('100ms');
  if (await isPending(promise)) throw new Error(`it did not come in ${OVER_MS} ms`);
  return promise;
}

describe.each(ENGINES)('with %s', (engine) => {
  test('readers hold together, also of one process, and are renewed together', async () => {
    const [storage, one, other] = (await clients(2, { engine })) as [TestStorage, LeaseStorage, LeaseStorage];
    const first = await one.acquire('x', { mode: 'shared' });
    const second = await other.acquire('x', { mode: 'shared' });
    const third = await one.acquire('x', { mode: 'shared' });
    expect([first.mode, second.mode, third.mode]).toEqual(['shared', 'shared', 'shared']);
    await storage.advance('1m');
    expect([first.valid, second.valid, third.valid]).toEqual([true, true, true]);
    expect(await other.holder('x')).toMatchObject({ certain: true, holder: { mode: 'shared' } });
    await storage.close();
  });

  test('a writer waits for every reader, and readers for the writer', async () => {
    const [storage, one, other, writer] = (await clients(3, { engine })) as [TestStorage, LeaseStorage, LeaseStorage, LeaseStorage];
    const first = await one.acquire('x', { mode: 'shared' });
    const second = await other.acquire('x', { mode: 'shared' });
    expect(await writer.tryAcquire('x')).toMatchObject({ ok: false, reason: 'held', holder: { mode: 'shared' } });
    const writing = writer.acquire('x');
    await first.release();
    await storage.advance('10s');
    expect(await isPending(writing)).toBe(true);
    await second.release();
    const lease = await comes(storage, writing);
    expect(lease.mode).toBe('exclusive');
    expect(lease.token).toBeGreaterThan(Math.max(first.token, second.token));
    expect(await one.tryAcquire('x', { mode: 'shared' })).toMatchObject({ ok: false, reason: 'held' });
    const reading = one.acquire('x', { mode: 'shared' });
    await storage.advance('10s');
    expect(await isPending(reading)).toBe(true);
    await lease.release();
    expect((await comes(storage, reading)).token).toBeGreaterThan(lease.token);
    await storage.close();
  });

  test('a dead reader keeps a writer waiting no longer than its lease could last', async () => {
    const [storage, one, writer] = (await clients(2, { engine })) as [TestStorage, LeaseStorage, LeaseStorage];
    await one.acquire('x', { mode: 'shared' });
    storage.crash(one);
    expect((await comes(storage, writer.acquire('x'))).valid).toBe(true);
    await storage.close();
  });

  test('a process that reads and tries to write is told so at once', async () => {
    const [storage, one] = (await clients(1, { engine })) as [TestStorage, LeaseStorage];
    await one.acquire('x', { mode: 'shared' });
    const from = storage.now();
    expect(await one.tryAcquire('x')).toMatchObject({ ok: false, reason: 'held' });
    expect(storage.now()).toBe(from);
    await storage.close();
  });

  test('items of a collection are held beside each other; the collection excludes them all', async () => {
    const [storage, one, other] = (await clients(2, { engine })) as [TestStorage, LeaseStorage, LeaseStorage];
    const [a, b] = [await one.acquire('docs/a', { within: 'docs' }), await other.acquire('docs/b', { within: 'docs' })];
    expect([a.name, a.mode, a.valid, b.valid]).toEqual(['docs/a', 'exclusive', true, true]);
    expect(await other.tryAcquire('docs/a', { within: 'docs' })).toMatchObject({ ok: false, reason: 'held' });
    const whole = one.acquire('docs');
    await Promise.all([a.release(), b.release()]);
    const collection = await comes(storage, whole);
    expect(await other.tryAcquire('docs/b', { within: 'docs' })).toMatchObject({ ok: false, reason: 'held' });
    const item = other.acquire('docs/b', { within: 'docs' });
    await storage.advance('5s');
    expect(await isPending(item)).toBe(true);
    await collection.release();
    expect((await comes(storage, item)).valid).toBe(true);
    await storage.close();
  });

  test('several items are taken together though somebody waits for the whole collection', async () => {
    const [storage, one, other, writer] = (await clients(3, { engine })) as [TestStorage, LeaseStorage, LeaseStorage, LeaseStorage];
    const blocker = await other.acquire('docs/a');
    const both = one.acquireAll(['docs/a', 'docs/b'], { within: 'docs' });
    await storage.advance('1s');
    const whole = writer.acquire('docs');
    await storage.advance('1s');
    await blocker.release();
    const items = await comes(storage, both);
    await Promise.all(items.map((item) => item.release()));
    expect((await comes(storage, whole)).valid).toBe(true);
    await storage.close();
  });

  test('nothing is an item of itself', async () => {
    const [storage, one] = (await clients(1, { engine })) as [TestStorage, LeaseStorage];
    await expect(one.acquire('docs', { within: 'docs' })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await expect(one.tryAcquire('docs', { within: 'docs' })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await storage.close();
  });

  test('an item ends with its collection, and is given back with it', async () => {
    const [storage, one, other] = (await clients(2, { engine })) as [TestStorage, LeaseStorage, LeaseStorage];
    const lease = await one.acquire('docs/a', { within: 'docs', term: '4s' });
    const whole = await one.holder('docs');
    expect(whole.holder).toMatchObject({ mode: 'shared', incarnation: one.incarnation });
    storage.cutOff(one);
    const { signal } = lease;
    await storage.advance('4s');
    expect([signal.aborted, lease.valid, lease.remainingMs()]).toEqual([true, false, 0]);
    expect(signal.reason).toMatchObject({ code: 'TENURE_LEASE_LOST' });
    expect((await comes(storage, other.acquire('docs'))).valid).toBe(true);
    await storage.close();
  });

  test('data that was stored under a lease is read with its token, and outlives the lease', async () => {
    const [storage, one, other] = (await clients(2, { engine })) as [TestStorage, LeaseStorage, LeaseStorage];
    expect(await other.read('x')).toBeNull();
    const lease = await one.acquire('x');
    await lease.sync(Buffer.from('first'));
    await lease.sync(Buffer.from('second'));
    expect(await other.read('x')).toEqual({ data: new Uint8Array(Buffer.from('second')), token: lease.token });
    await lease.release();
    const reader = await other.acquire('x', { mode: 'shared' });
    await expect(reader.sync(Buffer.from('no'))).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await reader.release();
    const next = await comes(storage, other.acquire('x'));
    expect(await one.read('x')).toMatchObject({ token: lease.token });
    await next.sync(new Uint8Array(0));
    expect(await one.read('x')).toEqual({ data: new Uint8Array(0), token: next.token });
    await expect(next.sync(new Uint8Array(16_385))).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await storage.close();
  });

  test('the data of a holder whose time is over is not stored', async () => {
    const [storage, one, other] = (await clients(2, { engine })) as [TestStorage, LeaseStorage, LeaseStorage];
    const stale = await one.acquire('x');
    await stale.sync(Buffer.from('old'));
    storage.cutOff(one);
    const sync = stale.sync(Buffer.from('stale')).catch((error: unknown) => error);
    const lease = await comes(storage, other.acquire('x'));
    await lease.sync(Buffer.from('new'));
    storage.mend(one);
    await storage.advance('10s');
    expect(await sync).toMatchObject({ code: expect.stringMatching(/TENURE_LEASE_LOST|TENURE_STORE_UNREACHABLE/) });
    await expect(stale.sync(Buffer.from('late'))).rejects.toMatchObject({ code: 'TENURE_LEASE_LOST' });
    expect(Buffer.from((await other.read('x'))?.data ?? []).toString()).toBe('new');
    await storage.close();
  });
});

test('with compare-and-set a writer that waits is preferred to readers that come later', async () => {
  const [storage, one, other, writer] = (await clients(3, { engine: 'compare-and-set' })) as [
    TestStorage,
    LeaseStorage,
    LeaseStorage,
    LeaseStorage,
  ];
  const served: string[] = [];
  const first = await one.acquire('x', { mode: 'shared' });
  const writing = writer.using('x', () => served.push('writer'));
  await storage.advance('1s');
  expect(await other.tryAcquire('x', { mode: 'shared' })).toMatchObject({ ok: false, reason: 'queued' });
  const reading = other.using('x', { mode: 'shared' }, () => served.push('reader'));
  await storage.advance('10s');
  await first.release();
  await comes(storage, Promise.all([writing, reading]));
  expect(served).toEqual(['writer', 'reader']);
  await storage.close();
});

test('a cell keeps no data', async () => {
  const { testCell } = await import('../../src/api/testing.ts');
  const cell = await testCell();
  const lease = await (await cell.client()).acquire('x');
  await expect(lease.sync(new Uint8Array(1))).rejects.toMatchObject({ code: 'TENURE_UNSUPPORTED', details: { missing: 'sync' } });
  await cell.close();
});
