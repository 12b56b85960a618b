/** The testing kit: what it plays is what a real cell does, and it is the same every time. */
import { describe, expect, test } from 'vitest';
import { testCell, type Lease } from '../../src/api/testing.ts';

/** What a short, eventful life of a cell looks like from outside. */
async function life(seed: number): Promise<unknown[]> {
  const cell = await testCell({ seed, maxTerm: '5s' });
  const seen: unknown[] = [];
  const clients = await Promise.all([cell.client(), cell.client(), cell.client()]);
  const work = clients.map((client, i) =>
    client.using('x', async (lease) => {
      seen.push([i, cell.now(), lease.token]);
      await cell.sleep('2s');
    }),
  );
  await cell.advance('1s');
  cell.crash(cell.member('b'));
  await cell.advance('10s');
  await Promise.all(work);
  seen.push(cell.now());
  await cell.close();
  return seen;
}

describe('virtual time', () => {
  test('stands still until it is told to pass', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const lease = await client.acquire('x');
    const [now, left] = [cell.now(), lease.remainingMs()];
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([cell.now(), lease.remainingMs()]).toEqual([now, left]);
    expect(now).toBeLessThan(100);
    await cell.advance('1h');
    expect(cell.now()).toBe(now + 3_600_000);
    expect(lease.valid).toBe(true);
  });

  test('gives the same run for the same seed', async () => {
    const [one, two] = [await life(7), await life(7)];
    expect(one).toEqual(two);
    expect(one).toHaveLength(4);
  });

  test('lets code under test sleep, and wake in order', async () => {
    const cell = await testCell();
    const woken: number[] = [];
    const sleeps = [300, 100, 200].map(async (ms) => {
      await cell.sleep(ms);
      woken.push(ms, cell.now());
    });
    const begun = cell.now();
    const gone = new AbortController();
    const aborted = cell.sleep('1s', { signal: gone.signal });
    gone.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await cell.advance('250ms');
    expect(woken).toEqual([100, begun + 100, 200, begun + 200]);
    await cell.advance('50ms');
    await Promise.all(sleeps);
  });

  test('is the same for two who let it pass at once: one after the other', async () => {
    const cell = await testCell();
    const begun = cell.now();
    await Promise.all([cell.advance('1s'), cell.advance('2s')]);
    expect(cell.now()).toBe(begun + 3000);
  });
});

describe('a member of a test cell', () => {
  test('is past its silence, unless it is asked for', async () => {
    const ready = await testCell();
    expect(ready.memberIds.map((id) => ready.member(id).state)).toEqual(['ready', 'ready', 'ready']);
    const silent = await testCell({ silent: true, maxTerm: '10s' });
    const client = await silent.client();
    await expect(client.tryAcquire('x')).rejects.toMatchObject({ code: 'TENURE_SILENT' });
    expect(silent.member('a').state).toBe('silent');
    await silent.advance('12.2s');
    expect(silent.member('a').state).toBe('silent');
    await silent.advance('100ms');
    expect(silent.member('a').state).toBe('ready');
    expect((await client.tryAcquire('x')).ok).toBe(true);
  });

  test('that crashed is missed by nobody as long as there is a majority', async () => {
    const cell = await testCell({ members: 5, maxTerm: '4s' });
    const client = await cell.client();
    const lease = await client.acquire('x');
    cell.crash(cell.member('a'));
    cell.crash(cell.member('d'));
    expect(() => cell.member('a')).toThrow(expect.objectContaining({ code: 'TENURE_UNKNOWN_MEMBER' }));
    expect(client.state).toBe('degraded');
    await cell.advance('1m');
    expect(lease.valid).toBe(true);
    const again = await cell.restart('a');
    await cell.restart('d');
    expect(again.state).toBe('silent');
    await cell.advance('5s');
    expect([again.state, client.state]).toEqual(['ready', 'ready']);
    cell.crash(cell.member('b'));
    cell.crash(cell.member('c'));
    await cell.advance('1m');
    expect(lease.valid).toBe(true);
  });

  test('can acquire, too', async () => {
    const cell = await testCell({ members: 1 });
    const lease = await cell.member('a').acquire('x');
    await lease.release();
    expect(await cell.member('a').holder('x')).toMatchObject({ certain: true, holder: null });
  });
});

test('a listener that throws keeps a cell from nothing', async () => {
  const cell = await testCell({ silent: true, maxTerm: '4s' });
  const client = await cell.client();
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
  for (const one of [client, ...cell.memberIds.map((id) => cell.member(id))]) {
    one.on('state', () => {
      throw new Error('a bad listener');
    });
  }
  await cell.advance('5s');
  expect(await warned).toMatchObject({ message: 'a bad listener' });
  const lease = await client.acquire('x');
  cell.cutOff(cell.member('a'));
  await cell.advance('1m');
  expect([lease.valid, client.state, cell.member('b').state]).toEqual([true, 'degraded', 'degraded']);
});

