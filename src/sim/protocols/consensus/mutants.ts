/** The mutants of consensus: each lacks one rule, in worlds in which that rule matters. */
import { ALL_CONSENSUS_RULES, type ConsensusRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';

/**
 * What a world is made for. `disk`: members crash, mostly just after they have said something, and find their disks again. `memory`: members come back without their
 * memory, but seldom two at once. `paper`: the papers' model: crashed members stay so, channels lose nothing, nothing is said twice. `torn`: links are
 * cut and members crash while they tell decisions, and suspect each other at once. `promises`: the same, with slow disks,
 * and a crashed member is back at once. `liars`: a client lies.
 */
export type ConsensusShape = 'disk' | 'memory' | 'paper' | 'torn' | 'promises' | 'liars';

export interface ConsensusMutant extends Mutant {
  readonly without: keyof ConsensusRules;
  readonly needs?: ConsensusShape;
}

/** The mutants that [CT96] has as well. */
export const CONSENSUS_MUTANTS: readonly ConsensusMutant[] = [
  {
    name: 'ts-zero',
    rule: 'initial timestamp',
    how: 'An estimate that nobody ever proposed has the timestamp 0, and looks as if it had been adopted in round 0.',
    without: 'tsBelowRounds',
    needs: 'torn',
  },
  {
    name: 'skip-timestamp',
    rule: 'Figure 4, line 34',
    how: 'A member adopts a proposal and keeps its old timestamp: a later coordinator takes an older estimate.',
    without: 'keepsTimestamp',
    needs: 'torn',
  },
  {
    name: 'estimate-from-minority',
    rule: 'Figure 4, line 26',
    how: 'A coordinator proposes what the first member says, and does not hear of the value that a majority has adopted.',
    without: 'estimatesOfQuorum',
    needs: 'torn',
  },
  {
    name: 'ack-without-adopting',
    rule: 'Figure 4, line 34',
    how: 'A member acknowledges a proposal and keeps its own estimate.',
    without: 'ackAdopts',
    needs: 'torn',
  },
  {
    name: 'ack-before-store',
    rule: 'rule 25',
    how: 'A member acknowledges, crashes before its disk has the estimate, and comes back with an older one.',
    without: 'storesBeforeAck',
    needs: 'disk',
  },
  {
    name: 'estimate-before-store',
    rule: 'rule 25',
    how: 'A member promises a round, crashes before its disk has it, and votes for an older round behind its promise.',
    without: 'storesBeforeEstimate',
    needs: 'promises',
  },
  {
    name: 'round-re-entered',
    rule: 'rule 25',
    how: 'A coordinator crashes, enters its stored round again, and proposes a second value in it.',
    without: 'recoversAbove',
    needs: 'disk',
  },
  {
    name: 'clients-are-heard',
    rule: 'members only',
    how: 'A client speaks as if it were a member, and is believed.',
    without: 'membersOnly',
    needs: 'liars',
  },
  {
    name: 'amnesiac-votes',
    rule: 'rule 26',
    how: 'A member that has lost its memory votes again where it has voted before.',
    without: 'abstains',
    needs: 'memory',
  },
  {
    name: 'answer-without-own-bound',
    rule: 'rule 26',
    how: 'A member that abstains tells the next one that has lost its memory only of what it has seen since: that one votes too early.',
    without: 'tellsOwnBound',
    needs: 'memory',
  },
  {
    name: 'no-nack',
    rule: 'Figure 4, lines 36 and 48',
    how: 'A coordinator is not told that others have left its round, and waits for them as they wait for it.',
    without: 'answersRefusals',
    needs: 'paper',
    breaksLiveness: true,
  },
  {
    name: 'no-relay',
    rule: 'reliable broadcast',
    how: 'A coordinator crashes while it tells the decision, and those who heard it tell nobody.',
    without: 'relays',
    needs: 'paper',
    breaksLiveness: true,
  },
];

export interface FastMutant extends Mutant {
  readonly without: keyof ConsensusRules | 'lostIsLeased';
  readonly needs?: ConsensusShape;
}

/** Rules that FAST rounds touch; the others are of the same code as in [CT96], and broken there. */
const SHARED: readonly string[] = [
  'ts-zero',
  'ack-without-adopting',
  'ack-before-store',
  'clients-are-heard',
  'amnesiac-votes',
  'no-nack',
  'no-relay',
];

/** Some mutants of [CT96], and the mutants of the FAST round. */
export const FAST_MUTANTS: readonly FastMutant[] = [
  ...CONSENSUS_MUTANTS.filter(({ name }) => SHARED.includes(name)),
  {
    name: 'two-fast-coordinators',
    rule: 'Figure 4, line 19',
    how: 'A member that trusts itself leads the FAST round without the lease of the instance, beside the one that has it.',
    without: 'fastNeedsLease',
    needs: 'torn',
  },
  {
    name: 'fast-twice-after-recovery',
    rule: 'the lease status is in memory only',
    how: 'A recovered member takes the lease of its earlier life for its own, and proposes a second value in the same FAST round.',
    without: 'neverFastAgain',
    needs: 'disk',
  },
  {
    name: 'lost-leases-are-free',
    rule: 'rule 26',
    how: 'A member that has lost its memory gives leases on instances again that its earlier life had given.',
    without: 'lostIsLeased',
    needs: 'memory',
  },
  {
    name: 'no-abort',
    rule: 'Figure 4, line 46',
    how: 'A member waits for the proposal of one that will not lead the FAST round, and is not told.',
    without: 'aborts',
    needs: 'paper',
    breaksLiveness: true,
  },
];

export function consensusRulesOf(mutant: { readonly without: keyof ConsensusRules } | undefined): ConsensusRules {
  return mutant ? { ...ALL_CONSENSUS_RULES, [mutant.without]: false } : ALL_CONSENSUS_RULES;
}
