/**
 * The small world of views: the members of a cell change once while others want a lease. The first acceptors are its members before, the last ones
 * after; of those who ask the last changes the cell, and the others want the lease. A member that has stored a view does not crash here: it would
 * find what it stored, and here a crash loses everything.
 */
import { ACCEPTED, REFUSED, VIEW_TOLD, VIEWED, type QuorumMessage, type Snapshot } from '../../../core/index.ts';
import { countBound } from '../../explorer/bounds.ts';
import { NOTHING_LEFT_OUT, type Addressee, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import { VOTER_NAMES } from '../../stage/words.ts';
import type { Settings } from '../../stage/staging.ts';
import { leaseBounds, leaseOffers, leaseRatePpm, leaseSettings, TICK_US, type LeaseBounds } from '../leases/small-world.ts';
import { quorumSmallWorld } from '../quorum/small-world.ts';
import type { ViewsActorSnapshot } from './actor.ts';

interface ViewsBounds extends LeaseBounds {
  /** How many members the cell has before the change, and after it. */
  readonly from: number;
  readonly to: number;
}

/** Whoever wants the lease is as in the world of a cell that stays as it is. */
const AS_EVER = { handOvers: 0, readers: 0, upgrades: 0 };

export const viewsSmallWorld: SmallWorld<QuorumMessage, ViewsBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    ...leaseBounds({ acceptors: 2, crashes: 1, instants: 2 }),
    from: countBound('from', [1, 5], 1, 'how many members the cell has: the first of those that vote'),
    to: countBound('to', [1, 5], 1, 'how many members it will have: the last of those that vote'),
  },
  misfit: ({ acceptors, from, to }: ViewsBounds): string | null =>
    Math.max(from, to) > acceptors ? 'the cell cannot have more members than there are nodes that vote' : null,
  tickUs: TICK_US,
  settings: (bounds: ViewsBounds): Settings => ({ ...leaseSettings(bounds), founders: String(bounds.from) }),
  ratePpm: leaseRatePpm,

  offers(bounds: ViewsBounds, seen: NodeView): readonly Offer[] {
    const { acceptors, to } = bounds;
    const { changes, goesOnAt, unstored } = actorOf(seen);
    if (seen.node < acceptors) return unstored === null ? [] : [['store']];
    if (!isAdministrator(bounds, seen.node)) return leaseOffers(bounds, seen, () => true);
    if (changes + seen.life === 0)
      return [
        [
          'change',
          'members',
          VOTER_NAMES.slice(acceptors - to, acceptors)
            .split('')
            .join(','),
        ],
      ];
    return goesOnAt <= seen.monoUs ? [['go-on']] : [];
  },

  mayCrash(bounds: ViewsBounds, seen: NodeView): boolean {
    if (seen.node >= bounds.acceptors) return !isAdministrator(bounds, seen.node) && seen.life + 1 < bounds.attempts;
    return !actorOf(seen).hasStored && quorumSmallWorld.mayCrash({ ...bounds, ...AS_EVER }, seen);
  },

  // Whoever changes the cell asks for its lease again and again; a core that does so besides adds nothing.
  mayWake: (bounds: ViewsBounds, node: number, core: Snapshot): boolean =>
    !isAdministrator(bounds, node) && quorumSmallWorld.mayWake({ ...bounds, ...AS_EVER }, node, core),
  /** A holder that hears of another view asks there. */
  asksNothing(bounds: ViewsBounds, seen: NodeView): boolean {
    const { changes, change, leases } = actorOf(seen);
    if (isAdministrator(bounds, seen.node)) return changes + seen.life > 0 && change === null;
    return leases.length === 0 && quorumSmallWorld.asksNothing({ ...bounds, ...AS_EVER }, seen);
  },
  // What those who vote do when they are woken is seen by nobody.
  wakesPromptly: ({ acceptors }: ViewsBounds, node: number): boolean => node < acceptors,

  /** A vote on the lease of views and a refusal tell of views, whatever else they are answers to; and a view that is told is no answer. */
  isDead(message: QuorumMessage, whom: Addressee, core: Snapshot | null): boolean {
    if (message.kind === VIEW_TOLD || !quorumSmallWorld.isDead(message, whom, core)) return false;
    const tellsOfViews = message.kind === REFUSED || (message.kind === ACCEPTED && (message.flags & VIEWED) !== 0);
    return !tellsOfViews || core === null || message.owner !== whom.incarnation;
  },
};

function isAdministrator({ acceptors, proposers }: ViewsBounds, node: number): boolean {
  return node === acceptors + proposers - 1;
}

function actorOf({ actor }: { readonly actor: Snapshot }): ViewsActorSnapshot {
  return actor as unknown as ViewsActorSnapshot;
}
