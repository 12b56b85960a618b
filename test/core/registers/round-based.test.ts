/** F1: what one store of the round-based register answers. The lemmas R1–R5 are judged in `test/sim/rounds-register.test.ts`. */
import { describe, expect, it } from 'vitest';
import { ballotTime, compareBallots, incarnation } from '../../../src/kernel/index.ts';
import { RoundsRegister } from '../../../src/core/index.ts';

describe('F1 the round-based register', () => {
  const ballot = (k: number) => [ballotTime(k), incarnation(1), compareBallots] as const;

  it('answers a copy of a READ as it answered the first, until a higher ballot came', () => {
    const register = new RoundsRegister<string>();
    expect([5, 5, 4, 6, 5].map((k) => register.read(...ballot(k)))).toEqual([true, true, false, true, false]);
  });

  it('lets a ballot write after its own READ, and refuses what is lower, and READs that are not higher', () => {
    const register = new RoundsRegister<string>();
    register.read(...ballot(5));
    expect([4, 5].map((k) => register.mayWrite(...ballot(k)))).toEqual([false, true]);
    register.write(ballotTime(5), incarnation(1), 'v');
    expect([5, 6].map((k) => register.mayWrite(...ballot(k)))).toEqual([true, true]);
    expect([5, 6].map((k) => register.read(...ballot(k)))).toEqual([false, true]);
    expect([register.value, register.highest(compareBallots)]).toEqual(['v', 6]);
  });
});
