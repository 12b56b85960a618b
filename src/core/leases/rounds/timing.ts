/**
 * How the engines that ask twice keep time: whether a lease's end is an instant on wall clocks that agree
 * within a bound, or a span that every node counts alone. All durations come from here and from the
 * `timing.ts` that all lease engines share.
 */
import { formatDuration, spanUs, TenureError, type SpanUs } from '../../../kernel/index.ts';
import { deriveTiming, renewalPatienceUs, stretch, type Timing, type TimingInput } from '../timing.ts';

export interface RoundTiming extends Timing {
  /** Absolute: a lease ends at an instant, by wall clocks. Relative: after a span, by each one's own clock (P10). */
  readonly clocks: 'absolute' | 'relative';
  /** ε of Flease, S of PaxosLease: the largest difference between two wall clocks. */
  readonly skewUs: SpanUs;
  /** How wide the buckets of time are by which ballots are compared: a few ε (rule 9). */
  readonly bucketUs: SpanUs;
  /** How often a waiter looks again. */
  readonly pollUs: SpanUs;
}

export interface RoundTimingInput extends TimingInput {
  readonly clocks: 'absolute' | 'relative';
  readonly skewUs: number;
  /** How many times the skew is in the restart silence: two for Flease, one for PaxosLease (rule 4). */
  readonly skewsInSilence: number;
}

/** Narrower buckets would leave no room for what ballots draw and count in a safe integer. */
export const BUCKET_US_MIN = 60_000;
/** A clock that is ahead is in the next bucket earlier, by this part of a bucket: the wider, the fairer. */
const BUCKET_SKEWS = 6;
const POLLS_PER_TERM = 10;
/** A renewal takes two round trips, and so many leave it some slack. */
const RENEWAL_TRIPS = 3;

export function deriveRoundTiming(input: RoundTimingInput): RoundTiming {
  const { maxTermUs, rateErrorPpm, clocks, skewUs, skewsInSilence } = input;
  const timing = deriveTiming(input);
  if (!Number.isSafeInteger(skewUs) || skewUs < 0 || skewUs >= maxTermUs) {
    throw new TenureError(
      'TENURE_BAD_TIMING',
      `the skew of clocks must be less than the longest term, ${formatDuration(spanUs(maxTermUs))}; not ${formatDuration(spanUs(skewUs))}`,
      { skewUs, maxTermUs },
    );
  }
  return {
    ...timing,
    clocks,
    skewUs: spanUs(skewUs),
    silenceUs: stretch(maxTermUs + skewsInSilence * skewUs, rateErrorPpm),
    bucketUs: spanUs(Math.max(BUCKET_US_MIN, BUCKET_SKEWS * skewUs)),
    pollUs: spanUs(Math.max(4 * timing.rttUs, Math.floor(maxTermUs / POLLS_PER_TERM))),
  };
}

/** What patience follows from, once round trips were measured. */
export type Pace = Pick<Timing, 'attemptUs' | 'rttUs'>;

/** How long a round waits for answers. Renewals no longer than lets another fit before the end, but as long as two round trips need. */
export function roundPatienceUs(pace: Pace, renews: boolean, termUs: number): SpanUs {
  if (!renews) return pace.attemptUs;
  return spanUs(Math.min(pace.attemptUs, Math.max(RENEWAL_TRIPS * pace.rttUs, renewalPatienceUs(pace, termUs))));
}
