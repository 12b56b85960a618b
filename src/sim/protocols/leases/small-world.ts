/** The common part of the small worlds of all lease engines: one name, a stage, and the offers of holders and proposers. */
import { AnswerReferee, type Referee } from '../../../check/index.ts';
import { budgetBounds, countBound, shareBound, switchBound, type BoundsOf, type Budgets } from '../../explorer/bounds.ts';
import type { Addressee, NodeView, Offer } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { LeaseActorSnapshot } from './actor.ts';

/** No node asks questions in these worlds, so the memory of this referee would only tell states apart. */
export function withoutAnswers(referees: readonly Referee[]): readonly Referee[] {
  return referees.filter((referee) => !(referee instanceof AnswerReferee));
}

const NAME = 'x';
export const TICK_US = 1_000_000;

/** How large these worlds are. */
export interface LeaseBounds extends Budgets {
  readonly acceptors: number;
  readonly proposers: number;
  /** How often each proposer asks for the lease; a crash uses one up. */
  readonly attempts: number;
  /** How often one asking may be tried again after it found no quorum, 1 being the first try. */
  readonly tries: number;
  /** How many leases of the same name a proposer may ask for at once, as different handles. */
  readonly handles: number;
  /** How often a holder renews, for each lease. */
  readonly renewals: number;
  /** Whether a holder may give its lease back. */
  readonly releases: boolean;
  /** Clocks of acceptors run fast by this, of proposers slow: as far apart as the engine is told they may be. */
  readonly driftPpm: number;
  /** How many instants a lease lasts. */
  readonly term: number;
}

type Usual = Partial<Budgets & Pick<LeaseBounds, 'acceptors' | 'renewals'>>;

/** Unless a world says otherwise: three acceptors, two proposers that ask once for two instants, nothing that fails, one instant to spend. */
export function leaseBounds({ acceptors = 3, renewals = 0, ...budgets }: Usual = {}): BoundsOf<LeaseBounds> {
  const { instants, ...faults } = budgetBounds(budgets);
  return {
    acceptors: countBound('acceptors', [1, 5], acceptors, 'nodes that vote'),
    proposers: countBound('proposers', [1, 5], 2, 'nodes that ask'),
    attempts: countBound('attempts', [1, 4], 1, 'how often each proposer asks'),
    tries: countBound('tries', [1, 4], 1, 'how often one asking is tried'),
    handles: countBound('handles', [1, 3], 1, 'how many leases a proposer asks for at once'),
    renewals: countBound('renewals', [0, 4], renewals, 'how often a holder renews'),
    releases: switchBound('release', 'holders give nothing back'),
    ...faults,
    driftPpm: shareBound('drift', 0.2, 'how far clocks run apart, as the engine is told: 0.1 is 10 %'),
    term: countBound('term', [1, 8], 2, 'how many instants a lease lasts'),
    instants,
  };
}

type ActedLease = LeaseActorSnapshot['leases'][number];

export function leaseSettings({ acceptors, proposers, term, driftPpm }: LeaseBounds): Settings {
  return {
    acceptors: String(acceptors),
    proposers: String(proposers),
    term: `${term}s`,
    rtt: '1us',
    attempt: '1s',
    rate: `${driftPpm}ppm`,
  };
}

export function leaseRatePpm({ acceptors, driftPpm }: LeaseBounds, node: number): number {
  return node < acceptors ? driftPpm : -driftPpm;
}

/** A renewal that would not move the deadline on is not worth trying. */
export function leaseOffers(
  { acceptors, attempts, handles, renewals, releases, term }: LeaseBounds,
  { node, life, actor }: NodeView,
  moves: (lease: ActedLease) => boolean,
): readonly Offer[] {
  if (node < acceptors) return [];
  const { asked, leases } = actor as unknown as LeaseActorSnapshot;
  const offers: Offer[] = [];
  if (asked + life < attempts && leases.length < handles) offers.push(['acquire', NAME, `${term}s`]);
  for (const lease of leases) {
    if (lease.state === 'asking') continue;
    const which = handles > 1 ? ['lease', String(lease.lease)] : [];
    offers.push(['use', NAME, ...which]);
    if (lease.state !== 'holding') continue;
    if (lease.renewals < renewals && moves(lease)) offers.push(['renew', NAME, ...which]);
    if (releases) offers.push(['release', NAME, ...which]);
  }
  return offers;
}

/** By what an engine knows itself. To the mutant of rule 3 all lives of a node are one: what the last one asked is answered to the next. */
export function ownerOf({ node, incarnation, mutant }: Addressee): number {
  return mutant === 'owner-is-node' ? node + 1 : incarnation;
}

/** The caller on a node may still ask for a lease, or for more of a lease that it has. A node that may crash may ask again. */
export function mayAskAgain({ attempts, renewals, crashes }: LeaseBounds, { life, actor }: NodeView): boolean {
  const { asked, leases } = actor as unknown as LeaseActorSnapshot;
  if (asked + life < attempts || (crashes > 0 && life + 1 < attempts)) return true;
  return leases.some((lease) => lease.state === 'holding' && lease.renewals < renewals);
}
