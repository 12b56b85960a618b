/**
 * The small worlds of Flease and PaxosLease: acceptors that only vote, proposers that only ask, one name, a lease of
 * two instants with rounds of one. Two trips to take a lease make these worlds larger than the quorum engine's, so
 * their usual bounds are tighter. See `docs/research/explorer.md`.
 */
import { roundKinds, isRoundRequest, type RoundMessage, type Snapshot } from '../../../core/index.ts';
import { countBound, type BoundsOf } from '../../explorer/bounds.ts';
import {
  AGREEING_CLOCKS,
  type Addressee,
  type ClocksAheadUs,
  type NodeView,
  type Offer,
  type SmallWorld,
} from '../../explorer/small-world.ts';
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

/** Where wall clocks are compared with each other, they may be apart. */
interface RoundBounds extends LeaseBounds {
  /** By how many instants wall clocks are apart: as far as the engine is told they may be. */
  readonly skew?: number;
  /** By how many instants more they are apart, which the engine is not told. */
  readonly beyond?: number;
}

type RoundSmallWorld = SmallWorld<RoundMessage, RoundBounds>;

function skewedBounds(acceptors: number, skew: number): BoundsOf<RoundBounds> {
  const { term, instants, ...bounds } = leaseBounds({ acceptors });
  return {
    ...bounds,
    skew: countBound('skew', [0, 4], skew, 'by how many instants wall clocks are apart, as the engine is told'),
    beyond: countBound('beyond', [0, 4], 0, 'by how many instants more they are apart, which the engine is not told'),
    term,
    instants,
  };
}

export const fleaseSmallWorld: RoundSmallWorld = roundSmallWorld(skewedBounds(3, 0), votersAhead);
/** Its terms are relative: no wall clock is compared with another. */
export const paxosLeaseSmallWorld: RoundSmallWorld = roundSmallWorld(leaseBounds(), () => AGREEING_CLOCKS);
export const paxosLeaseSkewedSmallWorld: RoundSmallWorld = roundSmallWorld(skewedBounds(2, 1), anyClocks);

function roundSmallWorld(own: BoundsOf<RoundBounds>, clocks: RoundSmallWorld['clocks']): RoundSmallWorld {
  return {
    bounds: own,
    judgedBy: withoutAnswers,
    misfit: ({ skew = 0, beyond = 0 }: RoundBounds): string | null =>
      beyond > 0 && skew === 0 ? '--beyond goes with --skew: engines that are told of no skew do not look for any' : null,
    tickUs: TICK_US,

    settings: ({ skew = 0, beyond = 0, ...bounds }: RoundBounds): Settings => ({
      ...leaseSettings(bounds),
      skew: `${skew}s`,
      // Tokens are promised to rise only while clocks keep to the bound.
      ...(beyond > 0 ? { fencing: 'no' } : {}),
    }),

    ratePpm: leaseRatePpm,
    clocks,

    offers(bounds: RoundBounds, seen: NodeView): readonly Offer[] {
      const { claims } = (seen.core as unknown as RoundCoreSnapshot).contender;
      return leaseOffers(bounds, seen, ({ lease, termUs }) =>
        claims.some((claim) => claim.lease === lease && seen.monoUs + termUs > claim.state.deadlineMono),
      );
    },

    mayCrash({ acceptors, attempts }: RoundBounds, { node, life, core }: NodeView): boolean {
      const { acceptor } = core as unknown as RoundCoreSnapshot;
      if (node >= acceptors || acceptor === null) return life + 1 < attempts;
      return acceptor.rows.length > 0;
    },

    mayWake({ acceptors, tries }: RoundBounds, node: number, core: Snapshot): boolean {
      const { contender } = core as unknown as RoundCoreSnapshot;
      return node < acceptors || contender.claims.some((claim) => !isGivenUp(claim, tries));
    },

    asksNothing(bounds: RoundBounds, seen: NodeView): boolean {
      if (seen.node < bounds.acceptors) return true;
      const { contender } = seen.core as unknown as RoundCoreSnapshot;
      const isDone = (claim: ClaimSnapshot): boolean =>
        claim.state.phase === 'holding' || claim.state.phase === 'releasing' ? claim.round === null : isGivenUp(claim, bounds.tries);
      return !mayAskAgain(bounds, seen) && contender.claims.every(isDone);
    },

    alike: ({ acceptors }: RoundBounds): number => acceptors,
    // Ballots of one instant are told apart by incarnation: the order of proposers matters.
    firstToAct: (): null => null,
    rename: renameCore,
    wakesPromptly: ({ acceptors }: RoundBounds, node: number): boolean => node < acceptors,
    tidy: tidyCore,
    isDead: (message: RoundMessage, whom: Addressee, core: Snapshot | null): boolean =>
      isIgnored(message, ownerOf(whom), core as unknown as RoundCoreSnapshot | null),
  };
}

/** Acceptors are ahead of proposers. */
function votersAhead({ acceptors, skew = 0, beyond = 0 }: RoundBounds): ClocksAheadUs[] {
  return [Array.from({ length: acceptors }, () => (skew + beyond) * TICK_US)];
}

/**
 * Each clock ahead by as many whole instants as the bound allows, or fewer. Acceptors are alike, so of their clocks only the
 * numbers count; and if all were ahead, none would be. Voters that are far ahead come first: there a lease ends too early.
 */
