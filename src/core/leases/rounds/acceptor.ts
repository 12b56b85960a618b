/**
 * The acceptor of Flease and PaxosLease: a round-based register for each name, and the rules that turn a register
 * into a lease. It keeps a vote until the owner's lease is over by any clock within the bounds; that
 * end is counted on the monotonic clock from the moment of the vote, so that no step of a wall clock frees it.
 */
import {
  ballotTime,
  encodeName,
  invariant,
  monoAfter,
  monoUs,
  NEVER,
  spanUs,
  NOBODY,
  type BallotTime,
  type Incarnation,
  type MonoUs,
  type NodeId,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { BallotOrder } from '../../registers/round-based.ts';
import { stretch } from '../timing.ts';
import { DueHeap, type NameTable } from '../../tables/index.ts';
import { ballotOrder } from './ballots.ts';
import type { RoundStep } from './config.ts';
import type { RoundHorizon } from './horizon.ts';
import {
  ACK_READ,
  ACK_RELEASE,
  ACK_WRITE,
  NACK_AHEAD,
  FOR_READ,
  NACK_HELD,
  isSameLease,
  LOOKS,
  NACK_LOW,
  NACK,
  NO_ANSWER,
  NACK_OUTBID,
  RENEWS_OWN,
  RoundMessage,
  NACK_SILENT,
  NACK_SKEWED,
  NACK_TOO_LONG,
  type LeaseValue,
} from './messages.ts';
import { RegisterRows, type Row } from './rows.ts';
import type { RoundRules } from './rules.ts';
import type { RoundTiming } from './timing.ts';

/** Rows that rest are looked at so many at a time. */
const SWEEP_ROWS = 10_000;

export class RoundAcceptor {
  readonly #timing: RoundTiming;
  readonly #rules: RoundRules;
  readonly #compare: BallotOrder;
  readonly #rows: RegisterRows;
  readonly #horizon: RoundHorizon;
  /** When to look at rows that are awake. */
  readonly #due = new DueHeap();
  readonly #message = new RoundMessage();
  /** Above every token of the rows that were forgotten (rule 18). */
  #floor = 0;
  #sweepAt: MonoUs = NEVER;
  #sweepFrom = 0;
  #silentUntil: MonoUs = monoUs(0);
  #isSilent = false;

  constructor(timing: RoundTiming, rules: RoundRules, names: NameTable, horizon: RoundHorizon) {
    this.#horizon = horizon;
    this.#rows = new RegisterRows(names);
    this.#timing = timing;
    this.#rules = rules;
    this.#compare = ballotOrder(rules, timing);
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.#isSilent ? this.#silentUntil : NEVER, this.#due.nextAt, this.#sweepAt));
  }

  /** Below every token of a new grant. */
  get floor(): number {
    return this.#floor;
  }

  /** How many entries its calendar has. */
  get planned(): number {
    return this.#due.size;
  }

  /** How long it still keeps silent. */
  silentForUs(mono: MonoUs): number {
    return this.#isSilent ? Math.max(0, this.#silentUntil - mono) : 0;
  }

  /** Rule 4: silence after every start, by monotonic time, to every node. */
  start(restarted: boolean, step: RoundStep): void {
    if (restarted && this.#rules.restartSilence) this.keepSilent(step);
    else step.emit({ kind: 'ready', restored: 0 });
  }

  /** From here on, for as long as after a start. */
  keepSilent(step: RoundStep): void {
    const { silenceUs, skewUs } = this.#timing;
    this.#isSilent = true;
    this.#silentUntil = monoAfter(step.monoUs, this.#rules.silenceTwoEpsilon ? silenceUs : spanUs(silenceUs - skewUs));
  }

  wake(step: RoundStep): void {
    this.#listen(step);
    for (let id = this.#due.take(step.monoUs); id >= 0; id = this.#due.take(step.monoUs)) {
      const row = this.#rows.awake(id);
      if (row === null || row.lookAt > step.monoUs) continue;
      row.lookAt = NEVER;
      this.#reclaim(row, step);
    }
    if (step.monoUs >= this.#sweepAt) this.#sweep(step);
  }

  /** Wakes the rows whose leases have ended while they rested, a slice at a time; goes round once a term. */
  #sweep(step: RoundStep): void {
    const end = Math.min(this.#sweepFrom + SWEEP_ROWS, this.#rows.idLimit);
    for (let id = this.#sweepFrom; id < end; id++) {
      if ((this.#rows.restsUntil(id) ?? NEVER) <= step.monoUs) this.#reclaim(this.#rows.rouse(id), step);
    }
    this.#sweepFrom = end >= this.#rows.idLimit ? 0 : end;
    this.#sweepAt = NEVER;
    if (this.#rows.resting > 0) this.#planSweep(step);
  }

  #planSweep(step: RoundStep): void {
    if (this.#sweepAt !== NEVER) return;
    const slices = Math.ceil(this.#rows.idLimit / SWEEP_ROWS);
    this.#sweepAt = monoAfter(step.monoUs, spanUs(Math.max(1000, Math.floor(this.#timing.maxTermUs / slices))));
  }

  read(from: NodeId, message: RoundMessage, step: RoundStep): void {
    if (!this.#horizon.believesBallot(message.ballot, step)) {
      this.#nack(from, message, NACK_AHEAD, FOR_READ, null, step);
      return;
    }
    if (this.#listen(step)) {
      this.#nack(from, message, NACK_SILENT, FOR_READ, null, step);
      return;
    }
    const row = this.#rowOf(message, step);
    this.#expire(row, step);
    const { value } = row;
    const isOwners = value !== null && value.holder === message.owner && value.holderLease === message.lease;
    if (!row.read(message.ballot, message.owner, this.#compare)) {
      // Rule 8: the live owner reads on its way to a renewal; a promise to a contender does not stop it.
      if (!(isOwners && this.#yields(value, message))) {
        this.#nack(from, message, NACK_OUTBID, FOR_READ, row, step);
        return;
      }
    }
    this.#promised(row, step);
    const answer = this.#answer(ACK_READ, message, step);
    if (value !== null) answer.setValue({ ...value, untilUs: this.#untilTold(row, value, step) });
    answer.flags |= message.flags & LOOKS;
    answer.written = row.writeTime;
    answer.writer = row.writeBy;
    step.send(from, answer);
  }

  write(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const value = message.value();
    if (value === null) return;
    if (!this.#horizon.believesBallot(message.ballot, step) || !this.#horizon.believes(value, step)) {
      this.#nack(from, message, NACK_AHEAD, 0, null, step);
      return;
    }
    if (this.#listen(step)) {
      this.#nack(from, message, NACK_SILENT, 0, null, step);
      return;
    }
    const reason = this.#refuseTimes(message, value, step);
    if (reason < 0) return;
    const row = this.#rowOf(message, step);
    this.#expire(row, step);
    const old = row.value;
    const isSame = old !== null && isSameLease(old, value);
    if (reason > 0) {
      this.#nack(from, message, reason, 0, row, step);
      return;
    }
    if (old !== null && !isSame && this.#rules.keepLiveLease) {
      this.#nack(from, message, NACK_HELD, 0, row, step);
      return;
    }
    const yields = isSame && value.holder === message.owner && this.#yields(old, message);
    if (!yields && !row.mayWrite(message.ballot, message.owner, this.#compare)) {
      this.#nack(from, message, NACK_OUTBID, 0, row, step);
      return;
    }
    if (!isSame && this.#rules.tokenAboveFloor && this.#isLow(row, message, value)) {
      this.#nack(from, message, NACK_LOW, 0, row, step);
      return;
    }
    this.#accept(row, message, value, isSame ? old : null, step);
    step.send(from, this.#answer(ACK_WRITE, message, step));
  }

  /** Ends the lease it names, up to its ballot, and nothing else: promises stay as they are (rule 6). */
  release(from: NodeId, message: RoundMessage, step: RoundStep): void {
    if (this.#listen(step)) return;
    const row = this.#rowOf(message, step);
    this.#expire(row, step);
    const { value } = row;
    const isTheirs = value !== null && value.holder === message.owner && value.holderLease === message.lease;
    if (value !== null && (this.#rules.releaseByBallot ? isTheirs && value.ownBallot <= message.ballot : true)) {
      invariant(value.holder === message.owner || !this.#rules.releaseByBallot, 'a release ended the vote of another owner');
      if (message.untilUs === 0) this.#clear(row);
      else this.#shorten(row, value, message.untilUs, step);
    }
    if (row.endedBy === message.owner && row.endedLease === message.lease) row.endedBy = NOBODY;
    this.#promised(row, step);
    if ((message.flags & NO_ANSWER) === 0) step.send(from, this.#answer(ACK_RELEASE, message, step));
  }

  // ── Rows ───────────────────────────────────────────────────────────────────────────────────────────

  /** A row whose lease ended while it rested is forgotten now, if the sweep has not come by: answers must not depend on when the sweep runs. */
  #rowOf(message: RoundMessage, step: RoundStep): Row {
    const row = this.#rows.of(message);
    if (row.value === null || row.lookAt !== NEVER || row.untilMono > step.monoUs) return row;
    this.#reclaim(row, step);
    return this.#rows.of(message);
  }

  /** A reason to refuse, 0 if there is none, -1 to drop it without a word (rule 10). */
  #refuseTimes(message: RoundMessage, value: LeaseValue, step: RoundStep): number {
    const { clocks, maxTermUs, skewUs } = this.#timing;
    if (clocks === 'relative') return value.untilUs > maxTermUs ? NACK_TOO_LONG : 0;
    if (this.#rules.dropExpired && value.untilUs <= step.wallUs) return -1;
    if (!this.#rules.skewGuard) return 0;
    // An end beyond what the restart silence covers comes from a clock that is ahead, or was when the round began.
    return message.clockUs > step.wallUs + skewUs || value.untilUs > step.wallUs + maxTermUs + skewUs ? NACK_SKEWED : 0;
  }

  /** Rule 8: neither a promise to a contender nor a helper's write stops the live owner. Its own lower ballots stay refused (rule 7). */
  #yields(value: LeaseValue, { ballot }: RoundMessage): boolean {
    return this.#rules.promiseYieldsToOwner && value.ownBallot <= ballot;
  }

  /**
   * Rule 18: new grants are above every token that was seen. A lease that ended here and is renewed elsewhere is no new grant, nor is a
   * renewal that comes here for the first time: the floor that other names have raised does not apply to it. A lease that was given back
   * does not come back, also not by a helper.
   */
  #isLow(row: Row, { flags, owner }: RoundMessage, { holder, holderLease, token }: LeaseValue): boolean {
    if (token === row.token && holder === row.endedBy && holderLease === row.endedLease) return false;
    const isRenewal = (flags & RENEWS_OWN) !== 0 && holder === owner;
    return token <= Math.max(isRenewal ? 0 : this.#floor, row.token);
  }

  #accept(row: Row, message: RoundMessage, value: LeaseValue, old: LeaseValue | null, step: RoundStep): void {
    invariant(!this.#isSilent, 'a member voted in its silence');
    invariant(old === row.value || !this.#rules.keepLiveLease, 'a live vote was given to another lease');
    const endsAt = row.untilMono;
    const untilMono = monoAfter(step.monoUs, this.#keepFor(value, step));
    const keepsOld = old !== null && this.#rules.neverShorten && row.untilMono > untilMono;
    // An end and when that is on our clock stay a pair: a release as of a later time is counted from it.
    const untilUs = keepsOld ? old.untilUs : value.untilUs;
    const ownBallot = old === null ? value.ownBallot : ballotTime(Math.max(old.ownBallot, value.ownBallot));
    // A helper may bring older metadata of the owner: the newest stays.
    const isOlder = old !== null && old.ownBallot > value.ownBallot;
    const meta = isOlder && this.#rules.ownersWordStands ? old.meta : value.meta;
    // Or an earlier try of the same lease.
    const token = isOlder ? old.token : value.token;
    const kept = { ...value, token, untilUs, ownBallot, meta };
    // An owner that was let through may have a lower ballot than the register: that does not fall.
    if (this.#compare(row.writeTime, row.writeBy, message.ballot, message.owner) <= 0) row.write(message.ballot, message.owner, kept);
    else row.value = kept;
    if (!keepsOld) row.untilMono = untilMono;
    invariant(old === null || row.untilMono >= endsAt || !this.#rules.neverShorten, 'a vote was made shorter');
    row.endedBy = NOBODY;
    row.token = Math.max(row.token, value.token);
    this.#plan(row, step);
  }

  /** How long from now the vote for it stands. */
  #keepFor(value: LeaseValue, step: RoundStep): ReturnType<typeof spanUs> {
    const { clocks, skewUs, rateErrorPpm } = this.#timing;
    if (clocks === 'relative') return stretch(value.untilUs, rateErrorPpm);
    const slackUs = this.#rules.safetyPeriod ? skewUs : 0;
    return stretch(Math.max(0, value.untilUs + slackUs - step.wallUs), rateErrorPpm);
  }

  /** Counted back from the end it has, not from its wall clock, which may have been set since. */
  #shorten(row: Row, value: LeaseValue, untilUs: number, step: RoundStep): void {
    const shorter = { ...value, untilUs };
    const isRelative = this.#timing.clocks === 'relative';
    const untilMono = isRelative ? monoAfter(step.monoUs, this.#keepFor(shorter, step)) : monoUs(row.untilMono - (value.untilUs - untilUs));
    if (untilMono >= row.untilMono) return;
    row.value = shorter;
    row.untilMono = untilMono;
    this.#plan(row, step);
  }

  /** The end of its value, as told: an instant, or the span that is left. */
  #untilTold(row: Row, value: LeaseValue, step: RoundStep): number {
    return this.#timing.clocks === 'relative' ? Math.max(0, row.untilMono - step.monoUs) : value.untilUs;
  }

  #expire(row: Row, step: RoundStep): void {
    const { value } = row;
    if (value === null || this.#isLive(row, value, step)) return;
    row.endedBy = value.holder;
    row.endedLease = value.holderLease;
    this.#clear(row);
  }

  #isLive(row: Row, value: LeaseValue, step: RoundStep): boolean {
    if (this.#rules.votesByMonotonic || this.#timing.clocks === 'relative') return row.untilMono > step.monoUs;
    return value.untilUs + (this.#rules.safetyPeriod ? this.#timing.skewUs : 0) > step.wallUs;
  }

  #clear(row: Row): void {
    row.value = null;
    row.untilMono = monoUs(0);
  }

  #promised(row: Row, step: RoundStep): void {
    row.promisedUntil = monoAfter(step.monoUs, this.#timing.promiseUs);
    this.#plan(row, step);
  }

  /** When no attempt that was answered just now lives any more. */
  #plan(row: Row, step: RoundStep): void {
    this.#lookAt(row, monoAfter(step.monoUs, this.#timing.promiseUs));
  }

  #lookAt(row: Row, at: MonoUs): void {
    if (row.lookAt <= at) return;
    row.lookAt = at;
    this.#due.push(at, row.id);
  }

  /** Lets a row rest that no living attempt depends on, and forgets it if no lease does either. */
  #reclaim(row: Row, step: RoundStep): void {
    if (!this.#rules.attemptDeadline) return;
    this.#expire(row, step);
    if (row.promisedUntil > step.monoUs) {
      this.#lookAt(row, row.promisedUntil);
    } else if (row.value !== null) {
      this.#rest(row, step);
    } else {
      this.#floor = Math.max(this.#floor, row.token);
      invariant(row.untilMono <= step.monoUs, 'a vote was forgotten that stands');
      this.#rows.forget(row);
    }
  }

  #rest(row: Row, step: RoundStep): void {
    const byMonotonic = this.#rules.votesByMonotonic || this.#timing.clocks === 'relative';
    if (byMonotonic && this.#rows.rest(row)) this.#planSweep(step);
    else this.#lookAt(row, this.#lookAgain(row, step));
  }

  /** Where votes end by a wall clock, the monotonic clock does not tell when that is. */
  #lookAgain(row: Row, step: RoundStep): MonoUs {
    return row.untilMono > step.monoUs ? row.untilMono : monoAfter(step.monoUs, this.#timing.pollUs);
  }

  /** True while it keeps silent. */
  #listen(step: RoundStep): boolean {
    if (this.#isSilent && step.monoUs >= this.#silentUntil) {
      this.#isSilent = false;
      step.emit({ kind: 'ready', restored: 0 });
    }
    return this.#isSilent;
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  #answer(kind: number, { owner, lease, ballot }: RoundMessage, step: RoundStep): RoundMessage {
    const answer = this.#message;
    answer.kind = kind;
    answer.flags = 0;
    answer.owner = owner;
    answer.lease = lease;
    answer.ballot = ballot;
    answer.clockUs = step.wallUs;
    answer.setMeta(undefined);
    return answer;
  }

  #nack(from: NodeId, message: RoundMessage, reason: number, flags: number, row: Row | null, step: RoundStep): void {
    const answer = this.#answer(NACK, message, step);
    answer.reason = reason;
    answer.above = ballotTime(0);
    if (row !== null && row.value !== null) answer.setValue({ ...row.value, untilUs: this.#untilTold(row, row.value, step) });
    if (row !== null && reason === NACK_OUTBID) answer.above = this.#horizon.told(row.highest(this.#compare), step);
    if (row !== null && reason === NACK_LOW) answer.above = ballotTime(Math.max(this.#floor, row.token));
    answer.flags |= flags;
    step.send(from, answer);
    // A refused round leaves no row behind.
    if (row !== null) this.#lookAt(row, monoUs(Math.max(row.promisedUntil, row.untilMono, step.monoUs)));
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return {
      floor: this.#floor,
      silentUntil: this.#isSilent ? this.#silentUntil : 0,
      rows: this.#rows.inOrder().map(({ name, row: { id: _id, lookAt: _lookAt, value, ...rest } }) => ({
        name,
        value: value ? { ...value, meta: value.meta ? [...value.meta] : null } : null,
        ...rest,
      })),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as AcceptorSnapshot;
    this.#floor = told.floor;
    this.#isSilent = told.silentUntil > 0;
    this.#silentUntil = told.silentUntil;
    for (const { name, value, ...rest } of told.rows) {
      const bytes = encodeName(name);
      const message = new RoundMessage();
      message.setName(bytes, 0, bytes.length);
      const row = this.#rows.of(message);
      Object.assign(row, rest);
      row.value = value ? { ...value, meta: value.meta ? Uint8Array.from(value.meta) : undefined } : null;
      this.#lookAt(row, row.promisedUntil);
    }
  }
}

interface AcceptorSnapshot {
  readonly floor: number;
  readonly silentUntil: MonoUs;
  readonly rows: readonly {
    readonly name: string;
    readonly readTime: BallotTime;
    readonly readBy: Incarnation;
    readonly writeTime: BallotTime;
    readonly writeBy: Incarnation;
    readonly value: (Omit<LeaseValue, 'meta'> & { readonly meta: readonly number[] | null }) | null;
    readonly untilMono: MonoUs;
    readonly promisedUntil: MonoUs;
    readonly token: number;
    readonly endedBy: Incarnation;
    readonly endedLease: number;
  }[];
}
