/**
 * PaxosLease's proposer, between prepare responses and propose requests. It proposes only itself: it gives up
 * when another holds the lease, and a majority of empty answers frees it whatever a minority still has.
 */
import { isOwn, newestValue, type Algorithm, type Judgement, type RoundContext } from './algorithm.ts';
import type { Claim, Round, ReadAnswer } from './claim.ts';
import type { RoundStep } from './config.ts';
import { isSameLease, type LeaseValue } from './messages.ts';

export class PaxosLeaseAlgorithm implements Algorithm {
  readonly renews = true;
  readonly teaches = true;

  judge(claim: Claim, round: Round, surroundings: RoundContext, step: RoundStep): Judgement {
    const { quorum, rules, compare } = surroundings;
    const others = round.told.filter(
      ({ value }) => value !== null && !isOwn(value, claim, surroundings) && !isOver(value, surroundings, step),
    );
    const open = round.told.length - others.length;
    if (round.purpose === 'look') return look(claim, round, others, surroundings);
    if (others.length === 0 || (rules.majorityEmptyFrees && open >= quorum)) return { kind: 'take' };
    const unheard = claim.voters.length - round.heard.size - round.refused.size;
    if (rules.majorityEmptyFrees && open + unheard >= quorum) return { kind: 'wait' };
    const value = newestValue(others, compare);
    return value === null ? { kind: 'take' } : { kind: 'held', value };
  }
}

/** Who holds it, or that nobody does: a quorum must say the same, because a minority may have what a failed attempt left there. */
function look(claim: Claim, round: Round, live: readonly ReadAnswer[], { quorum, compare }: RoundContext): Judgement {
  if (round.told.length - live.length >= quorum) return { kind: 'take' };
  for (const { value } of live) {
    const same = live.flatMap((one) => (one.value !== null && value !== null && isSameLease(one.value, value) ? [one.value] : []));
    // What its owner said last.
    const last = same.reduce((a, b) => (b.ownBallot > a.ownBallot ? b : a), same[0] as LeaseValue);
    if (same.length >= quorum) {
      const byEnd = same.toSorted((a, b) => b.untilUs - a.untilUs);
      return { kind: 'held', value: { ...last, untilUs: (byEnd[0] as LeaseValue).untilUs }, sure: byEnd[quorum - 1] };
    }
  }
  const value = newestValue(live, compare);
  claim.seen = value;
  return value === null || claim.voters.length > round.heard.size + round.refused.size ? { kind: 'wait' } : { kind: 'unsure', value };
}

/** By t_e + S, as acceptors count (P7): by t_e alone a proposer whose clock is ahead would not see a lease that is still used. */
function isOver(value: LeaseValue, { timing, rules }: RoundContext, step: RoundStep): boolean {
  if (timing.clocks === 'relative') return value.untilUs <= 0;
  return value.untilUs + (rules.safetyPeriod ? timing.skewUs : 0) <= step.wallUs;
}
