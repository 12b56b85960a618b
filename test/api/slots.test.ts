/** Names with several slots, each held by one: worker ids, and what allows a few at once. */
import { describe, expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

test('each has a slot of its own, and the next waits until one is free', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const clients = await Promise.all([1, 2, 3].map(() => cell.client()));
  const leases = await Promise.all(clients.map((client) => client.acquire('pool', { slots: 3 })));
  expect(new Set(leases.map(({ slot }) => slot))).toEqual(new Set([0, 1, 2]));
  const [first] = clients;
  const [lease] = leases;
  expect(await first?.tryAcquire('pool', { slots: 3 })).toMatchObject({ ok: false, reason: 'held' });
  const waiting = first?.acquire('pool', { slots: 3 });
  await cell.advance('30s');
  expect(leases.map(({ valid }) => valid)).toEqual([true, true, true]);
  await lease?.release();
  await cell.advance('1s');
  const next = await waiting;
  expect(next?.slot).toBe(lease?.slot);
  expect(next?.token).toBeGreaterThan(lease?.token ?? 0);
  await cell.close();
});

test('the slot that is asked for is had if it is free', async () => {
  const cell = await testCell();
  const client = await cell.client();
  expect((await client.acquire('pool', { slots: 1024, slot: 77 })).slot).toBe(77);
  expect((await client.acquire('pool', { slots: 1024, slot: 77 })).slot).not.toBe(77);
  await cell.close();
});

test('a plain lease excludes all slots, and slots a plain lease', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b] = [await cell.client(), await cell.client()];
  const slot = await a.acquire('pool', { slots: 4 });
  expect(await b.tryAcquire('pool')).toMatchObject({ ok: false });
  expect(await b.tryAcquire('pool', { mode: 'shared' })).toMatchObject({ ok: false });
  await slot.release();
  const whole = await b.acquire('pool');
  expect(whole.slot).toBeUndefined();
  expect(await a.tryAcquire('pool', { slots: 4 })).toMatchObject({ ok: false });
  await cell.close();
});

test('a slot that rests is nobody’s until its quarantine is over', async () => {
  const cell = await testCell({ maxTerm: '30s' });
  const [a, b] = [await cell.client(), await cell.client()];
  const lease = await a.acquire('ids', { slots: 1, quarantine: '10s' });
  await lease.release();
  const next = b.acquire('ids', { slots: 1, quarantine: '10s' }).then(() => cell.now());
  const releasedAt = cell.now();
  await cell.advance('40s');
  expect((await next) - releasedAt).toBeGreaterThanOrEqual(10_000);
  await cell.close();
});

describe('what makes no sense is refused:', () => {
  test.each([
    [{ slots: 0 }],
    [{ slots: 1.5 }],
    [{ slots: 8193 }],
    [{ slot: 1 }],
    [{ slots: 4, slot: 4 }],
    [{ slots: 4, slot: -1 }],
    [{ slots: 4, mode: 'shared' as const }],
    [{ quarantine: '1s' as const }],
    [{ slots: 4, term: '10s' as const, quarantine: '6s' as const }],
  ])('%j', async (options) => {
    const cell = await testCell({ maxTerm: '15s' });
    const client = await cell.client();
    await expect(client.acquire('pool', options)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await cell.close();
  });
});

test('engines without slots say so', async () => {
  const cell = await testCell({ engine: { paxoslease: { clocks: 'relative' } } });
  const client = await cell.client();
  await expect(client.acquire('pool', { slots: 2 })).rejects.toMatchObject({ code: 'TENURE_UNSUPPORTED', details: { missing: 'slots' } });
  await cell.close();
});