function* anyClocks({ acceptors, proposers, skew = 0, beyond = 0 }: RoundBounds): Generator<ClocksAheadUs> {
  const most = skew + beyond;
  for (const voters of falling(acceptors, most)) {
    for (const askers of numerals(proposers, most)) {
      const ahead = [...voters, ...askers];
      if (ahead.includes(0)) yield ahead.map((instants) => instants * TICK_US);
    }
  }
}

/** Every list of so many numbers from `most` down to 0, none above the number before it. */
function* falling(count: number, most: number): Generator<number[]> {
  if (count === 0) yield [];
  else for (let first = most; first >= 0; first--) for (const rest of falling(count - 1, first)) yield [first, ...rest];
}

/** Every list of so many numbers from 0 to `most`. */
function* numerals(count: number, most: number): Generator<number[]> {
  if (count === 0) yield [];
  else for (let first = 0; first <= most; first++) for (const rest of numerals(count - 1, most)) yield [first, ...rest];
}

/** What this file reads of a core's snapshot. */
interface RoundCoreSnapshot {
  readonly acceptor: { readonly rows: readonly RowSnapshot[] } | null;
  readonly contender: { readonly ballots: number; readonly tokens: number; readonly claims: readonly ClaimSnapshot[] };
}

interface RowSnapshot {
  readonly value: { readonly holder: number; readonly holderLease: number } | null;
  readonly untilMono: number;
}

interface ClaimSnapshot {
  readonly lease: number;
  readonly voters: readonly number[];
  readonly state: { readonly phase: string; readonly tries: number; readonly deadlineMono: number; readonly written: number };
  readonly released: readonly number[];
  readonly round: RoundSnapshot | null;
}

interface RoundSnapshot {
  readonly fixed: { readonly ballot: number };
  readonly state: { readonly stage: 'reading' | 'writing' };
  readonly told: readonly { readonly from: number }[];
  readonly nacks: readonly { readonly from: number }[];
  readonly sets: readonly (readonly number[])[];
}

/** It rests, and this world lets it try no more. */
function isGivenUp({ state }: ClaimSnapshot, tries: number): boolean {
  return state.phase === 'resting' && state.tries >= tries;
}

/**
 * Words to learners, because there are no watchers. An answer, if it is for an earlier life, or if no round or release under way has its
 * ballot and stage, because neither comes back; a refusal only if its ballot tells nothing new.
 */
function isIgnored(message: RoundMessage, self: number, core: RoundCoreSnapshot | null): boolean {
  const { kind, owner, ballot } = message;
  if (kind === roundKinds.ROUND_LEARN) return true;
  if (isRoundRequest(message)) return false;
  if (core === null || owner !== self) return true;
  const { ballots, tokens, claims } = core.contender;
  const claim = claims.find(({ lease }) => lease === message.lease);
  if (kind === roundKinds.ACK_RELEASE) return claim === undefined || claim.state.phase !== 'releasing' || claim.state.written !== ballot;
  const isForRead = kind === roundKinds.ACK_READ || (kind === roundKinds.NACK && (message.flags & roundKinds.FOR_READ) !== 0);
  const round = claim?.round ?? null;
  if (round !== null && round.fixed.ballot === ballot && round.state.stage === (isForRead ? 'reading' : 'writing')) return false;
  if (kind !== roundKinds.NACK) return true;
  return message.above <= (message.reason === roundKinds.NACK_LOW ? tokens : ballots);
}

/** Leases that are over at an acceptor, and what a contender keeps only to tell its caller how it went. */
function tidyCore(core: Snapshot, _node: number, mono: number): Snapshot {
  const told = core as unknown as RoundCoreSnapshot;
  const rows = told.acceptor?.rows.map((row) => (row.untilMono <= mono ? tidyRow(row) : row));
  const claims = told.contender.claims.map((claim) => ({
    ...claim,
    seen: null,
    state: { ...claim.state, trips: 0, hasWaited: false },
    round: claim.round && tidyRound(claim.round),
  }));
  const tidied = {
    ...told,
    acceptor: told.acceptor && { ...told.acceptor, rows },
    contender: { ...told.contender, claims },
  };
  return tidied as unknown as Snapshot;
}

/** Whose lease it was stays: its owner may renew it here for as long as the row is kept. */
function tidyRow(row: RowSnapshot): object {
  if (row.value === null) return row;
  return { ...row, value: null, untilMono: 0, endedBy: row.value.holder, endedLease: row.value.holderLease };
}

/** What READ brought is judged once. */
function tidyRound(round: RoundSnapshot): RoundSnapshot {
  if (round.state.stage === 'reading') return round;
  const [, ...rest] = round.sets;
  return { ...round, told: [], sets: [[], ...rest] };
}

/** Acceptors are named only in the sets of voters a contender counts. In which order refusals came makes no difference to what comes of them. */
function renameCore(core: Snapshot, numbered: (node: number) => number): Snapshot {
  const told = core as unknown as RoundCoreSnapshot;
  const set = (voters: readonly number[]): number[] => voters.map(numbered).sort((a, b) => a - b);
  const renumber = <T extends { readonly from: number }>(one: T): T => ({ ...one, from: numbered(one.from) });
  const claims = told.contender.claims.map((claim) => ({
    ...claim,
    voters: set(claim.voters),
    released: set(claim.released),
    round: claim.round && {
      ...claim.round,
      told: claim.round.told.map(renumber),
      nacks: claim.round.nacks.map(renumber).sort((a, b) => a.from - b.from),
      sets: claim.round.sets.map(set),
    },
  }));
  return { ...told, contender: { ...told.contender, claims } } as unknown as Snapshot;
}
