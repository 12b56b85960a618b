/** Judgements by an attempt and the clocks alone: what a refusal means, what every grant must have, and how long to rest after a failure. */
import { invariant, monoAfter, NO_BALLOT, spanUs, type BallotTime, type MonoUs } from '../../../kernel/index.ts';
import { ballotLimit } from '../horizon.ts';
import type { QuorumStep } from './config.ts';
import { AHEAD, LOW, OUTBID, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';
import type { Pursuit } from './pursuit.ts';

const BACK_OFF_DOUBLINGS = 5;

/** What a refusal means here, where a clock may be too far off to go by: AHEAD if the voter's or our own is. */
export function reasonOf({ reason, clock }: QuorumMessage, pursuit: Pursuit, out: QuorumOutbox, step: QuorumStep): number {
  const { aheadUsMax } = out.timing;
  // Others may have driven ballots to the edge of what the voter believes, and its clock be a little off ours: that passes.
  if (reason === AHEAD) return pursuit.startWall > clock + aheadUsMax ? AHEAD : OUTBID;
  if (reason !== LOW) return reason;
  if (!out.believes(clock, step)) return clock > ballotLimit(step, 2 * aheadUsMax) ? AHEAD : OUTBID;
  pursuit.above = Math.max(pursuit.above, clock) as BallotTime;
  return LOW;
}

/** What every grant has, whatever led to it. */
export function checkWin(
  { phase, ballot, accepted, termUs, placement }: Pursuit,
  deadlineMono: MonoUs,
  out: QuorumOutbox,
  step: QuorumStep,
): void {
  const { rules, electorate } = out;
  invariant(phase === 'proposing' && ballot !== NO_BALLOT, 'an attempt won that is void');
  invariant(electorate.isQuorum(accepted, placement) || !rules.distinctVoters, 'a lease was granted without a quorum of voters');
  invariant(deadlineMono <= step.monoUs + termUs, 'a lease was granted for longer than its term');
}

/** A random while, longer with every try: contenders that move in step split the vote for ever. */
export function afterBackOff({ tries }: Pursuit, longestUs: number, { timing, rules }: QuorumOutbox, step: QuorumStep): MonoUs {
  const doubledUs = timing.backOffUs * (1 << Math.min(tries - 1, BACK_OFF_DOUBLINGS));
  const boundUs = Math.max(1, Math.min(doubledUs, longestUs));
  return monoAfter(step.monoUs, spanUs(rules.jitter ? 1 + step.choose(boundUs) : 1));
}
