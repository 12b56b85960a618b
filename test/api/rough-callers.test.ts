/** Callers that do the unexpected at the wrong moment: listeners that throw, calls within calls, buffers used again, a cell closed under its holders. */
import { describe, expect, test } from 'vitest';
import { observe, type Cell } from '../../src/api/index.ts';
import { testCell } from '../../src/api/testing.ts';

/** What it is rejected with; asked for at once, it is never unhandled. */
function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}

async function isFree(cell: Cell, name: string): Promise<boolean> {
  const taken = await cell.tryAcquire(name);
  if (taken.ok) await taken.lease.release();
  return taken.ok;
}

test('a listener that throws keeps nobody from learning that the cell is ready', async () => {
  const cell = await testCell({ silent: true });
  const member = cell.member('a');
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
  member.on('state', () => {
    throw new Error('thrown by a listener');
  });
  const ready = member.ready();
  await cell.advance('20s');
  await ready;
  expect((await warned).message).toBe('thrown by a listener');
  await cell.close();
});

test('a request that is given up in the moment of its grant leaves nothing held', async () => {
  // The only member grants to itself at once, so the grant is there before the caller has heard of it.
  const cell = await testCell({ members: 1 });
  const member = cell.member('a');
  let givenUp: Promise<unknown> = Promise.resolve();
  const stop = observe('tenure:lease:granted', ({ name }) => {
    if (name !== 'first') return;
    const controller = new AbortController();
    givenUp = errorOf(member.acquire('second', { signal: controller.signal }));
    controller.abort('changed my mind');
  });
  await member.acquire('first');
  stop();
  expect(await givenUp).toBe('changed my mind');
  expect(await isFree(member, 'second')).toBe(true);
  await cell.close();
});

describe('metadata', () => {
  test.each([
    ['bytes', new Uint8Array([1, 1])],
    ['a Buffer', Buffer.from([1, 1])],
  ])('is what it was when it was given: %s that is used again changes nothing', async (_what, meta) => {
    const cell = await testCell({ maxTerm: '2s' });
    const [client, other] = [await cell.client(), await cell.client()];
    const lease = await client.acquire('x', { meta });
    meta.fill(2);
    await cell.advance('5s');
    expect([...((await other.holder('x')).meta ?? [])]).toEqual([1, 1]);
    const proclaimed = lease.proclaim(meta.fill(3));
    meta.fill(4);
    await proclaimed;
    await cell.advance('5s');
    expect([...((await other.holder('x')).meta ?? [])]).toEqual([3, 3]);
    await cell.close();
  });

  test('that is neither text nor bytes is refused', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const lease = await client.acquire('x');
    for (const meta of [5, {}, null, [1, 2]] as unknown as string[]) {
      await expect(client.acquire('y', { meta })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
      await expect(lease.proclaim(meta)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    }
    expect(client.counters()).toMatchObject({ held: 1, waiting: 0 });
    await cell.close();
  });
});

describe('a cell that is closed under its holders', () => {
  test('tells them to stop before the others can have it', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const { signal } = await client.acquire('x');
    const closed = client.close();
    expect(signal.reason).toMatchObject({ code: 'TENURE_CLOSED' });
    await closed;
    expect(await isFree(await cell.client(), 'x')).toBe(true);
    await cell.close();
  });

  test('does not let work under a lease pass for done', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const work = client.using('x', async () => {
      await cell.sleep('1s');
      return 'done';
    });
    const outcome = errorOf(work);
    await cell.advance('100ms');
    // Not a moment is given to work that has not stopped.
    await client.close({ timeout: 0 });
    await cell.advance('1s');
    expect(await outcome).toMatchObject({ code: 'TENURE_LEASE_LOST', result: 'done' });
    await cell.close();
  });

  test('leaves those alone that have given theirs back themselves', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const done = await client.using('x', async (lease) => {
      const { signal } = lease;
      await lease.release();
      await client.close();
      return signal.aborted;
    });
    expect(done).toBe(false);
    await cell.close();
  });
});

test('a term that is refused is none to be warned of', async () => {
  const cell = await testCell();
  const client = await cell.client();
  const warnings: string[] = [];
  client.on('warning', ({ code }) => warnings.push(code));
  await expect(client.acquire('x', { term: '10us' })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  await cell.advance('5s');
  expect(warnings).toEqual([]);
  await cell.close();
});

test('a wait that ends because nobody answered says who did not', async () => {
  const cell = await testCell();
  const client = await cell.client();
  cell.cutOff(client);
  const waiting = errorOf(client.acquire('x', { wait: '3s' }));
  await cell.advance('5s');
  expect(await waiting).toMatchObject({
    code: 'TENURE_WAIT_TIMEOUT',
    message: expect.stringContaining('not reached: a, b, c') as string,
    details: { unreached: 'a, b, c' },
  });
  await cell.mend(client);
  const held = await client.acquire('x');
  const other = errorOf((await cell.client()).acquire('x', { wait: '3s' }));
  await cell.advance('5s');
  expect(await other).toMatchObject({ code: 'TENURE_WAIT_TIMEOUT', details: {} });
  expect(held.valid).toBe(true);
  await cell.close();
});

test('a cell that is being closed is ready for nothing', async () => {
  const cell = await testCell();
  const client = await cell.client();
  const closed = client.close();
  expect(await errorOf(client.ready())).toMatchObject({ code: 'TENURE_CLOSED' });
  await closed;
  await cell.close();
});

test('a member alone in its cell is silent from the beginning', async () => {
  const cell = await testCell({ members: 1, silent: true });
  expect(cell.member('a').state).toBe('silent');
  await cell.advance('20s');
  expect(cell.member('a').state).toBe('ready');
  await cell.close();
});

test('whoever stops observing while it waits for news is let go at once', async () => {
  const cell = await testCell();
  const client = await cell.client();
  const changes = client.elect('x').observe();
  expect(await changes.next()).toEqual({ done: false, value: { kind: 'leader', leader: null } });
  const news = changes.next();
  expect(await changes.return()).toEqual({ done: true, value: undefined });
  expect(await news).toEqual({ done: true, value: undefined });
  await cell.close();
});
