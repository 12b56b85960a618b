/** The engine that the settings of a member ask for, and with it the timing that follows from them. */
import type { Engine } from '../api/engines/engine.ts';
import { CLOCKLESS_ENGINES, either, lackingSkew, makeEngine, type EngineOptions } from '../api/engines/index.ts';
import { termOptions } from '../api/engines/terms.ts';
import type { JoinOptions } from '../api/index.ts';

export function engineOf(options: Pick<JoinOptions, 'engine' | 'maxTerm' | 'rateError'>): Engine {
  return makeEngine(options.engine ?? 'quorum', termOptions(options));
}

/** The complaint about an engine that was chosen without the skew it needs; null if it has one or needs none. */
export function skewLacking(engine: EngineOptions): string | null {
  const text = lackingSkew(engine);
  if (text === null) return null;
  return (
    `${text} must be told how far the wall clocks of any two processes may be apart: write ${text},skew=500ms, for example, ` +
    `or choose ${either(CLOCKLESS_ENGINES)}, which compare no wall clocks`
  );
}
