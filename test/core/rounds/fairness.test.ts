/** F6: with ballots by buckets of time nobody wins because its clock is fast; with plain time ballots the fastest clock always does. */
import { describe, expect, it } from 'vitest';
import { BucketBallots, type RoundStep } from '../../../src/core/index.ts';
import { BALLOT_TIME_MAX, compareBallots, incarnation, monoUs, Random, wallUs } from '../../../src/kernel/index.ts';
import { fairness } from '../../../src/sim/index.ts';
import { NO_STORAGE } from '../../support/storage.ts';

const CONTESTS = 600;
const BUCKET_US = 3_000_000;

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

  it.each([1, 10, 300, 3000])('gives one that has asked %i times in this bucket no more than one that asks for the first time', (often) => {
    const random = new Random(7);
    let busyWins = 0;
    for (let contest = 0; contest < CONTESTS; contest++) {
      const step = stepAt(contest * BUCKET_US, random);
      const [busy, idle] = [new BucketBallots(BUCKET_US, true), new BucketBallots(BUCKET_US, true)];
      let last = busy.next(step);
      for (let i = 0; i < often; i++) last = busy.next(step);
      if (compareBallots(last, incarnation(1), idle.next(step), incarnation(2)) > 0) busyWins++;
    }
    expect(Math.abs(busyWins - CONTESTS / 2)).toBeLessThan(CONTESTS / 10);
  });

  it('lets the ballots of one that asks often rise, and takes it hardly ahead of its bucket', () => {
    const ballots = new BucketBallots(BUCKET_US, true);
    const random = new Random(1);
    const drawn = Array.from({ length: 3000 }, () => Number(ballots.next(stepAt(0, random))));
    expect(drawn.every((ballot, i) => i === 0 || ballot > Number(drawn[i - 1]))).toBe(true);
    const [next] = Array.from({ length: 100 }, (_, seed) =>
      new BucketBallots(BUCKET_US, true).next(stepAt(BUCKET_US, new Random(seed))),
    ).sort((a, b) => a - b);
    expect(drawn.at(-1)).toBeLessThan(Number(next));
  });

  it('keeps to the order in which ballots were drawn when the clock is set back, and believes no clock of the far future', () => {
    const ballots = new BucketBallots(BUCKET_US, true);
    const random = new Random(1);
    const ahead = ballots.next(stepAt(20 * BUCKET_US, random));
    expect(ballots.next(stepAt(0, random))).toBeGreaterThan(ahead);
    const narrow = new BucketBallots(60_000, true);
    expect(narrow.next(stepAt(Number.MAX_SAFE_INTEGER, random))).toBeLessThanOrEqual(BALLOT_TIME_MAX);
  });
});

function stepAt(us: number, random: Random): RoundStep {
  const nothing = (): void => {};
  const choose = (bound: number): number => random.below(bound);
  return { monoUs: monoUs(us), wallUs: wallUs(us), choose, send: nothing, ...NO_STORAGE, emit: nothing };
}
