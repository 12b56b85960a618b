/**
 * The small world of views: the members of a cell change once while proposers want a lease. The first acceptors are its members before, the last
 * acceptors after; the last proposer changes the cell, and the others want the lease. A member that has stored a view does not crash here: it
 * would find the stored view, and here a crash loses everything.
 */
import { ACCEPTED, OTHER_VIEW, REFUSED, VIEW_TOLD, VIEWED, type QuorumMessage, type Snapshot } from '../../../core/index.ts';
import { countBound } from '../../explorer/bounds.ts';
import {
  NOTHING_LEFT_OUT,
  type Addressee,
  type NodeView,
  type Offer,
  type OpeningStep,
  type SmallWorld,
} from '../../explorer/small-world.ts';
import { VOTER_NAMES } from '../../stage/words.ts';
import type { Settings } from '../../stage/staging.ts';
import { leaseBounds, leaseOffers, leaseRatePpm, leaseSettings, TICK_US, type LeaseBounds } from '../leases/small-world.ts';
import { NO_CHANGES, quorumSmallWorld } from '../quorum/small-world.ts';
import type { ViewsActorSnapshot } from './actor.ts';

interface ViewsBounds extends LeaseBounds {
  /** How many members the cell has before the change, and after it. */
  readonly from: number;
  readonly to: number;
  /**
   * 1: the search begins in the joint view. The members of before granted the lease to the first proposer, then all adopted the view,
   * none has stored it, and an instant has gone by. 0: nothing has happened.
   */
  readonly begun: number;
  /** The instant from which on proposers ask for the lease; the opening is not bound by it. */
  readonly asksFrom: number;
}

/** With more ballots than this in one instant no proposer is sent on to another view. */
const SENT_ON_MAX = 4;
/** No node has so many in one instant. Where clocks drift, instants do not begin at whole ticks, and this is not looked at. */
const BALLOTS_MAX = 1000;

/** Proposers of the lease are as in the world of a cell that stays as it is. */
const AS_EVER = { handOvers: 0, readers: 0, upgrades: 0 };

