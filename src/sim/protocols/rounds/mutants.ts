/** The mutants of Flease and PaxosLease, and the rules that the papers do not have. */
import { ALL_ROUND_RULES, type RoundRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';
import type { RoundShape } from './worlds.ts';

export interface RoundMutant extends Mutant {
  readonly without: readonly (keyof RoundRules)[];
  /** Rules that its paper lacks and that are in force all the same: without them something else would break first. */
  readonly adds?: readonly (keyof RoundRules)[];
  /** Worlds in which its rule matters. */
  readonly shape?: RoundShape;
}

/** Everything section 5 adds. */
const LITERAL_WITHOUT: readonly (keyof RoundRules)[] = [
  'attemptDeadline',
  'deadlineFromFirstMessage',
  'keepLiveLease',
  'promiseYieldsToOwner',
  'giveBack',
  'votesByMonotonic',
  'holderWatchesMono',
  'skewGuard',
];

const SHARED: readonly RoundMutant[] = [
  {
    name: 'believes-any-clock',
    rule: 'clocks beyond belief',
    how: 'A liar’s token from the far future becomes everybody’s: in the end there are none left.',
    without: ['believesNearOnly'],
    shape: 'liars',
  },
  {
    name: 'answers-from-anyone',
    rule: 'who may say what',
    how: 'A liar’s word that it votes for a lease counts as a vote: a minority makes a second holder.',
    without: ['answersFromAsked'],
    shape: 'liars',
  },
  {
    name: 'incarnation-taken-over',
    rule: 'rule 3, who may say what',
    how: 'A liar gives back the lease of another in its name, while that one holds it.',
    without: ['asksInOwnName'],
    shape: 'liars',
  },
  {
    name: 'owner-is-node',
    rule: 'rule 3',
    how: 'A stalled process and the one started in its place are the same owner to the acceptors: both hold.',
    without: ['ownerIsIncarnation'],
  },
  {
    name: 'no-restart-silence',
    rule: 'rule 4',
    how: 'A restarted acceptor votes at once, having forgotten a vote that a living holder counts on.',
    without: ['restartSilence'],
  },
  {
    name: 'count-messages',
    rule: 'rule 5',
    how: 'A duplicated vote counts twice and makes a quorum of one.',
    without: ['distinctVoters'],
  },
  {
    name: 'nack-is-vote',
    rule: 'rule 5',
    how: 'A refusal is counted among the votes.',
    without: ['refusalIsNoVote'],
  },
  {
    name: 'release-before-stop',
    rule: 'rule 6',
    how: 'The holder acts on until its release is acknowledged, while the next one has the lease already.',
    without: ['stopBeforeRelease'],
  },
  {
    name: 'release-any-ballot',
    rule: 'rule 6',
    how: 'A late release wipes whatever lease the acceptor has by then.',
    without: ['releaseByBallot'],
  },
  {
    name: 'renewal-by-one',
    rule: 'rule 8',
    how: 'One vote renews: the holder goes on though a quorum has let go.',
    without: ['renewalNeedsQuorum'],
  },
];

export const FLEASE_MUTANTS: readonly RoundMutant[] = [
  {
    name: 'replace-live-lease',
    rule: 'rules 2 and 1',
    how: 'An acceptor gives its vote to a newcomer with a higher ballot while the lease it voted for lives. Either rule covers for the other, so both are out.',
    without: ['keepLiveLease', 'attemptDeadline', 'deadlineFromFirstMessage'],
    shape: 'long-memory',
  },
  ...SHARED,
  {
    name: 'helper-undoes-proclaim',
    rule: 'rule 8',
    how: 'A helper that read before the owner said something else of itself, and writes after it, brings back what it said before.',
    without: ['ownersWordStands'],
  },
  {
    name: 'no-safety-period',
    rule: 'Algorithm 4',
    how: 'An acceptor whose clock is ahead lets go of a lease that its owner, whose clock is behind, still uses.',
    without: ['safetyPeriod'],
  },
  {
    name: 'no-skew-guard',
    rule: 'rule 13',
    how: 'Clocks are further apart than ε, and nobody looks: the next owner begins before the last one has ended.',
    without: ['skewGuard'],
    shape: 'wild',
  },
];

export const PAXOSLEASE_MUTANTS: readonly RoundMutant[] = [
  ...SHARED,
  {
    name: 'majority-empty-ignored',
    rule: 'section 2.2.1',
    how: 'What a failed attempt left at a minority keeps everyone from proposing, though a majority has nothing.',
    without: ['majorityEmptyFrees'],
    shape: 'leftovers',
    breaksLiveness: true,
  },
  {
    name: 'rate-not-watched',
    rule: 'P10',
    how: 'A clock runs at twice its rate: the member votes for another while the lease it voted for lives; or at half, and the owner goes on after the end.',
    without: ['rateWatched'],
    shape: 'slewed',
  },
];

export const SKEWED_MUTANTS: readonly RoundMutant[] = [
  {
    name: 'replace-live-lease',
    rule: 'rule 2',
    how: 'An acceptor gives its vote to a newcomer with a higher ballot while the lease it voted for lives. Rule 1 and others cover for it, so all that the paper lacks is out; with rule 2 alone put back nothing breaks.',
    without: LITERAL_WITHOUT,
    shape: 'long-memory',
  },
  ...SHARED,
  {
    name: 'te-without-s',
    rule: 'P7',
    how: 'Acceptors are told the end as the proposer counts it: one whose clock is ahead lets go too early.',
    without: ['safetyPeriod'],
  },
  {
    name: 'no-skew-guard',
    rule: 'rule 13',
    how: 'Clocks are further apart than S, and nobody looks.',
    without: ['skewGuard'],
    shape: 'wild',
  },
  {
    name: 'learn-te-plus-s',
    rule: 'P7',
    how: 'Learners are told the end that acceptors know: one whose clock is behind believes in the last owner when the next one holds.',
    without: ['learnOwnEnd'],
  },
  {
    name: 'release-late-to-learners',
    rule: 'P6',
    how: 'Learners hear of a release when it is done: by then the next owner may hold.',
    without: ['learnersFirst'],
    shape: 'punctual',
  },
];

/** On the papers to the letter. */
export const PAXOSLEASE_LITERAL_MUTANTS: readonly RoundMutant[] = [
  {
    name: 'deadline-at-propose',
    rule: 'rule 1, with rule 2 off',
    how: 'Attempt and lease are timed from the proposal, so promises of before a crash are added to promises of after it. An attempt deadline alone does not help.',
    adds: ['attemptDeadline', 'deadlineFromFirstMessage'],
    without: ['deadlineFromFirstMessage'],
    shape: 'long-memory',
  },
  {
    name: 'own-lease-always-open',
    rule: 'rule 3, with rule 2 off',
    how: 'A second handle takes the live lease of the first for its own and replaces it.',
    without: ['handlesApart'],
    shape: 'steady',
  },
  {
    name: 'id-hash-ballots',
    rule: 'rule 9',
    how: 'Ballots "mod n" of more proposers than n: two proposers with the same ballot are one to the acceptors.',
    without: ['ballotsByIncarnation'],
    shape: 'steady',
  },
];

export const FLEASE_LITERAL_MUTANTS: readonly RoundMutant[] = [
  {
    name: 'no-epsilon-wait',
    rule: 'Algorithm 4',
    how: 'Who reads a lease that has just ended takes it at once, though its owner’s clock may be behind.',
    without: ['epsilonWait', 'safetyPeriod'],
    shape: 'steady',
  },
  {
    name: 'epsilon-ballots',
    rule: 'rule 9',
    how: '"Equal if within ε, then by id" goes in circles: a lower ballot passes an acceptor that has promised a higher one.',
    without: ['bucketedBallots'],
    shape: 'steady',
  },
  {
    name: 'id-hash-ballots',
    rule: 'rule 9',
    how: 'Two proposers with the same ballot are one to the acceptors, and each counts the other’s votes.',
    without: ['ballotsByIncarnation'],
    shape: 'steady',
  },
  {
    name: 'silence-one-epsilon',
    rule: 'rule 4',
    how: 'An owner whose clock goes from ε ahead to ε behind outlives a silence of one ε.',
    without: ['silenceTwoEpsilon'],
    shape: 'sway',
  },
];

export function roundRules(mutant: RoundMutant | undefined, literal: boolean): RoundRules {
  const lacking = literal ? LITERAL_WITHOUT.filter((rule) => !mutant?.adds?.includes(rule)) : [];
  const without = [...lacking, ...(mutant?.without ?? [])];
  return { ...ALL_ROUND_RULES, ...Object.fromEntries(without.map((rule) => [rule, false])) };
}
