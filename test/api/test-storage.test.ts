/** Leases on storage, on virtual time: what is particular to them, and the testing kit itself. */
import { describe, expect, test } from 'vitest';
import { testStorage, type LeaseStorage, type TestStorage, type TestStorageOptions } from '../../src/api/testing.ts';

/** W of plain registers is (4s + 6 · 50ms) · 1.1/0.9 = 5.26s, a record's term 4s · 1.1/0.9 = 4.89s. */
const OPTIONS: TestStorageOptions = { maxTerm: '4s', delta: '50ms' };
const ENGINES = ['compare-and-set', 'plain'] as const;

async function two(options: TestStorageOptions): Promise<[TestStorage, LeaseStorage, LeaseStorage]> {
  const storage = await testStorage({ ...OPTIONS, ...options });
  return [storage, await storage.client(), await storage.client()];
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}

describe.each(ENGINES)('with %s', (engine) => {
  test('a lease is taken, renewed and given back, and nothing needs real time', async () => {
    const [storage, one, other] = await two({ engine });
    const lease = await one.acquire('x', { meta: 'one' });
    await storage.advance('1h');
    expect(lease.valid).toBe(true);
    await lease.release();
    expect((await other.tryAcquire('x')).ok).toBe(true);
    await storage.close();
  });

  test('a try that finds a living holder is answered when that renews', async () => {
    const [storage, one, other] = await two({ engine });
    const lease = await one.acquire('x');
    const from = storage.now();
    const answer = await other.tryAcquire('x');
    expect(answer).toMatchObject({ ok: false, reason: 'held', holder: { token: lease.token, incarnation: one.incarnation } });
    expect(storage.now() - from).toBeLessThan(1600);
    await storage.close();
  });

  test('a try that finds a dead holder takes the lease after one observation', async () => {
    const [storage, one, other] = await two({ engine });
    const lease = await one.acquire('x');
    storage.crash(one);
    const trying = other.tryAcquire('x');
    await storage.advance('4.8s');
    expect(await isPending(trying)).toBe(true);
    await storage.advance('1s');
    const answer = await trying;
    expect(answer.ok && answer.lease.token > lease.token).toBe(true);
    await storage.close();
  });

  test('requests of one process for one name queue in it, in order', async () => {
    const [storage, one] = await two({ engine });
    const served: number[] = [];
    const first = await one.acquire('x');
    const waits = [1, 2, 3, 4, 5].map((i) => one.using('x', () => served.push(i)));
    await first.release();
    await storage.advance('5s');
    await Promise.all(waits);
    expect(served).toEqual([1, 2, 3, 4, 5]);
    await storage.close();
  });

  test('a process that closes in the middle of its attempt leaves nothing behind that others have to wait for', async () => {
    const [storage, one, other] = await two({ engine });
    const asking = one.acquire('x').catch((error: unknown) => error);
    await storage.advance('0.6ms');
    const closing = one.close();
    await storage.advance('500ms');
    await closing;
    expect(await asking).toMatchObject({ code: 'TENURE_CLOSED' });
    const from = storage.now();
    expect((await other.acquire('x')).valid).toBe(true);
    expect(storage.now() - from).toBeLessThan(400);
    await storage.close();
  });

  test('S6: a leader leads until its deadline, and not longer, though its renewals are late', async () => {
    const [storage, one, other] = await two({ engine });
    const leadership = await one.elect('x').campaign({ value: 'one' });
    const standing = other.elect('x').campaign({ value: 'other' });
    storage.cutOff(one);
    const leftMs = leadership.remainingMs();
    await storage.advance(leftMs - 1);
    expect([leadership.valid, leadership.signal.aborted, await isPending(standing)]).toEqual([true, true, true]);
    await storage.advance(1);
    expect(leadership.valid).toBe(false);
    await storage.advance('6s');
    storage.mend(one);
    await storage.advance('1s');
    expect([leadership.valid, (await standing).valid]).toEqual([false, true]);
    expect((await one.elect('x').leader())?.text).toBe('other');
    await storage.close();
  });

  test('a store that has lost everything is not trusted before what was held is over', async () => {
    const [storage, one, other] = await two({ engine });
    const lease = await one.acquire('x');
    storage.loseWrites();
    const waiting = other.acquire('x');
    await storage.advance('100ms');
    expect(other.silentForMs).toBeGreaterThan(5000);
    expect(await other.holder('x')).toMatchObject({ holder: null, certain: false });
    await expect(other.elect('x').leader()).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE', message: /may have lost writes/ });
    expect([lease.valid, await isPending(waiting)]).toEqual([true, true]);
    // Its record is gone: it is renewed no more.
    await storage.advance('4s');
    expect([lease.valid, await isPending(waiting)]).toEqual([false, true]);
    await storage.advance('2s');
    expect((await waiting).valid).toBe(true);
    // The epoch was waited out, and noted so: who comes later takes what is free at once.
    const later = await storage.client();
    expect(later.silentForMs).toBe(0);
    expect((await later.tryAcquire('y')).ok).toBe(true);
    await storage.close();
  });

  test('a watch tells of holders as they come and go, and of a gap when the store was not reached', async () => {
    const [storage, one, other] = await two({ engine });
    const held = await one.acquire('a/x', { meta: 'one' });
    const watch = other.watch('a/');
    const next = async (): Promise<string> => {
      const { value } = await watch.next();
      if (value?.kind !== 'change') return value?.kind ?? 'over';
      return `${value.name} ${value.holder?.token === held.token ? 'held' : value.holder ? 'other' : 'free'} ${Buffer.from(value.meta ?? []).toString()}`;
    };
    expect([await next(), await next()]).toEqual(['a/x held one', 'current']);
    const proclaimed = held.proclaim('still one');
    await storage.advance('2s');
    await proclaimed;
    expect(await next()).toBe('a/x held still one');
    await held.release();
    await storage.advance('2s');
    expect(await next()).toBe('a/x free ');
    storage.cutOff(other);
    await storage.advance('2s');
    await one.acquire('a/y', { meta: 'two' });
    storage.mend(other);
    await storage.advance('2s');
    expect([await next(), await next()]).toEqual(['gap', 'a/y other two']);
    await storage.close();
  });
});

