/** Leases and leaderships that are handed over to the next in line. */
import { describe, expect, test } from 'vitest';
import { testCell, type TestCell } from '../../src/api/testing.ts';

/** What a promise came to, once the cell has had some time. */
async function after<T>(cell: TestCell, promise: Promise<T>, time = '1s'): Promise<T> {
  promise.catch(() => {});
  await cell.advance(time);
  return promise;
}

test('a lease is handed over to the first in line, with a higher token, and the others wait on', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b, c] = [await cell.client(), await cell.client(), await cell.client()];
  const lease = await a.acquire('x');
  const second = b.acquire('x');
  await cell.advance('1s');
  let third = false;
  void c.acquire('x').then(
    () => (third = true),
    () => {},
  );
  await cell.advance('1s');
  expect(await after(cell, lease.transfer())).toBe(true);
  expect(lease.valid).toBe(false);
  // It was given away, not lost.
  expect(a.counters()).toMatchObject({ releases: 1, losses: 0 });
  const heir = await second;
  expect(heir.valid).toBe(true);
  expect(heir.token).toBeGreaterThan(lease.token);
  expect(third).toBe(false);
  // Calling again changes nothing.
  await lease.release();
  expect(heir.valid).toBe(true);
  await cell.close();
});

test('a lease can be handed over to a waiter that waiters() told of', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b, c] = [await cell.client(), await cell.client(), await cell.client()];
  const lease = await a.acquire('x');
  void b.acquire('x', { mode: 'shared' }).catch(() => {});
  await cell.advance('1s');
  const chosen = c.acquire('x');
  await cell.advance('1s');
  const waiters = await after(cell, a.waiters('x'));
  expect(waiters).toMatchObject([
    { incarnation: b.incarnation, mode: 'shared' },
    { incarnation: c.incarnation, mode: 'exclusive' },
  ]);
  expect(await after(cell, lease.transfer(waiters[1]))).toBe(true);
  expect((await chosen).valid).toBe(true);
  await expect(lease.transfer({ incarnation: 0, request: 1, mode: 'exclusive' })).rejects.toMatchObject({ code: 'TENURE_LEASE_LOST' });
  await expect((await chosen).transfer({} as never)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  expect(await after(cell, a.waiters('nobody/waits'))).toEqual([]);
  await cell.close();
});

test('with nobody there the lease is held as before, and renewed', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b] = [await cell.client(), await cell.client()];
  const lease = await a.acquire('x');
  expect(await after(cell, lease.transfer())).toBe(false);
  // Somebody waits, and dies.
  void b.acquire('x').catch(() => {});
  await cell.advance('1s');
  cell.crash(b);
  const [one, two] = await after(cell, Promise.all([lease.transfer(), lease.transfer()]));
  expect([one, two]).toEqual([false, false]);
  await cell.advance('60s');
  expect(lease.valid).toBe(true);
  await cell.close();
});

test('a leadership goes to the next candidate, who says what it has to say from the first moment', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b, c] = [await cell.client(), await cell.client(), await cell.client()];
  const leader = await a.elect('db').campaign({ value: 'a' });
  const next = b.elect('db').campaign({ value: 'b' });
  await cell.advance('1s');
  const seen: (string | null)[] = [];
  const looking = (async () => {
    for await (const change of c.elect('db').observe()) if (change.kind === 'leader') seen.push(change.leader?.text ?? null);
  })();
  await cell.advance('5s');
  expect(await after(cell, leader.handOver())).toBe(true);
  expect((await next).valid).toBe(true);
  await cell.advance('5s');
  // Nobody is told that nobody leads.
  expect(seen).toEqual(['a', 'b']);
  await cell.close();
  await looking.catch(() => {});
});

describe('close({ handOver: true })', () => {
  test('hands over what somebody waits for, and gives back the rest', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [a, b] = [await cell.client(), await cell.client()];
    const [x, y] = [await a.acquire('x'), await a.acquire('y')];
    const waiting = b.acquire('x');
    await cell.advance('1s');
    await after(cell, a.close({ handOver: true }));
    expect((await waiting).token).toBeGreaterThan(x.token);
    expect(y.valid).toBe(false);
    expect(await after(cell, b.tryAcquire('y'))).toMatchObject({ ok: true });
    await cell.close();
  });
});

describe.each([{ flease: { algorithm: 3 } }, { paxoslease: { clocks: 'relative' } }] as const)('with the engine %s', (engine) => {
  test('nothing is handed over, and that is said by a code', async () => {
    const cell = await testCell({ engine });
    const client = await cell.client();
    const lease = await client.acquire('x');
    const refusal = { code: 'TENURE_UNSUPPORTED', details: { missing: 'handOver' } };
    await expect(lease.transfer()).rejects.toMatchObject(refusal);
    await expect(client.waiters('x')).rejects.toMatchObject(refusal);
    await expect(client.close({ handOver: true })).rejects.toMatchObject(refusal);
    expect(lease.valid).toBe(true);
    await cell.close();
  });
});

test('a lease that has to rest after its use, or stands under a collection, is not handed over', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b] = [await cell.client(), await cell.client()];
  const slot = await a.acquire('ids', { slots: 1, term: '2s', quarantine: '3s' });
  void b.acquire('ids', { slots: 1, term: '2s' }).catch(() => {});
  await cell.advance('500ms');
  expect(await after(cell, slot.transfer(), '100ms')).toBe(false);
  const item = await a.acquire('item', { within: 'collection' });
  await expect(item.transfer()).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  await cell.close();
});
