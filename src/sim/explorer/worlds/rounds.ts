/**
 * The small worlds of Flease and PaxosLease: acceptors that only vote, proposers that only ask, one name, a lease of
 * two instants with rounds of one. Two trips to take a lease make these worlds larger than the quorum engine's, so
 * their usual bounds are tighter. See `docs/explorer.md`.
 */
import {
  roundKinds,
  isRoundRequest,
  type LeaseCommand,
  type LeaseEvent,
  type RoundCore,
  type RoundMessage,
  type Snapshot,
} from '../../../core/index.ts';
import type { RoundWorld } from '../../protocols/rounds.ts';
import type { QuorumActorSnapshot } from '../../stage/quorum.ts';
import { roundStagings, type RoundStaging } from '../../stage/rounds.ts';
import type { Settings } from '../../stage/staging.ts';
import type { Bounds, NodeView, Offer, SmallWorld } from '../small-world.ts';

const NAME = 'x';
const TICK_US = 1_000_000;

type RoundSmallWorld = SmallWorld<RoundMessage, LeaseCommand, LeaseEvent, RoundWorld, RoundCore>;

const EXPLORED = ['flease', 'paxoslease'];

export const roundWorlds: readonly RoundSmallWorld[] = roundStagings
  .filter(({ protocol }) => EXPLORED.includes(protocol.name))
  .map((staging) => roundWorld(staging));

function roundWorld(staging: RoundStaging): RoundSmallWorld {
  return {
    staging,
    bounds: {
      acceptors: 3,
      proposers: 2,
      attempts: 1,
      tries: 1,
      handles: 1,
      renewals: 0,
      releases: true,
      crashes: 0,
      duplicates: 0,
      losses: 0,
      driftPpm: 0,
      skew: 0,
      term: 2,
      instants: 1,
    },
    tickUs: TICK_US,

    settings: ({ acceptors, proposers, term, driftPpm, skew }: Bounds): Settings => ({
      acceptors: String(acceptors),
      proposers: String(proposers),
      term: `${term}s`,
      rtt: '1us',
      attempt: '1s',
      rate: `${driftPpm}ppm`,
      skew: `${skew}s`,
    }),

    ratePpm: ({ acceptors, driftPpm }: Bounds, node: number): number => (node < acceptors ? driftPpm : -driftPpm),
    offsetUs: ({ acceptors, skew }: Bounds, node: number): number => (node < acceptors ? skew * TICK_US : 0),
    offers,

    mayCrash({ acceptors, attempts }: Bounds, { node, life, core }: NodeView): boolean {
      const { acceptor } = core as unknown as RoundCoreSnapshot;
      if (node >= acceptors || acceptor === null) return life + 1 < attempts;
      return acceptor.rows.length > 0;
    },

    mayWake({ acceptors, tries }: Bounds, node: number, core: Snapshot): boolean {
      const { contender } = core as unknown as RoundCoreSnapshot;
      return node < acceptors || contender.claims.some((claim) => !isGivenUp(claim, tries));
    },

    asksNothing({ acceptors, attempts, tries, renewals, crashes }: Bounds, { node, life, core, actor }: NodeView): boolean {
      if (node < acceptors) return true;
      const { asked, leases } = actor as unknown as QuorumActorSnapshot;
      const { contender } = core as unknown as RoundCoreSnapshot;
      // One that may crash may ask again.
      if (asked + life < attempts || (crashes > 0 && life + 1 < attempts)) return false;
      const isDone = (claim: ClaimSnapshot): boolean =>
        claim.state.phase === 'holding' || claim.state.phase === 'releasing' ? claim.round === null : isGivenUp(claim, tries);
      return contender.claims.every(isDone) && leases.every((lease) => lease.state !== 'holding' || lease.renewals >= renewals);
    },

    alike: ({ acceptors }: Bounds): number => acceptors,
    // Ballots of one instant are told apart by incarnation: who goes first matters.
    firstToAct: (): null => null,
    rename: renameCore,
    wakesPromptly: ({ acceptors }: Bounds, node: number): boolean => node < acceptors,
    tidy: tidyCore,
    isDead: (message: RoundMessage, incarnation: number, core: Snapshot | null): boolean =>
      isIgnored(message, incarnation, core as unknown as RoundCoreSnapshot | null),
  };
}

function offers(
  { acceptors, attempts, handles, renewals, releases, term }: Bounds,
  { node, life, core, actor, monoUs }: NodeView,
): readonly Offer[] {
  if (node < acceptors) return [];
  const { asked, leases } = actor as unknown as QuorumActorSnapshot;
  const { contender } = core as unknown as RoundCoreSnapshot;
  const found: Offer[] = [];
  if (asked + life < attempts && leases.length < handles) found.push(['acquire', NAME, `${term}s`]);
  for (const lease of leases) {
    if (lease.state === 'asking') continue;
    const which = handles > 1 ? ['lease', String(lease.lease)] : [];
    found.push(['use', NAME, ...which]);
    if (lease.state !== 'holding') continue;
    // A renewal that would not move the deadline on is not worth trying.
    const moves = contender.claims.some((claim) => claim.lease === lease.lease && monoUs + lease.termUs > claim.state.deadlineMono);
    if (lease.renewals < renewals && moves) found.push(['renew', NAME, ...which]);
    if (releases) found.push(['release', NAME, ...which]);
  }
  return found;
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
 * What is told to learners, because nobody watches. An answer, if it is for an earlier life, or if no round or release under way has its
 * ballot and stage, because neither comes back; a refusal only if its ballot tells nothing new.
 */
function isIgnored(message: RoundMessage, incarnation: number, core: RoundCoreSnapshot | null): boolean {
  const { kind, owner, ballot } = message;
  if (kind === roundKinds.LEARN) return true;
  if (isRoundRequest(message)) return false;
  if (core === null || owner !== incarnation) return true;
  const { ballots, tokens, claims } = core.contender;
  const claim = claims.find(({ lease }) => lease === message.lease);
  if (kind === roundKinds.ACK_RELEASE) return claim === undefined || claim.state.phase !== 'releasing' || claim.state.written !== ballot;
  const isForRead = kind === roundKinds.ACK_READ || (kind === roundKinds.NACK && (message.flags & roundKinds.FOR_READ) !== 0);
  const round = claim?.round ?? null;
  if (round !== null && round.fixed.ballot === ballot && round.state.stage === (isForRead ? 'reading' : 'writing')) return false;
  if (kind !== roundKinds.NACK) return true;
  return message.above <= (message.reason === roundKinds.LOW ? tokens : ballots);
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
