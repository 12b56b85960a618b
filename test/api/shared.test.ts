/** Readers and writers of one name in a cell of the quorum engine. */
import { describe, expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

const SHARED = { mode: 'shared' } as const;

test('readers hold together, of one process or of several, and a writer waits for all of them', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b, c] = [await cell.client(), await cell.client(), await cell.client()];
  const readers = await Promise.all([a.acquire('x', SHARED), a.acquire('x', SHARED), b.acquire('x', SHARED)]);
  expect(readers.map(({ mode, valid }) => [mode, valid])).toEqual(readers.map(() => ['shared', true]));
  const writer = c.acquire('x').then((lease) => ({ lease, at: cell.now() }));
  await cell.advance('30s');
  // They are renewed, each of them.
  expect(readers.map(({ valid }) => valid)).toEqual([true, true, true]);
  const releasedAt = cell.now();
  for (const reader of readers) await reader.release();
  await cell.advance('1s');
  const { lease, at } = await writer;
  expect(at).toBeGreaterThanOrEqual(releasedAt);
  expect(lease.mode).toBe('exclusive');
  expect(lease.token).toBeGreaterThan(Math.max(...readers.map(({ token }) => token)));
  await cell.close();
});

test('no reader passes a writer that waits', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b, c] = [await cell.client(), await cell.client(), await cell.client()];
  const first = await a.acquire('x', SHARED);
  const order: string[] = [];
  const writing = b.using('x', () => order.push('writer'));
  await cell.advance('1s');
  expect(await c.tryAcquire('x', SHARED)).toMatchObject({ ok: false, reason: 'queued' });
  const reading = c.acquire('x', SHARED).then(() => order.push('reader'));
  await cell.advance('20s');
  expect(order).toEqual([]);
  await first.release();
  await cell.advance('2s');
  await Promise.all([writing, reading]);
  expect(order).toEqual(['writer', 'reader']);
  await cell.close();
});

test('a holder is told that somebody waits', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b] = [await cell.client(), await cell.client()];
  const lease = await a.acquire('x', SHARED);
  let wanted = 0;
  lease.onWanted(() => wanted++);
  await cell.advance('20s');
  expect(wanted).toBe(0);
  const next = b.acquire('x');
  await cell.advance('10s');
  expect(wanted).toBeGreaterThan(0);
  await lease.release();
  await cell.advance('1s');
  await (await next).release();
  await cell.close();
});

test('who asks is told that readers hold it', async () => {
  const cell = await testCell();
  const [a, b] = [await cell.client(), await cell.client()];
  const lease = await a.acquire('x', { ...SHARED, meta: 'reading' });
  expect(await b.holder('x')).toMatchObject({ holder: { mode: 'shared', token: lease.token }, text: 'reading' });
  expect((await b.list()).leases).toMatchObject([{ name: 'x', holder: { mode: 'shared' } }]);
  expect(await b.tryAcquire('x')).toMatchObject({ ok: false, reason: 'held' });
  await lease.release();
  expect(await b.holder('x')).toMatchObject({ holder: null });
  await cell.close();
});

describe('upgrade', () => {
  test('the only reader has it alone at once, with a new token', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [a, b] = [await cell.client(), await cell.client()];
    const lease = await a.acquire('x', SHARED);
    const { token } = lease;
    await lease.upgrade();
    expect(lease.mode).toBe('exclusive');
    expect(lease.token).toBeGreaterThan(token);
    expect(await b.tryAcquire('x', SHARED)).toMatchObject({ ok: false, reason: 'held' });
    await cell.advance('1m');
    expect(lease.valid).toBe(true);
    await lease.release();
    expect(await b.tryAcquire('x', SHARED)).toMatchObject({ ok: true });
    await cell.close();
  });

  test('with other readers it waits, before a writer that came earlier, and goes on reading meanwhile', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [a, b, c] = [await cell.client(), await cell.client(), await cell.client()];
    const [lease, other] = [await a.acquire('x', SHARED), await b.acquire('x', SHARED)];
    let wrote = false;
    const writing = c.acquire('x').then((writer) => {
      wrote = true;
      return writer;
    });
    await cell.advance('1s');
    let isUpgraded = false;
    const upgrading = lease.upgrade().then(() => (isUpgraded = true));
    await cell.advance('25s');
    expect([lease.valid, lease.mode, isUpgraded]).toEqual([true, 'shared', false]);
    await other.release();
    await cell.advance('1s');
    await upgrading;
    expect([lease.mode, wrote]).toEqual(['exclusive', false]);
    await lease.release();
    await cell.advance('1s');
    expect((await writing).token).toBeGreaterThan(lease.token);
    await cell.close();
  });

  test('of two readers that want it alone one is refused, and stays a reader', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [a, b] = [await cell.client(), await cell.client()];
    const [first, second] = [await a.acquire('x', SHARED), await b.acquire('x', SHARED)];
    await expect(first.upgrade({ wait: 0 })).rejects.toMatchObject({ code: 'TENURE_UPGRADE_CONFLICT' });
    const upgrading = first.upgrade();
    await cell.advance('1s');
    await expect(second.upgrade()).rejects.toMatchObject({ code: 'TENURE_UPGRADE_CONFLICT' });
    expect([first.mode, second.mode, first.valid, second.valid]).toEqual(['shared', 'shared', true, true]);
    await second.release();
    await cell.advance('1s');
    await upgrading;
    expect(first.mode).toBe('exclusive');
    await cell.close();
  });

  test('it can be given up, and waits no longer than it is told to', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [a, b] = [await cell.client(), await cell.client()];
    const [lease, other] = [await a.acquire('x', SHARED), await b.acquire('x', SHARED)];
    const tooLong = lease.upgrade({ wait: '3s' }).catch((error: unknown) => error);
    await cell.advance('5s');
    expect(await tooLong).toMatchObject({ code: 'TENURE_WAIT_TIMEOUT' });
    const controller = new AbortController();
    const givenUp = lease.upgrade({ signal: controller.signal }).catch((error: unknown) => error);
    await cell.advance('1s');
    controller.abort(new Error('enough'));
    expect(await givenUp).toMatchObject({ message: 'enough' });
    await other.release();
    await cell.advance('20s');
    expect([lease.valid, lease.mode]).toEqual([true, 'shared']);
    await cell.close();
  });

  test('a lease that ends meanwhile takes its upgrade with it', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [a, b] = [await cell.client(), await cell.client()];
    const [lease] = [await a.acquire('x', SHARED), await b.acquire('x', SHARED)];
    const refused = lease.upgrade().catch((error: unknown) => error);
    await cell.advance('1s');
    await lease.release();
    expect(await refused).toMatchObject({ code: 'TENURE_LEASE_LOST' });
    await cell.close();
  });
});

test('downgrade lets readers in at once, and keeps the token', async () => {
  const cell = await testCell({ maxTerm: '10s' });
  const [a, b] = [await cell.client(), await cell.client()];
  const lease = await a.acquire('x');
  const { token } = lease;
  const reading = b.acquire('x', SHARED);
  await cell.advance('1s');
  lease.downgrade();
  expect(lease.mode).toBe('shared');
  await cell.advance('1s');
  const reader = await reading;
  expect(reader.token).toBeGreaterThan(token);
  expect([lease.token, lease.valid]).toEqual([token, true]);
  await cell.advance('1m');
  expect([lease.valid, reader.valid]).toEqual([true, true]);
  await lease.release();
  await reader.upgrade({ wait: 0 });
  expect(reader.mode).toBe('exclusive');
  await cell.close();
});
