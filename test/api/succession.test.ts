/** How a member that was started anew takes the place of its earlier life: when it votes, and what it says while it waits. On virtual time. */
import { describe, expect, test } from 'vitest';
import { openTestCell, type TestCell } from '../../src/api/testing/test-cell.ts';

/** Members a, b and c with terms up to 10 s; b is down. */
async function withoutB(succession: 'majority' | 'strict'): Promise<TestCell> {
  const cell = await openTestCell({ maxTerm: '10s' }, { succession });
  cell.crash(cell.member('b'));
  return cell;
}

describe('a member that is started while another is down', () => {
  test('votes after its silence, noted by a majority', async () => {
    const cell = await withoutB('majority');
    const c = await cell.restart('c');
    await cell.advance('30s');
    expect(c.state).toBe('degraded');
    const client = await cell.client();
    expect((await client.acquire('x')).valid).toBe(true);
    await cell.close();
  });

  test('waits for the other one where succession is strict, and says so', async () => {
    const cell = await withoutB('strict');
    const c = await cell.restart('c');
    await cell.advance('1h');
    expect(c.state).toBe('silent');
    expect(c.silentForMs).toBeGreaterThan(0);
    const [a, , ofC] = await cell.member('a').status();
    expect([a?.isNoting, ofC?.isNoting]).toEqual([false, true]);
    await cell.restart('b');
    await cell.advance('30s');
    expect(c.state).toBe('ready');
    await cell.close();
  });
});

test('the silence of a member runs from when it could be noted, not from its start', async () => {
  const cell = await openTestCell({ maxTerm: '10s' });
  const c = await cell.restart('c');
  cell.cutOff(c);
  await cell.advance('1h');
  const again = await cell.restart('c');
  await cell.advance('1h');
  expect(again.state).not.toBe('degraded');
  await cell.mend(again);
  await cell.advance('1s');
  expect(again.silentForMs).toBeGreaterThan(5000);
  await cell.advance('30s');
  expect(again.state).toBe('ready');
  await cell.close();
});
