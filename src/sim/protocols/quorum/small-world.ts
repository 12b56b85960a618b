/**
 * The small world of the quorum engine: acceptors that only vote, proposers that only ask, one name, a lease of
 * two instants with attempts of one. See `docs/research/explorer.md` for what that covers and what it does not.
 */
import type { Incarnation } from '../../../kernel/index.ts';
import { FREE, IN_LINE, INVITE, isRequest, READY, type QuorumMessage, type Snapshot } from '../../../core/index.ts';
import { countBound } from '../../explorer/bounds.ts';
import type { LeaseActorSnapshot } from '../leases/actor.ts';
import { AGREEING_CLOCKS, type Addressee, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import {
  leaseBounds,
  leaseOffers,
  leaseRatePpm,
  leaseSettings,
  mayAskAgain,
  ownerOf,
  TICK_US,
  withoutAnswers,
  type LeaseBounds,
} from '../leases/small-world.ts';

/** Waiters wait for longer than the world lasts. */
const WAIT = '100s';

/** As of every lease engine, and what this one can do besides. */
interface QuorumBounds extends LeaseBounds {
  /** How often each holder would hand over. Where this is not 0, proposers wait in line. */
  readonly handOvers: number;
  /** How many proposers would share the name, and how often each of them would be the only holder. */
  readonly readers: number;
  readonly upgrades: number;
}

export const quorumSmallWorld: SmallWorld<QuorumMessage, QuorumBounds> = {
  bounds: {
    ...leaseBounds({ renewals: 1, crashes: 1, instants: 2 }),
    handOvers: countBound('hand-overs', [0, 2], 0, 'how often each holder hands over; where it does, proposers wait'),
    readers: countBound('readers', [0, 5], 0, 'how many of the proposers share the name'),
    upgrades: countBound('upgrades', [0, 2], 0, 'how often each reader wants to be the only one'),
  },
  judgedBy: withoutAnswers,
  tickUs: TICK_US,

  settings: (bounds: QuorumBounds): Settings => ({ ...leaseSettings(bounds), fencing: 'yes' }),

  ratePpm: leaseRatePpm,
  clocks: () => AGREEING_CLOCKS,

  offers(bounds: QuorumBounds, seen: NodeView): readonly Offer[] {
    const rows = heldRows(seen.core);
    const offers = leaseOffers(bounds, seen, (lease) => rows.some(([, , , , deadlineMono]) => seen.monoUs + lease.termUs > deadlineMono));
    const inLine = bounds.handOvers === 0 ? offers : withHandOvers(bounds, seen, offers);
    return bounds.readers === 0 ? inLine : withReaders(bounds, seen, inLine);
  },

  mayCrash({ acceptors, attempts }: QuorumBounds, { node, life, core }: NodeView): boolean {
    const { acceptor } = core as unknown as QuorumCoreSnapshot;
    // A proposer that asks for nothing after its crash is no different from a proposer that is not heard of again.
    if (node >= acceptors || acceptor === null) return life + 1 < attempts;
    return acceptor.rows.length > 0 || acceptor.promises.length > 0 || acceptor.moded[0].length > 0;
  },

  mayWake({ acceptors, tries }: QuorumBounds, node: number, core: Snapshot): boolean {
    const { proposer } = core as unknown as QuorumCoreSnapshot;
    return node < acceptors || heldRows(core).length > 0 || proposer.some((pursuit) => !isGivenUp(pursuit, tries));
  },

  asksNothing(bounds: QuorumBounds, seen: NodeView): boolean {
    // An acceptor tells waiters when it is their turn.
    if (bounds.handOvers > 0) return false;
    if (seen.node < bounds.acceptors) return true;
    const { proposer, holder } = seen.core as unknown as QuorumCoreSnapshot;
    const isRenewing = holder.renewals.length + (holder.side?.renewals.length ?? 0) > 0;
    if (isRenewing || mayUpgrade(bounds, seen).length > 0) return false;
    return !mayAskAgain(bounds, seen) && proposer.every((pursuit) => isGivenUp(pursuit, bounds.tries));
  },

  alike: ({ acceptors }: QuorumBounds): number => acceptors,
  firstToAct: (): null => null,
  askers: {
    alike: (bounds: QuorumBounds, mutant: string | null): readonly number[] =>
      areAlike(bounds, mutant) ? Array.from({ length: bounds.proposers }, (_, i) => bounds.acceptors + i) : [],
    renameCore: renameOwners,
    renameMessage(message: QuorumMessage, life: (one: number) => number): QuorumMessage {
      message.owner = life(message.owner) as Incarnation;
      message.holder = life(message.holder) as Incarnation;
      return message;
    },
  },
  rename: renameCore,
  // Where a proposer waits, a wake of an acceptor may tell it that it is its turn.
  wakesPromptly: ({ acceptors, handOvers }: QuorumBounds, node: number): boolean => node < acceptors && handOvers === 0,
  tidy: tidyCore,
  isDead: (message: QuorumMessage, whom: Addressee, core: Snapshot | null): boolean =>
    !isRequest(message) && isIgnored(message, ownerOf(whom), core as unknown as QuorumCoreSnapshot | null),
};

/**
 * Proposers are alike where nothing but equality is asked of their incarnations. Only a PREPARE compares them, where ballots are equal, and the first
 * try sends none. An owner that is a node and not a life is not renamed with it.
 */
function areAlike({ tries, handOvers, readers }: QuorumBounds, mutant: string | null): boolean {
  return tries === 1 && handOvers === 0 && readers === 0 && mutant !== 'owner-is-node';
}

/** What this file reads of a core's snapshot. */
interface QuorumCoreSnapshot {
  readonly acceptor: AcceptorSnapshot | null;
  readonly ballots: number;
  readonly proposer: readonly {
    readonly lease: number;
    readonly state: { readonly phase: string; readonly tries: number; readonly ballot: number };
    readonly sets: readonly (readonly number[])[];
    readonly refusals: readonly { readonly voter: number; readonly holder: number | null }[];
    readonly freeSlots: readonly (readonly [voter: number, bits: readonly number[]])[];
  }[];
  readonly holder: HeldSnapshot & {
    /** The leases held in other modes; null if there are none. */
    readonly side: HeldSnapshot | null;
    readonly offers: readonly [
      number: number,
      open: readonly { readonly ready: readonly { readonly at: readonly number[] }[]; readonly without: readonly number[] }[],
    ];
  };
}

interface HeldSnapshot {
  readonly rows: readonly (readonly [name: string, lease: number, token: number, ballot: number, deadlineMono: number])[];
  readonly renewals: readonly { readonly ballot: number; readonly accepted: readonly number[]; readonly refused: readonly number[] }[];
  readonly releases: readonly { readonly ballot: number; readonly answered: readonly number[] }[];
}

function heldRows(core: Snapshot): HeldSnapshot['rows'] {
  const { holder } = core as unknown as QuorumCoreSnapshot;
  return holder.side === null ? holder.rows : [...holder.rows, ...holder.side.rows];
}

/** The first proposers share the name, and would be the only holder so often. */
function withReaders(bounds: QuorumBounds, seen: NodeView, offers: readonly Offer[]): readonly Offer[] {
  if (seen.node - bounds.acceptors >= bounds.readers) return offers;
  const asked = offers.map((offer): Offer => (offer[0] === 'acquire' ? [...offer, 'shared'] : offer));
  return [...asked, ...mayUpgrade(bounds, seen).map(({ name }): Offer => ['upgrade', name])];
}

function mayUpgrade({ upgrades }: QuorumBounds, { actor }: NodeView): LeaseActorSnapshot['leases'] {
  const { leases } = actor as unknown as LeaseActorSnapshot;
  return leases.filter(({ state, shared, upgrades: made = 0 }) => state === 'holding' && shared === true && made < upgrades);
}

/** A proposer waits in line, and a holder may hand over so often. */
function withHandOvers({ handOvers }: QuorumBounds, { actor }: NodeView, offers: readonly Offer[]): readonly Offer[] {
  const { leases } = actor as unknown as LeaseActorSnapshot;
  const asked = offers.map((offer): Offer => (offer[0] === 'acquire' ? [...offer, 'wait', WAIT] : offer));
  const held = leases.filter(({ state, offers: made = 0 }) => state === 'holding' && made < handOvers);
  return [...asked, ...held.map(({ name }): Offer => ['hand-over', name])];
}

/** Words of voters to waiters, and to holders that offer. */
const WORDS_IN_LINE: readonly number[] = [FREE, IN_LINE, INVITE, READY];

interface AcceptorSnapshot {
  readonly rows: readonly (readonly [
    name: string,
    owner: number,
    lease: number,
    ballot: number,
    token: number,
    expiresAt: number,
    meta: Snapshot,
  ])[];
  readonly promises: readonly (readonly [name: string, ballot: number, owner: number, until: number])[];
  readonly queues: readonly Snapshot[];
  readonly floors: readonly number[];
  readonly sweepAt: number;
  readonly changes: Snapshot;
  readonly moded: readonly [rows: readonly Snapshot[], ...floors: Snapshot[]];
}

/** It rests, and this world lets it try no more. */
function isGivenUp({ state }: QuorumCoreSnapshot['proposer'][number], attempts: number): boolean {
  return state.phase === 'resting' && state.tries >= attempts;
}

/**
 * An answer is ignored for ever if it is for an earlier life; if its addressee will ask nothing more; and if nothing
 * under way has its ballot, because ballots only rise, and its clock tells nothing new.
 */
function isIgnored(message: QuorumMessage, self: number, core: QuorumCoreSnapshot | null): boolean {
  if (core === null || message.owner !== self) return true;
  if (WORDS_IN_LINE.includes(message.kind)) return false;
  const { proposer, holder, ballots } = core;
  const underWay = [...proposer.map(({ state }) => state), ...holder.renewals, ...holder.releases];
  if (holder.side !== null) underWay.push(...holder.side.renewals, ...holder.side.releases);
  const isAwaited = underWay.some(({ ballot }) => ballot === message.ballot);
  return !isAwaited && message.clock <= ballots;
}

/** When votes began and ran out matters to askers, and here are none. */
export const NO_CHANGES: Snapshot = [[], [], null];

/** Promises that are over, and leases that have run out but for their ballots, which floors keep: nothing an acceptor does depends on the rest. */
function tidyCore(core: Snapshot, _node: number, mono: number): Snapshot {
  const told = core as unknown as QuorumCoreSnapshot;
  // What readers leave behind is more than a floor.
  if (told.acceptor === null || told.acceptor.queues.length > 0 || told.acceptor.moded[0].length > 0) return core;
  const { acceptor } = told;
  const live = acceptor.rows.filter(([, , , , , expiresAt]) => mono < expiresAt);
  let { floors } = acceptor;
  for (const [, , , ballot, , expiresAt] of acceptor.rows) {
    if (mono < expiresAt) continue;
    const [base = 0, first = 0] = floors;
    floors = [base, Math.max(first, ballot)];
  }
  const promises = acceptor.promises.filter(([, , , until]) => mono < until);
  const tidied = { ...acceptor, rows: live, promises, floors, sweepAt: Infinity, changes: NO_CHANGES };
  return { ...told, acceptor: tidied } as unknown as Snapshot;
}

/** Proposers are named in the votes and promises of acceptors, and in the refusals a proposer remembers. */
function renameOwners(core: Snapshot, life: (one: number) => number): Snapshot {
  const told = core as unknown as QuorumCoreSnapshot;
  const { acceptor } = told;
  const renamed = {
    ...told,
    acceptor: acceptor && {
      ...acceptor,
      rows: acceptor.rows.map(([name, owner, ...rest]) => [name, life(owner), ...rest]),
      promises: acceptor.promises.map(([name, ballot, owner, until]) => [name, ballot, life(owner), until]),
    },
    proposer: told.proposer.map((pursuit) => ({
      ...pursuit,
      refusals: pursuit.refusals.map((refusal) => ({ ...refusal, holder: refusal.holder === null ? null : life(refusal.holder) })),
    })),
  };
  return renamed as unknown as Snapshot;
}

/** Acceptors are named only in the sets of voters a proposer counts. In which order refusals came makes no difference to what comes of them. */
function renameCore(core: Snapshot, numbered: (node: number) => number): Snapshot {
  const told = core as unknown as QuorumCoreSnapshot;
  const set = (voters: readonly number[]): number[] => voters.map(numbered).sort((a, b) => a - b);
  const held = ({ renewals, releases }: HeldSnapshot): Partial<HeldSnapshot> => ({
    renewals: renewals.map((renewal) => ({ ...renewal, accepted: set(renewal.accepted), refused: set(renewal.refused) })),
    releases: releases.map((release) => ({ ...release, answered: set(release.answered) })),
  });
  const renamed = {
    ...told,
    proposer: told.proposer.map((pursuit) => ({
      ...pursuit,
      sets: pursuit.sets.map(set),
      refusals: pursuit.refusals.map((refusal) => ({ ...refusal, voter: numbered(refusal.voter) })).sort((a, b) => a.voter - b.voter),
      freeSlots: pursuit.freeSlots.map(([voter, bits]) => [numbered(voter), bits] as const).sort(([a], [b]) => a - b),
    })),
    holder: {
      ...told.holder,
      ...held(told.holder),
      side: told.holder.side && { ...told.holder.side, ...held(told.holder.side) },
      offers: [
        told.holder.offers[0],
        told.holder.offers[1].map((offer) => ({
          ...offer,
          ready: offer.ready.map((heir) => ({ ...heir, at: set(heir.at) })),
          without: set(offer.without),
        })),
      ],
    },
  };
  return renamed as unknown as Snapshot;
}
