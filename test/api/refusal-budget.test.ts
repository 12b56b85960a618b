/** Strangers cost a few lines of a log, however many they are and whatever they say they are. */
import { expect, test } from 'vitest';
import { Log } from '../../src/api/observing/logging.ts';
import { LINES_AN_ADDRESS, LINES_IN_ALL, PERIOD_MS, RefusalBudget } from '../../src/api/observing/refusal-budget.ts';
import { TenureError } from '../../src/kernel/index.ts';

function flooded(addresses: number, refusals: number): { lines: string[]; pass: (ms: number) => void; refuse: () => void } {
  const lines: string[] = [];
  let nowMs = PERIOD_MS;
  const at = (_fields: object, message: string): void => void lines.push(message);
  const log = new Log({ debug: at, info: at, warn: at, error: at }, {}, new RefusalBudget(() => nowMs));
  let turn = 0;
  const refuse = (): void => {
    turn++;
    // Each time as somebody else, and for another reason than the last time.
    const error = new TenureError(turn % 2 ? 'TENURE_WRONG_SECRET' : 'TENURE_WRONG_CELL', `refused ${turn}`, { id: `stranger-${turn}` });
    log.refusal(`10.0.${turn % addresses}.1:${turn % 60_000}`, error);
  };
  for (let i = 0; i < refusals; i++) refuse();
  return { lines, refuse, pass: (ms) => (nowMs += ms) };
}

test('one address gets a few lines, and the rest is one line', () => {
  const { lines, pass, refuse } = flooded(1, 10_000);
  expect(lines).toHaveLength(LINES_AN_ADDRESS);
  pass(PERIOD_MS);
  refuse();
  expect(lines.slice(LINES_AN_ADDRESS)).toEqual([
    `${10_000 - LINES_AN_ADDRESS} more were refused, from 1 addresses, most from 10.0.0.1: too many to log each`,
    'refused 10001',
  ]);
});

test('many addresses share what there is', () => {
  expect(flooded(250, 10_000).lines).toHaveLength(LINES_IN_ALL);
});

test('a peer that is refused now and then is still logged', () => {
  const { lines, pass, refuse } = flooded(1, 1);
  for (let i = 0; i < 20; i++) {
    pass(PERIOD_MS);
    refuse();
  }
  expect(lines).toHaveLength(21);
});
