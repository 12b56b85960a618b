/** F6: with ballots by buckets of time nobody wins because its clock is fast; with plain time ballots the fastest clock always does. */
import { describe, expect, it } from 'vitest';
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
});
