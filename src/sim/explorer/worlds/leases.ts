/** What the small worlds of all lease engines share: one name, a stage, and what holders and those who want to be may do. */
import type { QuorumActorSnapshot } from '../../stage/quorum.ts';
import type { Settings } from '../../stage/staging.ts';
import type { Addressee, Bounds, NodeView, Offer } from '../small-world.ts';

const NAME = 'x';
export const TICK_US = 1_000_000;

type ActedLease = QuorumActorSnapshot['leases'][number];

export function leaseSettings({ acceptors, proposers, term, driftPpm }: Bounds): Settings {
  return {
    acceptors: String(acceptors),
    proposers: String(proposers),
    term: `${term}s`,
    rtt: '1us',
    attempt: '1s',
    rate: `${driftPpm}ppm`,
  };
}

export function leaseRatePpm({ acceptors, driftPpm }: Bounds, node: number): number {
  return node < acceptors ? driftPpm : -driftPpm;
}

/** A renewal that would not move the deadline on is not worth trying. */
export function leaseOffers(
  { acceptors, attempts, handles, renewals, releases, term }: Bounds,
  { node, life, actor }: NodeView,
  moves: (lease: ActedLease) => boolean,
): readonly Offer[] {
  if (node < acceptors) return [];
  const { asked, leases } = actor as unknown as QuorumActorSnapshot;
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

/** The caller on a node may still ask for a lease, or for more of one that it has. One that may crash may ask again. */
export function mayAskAgain({ attempts, renewals, crashes }: Bounds, { life, actor }: NodeView): boolean {
  const { asked, leases } = actor as unknown as QuorumActorSnapshot;
  if (asked + life < attempts || (crashes > 0 && life + 1 < attempts)) return true;
  return leases.some((lease) => lease.state === 'holding' && lease.renewals < renewals);
}
