/** Engines that know no readers refuse to be asked for a shared lease, and no mode but the two is known anywhere. */
import { describe, expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';

describe.each([{ flease: { algorithm: 3 } }, { paxoslease: { clocks: 'relative' } }] as const)('with the engine %s', (engine) => {
  test('a shared lease is refused by name, and an exclusive one says that it is', async () => {
    const cell = await testCell({ engine });
    const client = await cell.client();
    const refusal = { code: 'TENURE_UNSUPPORTED', details: { missing: 'shared' } };
    await expect(client.acquire('x', { mode: 'shared' })).rejects.toMatchObject(refusal);
    await expect(client.tryAcquire('x', { mode: 'shared' })).rejects.toMatchObject(refusal);
    await expect(client.acquire('x', { mode: 'upside-down' as never })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    expect((await client.acquire('x', { mode: 'exclusive' })).mode).toBe('exclusive');
    expect(client.counters()).toMatchObject({ requests: 1 });
    await cell.close();
  });
});
