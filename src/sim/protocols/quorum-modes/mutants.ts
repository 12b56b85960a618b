/** The mutants of what the quorum core can do beside plain exclusive leases: each takes one rule out. */
import { ALL_RULES, type Keeps, type QuorumRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';
import type { Shape } from '../quorum/mutants.ts';

/** What the users of a world do beside taking leases and giving them back. */
export type Habit = 'ends' | 'shared' | 'slots' | 'hands';

interface ModeMutant extends Mutant {
  readonly without: readonly (keyof QuorumRules)[];
  /** The world in which its rule matters most, and what its users must do there. */
  readonly shape?: Shape;
  readonly habit: Habit;
  readonly keeps?: Keeps;
}

export const MODE_MUTANTS: readonly ModeMutant[] = [
  {
    name: 'later-not-bounded',
    rule: 'ends',
    how: 'Who gives a lease back as of later goes on until its old deadline, when its voters have long let it go.',
    without: ['laterBounded'],
    habit: 'ends',
  },
  {
    name: 'later-unstretched',
    rule: 'ends',
    how: 'A vote that is given back as of later ends on a fast clock while its holder, whose clock is slow, still acts.',
    without: ['laterStretched'],
    habit: 'ends',
  },
  {
    name: 'max-hold-from-renewal',
    rule: 'ends',
    how: 'The longest hold begins anew with each renewal: the lease is held for ever.',
    without: ['limitFromStart'],
    habit: 'ends',
  },
  {
    name: 'gate-ignored',
    rule: 'ends',
    how: 'A lease is renewed though its holder was not asked, or did not say to go on.',
    without: ['gateAsked'],
    habit: 'ends',
  },
  {
    name: 'shared-beside-exclusive',
    rule: 'modes',
    how: 'A voter of a writer votes for a reader, too: both hold.',
    without: ['readersAskWriters'],
    habit: 'shared',
  },
  {
    name: 'exclusive-beside-shared',
    rule: 'modes',
    how: 'A voter of readers votes for a writer, too: both hold.',
    without: ['writersAskReaders'],
    habit: 'shared',
  },
  {
    name: 'upgrade-ignores-readers',
    rule: 'modes',
    how: 'A reader becomes the writer beside other readers.',
    without: ['upgradeAsksReaders'],
    habit: 'shared',
  },
  {
    name: 'upgrade-deletes',
    rule: 'modes',
    how: 'An upgrade that is refused loses the vote that the reader had, and a writer takes its place.',
    without: ['upgradeKeepsVote'],
    habit: 'shared',
  },
  {
    name: 'failed-upgrade-releases',
    rule: 'modes',
    how: 'An upgrade that comes to nothing gives back the votes of the reader, which still holds.',
    without: ['failedUpgradeKeeps'],
    habit: 'shared',
  },
  {
    name: 'upgrade-keeps-deadline',
    rule: 'modes',
    how: 'An upgraded lease lasts as long as the reader’s did, and a voter that knew of no reader votes for the shorter term only.',
    without: ['upgradeFromStart'],
    shape: 'curious',
    habit: 'shared',
  },
  {
    name: 'upgrade-keeps-token',
    rule: 'modes',
    how: 'A reader that becomes the writer acts with its old token, though readers after it have had higher ones.',
    without: ['upgradeNewToken'],
    habit: 'shared',
  },
  {
    name: 'downgrade-late-stop',
    rule: 'modes',
    how: 'A writer acts as one until its voters have answered that it is a reader, and other readers are there before.',
    without: ['downgradeAtOnce'],
    habit: 'shared',
  },
  {
    name: 'downgrade-no-floor',
    rule: 'modes',
    how: 'A reader whose clock lags gets a token below that of the writer that let it in.',
    without: ['downgradeRaisesFloor'],
    habit: 'shared',
  },
  {
    name: 'shared-token-any',
    rule: 'modes',
    how: 'A reader whose clock lags gets a token below that of a writer before it.',
    without: ['readersAboveWriters'],
    habit: 'shared',
  },
  {
    name: 'exclusive-above-writers-only',
    rule: 'modes',
    how: 'A writer whose clock lags gets a token below that of a reader before it.',
    without: ['writersAboveAll'],
    habit: 'shared',
  },
  {
    name: 'slots-counted',
    rule: 'modes',
    how: 'Voters count the slots that are taken, not which: two have the same.',
    without: ['slotsApart'],
    habit: 'slots',
  },
  {
    name: 'quarantine-not-in-vote',
    rule: 'modes',
    how: 'Votes for a slot end with its use: when its holder has died or run out, the next has it at once.',
    without: ['quarantineInVote'],
    habit: 'slots',
  },
  {
    name: 'quarantine-over-max',
    rule: 'modes',
    how: 'Use and rest of a slot are longer together than the longest term: a member that is started again has forgotten it while it still rests.',
    without: ['quarantineFits'],
    shape: 'refits',
    habit: 'slots',
  },
  {
    name: 'release-skips-quarantine',
    rule: 'modes',
    how: 'A slot that is given back is the next one’s at once.',
    without: ['releaseAfterQuarantine'],
    habit: 'slots',
  },
  {
    name: 'readers-overtake',
    rule: 'the line',
    how: 'Readers join readers though a writer waits.',
    without: ['readersWait'],
    shape: 'orderly',
    habit: 'shared',
  },
  {
    name: 'upgrade-at-tail',
    rule: 'the line',
    how: 'A reader that wants to be the only one stands behind a writer, which waits for that very reader.',
    without: ['upgradeFirst'],
    breaksLiveness: true,
    habit: 'shared',
  },
  {
    name: 'two-upgrades-wait',
    rule: 'the line',
    how: 'Two readers that want to be the only one wait for each other.',
    without: ['oneUpgrade'],
    breaksLiveness: true,
    habit: 'shared',
  },
  {
    name: 'handover-early',
    rule: 'hand-over',
    how: 'Who hands a lease over holds on until its voters have answered: the heir holds before.',
    without: ['handedStopsFirst'],
    habit: 'hands',
  },
  {
    name: 'park-is-vote',
    rule: 'hand-over',
    how: 'A voter votes for the heir when its proposal comes, though the holder has not let go.',
    without: ['parkIsNoVote'],
    habit: 'hands',
  },
  {
    name: 'park-swaps',
    rule: 'hand-over',
    how: 'A voter replaces the vote of the holder by the heir’s when that is ready, and the holder, who hears of too few, goes on.',
    without: ['parkKeepsVote'],
    habit: 'hands',
  },
  {
    name: 'handed-deadline-from-vote',
    rule: 'hand-over',
    how: 'The heir counts its term from when the votes came, and outlasts them.',
    without: ['handedFromStart'],
    shape: 'overtaking',
    habit: 'hands',
  },
  {
    name: 'renewals-refused',
    rule: 'hand-over',
    how: 'A voter refuses the renewals of a lease that was offered: nobody was there to take it, and it is lost.',
    without: ['offerEnds'],
    breaksLiveness: true,
    habit: 'hands',
  },
];

export function mutantNamed(mutant: string | null): ModeMutant | undefined {
  return MODE_MUTANTS.find(({ name }) => name === mutant);
}

export function rulesWithout(mutant: string | null): QuorumRules {
  const without = mutantNamed(mutant)?.without ?? [];
  return { ...ALL_RULES, ...Object.fromEntries(without.map((rule) => [rule, false])) };
}
