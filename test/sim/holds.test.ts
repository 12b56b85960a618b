import { expect, test } from 'vitest';
import { monoUs, wallUs } from '../../src/kernel/index.ts';
import { HoldLedger } from '../../src/sim/holds.ts';
import type { HoldDeadline } from '../../src/sim/index.ts';

const at = (us: number): HoldDeadline => ({ monoUs: monoUs(us), wallUs: wallUs(Infinity) });

function settle(ledger: HoldLedger, resource: string, nowUs: number): number[] {
  return ledger.closePassed(resource, ({ deadline }) => deadline.monoUs <= nowUs).map(({ token }) => token);
}

test('a hold ends at its deadline, not before, and only once', () => {
  const ledger = new HoldLedger();
  ledger.open('r', { node: 1, incarnation: 1, token: 10, deadline: at(100) });
  expect(settle(ledger, 'r', 99)).toEqual([]);
  expect(settle(ledger, 'r', 100)).toEqual([10]);
  expect(settle(ledger, 'r', 101)).toEqual([]);
});

test('a renewed hold ends at its new deadline', () => {
  const ledger = new HoldLedger();
  ledger.open('r', { node: 1, incarnation: 1, token: 10, deadline: at(100) });
  const hold = ledger.find('r', 1, 10);
  if (hold) hold.deadline = at(200);
  expect(settle(ledger, 'r', 150)).toEqual([]);
  expect(settle(ledger, 'r', 200)).toEqual([10]);
});

test('each of several holds of a resource ends by itself', () => {
  const ledger = new HoldLedger();
  ledger.open('r', { node: 1, incarnation: 1, token: 10, deadline: at(100) });
  ledger.open('r', { node: 2, incarnation: 2, token: 11, deadline: at(50) });
  ledger.open('s', { node: 2, incarnation: 2, token: 12, deadline: at(50) });
  expect(settle(ledger, 'r', 60)).toEqual([11]);
  expect(ledger.find('r', 1, 10)).toBeDefined();
});

test('a closed hold cannot be closed again', () => {
  const ledger = new HoldLedger();
  ledger.open('r', { node: 1, incarnation: 1, token: 10, deadline: at(100) });
  expect(ledger.close('r', 2, 10)).toBe(false);
  expect(ledger.close('r', 1, 10)).toBe(true);
  expect(ledger.close('r', 1, 10)).toBe(false);
});

test('a process that is gone holds nothing', () => {
  const ledger = new HoldLedger();
  ledger.open('r', { node: 1, incarnation: 1, token: 10, deadline: at(100) });
  ledger.open('s', { node: 1, incarnation: 1, token: 11, deadline: at(100) });
  ledger.open('s', { node: 2, incarnation: 2, token: 12, deadline: at(100) });
  ledger.closeAllOf(1);
  expect(ledger.find('r', 1, 10)).toBeUndefined();
  expect(ledger.find('s', 1, 11)).toBeUndefined();
  expect(ledger.find('s', 2, 12)).toBeDefined();
});
