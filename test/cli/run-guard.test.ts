/** The side of `tenure run` of a guard, with programs that only wait. */
import { spawn, type ChildProcess } from 'node:child_process';
import { expect, it } from 'vitest';
import { Guard } from '../../src/cli/run/guard.ts';
import type { Order } from '../../src/cli/run/orders.ts';

const LATER_MS = 60_000;
const ORDER = { number: 1 } as Order;

it('a guard is replaced by one that is there before it goes: whenever tenure run is stopped, one of them lives', async () => {
  const started: ChildProcess[] = [];
  /** At each start, which of those before had been killed. */
  const killed: boolean[][] = [];
  const kind = {
    name: 'guard',
    farewell: null,
    line: String,
    start: () => {
      killed.push(started.map((one) => one.killed));
      const one = spawn('sleep', ['1000'], { stdio: ['pipe', 'pipe', 'ignore'] });
      started.push(one);
      return one;
    },
  };
  const guard = new Guard(kind, ORDER, LATER_MS, { onReplaced: () => {}, onActs: () => {}, onHopeless: () => {} });
  guard.replace();
  guard.replace();
  expect(killed).toEqual([[], [false], [true, false]]);
  expect(started.map((one) => one.killed)).toEqual([true, true, false]);
  await guard.dismiss();
  expect(started[2]?.signalCode).toBe('SIGKILL');
});
