/** The engine that the settings of a member ask for, and with it the timing that follows from them. */
import { makeEngine } from '../api/engines/index.ts';
import type { Engine } from '../api/engines/engine.ts';
import type { EngineOptions, JoinOptions } from '../api/index.ts';
import { MAX_TERM, RATE_ERROR, RATE_PPM } from '../api/cell/options.ts';
import { parseDuration } from '../kernel/index.ts';

export function engineOf({
  engine = 'quorum',
  maxTerm = MAX_TERM,
  rateError = RATE_ERROR,
}: Pick<JoinOptions, 'engine' | 'maxTerm' | 'rateError'>): Engine {
  return makeEngine(engine, { maxTermUs: parseDuration(maxTerm), rateErrorPpm: Math.round(rateError * RATE_PPM) });
}

/** What is to be said of an engine that was chosen without the skew it needs; null if it has one or needs none. */
export function skewLacking(engine: EngineOptions): string | null {
  const text = withoutSkew(engine);
  if (text === null) return null;
  return (
    `${text} must be told how far the wall clocks of any two processes may be apart: write ${text},skew=500ms, for example, ` +
    'or choose quorum or paxoslease:relative, which compare no wall clocks'
  );
}

function withoutSkew(engine: EngineOptions): string | null {
  if (engine === 'quorum') return null;
  if ('flease' in engine) return (engine.flease.algorithm ?? 4) === 4 && engine.flease.skew === undefined ? 'flease:4' : null;
  return engine.paxoslease.clocks === 'skewed' && engine.paxoslease.skew === undefined ? 'paxoslease:skewed' : null;
}
