/** How a process leaves a store, on virtual time. */
import { expect, test } from 'vitest';
import { testStorage } from '../../src/api/testing.ts';

test.each(['plain', 'compare-and-set'] as const)(
  'who is cut off waits for the store once to close, not once more for what was not answered (%s)',
  async (engine) => {
    const storage = await testStorage({ engine, delta: '150ms', maxTerm: '7s' });
    const client = await storage.client();
    const acquiring = client.acquire('one');
    await storage.advance('2s');
    const lease = await acquiring;
    storage.cutOff(client);
    void lease.release();
    let isClosed = false;
    const closing = client.close().then(() => (isClosed = true));
    // What is given back in passing is waited for as long as four attempts take, of 2δ each.
    await storage.advance(4 * 2 * 150 + 50);
    expect([isClosed, lease.valid]).toEqual([true, false]);
    await closing;
    await storage.close();
  },
);
