/**
 * PaxosLease's proposer, between prepare responses and propose requests. It proposes only itself: it gives up
 * when another holds the lease, and a majority of empty answers frees it whatever a minority still has.
 */
import { hasEnded, isOwn, newestValue, type Algorithm, type Judgement, type Surroundings } from '../rounds/algorithm.ts';
import type { Claim, Round } from '../rounds/claim.ts';
import type { RoundStep } from '../rounds/config.ts';

export class PaxosLeaseAlgorithm implements Algorithm {
  readonly renews = true;
  readonly teaches = true;

  judge(claim: Claim, round: Round, surroundings: Surroundings, step: RoundStep): Judgement {
    const { quorum, rules, compare } = surroundings;
    const others = round.told.filter(
      ({ value }) => value !== null && !isOwn(value, claim, surroundings) && !hasEnded(value, surroundings, step),
    );
    const open = round.told.length - others.length;
    if (others.length === 0 || (rules.majorityEmptyFrees && open >= quorum)) return { kind: 'take' };
    const unheard = claim.voters.length - round.heard.size - round.refused.size;
    if (rules.majorityEmptyFrees && open + unheard >= quorum) return { kind: 'wait' };
    const value = newestValue(others, compare);
    return value === null ? { kind: 'take' } : { kind: 'held', value };
  }
}
