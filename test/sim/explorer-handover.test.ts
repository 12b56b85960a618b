/** One hand-over in a small world, seen to its end: nothing breaks with its rules, and something does without each of the two that keep it safe there. */
import { describe, expect, test } from 'vitest';
import { ALL_RULES, QuorumCore, type QuorumRules } from '../../src/core/index.ts';
import { exploring } from '../../src/sim/index.ts';
import { explore, quorumWorld, type SomeBounds } from '../support/kits.ts';

/** One voter, two that ask for the lease and wait for it, and each of them hands it over once. */
const ONE_VOTER: SomeBounds = { acceptors: 1, handOvers: 1, renewals: 0, releases: false, crashes: 0, instants: 0 };

function without(rule: keyof QuorumRules): ReturnType<typeof exploring> {
  const { staging } = quorumWorld;
  const protocol: typeof staging.protocol = {
    ...staging.protocol,
    core: ({ config }, boot) => new QuorumCore(config.core, boot, { ...ALL_RULES, [rule]: false }),
  };
  return exploring({ ...quorumWorld, staging: { ...staging, protocol } });
}

describe('one hand-over', () => {
  test('is exhausted, and nothing breaks', () => {
    const outcome = explore(exploring(quorumWorld), ONE_VOTER);
    expect(outcome).toMatchObject({ exhausted: true, found: null });
    expect(outcome.states).toBeGreaterThan(200);
  });

  test.each(['handedStopsFirst', 'parkIsNoVote'] as const)('breaks without the rule %s', (rule) => {
    expect(explore(without(rule), ONE_VOTER).found).not.toBeNull();
  });
});
