/** Calls that are given up, and calls that end early: one rule for reasons, and no waiting for members that do not answer. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { connect, observe, type Cell } from '../../src/api/index.ts';
import { testCell } from '../../src/api/testing.ts';

const reason = new Error('changed my mind');

/** What it is rejected with; asked for at once, it is never unhandled. */
function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'nothing',
    (error: unknown) => (error as { code?: unknown }).code,
  );
}

describe('every waiting call rejects with the reason of its signal, as it is', () => {
  const nowhere = { cell: 'nowhere', members: { a: '127.0.0.1:1' } };

  test('connect', async () => {
    const controller = new AbortController();
    const connecting = connect(nowhere, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await expect(connecting).rejects.toBe(reason);
    await expect(connect(nowhere, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(connect(nowhere, { signal: AbortSignal.timeout(10) })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  const CALLS: Readonly<Record<string, (cell: Cell, signal: AbortSignal) => Promise<unknown>>> = {
    ready: (cell, signal) => cell.ready({ signal }),
    acquire: (cell, signal) => cell.acquire('x', { signal }),
    tryAcquire: (cell, signal) => cell.tryAcquire('x', { signal }),
    using: (cell, signal) => cell.using('x', { signal }, () => 'never'),
    acquireAll: (cell, signal) => cell.acquireAll(['x', 'y'], { signal }),
    holder: (cell, signal) => cell.holder('x', { signal }),
    list: (cell, signal) => cell.list('', { signal }),
    campaign: (cell, signal) => cell.elect('x').campaign({ signal }),
    leader: (cell, signal) => cell.elect('x').leader({ signal }),
    observe: (cell, signal) => cell.elect('x').observe({ signal }).next(),
    watch: async (cell, signal) => cell.watch('x', { signal }).next(),
  };

  test.each(Object.keys(CALLS))('%s', async (name) => {
    const call = CALLS[name] as (typeof CALLS)[string];
    // Members that keep silent: nothing is answered.
    const cell = await testCell({ silent: true });
    const client = name === 'ready' ? cell.member('a') : await cell.client();
    const controller = new AbortController();
    const waiting = call(client, controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(call(client, AbortSignal.abort('a word'))).rejects.toBe('a word');
    await cell.close();
  });
});

describe('a call that was answered leaves nothing behind', () => {
  const CALLS: Readonly<Record<string, (cell: Cell, signal: AbortSignal) => Promise<unknown>>> = {
    ready: (cell, signal) => cell.ready({ signal }),
    acquire: (cell, signal) => cell.acquire('x', { signal }),
    tryAcquire: (cell, signal) => cell.tryAcquire('x', { signal }),
    using: (cell, signal) => cell.using('x', { signal }, () => 'done'),
    acquireAll: (cell, signal) => cell.acquireAll(['x', 'y'], { signal }),
    holder: (cell, signal) => cell.holder('x', { signal }),
    list: (cell, signal) => cell.list('', { signal }),
    leader: (cell, signal) => cell.elect('x').leader({ signal }),
    proclaim: async (cell, signal) => (await cell.acquire('x')).proclaim('something', { signal }),
  };

  test.each(Object.keys(CALLS))('on the signal of %s', async (name) => {
    const call = CALLS[name] as (typeof CALLS)[string];
    await using cell = await testCell();
    const client = await cell.client();
    const { signal } = new AbortController();
    await call(client, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

test('a lease that was granted in the step in which its caller gave up is given back', async () => {
  await using cell = await testCell({ members: 1 });
  const member = cell.member('a');
  const controller = new AbortController();
  let second: Promise<unknown> = Promise.resolve();
  // Told in the middle of things: what is asked for here is granted before anybody hears of it.
  const stop = observe('tenure:lease:granted', () => {
    stop();
    second = codeOf(member.acquire('second', { signal: controller.signal }));
    controller.abort(reason);
  });
  await member.acquire('first');
  await second;
  expect((await member.holder('second')).holder).toBeNull();
});

test('a lease that is given back twice is given back when it was given back once', async () => {
  await using cell = await testCell({ maxTerm: '5s' });
  const client = await cell.client();
  const lease = await client.acquire('x');
  cell.cutOff(client);
  let isDone = false;
  void lease.release();
  void lease.release().then(() => (isDone = true));
  await cell.advance('1s');
  expect(isDone).toBe(false);
  await cell.advance('5s');
  expect(isDone).toBe(true);
});

test('a term that is no whole number of milliseconds is never longer than what was asked for', async () => {
  await using cell = await testCell({ members: 1 });
  // Its own vote is all it needs, so no time has passed.
  const lease = await cell.member('a').acquire('x', { term: 1000.9 });
  expect(lease.remainingMs()).toBe(1000);
});

describe('a client that nobody answers', () => {
  test.each([
    [{}, 400],
    [{ timeout: 50 }, 50],
    [{ timeout: 0 }, 0],
    [{ timeout: '10s' }, 10_000],
    [{ timeout: '1m' }, 15_000],
  ])('closes after a moment, when it was told to, or when its lease is over: %o after %i ms', async (options, afterMs) => {
    const cell = await testCell({ maxTerm: '15s' });
    const client = await cell.client();
    await client.acquire('x');
    cell.cutOff(client);
    const began = cell.now();
    const tookMs = client.close(options).then(() => cell.now() - began);
    await cell.advance('20s');
    expect(Math.abs((await tookMs) - afterMs)).toBeLessThan(10);
    await cell.close();
  });

  test('does not close over a timeout that is none, and closes later', async () => {
    const cell = await testCell();
    const client = await cell.client();
    await expect(client.close({ timeout: 'soon' })).rejects.toMatchObject({ code: 'TENURE_BAD_DURATION' });
    expect((await client.tryAcquire('x')).ok).toBe(true);
    await client.close();
    await cell.close();
  });

  test('gives back a lease that is waited for only when it has run out', async () => {
    const cell = await testCell({ maxTerm: '15s' });
    const client = await cell.client();
    const lease = await client.acquire('x', { term: '5s' });
    cell.cutOff(client);
    const began = cell.now();
    const tookMs = lease.release().then(() => cell.now() - began);
    await cell.advance('10s');
    expect(Math.abs((await tookMs) - 5000)).toBeLessThan(10);
    await cell.close();
  });

  test('that closes gives back thousands, as long as answers come', async () => {
    const cell = await testCell();
    const [client, other] = [await cell.client(), await cell.client()];
    await Promise.all(Array.from({ length: 3000 }, (_, i) => client.acquire(`n/${i}`)));
    await client.close();
    expect((await other.list()).leases).toEqual([]);
    await cell.close();
  });

  test('loses its proclaims with its lease', async () => {
    const cell = await testCell({ maxTerm: '2s' });
    const client = await cell.client();
    const lease = await client.acquire('x');
    cell.cutOff(client);
    const proclaimed = codeOf(lease.proclaim('unheard'));
    await cell.advance('3s');
    expect(await proclaimed).toBe('TENURE_LEASE_LOST');
    await expect(lease.proclaim('too late')).rejects.toMatchObject({ code: 'TENURE_LEASE_LOST' });
    await cell.close();
  });

  test('loses its proclaims when the lease is given back, and when the client closes', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const [one, two] = [await client.acquire('one'), await client.acquire('two')];
    const first = codeOf(one.proclaim('unheard'));
    await one.release();
    expect(await first).toBe('TENURE_LEASE_LOST');
    const second = codeOf(two.proclaim('unheard'));
    await client.close();
    expect(await second).toBe('TENURE_CLOSED');
    await cell.close();
  });
});
