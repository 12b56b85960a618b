/** The mutants of how the quorum core changes its members and terms: each takes one rule out. */
import { ALL_RULES, type QuorumRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';

/**
 * What a world is made for. `steady`: nothing fails, and nothing may be lost. `split`: few of many members vote on a name. `forgetful`: members are
 * started again and again. `sundered`: so are they, on two sides that do not hear of each other. `lagging`: there, too, and some never store a view. `rivals`: many change the cell at once and leave their work half
 * done. `floors`: clocks are far apart, and disks keep how high tokens were. `longer`: the cell begins with short terms.
 */
export type ViewShape = 'storm' | 'steady' | 'split' | 'forgetful' | 'sundered' | 'lagging' | 'rivals' | 'floors' | 'longer';

interface ViewMutant extends Mutant {
  readonly without: readonly (keyof QuorumRules)[];
  readonly shape: ViewShape;
}

export const VIEW_MUTANTS: readonly ViewMutant[] = [
  {
    name: 'view-not-checked',
    rule: 'views',
    how: 'A member votes in whatever view it is asked: quorums of views that are not neighbours share no voter.',
    without: ['viewChecked'],
    shape: 'forgetful',
  },
  {
    name: 'view-disjoint',
    rule: 'views',
    how: 'A cell goes to its next members without a joint view: a quorum of the old ones and one of the new ones share no voter.',
    without: ['jointFirst'],
    shape: 'split',
  },
  {
    name: 'joint-new-only',
    rule: 'views',
    how: 'In a joint view a quorum of the new side is enough, beside holders that have one of the old side only.',
    without: ['jointBoth'],
    shape: 'split',
  },
  {
    name: 'view-skips-silence',
    rule: 'views',
    how: 'A joint view ends while leases of the old side are still held, of which the new side knows nothing.',
    without: ['sealAfterSilence', 'viewsPaced'],
    shape: 'split',
  },
  {
    name: 'rows-dropped',
    rule: 'views',
    how: 'A member that goes to another view forgets its votes, though their holders still act.',
    without: ['rowsStay'],
    shape: 'storm',
  },
  {
    name: 'silence-by-start-config',
    rule: 'views',
    how: 'A started member is silent for as long as terms were in the view that it starts with, though it voted for longer ones.',
    without: ['silenceOfView'],
    shape: 'longer',
  },
  {
    name: 'never-back',
    rule: 'views',
    how: 'A process stays in a view that its voters do not know any more: they refuse it for ever.',
    breaksLiveness: true,
    without: ['wayBack'],
    shape: 'forgetful',
  },
];

export function viewMutantNamed(mutant: string | null): ViewMutant | undefined {
  return VIEW_MUTANTS.find(({ name }) => name === mutant);
}

export function viewRulesOf(mutant: string | null): QuorumRules {
  const without = viewMutantNamed(mutant)?.without ?? [];
  return { ...ALL_RULES, ...Object.fromEntries(without.map((rule) => [rule, false])) };
}
