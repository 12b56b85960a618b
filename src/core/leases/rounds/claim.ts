/**
 * What a caller of this node wants or has of a name, and the round that is under way for it: one READ to all
 * voters, then one WRITE. A round's deadline is data, stored when its first message leaves.
 */
import {
  ballotTime,
  encodeName,
  monoUs,
  NO_BALLOT,
  VoterSet,
  wallUs,
  type BallotTime,
  type Incarnation,
  type MonoUs,
  type NodeId,
  type WallUs,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { RefusalReason } from '../contract.ts';
import { textOf, voterSet } from '../snapshots.ts';
import { NACK_AHEAD, NACK_HELD, NACK_LOW, NACK_OUTBID, NACK_SILENT, NACK_SKEWED, NACK_TOO_LONG, type LeaseValue } from './messages.ts';

/** What one acceptor answered to READ. */
export interface ReadAnswer {
  readonly from: NodeId;
  readonly value: LeaseValue | null;
  readonly written: BallotTime;
  readonly writer: Incarnation;
}

export interface Nack {
  readonly from: NodeId;
  readonly reason: number;
  readonly value: LeaseValue | null;
}

/** To take a lease, to renew it, or to look up its holder. */
export type Purpose = 'take' | 'renew' | 'look';

export class Round {
  readonly purpose: Purpose;
  readonly ballot: BallotTime;
  readonly startMono: MonoUs;
  readonly startWall: WallUs;
  stage: 'reading' | 'writing' = 'reading';
  /** When the WRITE left. */
  writeMono: MonoUs = monoUs(0);
  until: MonoUs;
  told: ReadAnswer[] = [];
  nacks: Nack[] = [];
  readonly heard: VoterSet = new VoterSet();
  readonly refused: VoterSet = new VoterSet();
  readonly votes: VoterSet = new VoterSet();
  /** Voters whose clocks are too far off. */
  readonly skewed: VoterSet = new VoterSet();
  /** How many answers came, copies included. */
  messages = 0;
  /** The value being written. */
  value: LeaseValue | null = null;
  /** The number of the proclaim that it carries; 0 if none. */
  proclaim = 0;
  /** Of the second reading of a look-up: the answers to the first. */
  first: readonly ReadAnswer[] | null = null;

  constructor(purpose: Purpose, ballot: BallotTime, startMono: MonoUs, startWall: WallUs, until: MonoUs) {
    this.purpose = purpose;
    this.ballot = ballot;
    this.startMono = startMono;
    this.startWall = startWall;
    this.until = until;
  }

  /** The second reading of a look-up. */
  again(ballot: BallotTime): Round {
    const second = new Round(this.purpose, ballot, this.startMono, this.startWall, this.until);
    second.first = this.told;
    return second;
  }

  /** Whether it writes a lease of its own node, not another's. */
  isFor(owner: Incarnation, { lease }: Claim): boolean {
    return this.value?.holder === owner && this.value.holderLease === lease;
  }

  /** Answered or refused. */
  isHeard(voter: number): boolean {
    return this.heard.has(voter) || this.refused.has(voter) || this.votes.has(voter) || this.skewed.has(voter);
  }

  snapshot(): Snapshot {
    const { purpose, ballot, startMono, startWall, stage, writeMono, until, messages, proclaim } = this;
    return {
      fixed: { purpose, ballot, startMono, startWall, until },
      state: { stage, writeMono, messages, proclaim },
      told: plainAnswers(this.told),
      first: this.first && plainAnswers(this.first),
      nacks: this.nacks.map(({ from, reason, value }) => ({ from, reason, value: plain(value) })),
      sets: [this.heard, this.refused, this.votes, this.skewed].map((set) => set.toArray()),
      value: plain(this.value),
    };
  }

  static restore(snapshot: Snapshot): Round {
    const { fixed, state, told, first, nacks, sets, value } = snapshot as unknown as RoundSnapshot;
    const round = new Round(fixed.purpose, fixed.ballot, fixed.startMono, fixed.startWall, fixed.until);
    Object.assign(round, state);
    round.told = unplainAnswers(told);
    round.first = first && unplainAnswers(first);
    round.nacks = nacks.map((one) => ({ ...one, value: unplain(one.value) }));
    [round.heard, round.refused, round.votes, round.skewed].forEach((set, i) => {
      for (const voter of voterSet(sets[i] ?? []).toArray()) set.add(voter);
    });
    round.value = unplain(value);
    return round;
  }
}

export type ClaimPhase = 'asking' | 'resting' | 'holding' | 'releasing';

export class Claim {
  readonly lease: number;
  readonly name: Uint8Array;
  readonly voters: readonly NodeId[];
  termUs: number;
  /** It is renewed until it is released. */
  keep: boolean;
  meta: Uint8Array | undefined;
  readonly waits: boolean;
  readonly waitUntil: MonoUs;
  phase: ClaimPhase = 'asking';
  round: Round | null = null;
  /** When to look again: the end of a round or of a rest, the time to renew, the end of the lease. */
  until: MonoUs = monoUs(Infinity);
  tries = 0;
  trips = 0;
  hasWaited = false;
  /** Why it fails if its wait ends now: the lease was not free in time, or clocks kept it from being voted on. */
  waitEnds: 'timeout' | 'skewed' = 'timeout';
  /** The last lease of another that was seen. */
  seen: LeaseValue | null = null;
  token: BallotTime = NO_BALLOT;
  /** It is given back as of its deadline, not at once. */
  endsLater = false;
  /** The owner has stopped, though its release may still be under way. */
  isStopped = false;
  deadlineMono: MonoUs = monoUs(0);
  deadlineWall: WallUs = wallUs(0);
  /** The end as acceptors know it, which is `deadlineMono` here; the wall clock may have been set since. */
  untilUs = 0;
  /** The highest ballot with which this lease was written: its release covers it. */
  written: BallotTime = NO_BALLOT;
  /** The number of the proclaim that waits for a quorum; 0 if none does. */
  proclaiming = 0;
  /** While it lets go: the voters that have answered. */
  readonly released: VoterSet = new VoterSet();

  constructor(
    lease: number,
    name: Uint8Array,
    voters: readonly NodeId[],
    termUs: number,
    keep: boolean,
    meta: Uint8Array | undefined,
    waits: boolean,
    waitUntil: MonoUs,
  ) {
    this.lease = lease;
    this.name = name;
    this.voters = voters;
    this.termUs = termUs;
    this.keep = keep;
    this.meta = meta;
    this.waits = waits;
    this.waitUntil = waitUntil;
  }

  snapshot(): Snapshot {
    const { lease, voters, termUs, keep, meta, waits, waitUntil, phase, until, tries, trips, hasWaited, waitEnds, token } = this;
    const { deadlineMono, deadlineWall, written, isStopped, endsLater, untilUs, proclaiming } = this;
    return {
      lease,
      name: textOf(this.name),
      voters,
      keep,
      waits,
      waitUntil,
      meta: meta ? [...meta] : null,
      state: {
        termUs,
        phase,
        until,
        tries,
        trips,
        hasWaited,
        waitEnds,
        token,
        isStopped,
        endsLater,
        deadlineMono,
        deadlineWall,
        untilUs,
        written,
        proclaiming,
      },
      seen: plain(this.seen),
      released: this.released.toArray(),
      round: this.round?.snapshot() ?? null,
    };
  }

  static restore(snapshot: Snapshot): Claim {
    const told = snapshot as unknown as ClaimSnapshot;
    const meta = told.meta ? Uint8Array.from(told.meta) : undefined;
    const claim = new Claim(told.lease, encodeName(told.name), told.voters, told.state.termUs, told.keep, meta, told.waits, told.waitUntil);
    Object.assign(claim, told.state);
    claim.seen = unplain(told.seen);
    for (const voter of told.released) claim.released.add(voter);
    claim.round = told.round === null ? null : Round.restore(told.round);
    return claim;
  }
}

/** A wall clock that was set back far makes ballots begin anew, but not the ballots of one claim: the late release of an earlier round would wipe a later one's votes. */
export function aboveWritten(ballot: BallotTime, { written }: Claim): BallotTime {
  return ballotTime(Math.max(ballot, written + 1));
}

/** Why a round came to nothing, for the caller; and the lease that stood in the way, if a voter named it. */
export function whyFailed(claim: Claim, round: Round, quorum: number): RefusalReason {
  const count = (reason: number): number => round.nacks.filter((nack) => nack.reason === reason).length;
  for (const { value } of round.nacks) if (value !== null) claim.seen = value;
  if (count(NACK_TOO_LONG) > 0) return 'too-long';
  if (round.skewed.size + count(NACK_SKEWED) > 0) return 'skewed';
  if (count(NACK_AHEAD) > claim.voters.length - quorum) return 'ahead';
  if (count(NACK_HELD) > 0) return 'held';
  if (count(NACK_OUTBID) + count(NACK_LOW) > 0) return 'contended';
  return count(NACK_SILENT) > claim.voters.length - quorum ? 'silent' : 'no-quorum';
}

type PlainValue = Omit<LeaseValue, 'meta'> & { readonly meta: readonly number[] | null };

function plain(value: LeaseValue | null): PlainValue | null {
  return value === null ? null : { ...value, meta: value.meta ? [...value.meta] : null };
}

function unplain(value: PlainValue | null): LeaseValue | null {
  return value === null ? null : { ...value, meta: value.meta ? Uint8Array.from(value.meta) : undefined };
}

type PlainAnswer = Omit<ReadAnswer, 'value'> & { readonly value: PlainValue | null };

function plainAnswers(answers: readonly ReadAnswer[]): PlainAnswer[] {
  return answers.map((one) => ({ ...one, value: plain(one.value) }));
}

function unplainAnswers(answers: readonly PlainAnswer[]): ReadAnswer[] {
  return answers.map((one) => ({ ...one, value: unplain(one.value) }));
}

interface RoundSnapshot {
  readonly fixed: Pick<Round, 'purpose' | 'ballot' | 'startMono' | 'startWall' | 'until'>;
  readonly state: Partial<Round>;
  readonly told: readonly PlainAnswer[];
  readonly first: readonly PlainAnswer[] | null;
  readonly nacks: readonly (Omit<Nack, 'value'> & { readonly value: PlainValue | null })[];
  readonly sets: readonly (readonly number[])[];
  readonly value: PlainValue | null;
}

interface ClaimSnapshot {
  readonly lease: number;
  readonly name: string;
  readonly voters: readonly NodeId[];
  readonly keep: boolean;
  readonly waits: boolean;
  readonly waitUntil: MonoUs;
  readonly meta: readonly number[] | null;
  readonly state: Partial<Claim> & { readonly termUs: number };
  readonly seen: PlainValue | null;
  readonly released: readonly number[];
  readonly round: Snapshot | null;
}
