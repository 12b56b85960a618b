/** PaxosLease: leases by relative terms, or by wall clocks that agree, exactly or within a bound. */
import { deriveRoundTiming } from '../../core/index.ts';
import type { Duration } from '../../kernel/index.ts';
import type { EngineKind } from './engine.ts';
import { badOption, ROUND_ABILITIES, roundEngine, skewOf } from './rounds.ts';
import { RTT_US } from './terms.ts';

export interface PaxosLeaseOptions {
  /** `relative`, the default: no wall clock at all. `skewed`: clocks agree within `skew`. `perfect`: they do not differ. */
  readonly clocks?: 'perfect' | 'skewed' | 'relative';
  /** S: how far the wall clocks of any two processes may be apart. Only with `skewed`. */
  readonly skew?: Duration;
}

type Trust = NonNullable<PaxosLeaseOptions['clocks']>;

function isTrust(value: unknown): value is Trust {
  return value === 'perfect' || value === 'skewed' || value === 'relative';
}

export const paxoslease: EngineKind<PaxosLeaseOptions> = {
  name: 'paxoslease',
  options: ['clocks', 'skew'],
  texts: ['paxoslease:relative', 'paxoslease:perfect', 'paxoslease:skewed,skew=200ms'],
  clockless: 'paxoslease:relative',
  parse: (variant, skew) => (variant === undefined ? skew : isTrust(variant) ? { clocks: variant, ...skew } : null),
  lackingSkew: ({ clocks, skew }) => (clocks === 'skewed' && skew === undefined ? 'paxoslease:skewed' : null),
  make({ clocks = 'relative', skew }, terms) {
    if (!isTrust(clocks)) throw badOption(`paxoslease has the clocks 'perfect', 'skewed' and 'relative', not '${String(clocks)}'`);
    const skewUs = skewOf('paxoslease', skew, clocks === 'skewed', `only clocks: 'skewed' has a skew: leave it out`);
    const compared = clocks === 'relative' ? 'relative' : 'absolute';
    return roundEngine({
      name: 'paxoslease',
      algorithm: 4,
      variant: clocks,
      can: { ...ROUND_ABILITIES, watch: 'name' },
      timing: deriveRoundTiming({ rttUs: RTT_US, ...terms, clocks: compared, skewUs, skewsInSilence: 1 }),
    });
  },
};
