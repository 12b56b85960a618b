/** Watches on a store: when the store is looked at, and when not any more. */
import { expect, test } from 'vitest';
import { Lookouts } from '../../src/api/storage/lookouts.ts';
import { Surveys } from '../../src/api/storage/surveys.ts';
import type { UnitAnswer } from '../../src/runtime/index.ts';

test('a look that is under way when all ends is the last', () => {
  const [timers, lists]: [(() => void)[], UnitAnswer[]] = [[], []];
  const lookouts = new Lookouts({
    surveys: new Surveys({ atOnce: 1, unit: { list: (_prefix, done) => void lists.push(done) }, command: () => undefined }),
    clocks: {
      after: (_delayUs, act) => {
        timers.push(act);
        return () => undefined;
      },
    },
    told: () => undefined,
    gap: () => undefined,
  });
  const nothing = { ok: true, isLost: false, value: null, version: null, keys: [] };
  lookouts.begin('', false);
  timers.shift()?.();
  lists.shift()?.(nothing);
  expect(timers).toHaveLength(1);
  timers.shift()?.();
  lookouts.stop();
  lists.shift()?.(nothing);
  expect(timers).toHaveLength(0);
});
