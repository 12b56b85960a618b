/** Several leases at once: all of them, each still valid, or none. */
import { expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

test('what was lost while others were waited for is not handed out, and the others are given back', async () => {
  await using cell = await testCell({ maxTerm: '2s' });
  const [client, other] = [await cell.client(), await cell.client()];
  const late = await other.acquire('b');
  const all = Promise.allSettled([client.acquireAll(['a', 'b', 'c'])]);
  await cell.advance('100ms');
  // Cut off from its members, the client loses what it has; then it gets the rest.
  cell.cutOff(client);
  await cell.advance('3s');
  await cell.mend(client);
  await late.release();
  await cell.advance('1s');
  expect(await all).toMatchObject([{ status: 'rejected', reason: { code: 'TENURE_LEASE_LOST' } }]);
  for (const name of ['a', 'b', 'c']) expect((await other.holder(name)).holder).toBeNull();
});

test('whoever is refused one of them keeps none', async () => {
  await using cell = await testCell();
  const [client, other] = [await cell.client(), await cell.client()];
  await other.acquire('c');
  const all = Promise.allSettled([client.acquireAll(['a', 'b', 'c'], { wait: '200ms' })]);
  await cell.advance('1s');
  expect(await all).toMatchObject([{ status: 'rejected', reason: { code: 'TENURE_WAIT_TIMEOUT' } }]);
  expect((await other.list()).leases.map(({ name }) => name)).toEqual(['c']);
});

test('work under several leases is told to stop when any of them is lost, and the loss comes out with its result', async () => {
  await using cell = await testCell({ maxTerm: '2s' });
  const client = await cell.client();
  const working = client.usingAll(['a', 'b', 'a'], async (leases, signal) => {
    const [, second] = leases;
    if (second) cell.loseLease(second);
    return { count: leases.length, aborted: signal.aborted };
  });
  await expect(working).rejects.toMatchObject({ code: 'TENURE_LEASE_LOST', result: { count: 2, aborted: true } });
  const other = await cell.client();
  for (const name of ['a', 'b']) expect((await other.tryAcquire(name)).ok).toBe(true);
});
