/** F6: with ballots by buckets of time nobody wins because its clock is fast; with plain time ballots the fastest clock always does. */
import { describe, expect, it } from 'vitest';
import { BucketBallots, type RoundStep } from '../../../src/core/index.ts';
import { monoUs, Random, wallUs } from '../../../src/kernel/index.ts';
import { fairness } from '../../../src/sim/index.ts';

const CONTESTS = 600;

describe('F6 fairness of time ballots', () => {
  it('gives each contender its share within a bucket', () => {
    const { wins } = fairness({ contests: CONTESTS, seed: 1, plain: false, offsetsUs: [0, 1, 2] });
    for (const share of wins) expect(Math.abs(share - CONTESTS / 3)).toBeLessThan(CONTESTS / 10);
  });

  it('leaves a clock that is ε ahead only what it wins by being in the next bucket already: no share is far from a third', () => {
    const { wins } = fairness({ contests: CONTESTS, seed: 1, plain: false });
    expect(Math.max(...wins)).toBeLessThan(0.45 * CONTESTS);
    expect(Math.min(...wins)).toBeGreaterThan(CONTESTS / 4);
  });

  it('gives the fast clock nearly everything when ballots are plain time', () => {
    const { wins } = fairness({ contests: CONTESTS, seed: 1, plain: true });
    expect(Math.max(...wins)).toBeGreaterThan(CONTESTS * 0.9);
  });

  it('takes one that asks often hardly ahead of its bucket', () => {
    const [bucketUs, breaks] = [3_000_000, 65_536];
    const random = new Random(1);
    const ballots = new BucketBallots(bucketUs, true);
    const nothing = (): void => {};
    const choose = (bound: number): number => random.below(bound);
    const step: RoundStep = { monoUs: monoUs(0), wallUs: wallUs(0), choose, send: nothing, read: nothing, write: nothing, emit: nothing };
    const drawn = Array.from({ length: 3000 }, () => Number(ballots.next(step)));
    expect(drawn.every((ballot, i) => i === 0 || ballot > Number(drawn[i - 1]))).toBe(true);
    expect(drawn.at(-1)).toBeLessThan(2 * breaks);
  });
});