export const viewsSmallWorld: SmallWorld<QuorumMessage, ViewsBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    ...leaseBounds({ acceptors: 2, crashes: 1, instants: 2 }),
    from: countBound('from', [1, 5], 1, 'how many members the cell has: the first of those that vote'),
    to: countBound('to', [1, 5], 1, 'how many members it will have: the last of those that vote'),
    begun: countBound('begun', [0, 1], 0, '1: the first proposer holds the lease, and members have heard of the joint view'),
    asksFrom: countBound('asks-from', [0, 15], 0, 'from which instant on proposers ask for the lease, except for its first holder'),
  },
  misfit({ acceptors, proposers, from, to, begun, term, instants, driftPpm }: ViewsBounds): string | null {
    if (Math.max(from, to) > acceptors) return 'the cell cannot have more members than there are nodes that vote';
    if (begun === 0) return null;
    if (from === acceptors && to === acceptors) return 'a change that has begun has other members after it than before';
    // The opening takes two instants: half a term, and one more.
    const fits = proposers > 1 && term === 2 && instants > 1 && driftPpm === 0;
    return fits ? null : 'a change has begun only with two that ask or more, a term of 2, 2 instants or more, and clocks that run true';
  },
  tickUs: TICK_US,
  leavesOutVain: true,
  // Members tell each other of views every now and then.
  repeats: ({ kind }: QuorumMessage): boolean => kind === VIEW_TOLD,
  settings: (bounds: ViewsBounds): Settings => ({ ...leaseSettings(bounds), founders: String(bounds.from) }),
  ratePpm: leaseRatePpm,

  opening(bounds: ViewsBounds): readonly OpeningStep[] {
    const { acceptors, proposers, begun, term } = bounds;
    if (begun === 0) return [];
    const administrator = acceptors + proposers - 1;
    return [
      { node: administrator, offer: changeOf(bounds) },
      'advance',
      { node: acceptors, offer: ['acquire', 'x', `${term}s`] },
      { node: administrator, offer: ['go-on'] },
      'advance',
    ];
  },

  offers(bounds: ViewsBounds, seen: NodeView): readonly Offer[] {
    const { acceptors } = bounds;
    const { asked, changes, change, goesOnAt, unstored } = actorOf(seen);
    if (seen.node < acceptors) return unstored === null ? [] : [['store']];
    if (!isAdministrator(bounds, seen.node)) {
      const isEarly = seen.monoUs < bounds.asksFrom * TICK_US && (bounds.begun === 0 || seen.node > acceptors || asked > 0);
      return leaseOffers(isEarly ? { ...bounds, attempts: 0 } : bounds, seen, () => true);
    }
    if (changes + seen.life === 0) return [changeOf(bounds)];
    // In a change that has begun, an initiator that has lost the lease of views does not ask for it again.
    const isOver = bounds.begun > 0 && change !== null && (change.initiator as { lease: number }).lease === 0;
    return goesOnAt <= seen.monoUs && !isOver ? [['go-on']] : [];
  },

  mayCrash(bounds: ViewsBounds, seen: NodeView): boolean {
    if (seen.node >= bounds.acceptors) return !isAdministrator(bounds, seen.node) && seen.life + 1 < bounds.attempts;
    return !actorOf(seen).hasStored && quorumSmallWorld.mayCrash({ ...bounds, ...AS_EVER }, seen);
  },

  // The initiator asks for its lease again and again; a core that does so besides adds nothing.
  mayWake: (bounds: ViewsBounds, node: number, core: Snapshot): boolean =>
    !isAdministrator(bounds, node) && quorumSmallWorld.mayWake({ ...bounds, ...AS_EVER }, node, core),
  /** A holder that hears of another view asks there. */
  asksNothing(bounds: ViewsBounds, seen: NodeView): boolean {
    const { changes, change, leases } = actorOf(seen);
    if (isAdministrator(bounds, seen.node)) return changes + seen.life > 0 && change === null;
    return leases.length === 0 && quorumSmallWorld.asksNothing({ ...bounds, ...AS_EVER }, seen);
  },
  // The wakes of acceptors have no visible effect.
  wakesPromptly: ({ acceptors }: ViewsBounds, node: number): boolean => node < acceptors,

  /** How often an acceptor has voted and when votes began matters to askers, and here are none. */
  tidy(core: Snapshot): Snapshot {
    const { acceptor } = core as { acceptor: Readonly<Record<string, Snapshot>> | null };
    return acceptor === null ? core : { ...(core as object), acceptor: { ...acceptor, votes: 0, changes: NO_CHANGES } };
  },

  /** A vote on the lease of views and a refusal tell of views, whatever else they are answers to; and a view that is told is no answer. */
  isDead(message: QuorumMessage, whom: Addressee, core: Snapshot | null): boolean {
    if (message.kind === VIEW_TOLD || !quorumSmallWorld.isDead(message, whom, core))
      return message.kind !== VIEW_TOLD && isSentOnTooOften(message);
    const tellsOfViews =
      (message.kind === REFUSED && message.reason === OTHER_VIEW) || (message.kind === ACCEPTED && (message.flags & VIEWED) !== 0);
    return !tellsOfViews || core === null || message.owner !== whom.incarnation;
  },
};

/**
 * Ballots of one instant rise by one. Members that are in different views send a proposer from one view to the other and back, with a fresh ballot each
 * time, and an instant has no end: from some ballot on, the refusal that sends it on is lost.
 */
function isSentOnTooOften({ kind, reason, ballot }: QuorumMessage): boolean {
  const inInstant = ballot % TICK_US;
  return kind === REFUSED && reason === OTHER_VIEW && inInstant > SENT_ON_MAX && inInstant < BALLOTS_MAX;
}

function changeOf({ acceptors, to }: ViewsBounds): Offer {
  return [
    'change',
    'members',
    VOTER_NAMES.slice(acceptors - to, acceptors)
      .split('')
      .join(','),
  ];
}

function isAdministrator({ acceptors, proposers }: ViewsBounds, node: number): boolean {
  return node === acceptors + proposers - 1;
}

function actorOf({ actor }: { readonly actor: Snapshot }): ViewsActorSnapshot {
  return actor as unknown as ViewsActorSnapshot;
}
