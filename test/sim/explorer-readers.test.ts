/** Two readers and a writer in a small world, seen to its end: nothing breaks with the rules of modes, and something does without each that keeps them apart. */
import { describe, expect, test } from 'vitest';
import { ALL_RULES, QuorumCore, type QuorumRules } from '../../src/core/index.ts';
import { exploring } from '../../src/sim/index.ts';
import { explore, quorumWorld, type SomeBounds } from '../support/kits.ts';

/** One voter; two that share the name, each of which would be the only one once; and one that wants it for itself. */
const ONE_VOTER: SomeBounds = {
  acceptors: 1,
  proposers: 3,
  readers: 2,
  upgrades: 1,
  renewals: 0,
  releases: false,
  crashes: 0,
  instants: 0,
};

function without(rule: keyof QuorumRules): ReturnType<typeof exploring> {
  const { staging } = quorumWorld;
  const protocol: typeof staging.protocol = {
    ...staging.protocol,
    core: ({ config }, boot) => new QuorumCore(config.core, boot, { ...ALL_RULES, [rule]: false }),
  };
  return exploring({ ...quorumWorld, staging: { ...staging, protocol } });
}

describe('two readers and a writer', () => {
  test('are exhausted, upgrades included, and nothing breaks', () => {
    const outcome = explore(exploring(quorumWorld), ONE_VOTER);
    expect(outcome).toMatchObject({ exhausted: true, found: null });
    expect(outcome.states).toBeGreaterThan(1000);
  });

  test.each(['readersAskWriters', 'writersAskReaders', 'upgradeAsksReaders', 'upgradeNewToken'] as const)(
    'break without the rule %s',
    (rule) => {
      expect(explore(without(rule), { ...ONE_VOTER, instants: 1 }).found).not.toBeNull();
    },
  );
});
