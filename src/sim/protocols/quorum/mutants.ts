/** The mutants of the quorum core: each takes one rule out. `docs/research/mutants.md` is generated from this table. */
import type { Chooser } from '../../../kernel/index.ts';
import { ALL_RULES, type Keeps, type QuorumRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';

/** Worlds drawn beside the swarm: each is rare there, and makes one kind of trouble likely. */
export type Shape =
  | 'swarm'
  | 'lockstep'
  | 'reboots'
  | 'overtaking'
  | 'outages'
  | 'beginnings'
  | 'orderly'
  | 'comebacks'
  | 'liars'
  | 'outlived'
  | 'slewed'
  | 'slow-disks'
  | 'refits'
  | 'curious';

interface QuorumMutant extends Mutant {
  readonly without: readonly (keyof QuorumRules)[];
  /** The world in which its rule matters most: most of its runs are drawn there. */
  readonly shape?: Shape;
  /** What its members keep on their disks, where that is the point. */
  readonly keeps?: Keeps;
  /** Its cells are brand-new and bootstrapped. */
  readonly bootstraps?: boolean;
}

export const QUORUM_MUTANTS: readonly QuorumMutant[] = [
  {
    name: 'no-attempt-deadline',
    rule: 'rule 1',
    how: 'Votes that come after the end of the lease they are for are counted, and it is handed out all the same.',
    without: ['attemptDeadline'],
  },
  {
    name: 'replace-live-lease',
    rule: 'rule 2',
    how: 'An acceptor gives its vote to a newcomer with a higher ballot while the lease it voted for lives.',
    without: ['keepLiveLease'],
  },
  {
    name: 'owner-is-node',
    rule: 'rule 3',
    how: 'A stalled process and the one started in its place are the same owner to the acceptors: both hold.',
    without: ['ownerIsIncarnation'],
  },
  {
    name: 'own-handles-confused',
    rule: 'rule 3',
    how: 'Two handles of one process count as one owner: the second acquire succeeds as if it renewed the first.',
    without: ['handlesApart'],
  },
  {
    name: 'lease-number-wraps',
    rule: 'rule 3',
    how: 'Lease numbers are cut to 32 bits: a new handle is taken for one of 2³² leases ago, gets its vote and gives back its lease.',
    without: ['wholeNumbers'],
  },
  {
    name: 'no-restart-silence',
    rule: 'rule 4',
    how: 'A restarted acceptor votes at once, having forgotten a vote that a living holder counts on.',
    without: ['restartSilence'],
  },
  {
    name: 'own-vote-skips-silence',
    rule: 'rule 4',
    how: 'A restarted member is silent to others but votes for itself.',
    without: ['silenceCoversOwnVote'],
  },
  {
    name: 'silence-by-wall-clock',
    rule: 'rule 4',
    how: 'A step of the wall clock ends the silence while votes of the earlier life still count.',
    without: ['silenceByMonotonic'],
    shape: 'reboots',
  },
  {
    name: 'older-life-counts',
    rule: 'lives',
    how: 'A member taken for dead, whose successor votes, goes on voting for whoever still talks to it: two quorums that do not meet.',
    without: ['newestLives'],
    shape: 'outlived',
  },
  {
    name: 'votes-before-noted',
    rule: 'lives',
    how: 'A successor votes after its silence though too few have noted it: those who have not make quorums with the older life.',
    without: ['notedFirst'],
    shape: 'outlived',
  },
  {
    name: 'silence-before-noted',
    rule: 'lives',
    how: 'The silence of a successor runs from its start: votes that the older life got with those who had not noted it yet still count.',
    without: ['silenceFromNote'],
    shape: 'outlived',
  },
  {
    name: 'count-messages',
    rule: 'rule 5',
    how: 'A duplicated vote counts twice and makes a quorum of one.',
    without: ['distinctVoters'],
  },
  {
    name: 'nack-counts',
    rule: 'rule 5',
    how: 'A refusal is counted like a vote.',
    without: ['refusalIsNoVote'],
  },
  {
    name: 'release-by-owner',
    rule: 'rule 6',
    how: 'A late release of an earlier lease wipes the newer lease of the same owner.',
    without: ['releaseByBallot'],
  },
  {
    name: 'release-live-attempt',
    rule: 'rule 6',
    how: 'A failed attempt is released but not voided: a late vote turns it into a lease its acceptors have forgotten.',
    without: ['voidBeforeRelease'],
  },
  {
    name: 'release-before-stop',
    rule: 'rule 6',
    how: 'The release leaves while the holder still acts.',
    without: ['stopBeforeRelease'],
  },
  {
    name: 'failed-renewal-releases',
    rule: 'rule 6',
    how: 'A renewal that fails gives the old lease away while it is still in use.',
    without: ['failedRenewalKeeps'],
  },
  {
    name: 'renew-shortens',
    rule: 'rule 7',
    how: 'A renewal for a shorter term ends the vote before the deadline the holder keeps.',
    without: ['neverShorten'],
  },
  {
    name: 'own-lower-ballot',
    rule: 'rule 7',
    how: 'A late proposal of an earlier attempt sets the ballot back, and its late release then wipes the living lease.',
    without: ['refuseOwnLower'],
    shape: 'overtaking',
  },
  {
    name: 'renew-without-quorum',
    rule: 'rule 8',
    how: 'The first vote for a renewal extends the lease.',
    without: ['renewalNeedsQuorum'],
  },
  {
    name: 'renewal-revives',
    rule: 'rule 8',
    how: 'A quorum answers a renewal after the lease has run out, and its holder, who has stopped, goes on.',
    without: ['endIsFinal'],
    shape: 'overtaking',
  },
  {
    name: 'promise-blocks-owner',
    rule: 'rule 8',
    how: 'Contenders outbid the holder: its renewals are refused until the lease is lost.',
    without: ['promiseYieldsToOwner'],
    breaksLiveness: true,
  },
  {
    name: 'acceptor-term-too-short',
    rule: 'P10',
    how: 'A vote lasts as long as the lease, not longer: on a fast clock it ends first.',
    without: ['stretchTerm'],
  },
  {
    name: 'votes-by-wall-clock',
    rule: 'rule 12',
    how: 'A step of the wall clock frees a live vote.',
    without: ['votesByMonotonic'],
    shape: 'reboots',
  },
  {
    name: 'holder-ignores-wall-clock',
    rule: 'rule 12',
    how: 'A machine that slept through the end of its lease goes on as if no time had passed.',
    without: ['holderWatchesWall'],
  },
  {
    name: 'flag-not-clock',
    rule: 'rule 11',
    how: 'After a stall the holder acts before the timer that would have told it that the lease is over.',
    without: ['validByClock'],
  },
  {
    name: 'token-not-above',
    rule: 'rule 18',
    how: 'A holder with a slow wall clock gets a lower fencing token than the one before it.',
    without: ['tokenAboveFloor'],
  },
  {
    name: 'stale-metadata',
    rule: 'proclaiming',
    how: 'Whoever asks is told what the first voter to answer knows of the holder, though another has what was proclaimed since.',
    without: ['newestMeta'],
  },
  {
    name: 'reply-before-write',
    rule: 'rule 4, with a disk',
    how: 'A vote is answered before it is on the disk: a restart in between forgets it, and is not silent.',
    without: ['replyAfterWrite'],
    keeps: 'votes',
  },
  {
    name: 'reply-with-the-write-before',
    rule: 'rule 25',
    how: 'A vote is answered when the write that was under way is done, which is of what was in its place before: a restart forgets it.',
    without: ['replyAfterItsWrite'],
    keeps: 'votes',
    shape: 'slow-disks',
  },
  {
    name: 'reply-before-head',
    rule: 'rule 4, with a disk',
    how: 'A vote is answered before the head says that there is something in its place: a restart does not look there.',
    without: ['replyAfterHead'],
    keeps: 'votes',
    shape: 'slow-disks',
  },
  {
    name: 'older-vote-counts',
    rule: 'rule 4, with a disk',
    how: 'A vote for a name was given before the one for the lease before it was off the disk: a restart takes the older, and the newer is forgotten.',
    without: ['laterVoteCounts'],
    keeps: 'votes',
    shape: 'slow-disks',
  },
  {
    name: 'restored-vote-expires-early',
    rule: 'rule 4, with a disk',
    how: 'A vote that is read back is taken to be half over, though no clock can tell.',
    without: ['restoredInFull'],
    keeps: 'votes',
  },
  {
    name: 'kept-vote-shortened',
    rule: 'rule 7, with a disk',
    how: 'A renewal for a shorter term, which says something new of its holder, is kept in place of the longer one: read back, the vote ends before the lease.',
    without: ['keptAsLong'],
    keeps: 'votes',
    shape: 'comebacks',
  },
  {
    name: 'floor-far-ahead',
    rule: 'rule 18, with a disk',
    how: 'Floors get further ahead of the clock with each restart: whoever has lost its disk hands out lower tokens.',
    without: ['floorNearClock'],
    keeps: 'floor',
    shape: 'comebacks',
  },
  {
    name: 'floor-not-kept',
    rule: 'rule 18, with a disk',
    how: 'Members whose wall clocks were set back restart, and hand out lower tokens than before.',
    without: ['floorKept'],
    keeps: 'floor',
    shape: 'outages',
  },
  {
    name: 'bootstrap-any-life',
    rule: 'bootstrap',
    how: 'A copy of the word to go reaches a member that has voted, and was started again, and ends its silence.',
    without: ['bootstrapNamesLives'],
    bootstraps: true,
    shape: 'beginnings',
  },
  {
    name: 'certain-by-any-answers',
    rule: 'questions',
    how: 'Answers of different instants are put together: a lease that one process holds throughout is told to be free, and one is named that never held it.',
    without: ['atOneInstant'],
    shape: 'curious',
  },
  {
    name: 'believes-any-clock',
    rule: 'clocks beyond belief',
    how: 'A liar’s ballot from the far future becomes everybody’s: tokens jump ahead, and in the end there are none left.',
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
    name: 'free-for-all',
    rule: 'queues',
    how: 'An acceptor gives a free lease to whoever asks first: newcomers overtake those in line.',
    without: ['turns'],
    shape: 'orderly',
  },
  {
    name: 'ticket-from-own-clock',
    rule: 'queues',
    how: 'A ticket is taken before anyone was heard: whose wall clock is behind stands before those who came earlier.',
    without: ['ticketAfterQuorum'],
    shape: 'orderly',
  },
  {
    name: 'rate-not-watched',
    rule: 'P10',
    how: 'A clock runs at twice its rate: the member votes for another while the lease it voted for lives; or at half, and the holder goes on after the end.',
    without: ['rateWatched'],
    shape: 'slewed',
  },
  {
    name: 'no-jitter',
    rule: 'section 6, with queues off',
    how: 'Contenders that retry at once outbid each other for ever.',
    without: ['queues', 'jitter'],
    breaksLiveness: true,
    shape: 'lockstep',
  },
];

/** Of the product's worlds, the shapes that are drawn beside the swarm. */
const SHAPES_DRAWN: readonly Shape[] = [
  'lockstep',
  'reboots',
  'overtaking',
  'outages',
  'beginnings',
  'orderly',
  'comebacks',
  'liars',
  'liars',
  'outlived',
  'slewed',
  'slow-disks',
  'refits',
  'curious',
];

/** Three of four worlds of a mutant are of the shape it asks for; of the product's, two in five are of some shape. */
export function drawShape(chooser: Chooser, mutant: string | null): Shape {
  const asked = QUORUM_MUTANTS.find(({ name }) => name === mutant)?.shape;
  if (asked && chooser.below(4) > 0) return asked;
  return SHAPES_DRAWN[chooser.below(29)] ?? 'swarm';
}

export function drawBootstraps(chooser: Chooser, shape: Shape, mutant: string | null): boolean {
  return QUORUM_MUTANTS.find(({ name }) => name === mutant)?.bootstraps ?? (shape === 'beginnings' || chooser.below(8) === 0);
}

export function rulesOf(mutant: string | null): QuorumRules {
  const without = QUORUM_MUTANTS.find(({ name }) => name === mutant)?.without ?? [];
  return { ...ALL_RULES, ...Object.fromEntries(without.map((rule) => [rule, false])) };
}
