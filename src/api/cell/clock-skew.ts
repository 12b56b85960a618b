/** Clocks that are further apart than the engine was told: whose they are, and how that is said (rule 13). */
import { formatDuration, spanUs, TenureError } from '../../kernel/index.ts';
import type { PeerPace } from '../../core/index.ts';
import type { PeerStats } from '../../transport/index.ts';
import type { Engine } from '../engines/engine.ts';

/** How a member is reached; of this very process there is nothing to measure. */
export interface MemberReach {
  readonly id: string;
  /** It keeps it for as long as it is a member. */
  readonly number: number;
  readonly address: string;
  /** Of a change that is under way: it was no member before, or will be none when that is over. */
  readonly joins: boolean;
  readonly leaves: boolean;
  readonly self: boolean;
  readonly stats: PeerStats | null;
  /** How fast its monotonic clock runs next to ours. */
  readonly pace: PeerPace;
}

/** The members whose clocks are certainly further off than they may be: a measurement is right to half a round trip. Empty if there are none. */
function skewedMembers(members: readonly MemberReach[], skewUs: number): string {
  const isOff = ({ offsetUs, rttUs }: PeerStats): boolean => offsetUs !== null && Math.abs(offsetUs) - (rttUs ?? 0) / 2 > skewUs;
  return offsetsText(members.filter(({ stats }) => stats !== null && isOff(stats)));
}

/** `b is 400ms ahead, c is 90ms behind`, as measured from here. */
export function offsetsText(members: readonly MemberReach[]): string {
  return members
    .flatMap(({ id, stats }) => {
      const offsetUs = stats?.offsetUs ?? null;
      if (offsetUs === null) return [];
      const ms = Math.round(Math.abs(offsetUs) / 1000);
      return [`${id} is ${ms}ms ${offsetUs < 0 ? 'behind' : 'ahead'}`];
    })
    .join(', ');
}

/** What is wrong with the clocks, as seen from here; null if nothing is. An engine that was told of a skew holds clocks to it, other engines to the bound on ballots that are ahead. */
export function clockTrouble(members: readonly MemberReach[], { skewUs, timing }: Pick<Engine, 'skewUs' | 'timing'>): TenureError | null {
  const boundUs = skewUs || timing.aheadUsMax;
  const offsets = skewedMembers(members, boundUs);
  if (offsets === '') return null;
  const bound = formatDuration(spanUs(boundUs));
  if (skewUs === 0) {
    return new TenureError(
      'TENURE_CLOCK_AHEAD',
      `clocks are too far apart: ${offsets}. Nobody believes what is more than ${bound} ahead of its own clock: mend the clocks`,
      { offsets, aheadUsMax: boundUs },
    );
  }
  return new TenureError(
    'TENURE_CLOCK_SKEW',
    `clocks are too far apart: ${offsets}, and the cell was told of at most ${bound}. Their votes do not count: mend the clocks`,
    { offsets, skewUs },
  );
}
