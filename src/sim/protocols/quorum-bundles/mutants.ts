/** The mutants of renewal in bulk: each takes one rule out. */
import { ALL_RULES, type Keeps, type QuorumRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';
import type { Habit } from '../quorum-modes/mutants.ts';
import type { Shape } from '../quorum/mutants.ts';
import type { BundleShape } from './shapes.ts';

interface BundleMutant extends Mutant {
  readonly without: readonly (keyof QuorumRules)[];
  /** The world in which its rule matters most. `views`: the members change. */
  readonly shape?: Shape | BundleShape | 'views';
  readonly habit?: Habit;
  readonly keeps?: Keeps;
}

export const BUNDLE_MUTANTS: readonly BundleMutant[] = [
  {
    name: 'bulk-blind',
    rule: 'bundles',
    how: 'A round renews all leases of its term, also those that its voters know nothing of.',
    without: ['bulkByLease'],
    shape: 'curious',
  },
  {
    name: 'bulk-mode-blind',
    rule: 'bundles',
    how: 'A writer is renewed by the vote for the reader that it was, beside which another reader comes.',
    without: ['bulkByMode'],
    shape: 'curious',
    habit: 'shared',
  },
  {
    name: 'bulk-counts-released',
    rule: 'bundles',
    how: 'A lease that is given back as of a later time is renewed with the others, when its voters let it go.',
    without: ['bulkSkipsLeaving'],
    habit: 'ends',
  },
  {
    name: 'bulk-longer-than-vote',
    rule: 'bundles',
    how: 'A bundle is renewed for longer than its votes were for; a member that restarts has kept only these.',
    without: ['bulkAsLongAsVotes'],
    shape: 'comebacks',
    keeps: 'votes',
  },
  {
    name: 'gate-ignored-in-bulk',
    rule: 'bundles',
    how: 'A lease whose holder is to be asked before each renewal is renewed with the others.',
    without: ['bulkAsksGate'],
    habit: 'ends',
  },
];

export function bundleMutantNamed(mutant: string | null): BundleMutant | undefined {
  return BUNDLE_MUTANTS.find(({ name }) => name === mutant);
}

export function bundleRulesOf(mutant: string | null): QuorumRules {
  const without = bundleMutantNamed(mutant)?.without ?? [];
  return { ...ALL_RULES, ...Object.fromEntries(without.map((rule) => [rule, false])) };
}
