/** Leases that end because of what their holder has said: at their maxHold, or when renewWhile does not say to go on. */
import { describe, expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

describe('maxHold', () => {
  test('a lease is renewed up to its limit, and ends there', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [holder, other] = [await cell.client(), await cell.client()];
    const lease = await holder.acquire('x', { maxHold: '25s' });
    const { signal } = lease;
    const next = other.acquire('x').then((won) => ({ won, at: cell.now() }));
    const grantedAt = cell.now();
    await cell.advance('20s');
    expect([lease.valid, signal.aborted]).toEqual([true, false]);
    await cell.advance('5s');
    expect(lease.valid).toBe(false);
    expect(signal.reason).toMatchObject({ code: 'TENURE_LEASE_LOST', details: { ended: 'maxHold' } });
    await cell.advance('1s');
    const { won, at } = await next;
    expect(at - grantedAt).toBeLessThan(26_000);
    expect(won.token).toBeGreaterThan(lease.token);
    await cell.close();
  });

  test('a limit below the term shortens the term, and is told to whoever worked too long', async () => {
    const cell = await testCell({ maxTerm: '60s' });
    const client = await cell.client();
    let done = (): void => {};
    const work = client.using('x', { maxHold: '2s' }, async (lease) => {
      expect(lease.remainingMs()).toBeLessThanOrEqual(2000);
      await new Promise<void>((resolve) => (done = resolve));
      return 'late';
    });
    const judged = work.catch((error: unknown) => error);
    await cell.advance('3s');
    done();
    await cell.advance('1s');
    expect(await judged).toMatchObject({ code: 'TENURE_LEASE_LOST', result: 'late', details: { ended: 'maxHold' } });
    await cell.close();
  });

  test('a limit that is no time is refused', async () => {
    const cell = await testCell();
    const client = await cell.client();
    await expect(client.acquire('x', { maxHold: 0 })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await expect(client.acquire('x', { maxHold: 'long' as never })).rejects.toMatchObject({ code: 'TENURE_BAD_DURATION' });
    await cell.close();
  });
});

describe('renewWhile', () => {
  test('a lease is kept as long as it returns true, and runs out when it does not', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const client = await cell.client();
    let isWell = true;
    const asked: number[] = [];
    const lease = await client.acquire('x', {
      renewWhile: ({ token }) => {
        asked.push(token);
        return isWell;
      },
    });
    const { signal } = lease;
    await cell.advance('60s');
    expect(lease.valid).toBe(true);
    expect(asked.length).toBeGreaterThan(5);
    expect(new Set(asked)).toEqual(new Set([lease.token]));
    isWell = false;
    await cell.advance('5s');
    const count = asked.length;
    await cell.advance('15s');
    // It said no, and is not asked again.
    expect(asked.length).toBe(count);
    expect(lease.valid).toBe(false);
    expect(signal.reason).toMatchObject({ code: 'TENURE_LEASE_LOST', details: { ended: 'renewWhile' } });
    expect(client.counters()).toMatchObject({ losses: 1, releases: 0 });
    await cell.close();
  });

  test.each([
    [
      'that throws',
      (): boolean => {
        throw new Error('no pulse');
      },
    ],
    ['that never answers', (): Promise<boolean> => new Promise(() => {})],
    ['that answers with anything else', (): boolean => 1 as unknown as boolean],
  ])('one %s lets the lease run out', async (_, renewWhile) => {
    const cell = await testCell({ maxTerm: '10s' });
    const client = await cell.client();
    const warnings: unknown[] = [];
    const heard = (warning: unknown): unknown => warnings.push(warning);
    process.on('warning', heard);
    const lease = await client.acquire('x', { renewWhile });
    await cell.advance('30s');
    expect(lease.valid).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', heard);
    await cell.close();
  });

  test('what a holder says of itself meanwhile does not move its end on', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const client = await cell.client();
    const lease = await client.acquire('x', { renewWhile: () => false });
    await cell.advance('1s');
    const { deadline } = lease;
    const told = lease.proclaim('still here');
    await cell.advance('1s');
    await told;
    expect(lease.deadline).toBeLessThanOrEqual(deadline + 1);
    await cell.advance('10s');
    expect(lease.valid).toBe(false);
    await cell.close();
  });
});

test.each([
  ['maxHold', { maxHold: '1m' }],
  ['renewWhile', { renewWhile: (): boolean => true }],
] as const)('engines without %s say so', async (missing, options) => {
  const cell = await testCell({ engine: { paxoslease: { clocks: 'relative' } } });
  const client = await cell.client();
  await expect(client.acquire('x', options)).rejects.toMatchObject({ code: 'TENURE_UNSUPPORTED', details: { missing } });
  await cell.close();
});
