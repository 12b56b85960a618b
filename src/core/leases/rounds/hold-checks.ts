/**
 * Invariants that hold whenever a lease of these engines is handed out, extended or given back, whatever led to it. A process
 * that breaks one stops: an owner that is wrong about its own lease may not go on.
 */
import { invariant, type MonoUs } from '../../../kernel/index.ts';
import type { RoundContext } from './algorithm.ts';
import type { Claim, Round } from './claim.ts';

/** At a grant. The deadline is set already. */
export function checkGrant(claim: Claim, round: Round, { quorum, rules }: RoundContext, mono: MonoUs): void {
  invariant(claim.round === round && round.stage === 'writing', 'a round won that is void');
  invariant(round.votes.size >= quorum || !rules.distinctVoters, 'a lease was granted without a quorum of voters');
  invariant(claim.deadlineMono <= mono + claim.termUs, 'a lease was granted for longer than its term');
  invariant(claim.token > 0, 'a lease was granted without a token');
}

/** At a renewal. `deadlineMono` is the deadline before it. */
export function checkRenewal(claim: Claim, round: Round, { quorum, rules }: RoundContext, deadlineMono: MonoUs): void {
  invariant(claim.phase === 'holding' && !claim.isStopped, 'a lease was renewed that is not held');
  invariant(claim.round === round && round.stage === 'writing', 'a round won that is void');
  const isQuorum = round.votes.size >= quorum || !rules.distinctVoters || !rules.renewalNeedsQuorum;
  invariant(isQuorum, 'a lease was renewed without a quorum of voters');
  invariant(claim.deadlineMono >= deadlineMono, 'a lease was made shorter');
}
