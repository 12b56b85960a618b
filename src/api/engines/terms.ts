/** What the timing of every engine rests on, and what holds where nothing else is said. */
import { parseDuration, type Duration } from '../../kernel/index.ts';

export interface TermOptions {
  readonly maxTermUs: number;
  readonly rateErrorPpm: number;
  /** A usual round trip, where one is known before any was measured. */
  readonly rttUs?: number;
}

export const MAX_TERM = '15s';
/** Monotonic clocks are slewed: chrony's default `maxslewrate` is 83,333 ppm, and a crystal is off by a few hundred more. */
export const RATE_ERROR = 0.1;
/** Timing starts from a round trip like this; it matters only for how patient attempts are. */
export const RTT_US = 2000;
const RATE_PPM = 1_000_000;

/** As they are told to `joinCell`. */
export function termOptions({ maxTerm = MAX_TERM, rateError = RATE_ERROR }: { maxTerm?: Duration; rateError?: number }): TermOptions {
  return { maxTermUs: parseDuration(maxTerm), rateErrorPpm: Math.round(rateError * RATE_PPM) };
}
