/** A lease that is given back as of a later time (P5): its holder goes on until then, and needs to tell nobody any more. */
import { describe, expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

const ENGINES = [
  ['quorum', 'quorum'],
  ['flease:2', { flease: { algorithm: 2 } }],
  ['flease:4', { flease: { algorithm: 4, skew: '200ms' } }],
  ['paxoslease:relative', { paxoslease: { clocks: 'relative' } }],
  ['paxoslease:skewed', { paxoslease: { clocks: 'skewed', skew: '200ms' } }],
  ['paxoslease:perfect', { paxoslease: { clocks: 'perfect' } }],
] as const;

describe.each(ENGINES)('with %s', (_, engine) => {
  test('the holder goes on until then, and another has it soon after, long before the term ends', async () => {
    const cell = await testCell({ engine, maxTerm: '60s' });
    const [holder, other] = [await cell.client(), await cell.client()];
    const lease = await holder.acquire('x');
    const toldAt = cell.now();
    let isGone = false;
    const gone = lease.release({ after: '5s' }).then(() => (isGone = true));
    const next = other.acquire('x').then((won) => ({ won, at: cell.now() }));
    expect(lease.remainingMs()).toBeLessThanOrEqual(5000);
    await cell.advance('4s');
    expect([lease.valid, isGone]).toEqual([true, false]);
    await cell.advance('1s');
    await gone;
    expect(lease.valid).toBe(false);
    await cell.advance('30s');
    const { won, at } = await next;
    expect(at - toldAt).toBeGreaterThanOrEqual(5000);
    expect(won.token).toBeGreaterThan(lease.token);
    expect(holder.counters()).toMatchObject({ releases: 1, losses: 0 });
    await cell.close();
  });

  test('it ends then though the holder has died meanwhile', async () => {
    const cell = await testCell({ engine, maxTerm: '60s' });
    const [holder, other] = [await cell.client(), await cell.client()];
    const lease = await holder.acquire('x');
    const leaving = lease.release({ after: '5s' });
    await cell.advance('1s');
    cell.crash(holder);
    const next = other.acquire('x');
    await cell.advance('20s');
    expect((await next).valid).toBe(true);
    await leaving;
    await cell.close();
  });

  test('its signal aborts in time, and says why', async () => {
    const cell = await testCell({ engine, maxTerm: '60s' });
    const client = await cell.client();
    const lease = await client.acquire('x');
    const { signal } = lease;
    const leaving = lease.release({ after: '2s' });
    await cell.advance('1s');
    expect(signal.aborted).toBe(false);
    await cell.advance('1s');
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'TENURE_LEASE_LOST', message: expect.stringContaining('given back') as string });
    await leaving;
    await cell.close();
  });

  test('who has stopped earlier says so, and using() is content', async () => {
    const cell = await testCell({ engine, maxTerm: '60s' });
    const client = await cell.client();
    let leaving: Promise<void> = Promise.resolve();
    const work = client.using('x', (lease) => {
      leaving = lease.release({ after: '3s' });
      // Said once, it stays so.
      void lease.release({ after: '1s' });
      return lease.remainingMs() > 2000;
    });
    await cell.advance('1s');
    expect(await work).toBe(true);
    expect(client.counters()).toMatchObject({ releases: 1, losses: 0 });
    await cell.advance('3s');
    await leaving;
    await cell.close();
  });
});

test('a span that is none is refused, and the lease is as it was', async () => {
  const cell = await testCell();
  const lease = await (await cell.client()).acquire('x');
  await expect(lease.release({ after: 'soon' as never })).rejects.toMatchObject({ code: 'TENURE_BAD_DURATION' });
  await cell.advance('1m');
  expect(lease.valid).toBe(true);
  await lease.release();
  await cell.close();
});
