/** Lease numbers of a process that has had billions of leases: each is a number of its own, and there is an end to them. */
import { describe, expect, test } from 'vitest';
import { openTestCell, type TestCell, type TestCellOptions } from '../../src/api/testing/test-cell.ts';

const ENGINES: TestCellOptions[] = [{ engine: 'quorum' }, { engine: { paxoslease: {} } }, { engine: { flease: { skew: '100ms' } } }];

async function cellFrom(firstNumber: number, options: TestCellOptions = {}): Promise<TestCell> {
  const cell = await openTestCell(options, { firstNumber });
  return cell;
}

describe('after 2³² leases', () => {
  test.each(ENGINES)('leases are granted, renewed and given back as before: $engine', async (options) => {
    const cell = await cellFrom(2 ** 32 - 2, options);
    const client = await cell.client();
    const leases = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) leases.push(await client.acquire(name, { term: '10s' }));
    await cell.advance('1m');
    expect(leases.map(({ valid }) => valid)).toEqual([true, true, true, true, true]);
    await leases[3]?.release();
    expect(leases.map(({ valid }) => valid)).toEqual([true, true, true, false, true]);
    await client.acquire('d', { wait: '1s' });
    await cell.close();
  });

  test('members are asked how they stand, whatever number comes next', async () => {
    const cell = await cellFrom(2 ** 31 - 1);
    const client = await cell.client();
    const [held, status] = await Promise.all([client.acquire('a'), client.status()]);
    expect(held.valid).toBe(true);
    expect(status.map(({ reached }) => reached)).toEqual([true, true, true]);
    await cell.close();
  });
});

test('a process that has used up its numbers says so, and keeps what it holds', async () => {
  const cell = await cellFrom(2 ** 47 - 1);
  const client = await cell.client();
  const lease = await client.acquire('a');
  await expect(client.acquire('b')).rejects.toMatchObject({ code: 'TENURE_LIMIT' });
  await expect(client.tryAcquire('b')).rejects.toMatchObject({ code: 'TENURE_LIMIT' });
  await expect(client.holder('a')).rejects.toMatchObject({ code: 'TENURE_LIMIT' });
  await cell.advance('1m');
  expect(lease.valid).toBe(true);
  await lease.release();
  await cell.close();
});
