/** The mutants of interval leases. */
import { ALL_INTERVAL_RULES, type IntervalRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';
import type { IntervalShape } from './worlds.ts';

export interface IntervalMutant extends Mutant {
  /** Null: it is not a rule that is missing. */
  readonly without: keyof IntervalRules | null;
  /** Worlds in which its rule matters. */
  readonly shape: IntervalShape;
}

export const INTERVAL_MUTANTS: readonly IntervalMutant[] = [
  {
    name: 'retransmit-refused',
    rule: 'rule 17',
    how: 'A LEASE that is sent again is refused by what its first copy left, though nobody else was there.',
    without: 'sameRequestAgain',
    shape: 'lossy',
  },
  {
    name: 'retransmit-keyed-by-range',
    rule: 'rule 17',
    how: 'Another process asks for the same range and is taken for the first.',
    without: 'keyedByClaim',
    shape: 'rush',
  },
  {
    name: 'keyed-by-node',
    rule: 'rule 17',
    how: 'The next life of a node counts its claims from 1 again: its LEASE is taken for one of the life before.',
    without: 'keyedByIncarnation',
    shape: 'claimants-crash',
  },
  {
    name: 'reply-before-store',
    rule: 'rule 25',
    how: 'A member says ACK, crashes, and has forgotten it.',
    without: 'replyAfterStore',
    shape: 'members-crash',
  },
  {
    name: 'minority-grant',
    rule: 'rule 5',
    how: 'Less than a majority grants: another less than a majority grants the same.',
    without: 'majorityGrants',
    shape: 'rush',
  },
  {
    name: 'count-messages',
    rule: 'rule 5',
    how: 'A doubled ACK counts twice and makes a majority of one.',
    without: 'distinctMembers',
    shape: 'doubled',
  },
  {
    name: 'overlap-misses-containment',
    rule: 'overlap by ends',
    how: 'The overlap test as printed: an interval inside one that is taken has neither of its ends in it, and is granted.',
    without: 'overlapByEnds',
    shape: 'rush',
  },
  {
    name: 'withdraw-granted',
    rule: 'rule 17',
    how: 'A claim is called off when it was granted already, and is withdrawn all the same.',
    without: 'grantedIsKept',
    shape: 'rush',
  },
  {
    name: 'withdraw-by-range',
    rule: 'rule 17',
    how: 'A refused claim is withdrawn, and with it goes the claim that it was refused for.',
    without: 'withdrawsThatClaim',
    shape: 'rush',
  },
  {
    name: 'late-vote-counts',
    rule: 'rule 17',
    how: 'A claim is withdrawn before it is given up: a late ACK makes it a grant that acceptors have forgotten.',
    without: 'givenUpBeforeWithdrawn',
    shape: 'rush',
  },
  {
    name: 'vote-after-withdraw',
    rule: 'rule 17',
    how: 'A late copy of a LEASE comes after its withdrawal: nobody will ever withdraw it again, and others are refused for it.',
    without: 'withdrawnIsIgnored',
    shape: 'doubled',
  },
  {
    name: 'wiped-is-blank',
    rule: 'rule 26',
    how: 'A member that lost its disk begins blank, and acknowledges what it had given away.',
    without: 'lostIsNotBlank',
    shape: 'lost-disks',
  },
  {
    name: 'copied-is-open',
    rule: 'rule 26',
    how: 'Two claims split the votes. The member whose disk was lost copies both as open, and acknowledges both.',
    without: 'copiedIsTaken',
    shape: 'half-way',
  },
  {
    name: 'old-disk-counts',
    rule: 'rule 26',
    how: 'An ACK of the lost disk is counted together with one that another member gives after it was copied from.',
    without: 'newestDisksCount',
    shape: 'half-way',
  },
  {
    name: 'literal-burns',
    rule: 'Figure 2, line 10',
    how: 'Refused requests are recorded as well: one refused claim of everything, and nothing can be claimed any more.',
    without: null,
    shape: 'literal',
    breaksLiveness: true,
  },
];

export function intervalMutant(name: string | null): IntervalMutant | undefined {
  return INTERVAL_MUTANTS.find((mutant) => mutant.name === name);
}

export function intervalRules(name: string | null): IntervalRules {
  const without = intervalMutant(name)?.without ?? null;
  return without === null ? ALL_INTERVAL_RULES : { ...ALL_INTERVAL_RULES, [without]: false };
}
