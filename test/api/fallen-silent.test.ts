/** A node that has fallen silent hears no renewal and can give nothing back: whatever it held is over at that instant. */
import { expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

test('no lease of it is valid, not even to whoever is told first', async () => {
  await using cell = await testCell();
  const client = await cell.client();
  const leases = [await client.acquire('one'), await client.acquire('two'), await client.acquire('three')];
  const seen: boolean[][] = [];
  for (const lease of leases) lease.signal.addEventListener('abort', () => void seen.push(leases.map(({ valid }) => valid)));
  cell.crash(client);
  expect(seen).toEqual([
    [false, false, false],
    [false, false, false],
    [false, false, false],
  ]);
  expect(leases.map((lease) => lease.remainingMs())).toEqual([0, 0, 0]);
});

test('every signal aborts, also one that nobody has asked for yet', async () => {
  await using cell = await testCell();
  const client = await cell.client();
  const [asked, unasked] = [await client.acquire('asked'), await client.acquire('unasked')];
  const { signal } = asked;
  cell.crash(client);
  expect(signal.aborted).toBe(true);
  expect(unasked.signal.aborted).toBe(true);
});

test('every waiting call ends', async () => {
  await using cell = await testCell();
  const [client, other] = [await cell.client(), await cell.client()];
  await other.acquire('taken');
  const waits = Promise.allSettled([client.acquire('taken'), client.using('taken', () => 'never'), client.acquireAll(['taken', 'free'])]);
  cell.crash(client);
  expect((await waits).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
