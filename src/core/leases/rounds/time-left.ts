/** How long a lease lasts: our own, by both of our clocks, and another's, by what we were told. And what a voter's clock is worth. */
import { monoAfter, monoUs, spanUs, wallUs, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { HolderHint } from '../contract.ts';
import { renewAfterUs, stretch } from '../timing.ts';
import type { RoundContext } from './algorithm.ts';
import type { Claim, Round } from './claim.ts';
import type { RoundStep } from './config.ts';
import type { LeaseValue } from './messages.ts';

/** An owner's lease is over when either of its clocks says so (rule 12). */
export function remainingOfClaim(claim: Claim, { rules }: RoundContext, mono: MonoUs, wall: WallUs): number {
  if (claim.isStopped) return 0;
  const byWall = claim.deadlineWall - wall;
  return rules.holderWatchesMono ? Math.min(byWall, claim.deadlineMono - mono) : byWall;
}

/** Whether a lease that is being given back has ended by itself. */
export function hasRunOut(claim: Claim, surroundings: RoundContext, { monoUs: mono, wallUs: wall }: RoundStep): boolean {
  return mono >= claim.deadlineMono || (!claim.isStopped && remainingOfClaim(claim, surroundings, mono, wall) <= 0);
}

/** The end of what a round won: counted from its first message (rule 1). */
export function setDeadline(claim: Claim, round: Round, { rules, timing }: RoundContext): void {
  const startMono = rules.deadlineFromFirstMessage ? round.startMono : round.writeMono;
  claim.deadlineMono = monoAfter(startMono, spanUs(claim.termUs));
  claim.untilUs = round.value?.untilUs ?? 0;
  claim.deadlineWall = timing.clocks === 'absolute' ? wallUs(claim.untilUs) : wallUs(round.startWall + claim.termUs);
}

/** It ends so much later than now, or when it would have ended anyway. */
export function endIn(claim: Claim, inUs: number, { monoUs: mono, wallUs: wall }: RoundStep): void {
  const endMono = monoUs(Math.min(claim.deadlineMono, mono + inUs));
  claim.untilUs -= claim.deadlineMono - endMono;
  claim.deadlineMono = endMono;
  claim.deadlineWall = wallUs(Math.min(claim.deadlineWall, wall + inUs));
}

export function deadlinesOf(claim: Claim, { rules }: RoundContext): { deadlineMonoUs: MonoUs; deadlineWallUs: WallUs } {
  return { deadlineMonoUs: rules.holderWatchesMono ? claim.deadlineMono : monoUs(Infinity), deadlineWallUs: claim.deadlineWall };
}

/** Its time has come, or its owner has something to say that no quorum has yet. */
export function isRenewalDue(claim: Claim, renews: boolean, mono: MonoUs): boolean {
  return renews && (claim.proclaiming > 0 || (claim.keep && mono >= renewAtOf(claim)));
}

/** When to look at a lease that is held: to renew it, or because it ends. */
export function needsUsAt(claim: Claim, renews: boolean, { timing }: RoundContext, mono: MonoUs): MonoUs {
  const at = claim.keep && renews ? renewAtOf(claim) : claim.deadlineMono;
  if (at > mono) return at;
  // It was time to renew before the round that won it had ended: at once, or it would not live to see another.
  if (claim.deadlineMono > mono) return mono;
  // Where only the wall clock counts, the monotonic one may be past the end before it: look again.
  return monoAfter(mono, timing.pollUs);
}

function renewAtOf(claim: Claim): MonoUs {
  return monoUs(claim.deadlineMono - claim.termUs + renewAfterUs(claim.termUs));
}

/** How long another's lease may still last, by what we know. */
export function leftOf(value: LeaseValue, { timing }: RoundContext, step: RoundStep): number {
  return Math.max(0, timing.clocks === 'absolute' ? value.untilUs - step.wallUs : value.untilUs);
}

export function hintOf(value: LeaseValue | null, surroundings: RoundContext, step: RoundStep): HolderHint | null {
  if (value === null) return null;
  const { skewUs, rateErrorPpm } = surroundings.timing;
  const remainingUsMax = stretch(leftOf(value, surroundings, step) + skewUs, rateErrorPpm);
  return { owner: value.holder, token: value.token, remainingUsMax };
}

/**
 * Rule 13: a vote counts only if the voter's clock, read after our WRITE left, was not further ahead of ours than
 * clocks may be: its vote would end before our lease does. A clock that is behind for certain is no better.
 */
export function isSkewed(round: Round, clockUs: number, { timing, rules }: RoundContext): boolean {
  if (timing.clocks === 'relative' || !rules.skewGuard || timing.skewUs === 0) return false;
  const sentWall = round.startWall + (round.writeMono - round.startMono);
  return Math.abs(clockUs - sentWall) > timing.skewUs;
}
