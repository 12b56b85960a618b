/** I9, Figure 5: communication steps, counted on runs of the cores. */
import { describe, expect, test } from 'vitest';
import { countSteps, type StepsPlan } from '../../../src/sim/figures/consensus-steps.ts';
import { figures } from '../../../src/sim/figures/index.ts';

type FastCt = Extract<StepsPlan['algorithm'], { kind: 'fastct' }>;

function fast(size: number, more: Partial<FastCt> = {}): FastCt {
  return { kind: 'fastct', lambda: { kind: 'fixed', size }, isLiteralInterval: false, asksAhead: false, ...more };
}

function sum(steps: readonly number[]): number {
  return steps.reduce((all, one) => all + one, 0);
}

const STABLE = { instances: 100, crashesBefore: [] } as const;

test('Figure 5 is exactly the paper’s', () => {
  const kind = figures.find(({ name }) => name === 'fig5');
  const { data, lines } = kind?.measure({ runs: 1, seed: 1, onProgress: () => undefined }) ?? { data: {}, lines: [] };
  expect(data).toMatchObject({ lambda: [1, 10, 20, 50, 100], fastct: [500, 320, 310, 304, 302], ct96: [400, 400, 400, 400, 400] });
  expect(lines).toContain('one instance alone: FastCT 5, [CT96] 4, with its shortcut 3');
});

describe('the count is real', () => {
  test('with the interval of Figure 4 to the letter, [cn, cn+λ], it is 400 at λ = 1', () => {
    expect(sum(countSteps({ ...STABLE, algorithm: fast(1, { isLiteralInterval: true }) }))).toBe(400);
  });

  test('an instance takes three steps with a lease, and two more to get one', () => {
    expect(countSteps({ ...STABLE, instances: 6, algorithm: fast(3) })).toEqual([5, 3, 3, 5, 3, 3]);
  });

  test('who asks ahead waits for the first lease only', () => {
    expect(sum(countSteps({ ...STABLE, algorithm: fast(10, { asksAhead: true }) }))).toBe(302);
  });

  test('adaptive λ comes to its largest size: leases get longer', () => {
    const steps = countSteps({ ...STABLE, algorithm: fast(0, { lambda: { kind: 'adaptive', max: 16, isOptimistic: false } }) });
    const asked = steps.flatMap((count, index) => (count === 5 ? [index + 1] : []));
    expect(asked).toEqual([1, 9, 19, 31, 45, 61, 77, 93]);
  });
});

describe('when the leader crashes', () => {
  test('the rest of its lease is lost to FAST rounds, and after that all instances end FAST again', () => {
    const steps = countSteps({ instances: 100, crashesBefore: [34], algorithm: fast(20) });
    // Its lease ends with instance 40.
    expect(steps.slice(33, 40).every((count) => count > 5)).toBe(true);
    expect(steps.slice(40)).toEqual(Array.from({ length: 60 }, (_, index) => (index % 20 === 0 ? 5 : 3)));
  });

  test('[CT96] goes on with the next coordinator', () => {
    expect(new Set(countSteps({ instances: 20, crashesBefore: [10], algorithm: { kind: 'ct96', shortcut: false } }))).toEqual(new Set([4]));
  });
});
