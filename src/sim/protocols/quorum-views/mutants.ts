/** The mutants of how the quorum core changes its members and terms: each takes one rule out. */
import { ALL_RULES, type QuorumRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';

/**
 * What a world is made for.
 * - `steady`: nothing fails, and nothing may be lost; in half of them the machines of new members come up late.
 * - `split`: few of many members vote on a name.
 * - `forgetful`: members are started again and again.
 * - `sundered`: the cell moves to other members, the first members all go down at once, and in half of the worlds no operator stores a
 * view.
 * - `lagging`: few of many members vote on a name, one is replaced after the other, and the world falls apart into two sides.
 * - `rivals`: many initiators change the cell at once and leave their work half done.
 * - `floors`: clocks are far apart, disks keep how high tokens were, and new members ask for names that others have had.
 * - `longer`: the cell begins with short terms, and all members go down at once.
 */
export type StormShape = 'storm' | 'steady' | 'split' | 'forgetful' | 'sundered' | 'lagging' | 'rivals' | 'floors' | 'longer';
/**
 * Which node changes the cell and which nodes hear each other is planned, but not to the instant. `halfway`: that a change is over reaches one member, and another finishes it. `hearsay`: one of two views of an epoch is told when the other
 * is about to end.
 */
export type PlannedShape = 'halfway' | 'hearsay';
export type ViewShape = StormShape | PlannedShape;

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
    name: 'seal-in-memory',
    rule: 'views',
    how: 'A joint view ends once members are in it, though nobody has stored it: those that are started again are in the view before, and vote there.',
    without: ['sealStored'],
    shape: 'sundered',
  },
  {
    name: 'seal-by-majority',
    rule: 'views',
    how: 'A joint view ends once most members of before have stored it: where few of many vote on a name, all its voters may not have.',
    without: ['sealAllButFew'],
    shape: 'lagging',
  },
  {
    name: 'joint-long-terms',
    rule: 'views',
    how: 'In a joint view votes are for as long as the longer side allows: a member that forgets the view is silent for the shorter term only.',
    without: ['jointTerms'],
    shape: 'longer',
  },
  {
    name: 'view-without-floor',
    rule: 'views',
    how: 'New members know nothing of the tokens before them, and one of them whose clock lags grants a lower one.',
    without: ['viewFloor'],
    shape: 'floors',
  },
  {
    name: 'joint-undone',
    rule: 'views',
    how: 'Whoever finds a joint view goes back to the members of before, while some are where it has ended already.',
    without: ['jointForward'],
    shape: 'halfway',
  },
  {
    name: 'gossip-over-vote',
    rule: 'views',
    how: 'A member takes a view from another member, though it has voted for whoever makes views. Ids of views are tokens, so a rival view would not be the higher one; that rule is out, too.',
    without: ['gossipYields', 'viewIdIsToken'],
    shape: 'hearsay',
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
  {
    name: 'views-in-a-rush',
    rule: 'views',
    how: 'The next view is made before those that are new in the last one vote: a lease that nobody else keeps is lost.',
    breaksLiveness: true,
    without: ['viewsPaced'],
    shape: 'steady',
  },
];

export function viewMutantNamed(mutant: string | null): ViewMutant | undefined {
  return VIEW_MUTANTS.find(({ name }) => name === mutant);
}

export function viewRulesOf(mutant: string | null): QuorumRules {
  const without = viewMutantNamed(mutant)?.without ?? [];
  return { ...ALL_RULES, ...Object.fromEntries(without.map((rule) => [rule, false])) };
}
