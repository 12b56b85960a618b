/** One acquire under way: its phase, the voters' answers, and the verdict on them. */
import {
  encodeName,
  monoUs,
  NEVER,
  NO_BALLOT,
  VoterSet,
  type BallotTime,
  type Incarnation,
  type MonoUs,
  type NodeId,
  type WallUs,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { HolderHint, LeaseCommand } from '../contract.ts';
import { AHEAD, HAS_LEASE, HELD, LOW, NO_ROOM, OUTBID, QUEUED, SILENT, TOO_LONG, type QuorumMessage } from './messages.ts';
import { countSlots, EXCLUSIVE, isSlotIn, modeNumber, slotMode } from './modes.ts';
import { textOf } from '../snapshots.ts';

/** `resting`: between attempts. `waiting`: in the queues. */
export type PursuitPhase = 'preparing' | 'proposing' | 'resting' | 'waiting';

interface Refusal {
  readonly voter: NodeId;
  readonly reason: number;
  readonly holder: Incarnation | null;
  readonly holderLease: number;
  readonly token: number;
  readonly remainingUs: number;
}

/** What the answers to one attempt add up to. */
export type AttemptVerdict = 'low' | 'ahead' | 'held' | 'maybe-held' | 'split' | 'queued' | 'silent' | 'too-long' | 'no-room' | 'no-quorum';

/** The request. */
type Wanted = Omit<Extract<LeaseCommand, { kind: 'acquire' }>, 'kind' | 'waitUs'>;

const NONE: Refusal[] = [];

export class Pursuit {
  readonly lease: number;
  readonly name: Uint8Array;
  voters: readonly NodeId[];
  /** By which they are found. */
  placement = 0;
  /** The term that its caller wants, and the term asked for: views may have shorter terms. */
  readonly termUsAsked: number;
  termUs: number;
  readonly keep: boolean;
  readonly gated: boolean;
  readonly maxHoldUs: number;
  readonly meta: Uint8Array | undefined;
  readonly waits: boolean;
  /** Until when it waits for others to let go. A try, which does not wait, ends with its attempts. */
  readonly waitUntil: MonoUs;

  /** How many slots the name has, as far as this request goes; 0 if it wants none. */
  readonly slots: number;
  /** The slot to try first; -1 if any will do. */
  readonly slot: number;
  readonly quarantineUs: number;
  /** It is a reader that wants to be the only one: its lease is held already. */
  readonly upgrades: boolean;
  /** The mode it proposes: of slots, the slot it tries. */
  mode: number;
  /** Its place among waiters that were told the same. */
  place = 0;
  /** It is its turn, but there is no slot to ask for: the voters are asked again, at its next refresh. */
  asksAgain = false;
  /** Until then it leaves the slots that a quorum has free to the waiters before it, which may have died. */
  yieldsUntil: MonoUs = NEVER;

  phase: PursuitPhase = 'resting';
  /** Prepare first: the last attempt met others. */
  careful = false;
  tries = 0;
  /** Attempts that too few answered in time. */
  unanswered = 0;
  /** Rounds of messages so far. */
  trips = 0;
  ballot: BallotTime = NO_BALLOT;
  startMono: MonoUs = NEVER;
  startWall: WallUs = 0 as WallUs;
  /** Of the attempt, of the rest or of the next refresh. */
  until: MonoUs = NEVER;
  /**
   * The next ballot must be above this: above its own last ballot, and above the ballots that voters of this name told. Each try has a
   * ballot of its own: the late release of an earlier try would wipe the votes of a later try with the same ballot.
   */
  above: BallotTime = NO_BALLOT;
  ticket: BallotTime = NO_BALLOT;
  /** Its first ballot. */
  firstBallot: BallotTime = NO_BALLOT;
  /** Its proposals may wait where others are in their way: a holder would hand over to it. */
  parks = false;
  /** Its turn is not taken before this: the last one came to nothing. */
  restUntil: MonoUs = NEVER;
  /** When all voters hear again that it is there, and how long it waits for voters that did not answer. */
  refreshAt: MonoUs = NEVER;
  resendGapUs = 0;
  /** It was said to be in line at a quorum. */
  isQueued = false;
  readonly accepted: VoterSet = new VoterSet();
  /** Voters that answered any attempt of it, however late: what they knew when it began is known. */
  readonly met: VoterSet = new VoterSet();
  /** Votes counted by message: what rule 5 forbids. */
  messages = 0;
  watched = false;
  refusals: Refusal[] = NONE;
  // Made when they are first needed: an uncontended acquire needs none of them.
  /** Which slots each voter last told to be free, since it last proposed or told that it waits. */
  #freeSlots: Map<NodeId, Uint8Array> | undefined;
  #promised: VoterSet | undefined;
  #refused: VoterSet | undefined;
  #free: VoterSet | undefined;
  #inLine: VoterSet | undefined;
  #noPlace: VoterSet | undefined;

  constructor(wanted: Wanted, voters: readonly NodeId[], waits: boolean, waitUntil: MonoUs, upgrades = false) {
    this.lease = wanted.lease;
    this.name = wanted.name;
    this.voters = voters;
    this.keep = wanted.keep;
    this.slots = wanted.slots ?? 0;
    this.slot = wanted.slot ?? -1;
    this.mode = this.slots > 0 ? slotMode(Math.max(0, this.slot)) : modeNumber(wanted.mode);
    this.quarantineUs = wanted.quarantineUs ?? 0;
    this.upgrades = upgrades;
    this.gated = wanted.gated ?? false;
    this.maxHoldUs = wanted.maxHoldUs ?? Infinity;
    // A vote for longer would be of no use.
    this.termUsAsked = Math.min(wanted.termUs, Math.ceil(this.maxHoldUs / 1000) * 1000);
    this.termUs = this.termUsAsked;
    this.meta = wanted.meta;
    this.waits = waits;
    this.waitUntil = waitUntil;
  }

  get promised(): VoterSet {
    return (this.#promised ??= new VoterSet());
  }

  get refused(): VoterSet {
    return (this.#refused ??= new VoterSet());
  }

  /** Voters at which it is free, and its turn. */
  get free(): VoterSet {
    return (this.#free ??= new VoterSet());
  }

  /** Voters at which it is sure to stand in line. */
  get inLine(): VoterSet {
    return (this.#inLine ??= new VoterSet());
  }

  /** Voters that have no place for it in their queues. */
  get noPlace(): VoterSet {
    return (this.#noPlace ??= new VoterSet());
  }

  begin(ballot: BallotTime, mono: MonoUs, wall: WallUs): void {
    this.ballot = ballot;
    this.above = ballot;
    if (this.firstBallot === NO_BALLOT) this.firstBallot = ballot;
    this.startMono = mono;
    this.startWall = wall;
    this.tries++;
    this.#promised?.clear();
    this.accepted.clear();
    this.messages = 0;
    this.clearRefusals();
    this.forgetFree();
    this.yieldsUntil = NEVER;
  }

  /** When to look at it again. */
  get firstAt(): MonoUs {
    return this.waits ? monoUs(Math.min(this.until, this.waitUntil)) : this.until;
  }

  /** Others vote on it from here on. */
  moveTo(voters: readonly NodeId[]): void {
    this.voters = voters;
    this.met.clear();
    for (const set of [this.#free, this.#inLine, this.#noPlace]) set?.clear();
  }

  /** A voter told which slots are free there, and the place of this waiter among all that were told. */
  toldFree(voter: NodeId, slots: Uint8Array, place: number = this.place): void {
    (this.#freeSlots ??= new Map()).set(voter, slots);
    this.place = place;
  }

  forgetFree(): void {
    this.#freeSlots?.clear();
    this.asksAgain = false;
  }

  /** The slots that are free at every voter that told its free slots, lowest first. */
  freeAtAll(): number[] {
    return this.#freeAt(this.#freeSlots?.size ?? 0);
  }

  /**
   * In its turn it proposes the place-th of the slots that a quorum told to be free. False if there is none for it yet: voters tell of different slots while votes come and
   * go, and the few that they agree on are for the waiters before it. A proposal for one of those would only take the slot from them, and they would do the same to others.
   */
  chooseSlot(quorum: number, now: MonoUs): boolean {
    const told = [...(this.#freeSlots?.values() ?? [])];
    if (told.length === 0) return true;
    const free = this.#freeAt(Math.min(quorum, told.length));
    // A voter with no slot to spare for it says that waiters before it have let their head start pass: then one of their slots is its own.
    const isBeside = now < this.yieldsUntil && told.every((bits) => countSlots(bits) > this.place);
    const isPreferred = free.includes(this.slot);
    if (free.length === 0 || (isBeside && !isPreferred && this.place >= free.length)) return false;
    this.mode = slotMode(isPreferred ? this.slot : (free[this.place % free.length] as number));
    return true;
  }

  #freeAt(voters: number): number[] {
    const told = [...(this.#freeSlots?.values() ?? [])];
    if (told.length === 0) return [];
    const slots = Array.from({ length: this.slots }, (_, slot) => slot);
    return slots.filter((slot) => told.filter((bits) => isSlotIn(bits, slot)).length >= voters);
  }

  uncount(voter: NodeId): void {
    this.accepted.delete(voter);
    this.#promised?.delete(voter);
  }

  clearRefusals(): void {
    this.#refused?.clear();
    this.refusals = NONE;
  }

  refuse(voter: NodeId, message: QuorumMessage, reason: number = message.reason): void {
    const has = (message.flags & HAS_LEASE) !== 0;
    if (this.refusals === NONE) this.refusals = [];
    if (message.freeSlots.length > 0) this.toldFree(voter, message.freeSlots);
    this.refusals.push({
      voter,
      reason,
      holder: has ? message.holder : null,
      holderLease: has ? message.holderLease : 0,
      token: has ? message.token : 0,
      remainingUs: message.remainingUs,
    });
  }

  /** Voters that were heard in this attempt. */
  get heard(): number {
    return this.voters.filter((voter) => this.promised.has(voter) || this.accepted.has(voter) || this.refused.has(voter)).length;
  }

  unreached(): number[] {
    return this.voters.filter((voter) => !this.promised.has(voter) && !this.accepted.has(voter) && !this.refused.has(voter));
  }

  /** The lease most voters told of. */
  #mostTold(): { refusal: Refusal; count: number } | null {
    let most: { refusal: Refusal; count: number } | null = null;
    for (const refusal of this.refusals) {
      if (refusal.holder === null) continue;
      const count = this.refusals.filter(
        ({ holder, holderLease }) => holder === refusal.holder && holderLease === refusal.holderLease,
      ).length;
      if (!most || count > most.count) most = { refusal, count };
    }
    return most;
  }

  verdict(quorum: number): AttemptVerdict {
    const has = (reason: number): boolean => this.refusals.some((refusal) => refusal.reason === reason);
    const silent = this.refusals.filter(({ reason }) => reason === SILENT).length;
    const unheard = this.voters.length - this.heard;
    const most = this.#mostTold();
    // A reader or a slot that is refused, but not for a live vote, stands behind waiters that cannot go.
    if (this.mode !== EXCLUSIVE && has(QUEUED) && !has(HELD)) return 'queued';
    // A refusal for want of room also tells of live leases, but these are not in the way.
    if (this.refusals.filter(({ reason }) => reason === NO_ROOM).length > this.voters.length - quorum) return 'no-room';
    if (most && most.count >= quorum) return 'held';
    if (most && has(HELD) && most.count + unheard + silent >= quorum) return 'maybe-held';
    if (has(TOO_LONG)) return 'too-long';
    if (this.refusals.filter(({ reason }) => reason === AHEAD).length > this.voters.length - quorum) return 'ahead';
    if (has(QUEUED)) return 'queued';
    if (has(HELD) || has(OUTBID)) return 'split';
    if (has(LOW)) return 'low';
    return silent > this.voters.length - quorum ? 'silent' : 'no-quorum';
  }

  holderHint(stretchUs: (spanUs: number) => number): HolderHint | null {
    const most = this.#mostTold();
    if (!most || most.refusal.holder === null) return null;
    const { holder, holderLease, token } = most.refusal;
    let remainingUs = 0;
    for (const refusal of this.refusals) {
      if (refusal.holder === holder && refusal.holderLease === holderLease) remainingUs = Math.max(remainingUs, refusal.remainingUs);
    }
    return { owner: holder, token, remainingUsMax: stretchUs(remainingUs) };
  }

  snapshot(): Snapshot {
    const { lease, voters, keep, meta, waits, waitUntil, phase, careful, tries, unanswered, trips, ballot, startMono, startWall } = this;
    const { until, ticket, firstBallot, restUntil, refreshAt, resendGapUs, isQueued, messages, watched, refusals } = this;
    const attempt = {
      phase,
      careful,
      tries,
      unanswered,
      trips,
      ballot,
      startMono,
      startWall,
      until,
      messages,
      watched,
      above: this.above,
      parks: this.parks,
      asksAgain: this.asksAgain,
      yieldsUntil: this.yieldsUntil,
      placement: this.placement,
      termUs: this.termUs,
    };
    const queueing = { ticket, firstBallot, restUntil, refreshAt, resendGapUs, isQueued };
    return {
      lease,
      name: textOf(this.name),
      voters,
      termUs: this.termUsAsked,
      keep,
      gated: this.gated,
      moded: [this.mode, this.slots, this.slot, this.quarantineUs, this.upgrades, this.place],
      freeSlots: [...(this.#freeSlots ?? [])].sort(([a], [b]) => a - b).map(([voter, bits]) => [voter, [...bits]]),
      maxHoldUs: this.maxHoldUs === Infinity ? null : this.maxHoldUs,
      meta: meta ? [...meta] : null,
      waits,
      waitUntil,
      state: { ...attempt, ...queueing },
      sets: [this.promised, this.accepted, this.refused, this.met, this.free, this.inLine, this.noPlace].map((set) => set.toArray()),
      refusals: refusals.map((refusal) => ({ ...refusal })),
    };
  }

  static restore(snapshot: Snapshot): Pursuit {
    const told = snapshot as unknown as PursuitSnapshot;
    const meta = told.meta ? Uint8Array.from(told.meta) : undefined;
    const { lease, termUs, keep, gated, maxHoldUs } = told;
    const [mode, slots, slot, quarantineUs, upgrades, place] = told.moded;
    const ends = { gated, maxHoldUs: maxHoldUs ?? Infinity, quarantineUs };
    const wanted = { lease, name: encodeName(told.name), termUs, keep, meta, slots, slot, ...ends };
    const pursuit = new Pursuit(wanted, told.voters, told.waits, told.waitUntil, upgrades);
    pursuit.mode = mode;
    pursuit.place = place;
    for (const [voter, bits] of told.freeSlots) pursuit.toldFree(voter, Uint8Array.from(bits));
    Object.assign(pursuit, told.state);
    const sets = [pursuit.promised, pursuit.accepted, pursuit.refused, pursuit.met, pursuit.free, pursuit.inLine, pursuit.noPlace];
    sets.forEach((set, i) => told.sets[i]?.forEach((voter) => set.add(voter)));
    pursuit.refusals = told.refusals.map((refusal) => ({ ...refusal }));
    return pursuit;
  }
}

interface PursuitSnapshot {
  readonly lease: number;
  readonly name: string;
  readonly voters: readonly NodeId[];
  readonly termUs: number;
  readonly keep: boolean;
  readonly gated: boolean;
  readonly moded: readonly [mode: number, slots: number, slot: number, quarantineUs: number, upgrades: boolean, place: number];
  readonly freeSlots: readonly (readonly [NodeId, readonly number[]])[];
  readonly maxHoldUs: number | null;
  readonly meta: readonly number[] | null;
  readonly waits: boolean;
  readonly waitUntil: MonoUs;
  readonly state: Partial<Pursuit>;
  readonly sets: readonly (readonly number[])[];
  readonly refusals: readonly Refusal[];
}
