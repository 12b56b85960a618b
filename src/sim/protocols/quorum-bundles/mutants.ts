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
    name: 'bulk-any-bundle',
    rule: 'bundles',
    how: 'A voter that has lost a bundle renews the one it has now, which lacks most of what was in the other. The repair would find out in a while, so it is out, too.',
    without: ['bulkByNumber', 'bulkRepairs'],
    shape: 'renumbered',
  },
  {
    name: 'bulk-revives',
    rule: 'bundles',
    how: 'A bundle that has run out is renewed, though others have had some of its names since. The repair is out, too.',
    without: ['bulkLapses', 'bulkRepairs'],
    shape: 'secluded',
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
    name: 'bulk-from-answer',
    rule: 'bundles',
    how: 'What is renewed in bulk lasts from when the answers came, and outlasts its votes.',
    without: ['bulkFromStart'],
    shape: 'tardy',
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
    name: 'bulk-any-view',
    rule: 'bundles',
    how: 'A member renews bundles in whatever view it is asked: their holder goes on in a view that is over.',
    without: ['bulkInView'],
    shape: 'views',
  },
  {
    name: 'bulk-no-repair',
    rule: 'bundles',
    how: 'A vote whose release was lost is renewed with its bundle for ever.',
    without: ['bulkRepairs'],
    breaksLiveness: true,
    shape: 'lossy',
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
