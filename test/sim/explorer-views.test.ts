/** One change of the members of a cell in a small world, seen to its end: nothing breaks with its rules, and something does without each that is seen there. */
import { describe, expect, test } from 'vitest';
import { explore, exploringOf, type SomeBounds } from '../support/kits.ts';

const views = exploringOf('quorum-views');

/** The only member is replaced by another, while somebody wants the lease; one instant is all there is. */
const ONE_ASKS: SomeBounds = { proposers: 2, releases: false, crashes: 1, term: 1, instants: 1 };
/** Two want it. */
const TWO_ASK: SomeBounds = { proposers: 3, releases: false, crashes: 0, instants: 1 };

describe('one change of members', () => {
  test('with one restart is exhausted, and nothing breaks', () => {
    const outcome = explore(views, ONE_ASKS);
    expect(outcome).toMatchObject({ exhausted: true, found: null });
    expect(outcome.states).toBeGreaterThan(50_000);
  });

  test.each(['joint-new-only', 'rows-dropped'])('has two holders by a short script without the rule of %s', (mutant) => {
    const { found } = explore(views, TWO_ASK, mutant);
    expect(found?.lines.length).toBeLessThan(30);
  });
});