test('clocks within the rate error change nothing, stalled holders learn the truth at once', async () => {
  const [storage, one, other] = await two({});
  storage.setClockRate(one, 0.9);
  storage.setClockRate(other, 1.1);
  const lease = await one.acquire('x');
  storage.stall(one, '10s');
  const waiting = other.acquire('x');
  await storage.advance('4.3s');
  expect([lease.valid, await isPending(waiting)]).toEqual([true, true]);
  await storage.advance('2s');
  expect([lease.valid, (await waiting).valid]).toEqual([false, true]);
  expect(() => storage.setClockRate(one, 0)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
  await storage.close();
});

test('a lease that is lost now', async () => {
  const [storage, one, other] = await two({});
  const lease = await one.acquire('x');
  const { signal } = lease;
  storage.loseLease(lease);
  expect([lease.valid, signal.aborted]).toEqual([false, true]);
  expect((await other.acquire('x')).valid).toBe(true);
  expect(() => storage.loseLease(lease)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
  storage.crash(one);
  expect(() => storage.crash(one)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
  await storage.close();
});

test('what cannot work is said at once, and code that sleeps is served', async () => {
  await expect(testStorage({ maxTerm: '100ms', delta: '50ms' })).rejects.toMatchObject({ code: 'TENURE_BAD_TIMING' });
  await using storage = await testStorage(OPTIONS);
  const slept = storage.sleep('1m');
  await storage.advance('1m');
  await slept;
  expect(storage.now()).toBe(60_000);
});
