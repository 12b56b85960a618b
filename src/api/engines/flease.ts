/** Flease: leases by the wall clock, with or without a bound on how far clocks are apart. */
import { deriveRoundTiming } from '../../core/index.ts';
import type { Duration } from '../../kernel/index.ts';
import type { EngineKind } from './engine.ts';
import { badOption, ROUND_ABILITIES, roundEngine, skewOf } from './rounds.ts';
import { RTT_US } from './terms.ts';

export interface FleaseOptions {
  /** 2: no renewal. 3: with renewal. 4, which is the default: clocks agree only within `skew`. 2 and 3 need clocks that do not differ. */
  readonly algorithm?: 2 | 3 | 4;
  /** ε of Algorithm 4: how far the wall clocks of any two processes may be apart. */
  readonly skew?: Duration;
}

type Algorithm = NonNullable<FleaseOptions['algorithm']>;

function isAlgorithm(value: unknown): value is Algorithm {
  return value === 2 || value === 3 || value === 4;
}

export const flease: EngineKind<FleaseOptions> = {
  name: 'flease',
  options: ['algorithm', 'skew'],
  texts: ['flease:4,skew=500ms', 'flease:2', 'flease:3'],
  clockless: null,
  parse(variant, skew) {
    if (variant === undefined) return skew;
    const algorithm = /^\d$/.test(variant) ? Number(variant) : null;
    return isAlgorithm(algorithm) ? { algorithm, ...skew } : null;
  },
  lackingSkew: ({ algorithm = 4, skew }) => (algorithm === 4 && skew === undefined ? 'flease:4' : null),
  make({ algorithm = 4, skew }, terms) {
    if (!isAlgorithm(algorithm)) throw badOption(`flease has the algorithms 2, 3 and 4, not ${String(algorithm)}`);
    const skewUs = skewOf('flease', skew, algorithm === 4, `Algorithm ${algorithm} needs clocks that do not differ: leave skew out`);
    return roundEngine({
      name: 'flease',
      algorithm,
      variant: algorithm,
      can: { ...ROUND_ABILITIES, renew: algorithm !== 2 },
      timing: deriveRoundTiming({ rttUs: RTT_US, ...terms, clocks: 'absolute', skewUs, skewsInSilence: 2 }),
    });
  },
};
