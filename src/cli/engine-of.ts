/** The engine that the settings of a member ask for, and with it the timing that follows from them. */
import { makeEngine } from '../api/engine-options.ts';
import type { Engine } from '../api/engine.ts';
import type { JoinOptions } from '../api/index.ts';
import { MAX_TERM, RATE_ERROR, RATE_PPM } from '../api/options.ts';
import { parseDuration } from '../kernel/index.ts';

export function engineOf({
  engine = 'quorum',
  maxTerm = MAX_TERM,
  rateError = RATE_ERROR,
}: Pick<JoinOptions, 'engine' | 'maxTerm' | 'rateError'>): Engine {
  return makeEngine(engine, { maxTermUs: parseDuration(maxTerm), rateErrorPpm: Math.round(rateError * RATE_PPM) });
}
