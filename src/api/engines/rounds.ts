/**
 * Flease and PaxosLease as engines of a cell: one core, told which of the two it is and how clocks are trusted.
 * Both ask a quorum twice for every lease, and know nothing of queues.
 */
import { deriveRoundTiming, RoundCore, type RoundConfig } from '../../core/index.ts';
import { formatDuration, parseDuration, spanUs, TenureError } from '../../kernel/index.ts';
import { Driver } from '../../runtime/index.ts';
import { roundCodec } from '../../wire/index.ts';
import type {
  Abilities,
  Engine,
  EngineConfig,
  EngineGround,
  FleaseOptions,
  PaxosLeaseOptions,
  RunningEngine,
  TermOptions,
} from './engine.ts';
import { RTT_US } from '../cell/options.ts';

const ABILITIES: Abilities = {
  ordered: false,
  renew: true,
  releaseLater: true,
  watch: 'none',
  list: false,
  status: false,
  bootstrap: false,
  dataDir: false,
};

const ALGORITHMS: readonly unknown[] = [2, 3, 4];
const CLOCKS: readonly unknown[] = ['perfect', 'skewed', 'relative'];

export function fleaseEngine({ algorithm = 4, skew }: FleaseOptions, terms: TermOptions): Engine {
  if (!ALGORITHMS.includes(algorithm)) throw bad(`flease has the algorithms 2, 3 and 4, not ${algorithm}`);
  const skewUs = skewOf('flease', skew, algorithm === 4, `Algorithm ${algorithm} needs clocks that do not differ: leave skew out`);
  const config = { engine: 'flease', algorithm, ...(skewUs > 0 ? { skewUs } : {}) } as const;
  return roundEngine({
    name: 'flease',
    algorithm,
    text: `flease:${algorithm}${skewText(skewUs)}`,
    config,
    can: { ...ABILITIES, renew: algorithm !== 2 },
    timing: deriveRoundTiming({ rttUs: RTT_US, ...terms, clocks: 'absolute', skewUs, skewsInSilence: 2 }),
  });
}

export function paxosLeaseEngine({ clocks = 'relative', skew }: PaxosLeaseOptions, terms: TermOptions): Engine {
  if (!CLOCKS.includes(clocks)) throw bad(`paxoslease has the clocks 'perfect', 'skewed' and 'relative', not '${clocks}'`);
  const skewUs = skewOf('paxoslease', skew, clocks === 'skewed', `only clocks: 'skewed' has a skew: leave it out`);
  const config = { engine: 'paxoslease', clocks, ...(skewUs > 0 ? { skewUs } : {}) } as const;
  return roundEngine({
    name: 'paxoslease',
    algorithm: 4,
    text: `paxoslease:${clocks}${skewText(skewUs)}`,
    config,
    can: { ...ABILITIES, watch: 'name' },
    timing: deriveRoundTiming({
      rttUs: RTT_US,
      ...terms,
      clocks: clocks === 'relative' ? 'relative' : 'absolute',
      skewUs,
      skewsInSilence: 1,
    }),
  });
}

interface RoundParts extends Pick<Engine, 'text' | 'can'>, Pick<RoundConfig, 'algorithm' | 'timing'> {
  readonly name: RoundConfig['engine'];
  readonly config: EngineConfig;
}

function roundEngine({ name, algorithm, text, config, can, timing }: RoundParts): Engine {
  return {
    name,
    text,
    timing,
    skewUs: timing.skewUs,
    config,
    can,
    run(ground: EngineGround): RunningEngine {
      const { memberKeys, replication, hashKey, limits, boot } = ground;
      const core = new RoundCore({ engine: name, algorithm, memberKeys, replication, timing, hashKey, limits }, boot);
      const driver = new Driver({
        ...ground,
        core,
        codec: roundCodec(),
        ownCodec: roundCodec(),
        self: boot.self,
      });
      return { driver, core };
    },
  };
}

/** Where clocks may differ, by how much has to be said: there is no number that fits everyone. */
function skewOf(engine: string, skew: FleaseOptions['skew'], isNeeded: boolean, why: string): number {
  const skewUs = skew === undefined ? 0 : parseDuration(skew);
  if (skewUs > 0 && !isNeeded) throw bad(`${engine}: ${why}`);
  if (skewUs === 0 && isNeeded)
    throw bad(`${engine} needs a skew: how far the wall clocks of any two processes may be apart, such as '500ms'`);
  return skewUs;
}

function skewText(skewUs: number): string {
  return skewUs > 0 ? `,skew=${formatDuration(spanUs(skewUs))}` : '';
}

function bad(message: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', message);
}
