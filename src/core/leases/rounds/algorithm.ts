/**
 * Where Flease and PaxosLease differ on the asking side: what to make of a quorum's answers to the first
 * question. Everything else (rounds, votes, deadlines, waiting, renewing, giving back) is the contender's.
 */
import type { Incarnation } from '../../../kernel/index.ts';
import type { BallotOrder } from '../../registers/round-based.ts';
import type { Claim, Round, ReadAnswer } from './claim.ts';
import type { RoundStep } from './config.ts';
import type { RoundHorizon } from './horizon.ts';
import { isSameLease, type LeaseValue } from './messages.ts';
import type { RoundRules } from './rules.ts';
import type { RoundTiming } from './timing.ts';

export type Judgement =
  /** It is free, or we have it: write our own lease. */
  | { readonly kind: 'take' }
  /** Another has it. Flease writes it back, so that it is as sure as a grant. */
  | { readonly kind: 'help'; readonly value: LeaseValue }
  | { readonly kind: 'held'; readonly value: LeaseValue }
  /** It has ended by our clock, but perhaps not by its owner's. */
  | { readonly kind: 'rest'; readonly spanUs: number; readonly value: LeaseValue }
  /** More answers may decide it. */
  | { readonly kind: 'wait' };

export interface RoundContext {
  readonly owner: Incarnation;
  readonly quorum: number;
  readonly timing: RoundTiming;
  readonly rules: RoundRules;
  readonly compare: BallotOrder;
  readonly horizon: RoundHorizon;
}

export interface Algorithm {
  judge(claim: Claim, round: Round, surroundings: RoundContext, step: RoundStep): Judgement;
  /** Whether a lease can be renewed at all. */
  readonly renews: boolean;
  /** Whether owners tell learners. */
  readonly teaches: boolean;
}

/** The lease written with the highest ballot, as its owner wrote it last, and the latest end that any voter has of it: a helper may have written older values. */
export function newestValue(told: readonly ReadAnswer[], compare: BallotOrder): LeaseValue | null {
  let best: ReadAnswer | null = null;
  for (const one of told) {
    if (one.value === null) continue;
    if (best === null || compare(one.written, one.writer, best.written, best.writer) > 0) best = one;
  }
  let newest = best?.value ?? null;
  if (newest === null) return null;
  let { untilUs } = newest;
  for (const { value } of told) {
    if (value === null || !isSameLease(value, newest)) continue;
    untilUs = Math.max(untilUs, value.untilUs);
    if (value.ownBallot > newest.ownBallot) newest = value;
  }
  return { ...newest, untilUs };
}

export function isOwn(value: LeaseValue, claim: Claim, { owner, rules }: RoundContext): boolean {
  return value.holder === owner && (value.holderLease === claim.lease || !rules.handlesApart);
}

/** Whether a lease that was told of is still worth something, by our own clock. A span is told only while something of it is left. */
export function hasEnded(value: LeaseValue, { timing }: RoundContext, step: RoundStep): boolean {
  return timing.clocks === 'absolute' ? value.untilUs <= step.wallUs : value.untilUs <= 0;
}
