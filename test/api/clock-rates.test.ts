/** Clocks whose rate leaves the bound, in a cell on virtual time: who stops, what is told, and when it goes on. */
import { describe, expect, test } from 'vitest';
import type { Cell } from '../../src/api/index.ts';
import { testCell } from '../../src/api/testing.ts';

const ENGINES = ['quorum', { paxoslease: { clocks: 'relative' } }] as const;

function warningsOf(cell: Cell): { code: string; details: object }[] {
  const warnings: { code: string; details: object }[] = [];
  cell.on('warning', ({ code, details }) => warnings.push({ code, details }));
  return warnings;
}

describe.each(ENGINES)('with %j', (engine) => {
  test.each([
    [1.5, 'fast', 'faster'],
    [0.5, 'slow', 'slower'],
  ])(
    'a member whose clock runs at %d votes no more, the others do without it, and it votes again after a silence',
    async (rate, own, pace) => {
      const cell = await testCell({ engine, maxTerm: '10s' });
      const [a, b, c] = ['a', 'b', 'c'].map((id) => cell.member(id)) as [Cell, Cell, Cell];
      const client = await cell.client();
      const [ours, theirs] = [warningsOf(c), warningsOf(a)];
      await cell.advance('10s');
      const lease = await client.acquire('x');
      cell.setClockRate(c, rate);
      await cell.advance('10s');
      expect(c.state).toBe('no-quorum');
      expect(c.silentForMs).toBeGreaterThan(10_000);
      expect(ours).toMatchObject([{ code: 'TENURE_CLOCK_RATE', details: { pace: own, others: 'a, b' } }]);
      expect(theirs).toMatchObject([{ code: 'TENURE_CLOCK_RATE', details: { id: 'c', pace } }]);
      expect(a.members().map((member) => member.pace)).toEqual(['unknown', 'alike', pace]);
      expect(c.counters().clocks.ratesOff).toBe(1);
      expect([a.state, b.state, client.state, lease.valid]).toEqual(['ready', 'ready', 'ready', true]);
      // Its vote would be the second of three.
      cell.cutOff(b);
      await expect(client.tryAcquire('y')).rejects.toMatchObject({ code: expect.stringMatching(/NO_QUORUM|SILENT/) as string });
      await cell.mend(b);
      cell.setClockRate(c, 1);
      await cell.advance('7s');
      expect(c.state).toBe('silent');
      await cell.advance('20s');
      expect([c.state, lease.valid]).toEqual(['ready', true]);
      expect(await a.status()).toMatchObject([
        { pace: 'unknown' },
        { pace: 'alike' },
        { pace: 'alike', ...(engine === 'quorum' ? { silentForMs: 0 } : {}) },
      ]);
      await cell.close();
    },
  );

  test('a client whose clock is slow loses what it holds at once, gets nothing, and goes on when its clock is right', async () => {
    const cell = await testCell({ engine, maxTerm: '10s' });
    const [client, other] = [await cell.client(), await cell.client()];
    const lease = await client.acquire('x');
    const { signal } = lease;
    await cell.advance('10s');
    cell.setClockRate(client, 0.4);
    await cell.advance('8s');
    expect([lease.valid, signal.aborted, client.state]).toEqual([false, true, 'no-quorum']);
    expect(signal.reason).toMatchObject({ code: 'TENURE_LEASE_LOST', message: expect.stringContaining('clock') as string });
    const refused = client.tryAcquire('y').catch((error: unknown) => error);
    await cell.advance('5s');
    expect(await refused).toMatchObject({ code: 'TENURE_CLOCK_RATE' });
    // Given back by nobody: it ran out.
    await cell.advance('5s');
    expect((await other.tryAcquire('x')).ok).toBe(true);
    cell.setClockRate(client, 1);
    await cell.advance('10s');
    expect((await client.tryAcquire('y')).ok).toBe(true);
    await cell.close();
  });

  test('a client whose clock is fast keeps what it holds to the end by its own clock, and renews nothing', async () => {
    const cell = await testCell({ engine, maxTerm: '10s' });
    const client = await cell.client();
    const lease = await client.acquire('x');
    await cell.advance('10s');
    cell.setClockRate(client, 1.5);
    await cell.advance('4s');
    expect([lease.valid, client.state]).toEqual([true, 'no-quorum']);
    await cell.advance('7s');
    expect(lease.valid).toBe(false);
    await cell.close();
  });

  test('clients whose clocks are off make no member fall silent, however many they are', async () => {
    const cell = await testCell({ engine, maxTerm: '10s' });
    const members = cell.memberIds.map((id) => cell.member(id));
    const warnings = members.map(warningsOf);
    for (let i = 0; i < 7; i++) cell.setClockRate(await cell.client(), 0.5);
    await cell.advance('30s');
    expect(members.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
    expect(warnings.flat()).toEqual([]);
    await cell.close();
  });

  test('one that stands still, or whose clock is off by less than the bound, is accused of nothing', async () => {
    const cell = await testCell({ engine, maxTerm: '10s' });
    const client = await cell.client();
    const everyone = [client, ...cell.memberIds.map((id) => cell.member(id))];
    const warnings = everyone.map(warningsOf);
    cell.setClockRate(cell.member('a'), 1.1);
    cell.setClockRate(client, 0.91);
    await cell.advance('30s');
    cell.stall(cell.member('b'), '40s');
    cell.stall(client, '35s');
    await cell.advance('2m');
    expect(warnings.flat()).toEqual([]);
    expect(everyone.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready', 'ready']);
    await cell.close();
  });

  test('of two members that disagree, both stop: nobody knows which one is off', async () => {
    const cell = await testCell({ engine, members: 2, maxTerm: '10s' });
    await cell.advance('10s');
    cell.setClockRate(cell.member('b'), 1.5);
    await cell.advance('10s');
    expect([cell.member('a').state, cell.member('b').state]).toEqual(['no-quorum', 'no-quorum']);
    await cell.close();
  });
});

test('a clock has a rate above 0', async () => {
  const cell = await testCell();
  expect(() => cell.setClockRate(cell.member('a'), 0)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
  await cell.close();
});