describe('what a test does to a client', () => {
  test('cut off, it is told to stop a margin before its deadline, to the microsecond; mended, it goes on', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [one, two] = [await cell.client(), await cell.client()];
    const lease = await one.acquire('x');
    cell.cutOff(one);
    expect(one.state).toBe('no-quorum');
    const left = lease.remainingMs();
    const { signal } = lease;
    await cell.advance(left - 1000.001);
    expect([lease.valid, signal.aborted]).toEqual([true, false]);
    await cell.advance(0.001);
    expect([lease.valid, signal.aborted]).toEqual([true, true]);
    await cell.advance(999.999);
    expect(lease.valid).toBe(true);
    await cell.advance(0.001);
    expect(lease.valid).toBe(false);
    const waiting = two.acquire('x');
    // Members keep it for ten seconds as the slowest clock counts them.
    await cell.advance('2.3s');
    const next = await waiting;
    expect(next.token).toBeGreaterThan(lease.token);
    await cell.mend(one);
    expect(await one.tryAcquire('x')).toMatchObject({ ok: false, reason: 'held' });
  });

  test('with a member cut off, it goes on; with two, nothing goes', async () => {
    const cell = await testCell({ maxTerm: '4s' });
    cell.cutOff(cell.member('a'));
    const client = await cell.client();
    expect(client.state).toBe('degraded');
    const lease = await client.acquire('x');
    cell.cutOff(cell.member('b'));
    await expect(client.tryAcquire('y')).rejects.toMatchObject({ code: 'TENURE_NO_QUORUM', details: { unreached: 'a, b' } });
    await cell.advance('4s');
    expect(lease.valid).toBe(false);
    await cell.mend(cell.member('b'));
    expect((await client.tryAcquire('x')).ok).toBe(true);
  });

  test('stalled past its term, it finds its lease lost with the first look', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [one, two] = [await cell.client(), await cell.client()];
    const lease = await one.acquire('x');
    const { signal } = lease;
    cell.stall(one, '20s');
    const waiting = two.acquire('x');
    await cell.advance('19s');
    const next = await waiting;
    expect([lease.valid, next.valid, signal.aborted]).toEqual([false, true, false]);
    await cell.advance('2s');
    expect(signal.aborted).toBe(true);
    expect(one.clockCounts?.stalls).toBeGreaterThan(0);
    expect(await one.holder('x')).toMatchObject({ certain: true, holder: { token: next.token } });
  });

  test('a lease taken from it is over at once, its others are not, and someone else can have it', async () => {
    const cell = await testCell();
    const [one, two] = [await cell.client(), await cell.client()];
    const [lease, other] = [await one.acquire('x'), await one.acquire('y')];
    const reasons: unknown[] = [];
    lease.signal.addEventListener('abort', () => reasons.push(lease.signal.reason));
    cell.loseLease(lease);
    expect(reasons).toEqual([expect.objectContaining({ code: 'TENURE_LEASE_LOST' })]);
    expect([lease.valid, other.valid]).toEqual([false, true]);
    expect((await two.tryAcquire('x')).ok).toBe(true);
    expect(() => cell.loseLease(lease)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    await lease.release();
    await cell.advance('1m');
    expect(other.valid).toBe(true);
  });

  test('crashed, it is done with, and others get its lease when the term is over', async () => {
    const cell = await testCell({ maxTerm: '10s' });
    const [one, two] = [await cell.client(), await cell.client()];
    const lease = await one.acquire('x');
    const waits = one.acquire('x').catch((error: unknown) => error);
    cell.crash(one);
    expect(lease.valid).toBe(false);
    expect(await waits).toMatchObject({ code: 'TENURE_CLOSED' });
    await expect(one.acquire('y')).rejects.toMatchObject({ code: 'TENURE_CLOSED' });
    await one.close();
    let next: Lease | undefined;
    const waiting = two.acquire('x').then((granted) => (next = granted));
    await cell.advance('12.1s');
    expect(next).toBe(undefined);
    await cell.advance('200ms');
    expect((await waiting).valid).toBe(true);
    expect(() => cell.cutOff(one)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
  });
});

test('a closed cell leaves nothing that waits', async () => {
  const cell = await testCell();
  const [one, two] = [await cell.client(), await cell.client()];
  const lease = await one.acquire('x');
  cell.cutOff(one);
  const waits = two.acquire('x').catch((error: unknown) => error);
  await cell.close();
  expect(await waits).toMatchObject({ code: 'TENURE_CLOSED' });
  expect(lease.valid).toBe(false);
  await one.close();
});

test('a test cell has from 1 to 26 members', async () => {
  await expect(testCell({ members: 0 })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  await expect(testCell({ members: 27 })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
});
