/**
 * PaxosLease's proposer, between prepare responses and propose requests. It proposes only itself: it gives up
 * when another holds the lease, and a majority of empty answers frees it whatever a minority still has.
 */
import { isOwn, newestValue, type Algorithm, type Judgement, type RoundContext } from './algorithm.ts';
import type { Claim, Round } from './claim.ts';
import type { RoundStep } from './config.ts';
import type { LeaseValue } from './messages.ts';

export class PaxosLeaseAlgorithm implements Algorithm {
  readonly renews = true;
  readonly teaches = true;

  judge(claim: Claim, round: Round, surroundings: RoundContext, step: RoundStep): Judgement {
    const { quorum, rules, compare } = surroundings;
    const others = round.told.filter(
      ({ value }) => value !== null && !isOwn(value, claim, surroundings) && !isOver(value, surroundings, step),
    );
    const open = round.told.length - others.length;
    if (others.length === 0 || (rules.majorityEmptyFrees && open >= quorum)) return { kind: 'take' };
    const unheard = claim.voters.length - round.heard.size - round.refused.size;
    if (rules.majorityEmptyFrees && open + unheard >= quorum) return { kind: 'wait' };
    const value = newestValue(others, compare);
    return value === null ? { kind: 'take' } : { kind: 'held', value };
  }
}

/** By t_e + S, as acceptors count (P7): by t_e alone a proposer whose clock is ahead would not see a lease that is still used. */
function isOver(value: LeaseValue, { timing, rules }: RoundContext, step: RoundStep): boolean {
  if (timing.clocks === 'relative') return value.untilUs <= 0;
  return value.untilUs + (rules.safetyPeriod ? timing.skewUs : 0) <= step.wallUs;
}
