/** A unit test of code that holds leases: a cell in memory, on virtual time. Nothing sleeps, and losses come on demand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cell } from 'tenure';
import { testCell } from 'tenure/testing';

/** The code under test: works until it is told to stop. */
async function work(cell: Cell, sleep: (duration: string) => Promise<void>): Promise<number> {
  await using leadership = await cell.elect('worker').campaign();
  let rounds = 0;
  while (!leadership.signal.aborted) {
    rounds++;
    await sleep('1s');
  }
  return rounds;
}

await test('a worker that is cut off stops, and another goes on', async () => {
  const cell = await testCell({ maxTerm: '5s' });
  const [first, second] = [await cell.client(), await cell.client()];
  const sleep = (duration: string): Promise<void> => cell.sleep(duration);
  const stopped = work(first, sleep);
  void work(second, sleep);
  await cell.advance('3s');
  assert.equal((await second.elect('worker').leader())?.incarnation, first.incarnation);

  cell.cutOff(first);
  await cell.advance('10s');
  assert.ok((await stopped) < 10);
  assert.equal((await second.elect('worker').leader())?.incarnation, second.incarnation);
  await cell.close();
});
