/** Whoever asks members for more than they keep for one client is told so, with the code and what to do; others beside it have theirs. */
import { describe, expect, test } from 'vitest';
import type { Cell } from '../../src/api/index.ts';
import { openTestCell, type TestCell } from '../../src/api/testing/test-cell.ts';
import { MEMBER_LIMITS } from '../../src/core/index.ts';

async function cellWith(engine: 'quorum' | { paxoslease: object }): Promise<{ cell: TestCell; greedy: Cell; honest: Cell }> {
  const cell = await openTestCell({ maxTerm: '4s', engine }, { limits: { ...MEMBER_LIMITS, waiters: 1, watches: 1, leases: 4 } });
  return { cell, greedy: await cell.client(), honest: await cell.client() };
}

const limit = (what: RegExp): unknown => expect.objectContaining({ code: 'TENURE_LIMIT', message: expect.stringMatching(what) as unknown });

describe('a process that asks for more than its part', () => {
  test('of places in line is refused at once, and the next process waits and is served', async () => {
    const { cell, greedy, honest } = await cellWith('quorum');
    const held = await honest.acquire('one');
    const first = greedy.acquire('one');
    await cell.advance(100);
    await expect(greedy.acquire('one')).rejects.toEqual(limit(/no place in line for 'one'/));
    expect(greedy.counters().refusals['no-place']).toBe(1);
    const next = honest.acquire('one');
    await cell.advance(100);
    await held.release();
    await (await first).release();
    expect((await next).valid).toBe(true);
    await cell.close();
  });

  test.each(['quorum', { paxoslease: {} }] as const)('of watches is told when it reads one, on %j', async (engine) => {
    const { cell, greedy, honest } = await cellWith(engine);
    const options = { exact: true };
    const watches = [greedy.watch('a', options), greedy.watch('b', options)];
    expect(await watches[0]?.next()).toEqual({ done: false, value: { kind: 'current' } });
    await cell.advance(100);
    const told = (async () => {
      for await (const change of watches[1] ?? []) void change;
    })();
    await expect(told).rejects.toEqual(limit(/no room for this watch/));
    expect(await honest.watch('c', options).next()).toEqual({ done: false, value: { kind: 'current' } });
    // What it had before it still has.
    const lease = await honest.acquire('a');
    await cell.advance(10);
    expect(await watches[0]?.next()).toMatchObject({ value: { kind: 'change', name: 'a' } });
    await lease.release();
    await cell.close();
  });

  test('of leases is refused, waiting or not', async () => {
    const { cell, greedy, honest } = await cellWith('quorum');
    for (const name of ['a', 'b', 'c', 'd']) await greedy.acquire(name);
    await expect(greedy.acquire('e')).rejects.toEqual(limit(/keep no more leases for this process/));
    await expect(greedy.tryAcquire('e')).rejects.toEqual(limit(/release some/));
    expect((await honest.acquire('e')).valid).toBe(true);
    await cell.close();
  });
});
