/**
 * What Flease and PaxosLease share as engines of a cell: one core, told which of the two it is and how clocks are
 * trusted. Both ask a quorum twice for every lease, and know nothing of queues.
 */
import { RoundCore, type RoundConfig } from '../../core/index.ts';
import { formatDuration, parseDuration, spanUs, TenureError, type Duration } from '../../kernel/index.ts';
import { roundCodec } from '../../wire/index.ts';
import { drive, type CellAbilities, type Engine } from './engine.ts';

export const ROUND_ABILITIES: CellAbilities = {
  ordered: false,
  renew: true,
  releaseLater: true,
  endEarly: false,
  shared: false,
  changeMode: false,
  handOver: false,
  slots: false,
  watch: 'none',
  list: false,
  status: false,
  bootstrap: false,
  dataDir: false,
  views: false,
};

interface RoundParts extends Pick<Engine, 'can'>, Pick<RoundConfig, 'algorithm' | 'timing'> {
  readonly name: RoundConfig['engine'];
  /** As it is written after the name. */
  readonly variant: string | number;
}

export function roundEngine({ name, algorithm, variant, can, timing }: RoundParts): Engine {
  const { skewUs } = timing;
  return {
    name,
    text: `${name}:${variant}${skewUs > 0 ? `,skew=${formatDuration(spanUs(skewUs))}` : ''}`,
    timing,
    skewUs,
    can,
    run(ground) {
      const { memberKeys, replication, hashKey, limits, boot } = ground;
      const core = new RoundCore({ engine: name, algorithm, memberKeys, replication, timing, hashKey, limits }, boot);
      return drive(ground, core, roundCodec);
    },
  };
}

/** Where clocks may differ, by how much has to be said: there is no number that fits every cell. */
export function skewOf(engine: string, skew: Duration | undefined, isNeeded: boolean, why: string): number {
  const skewUs = skew === undefined ? 0 : parseDuration(skew);
  if (skewUs > 0 && !isNeeded) throw badOption(`${engine}: ${why}`);
  if (skewUs === 0 && isNeeded)
    throw badOption(`${engine} needs a skew: how far the wall clocks of any two processes may be apart, such as '500ms'`);
  return skewUs;
}

export function badOption(message: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', message);
}
