/**
 * The small world of leases on storage: clients of one atomic unit, and time in steps of nearly 2δ. An access may take
 * effect at any instant, also long after its client has given it up, or never.
 */
import type { Snapshot } from '../../../core/index.ts';
import { budgetBounds, countBound, switchBound, type Budgets } from '../../explorer/bounds.ts';
import { NOTHING_LEFT_OUT, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { LeaseActorSnapshot } from '../leases/actor.ts';
import type { StorageKind } from './interests.ts';
import type { StorageActorSnapshot } from './staging.ts';

interface StorageBounds extends Budgets {
  readonly clients: number;
  /** How often each asks; a crash uses one up. */
  readonly attempts: number;
  readonly renewals: number;
  readonly releases: boolean;
  /** How many instants the longest term lasts. */
  readonly term: number;
}

const NAME = 'x';
const TICK_US = 1_000_000;
/** A little more than half an instant: an attempt of at most 2δ may end at the next instant, and a pause of 2δ lasts until the instant after that. */
const DELTA = '500.001ms';
/** No claim looks more often than it must: a record is looked at again when it would be free. */
const POLL = '40s';

export function storageSmallWorld(kind: StorageKind): SmallWorld<never, StorageBounds> {
  return {
    ...NOTHING_LEFT_OUT,
    bounds: {
      clients: countBound('clients', [1, 4], 2, 'nodes that ask for the lease'),
      attempts: countBound('attempts', [1, 4], 1, 'how often each asks'),
      renewals: countBound('renewals', [0, 4], 0, 'renewals of each lease'),
      releases: switchBound('release', 'holders give nothing back'),
      failures: countBound('failures', [0, 8], 0, 'accesses to storage that fail, in all'),
      ...budgetBounds({ instants: kind === 'swap' ? 3 : 6 }),
      term: countBound('term', [3, 8], 3, 'how many instants the longest term lasts'),
    },
    tickUs: TICK_US,
    hasAtomicUnits: true,
    settings: ({ clients, term }: StorageBounds): Settings => ({
      clients: String(clients),
      delta: DELTA,
      term: `${term}s`,
      poll: POLL,
    }),

    offers({ attempts, renewals, releases, term }: StorageBounds, { life, actor }: NodeView): readonly Offer[] {
      const { asked, leases } = leasesOf(actor);
      const offers: Offer[] = [];
      if (asked + life < attempts) offers.push(['acquire', NAME, `${term}s`]);
      for (const lease of leases) {
        if (lease.state !== 'holding') continue;
        if (lease.renewals < renewals) offers.push(['renew', NAME, 'lease', String(lease.lease)]);
        if (releases) offers.push(['release', NAME, 'lease', String(lease.lease)]);
      }
      return offers;
    },

    // A client that has asked for nothing yet, and crashes, is only late.
    mayCrash: ({ attempts }: StorageBounds, { life, actor }: NodeView): boolean => leasesOf(actor).asked > 0 && life + 1 < attempts,
    firstToAct: (): number => 0,
  };
}

function leasesOf(actor: Snapshot): LeaseActorSnapshot {
  return (actor as unknown as StorageActorSnapshot).leases as unknown as LeaseActorSnapshot;
}
