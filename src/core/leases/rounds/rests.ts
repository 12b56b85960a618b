/** How long an asker rests before it asks again: never all at the same moment, and longer where resting helps. */
import { spanUs, type SpanUs } from '../../../kernel/index.ts';
import type { RoundContext } from './algorithm.ts';
import type { RoundStep } from './config.ts';
import type { LeaseValue } from './messages.ts';
import { leftOf } from './time-left.ts';

const BACK_OFF_DOUBLINGS = 5;
/** A try that does not wait gives up after so many rounds. */
export const TRIES_MAX = 4;

/** After a round that met other processes or too few voters. */
export function backOffUs(tries: number, { rules, timing }: RoundContext, step: RoundStep): SpanUs {
  const boundUs = timing.backOffUs * (1 << Math.min(tries - 1, BACK_OFF_DOUBLINGS));
  return spanUs(rules.jitter ? 1 + step.choose(boundUs) : 1);
}

/** While another has it: it may be given back at any time. */
export function pollAgainUs(value: LeaseValue, surroundings: RoundContext, step: RoundStep): SpanUs {
  const { pollUs, skewUs } = surroundings.timing;
  const boundUs = Math.max(2, Math.min(pollUs, leftOf(value, surroundings, step) + skewUs));
  return spanUs(surroundings.rules.jitter ? Math.ceil(boundUs / 2) + step.choose(boundUs) : boundUs);
}

/** After a renewal that failed. */
export function renewAgainUs({ rules, timing }: RoundContext, step: RoundStep): SpanUs {
  return spanUs(rules.jitter ? 1 + step.choose(2 * timing.retryUs) : timing.retryUs);
}
