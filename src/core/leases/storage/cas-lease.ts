/**
 * Leases where the store can compare and set: one record a name, replaced only on the condition that it is still the record
 * that was seen. A holder's deadline counts from when its write left; a successor has watched the record for its whole
 * term. Late landings, lost answers and stale reads cost time, never safety. δ does not matter here but for patience.
 */
import { ballotTime, invariant, monoUs, NEVER, wallUs, type MonoUs } from '../../../kernel/index.ts';
import type { Boot, Version } from '../../contract.ts';
import type { KnownRecord, Start } from './claim.ts';
import { CasAccesses, type CasClaim, type Replaced } from './cas-accesses.ts';
import type { CasDoing, CasDoingOf } from './cas-config.ts';
import { CasQuestions } from './cas-questions.ts';
import { ReaderWatch, withoutReader } from './cas-readers.ts';
import type { StorageConfig, StorageStep } from './config.ts';
import {
  decodeFloorRecord,
  decodeLeaseRecord,
  encodeLeaseRecord,
  isUnreadable,
  tokenAt,
  type Found,
  type LeaseRecord,
} from './contents.ts';
import { StorageCore } from './core.ts';
import { FLOOR_KEY, nameKeyOf } from './keys.ts';
import type { Answer, Ends, StorageLeases, StorageProtocol } from './leases.ts';
import { ALL_CAS_RULES, type CasRules } from './rules.ts';
import type { Sighting } from './sightings.ts';
import { recordObservationUs, wantedUs } from './timing.ts';

const IDLE: CasDoing = { kind: 'idle', ops: [] };
const RESTING: CasDoing = { kind: 'resting', ops: [] };
const UNANSWERED: Answer = { op: 0, ok: false, isLost: false, value: null, version: null };

export class CasLeaseCore extends StorageCore<CasDoing> {
  constructor(config: StorageConfig, boot: Boot, rules: CasRules = ALL_CAS_RULES) {
    super(config, boot, rules, (leases) => new CasLease(config, rules, leases));
  }
}

class CasLease extends CasAccesses implements StorageProtocol<CasDoing> {
  readonly idle: CasDoing = IDLE;
  readonly resting: CasDoing = RESTING;
  readonly canShare = true;
  readonly #readers: ReaderWatch;
  readonly #questions: CasQuestions;

  constructor(config: StorageConfig, rules: CasRules, leases: StorageLeases<CasDoing>) {
    super(config, rules, leases);
    const observationUs = (seen: Sighting): number => this.observationUs(seen);
    this.#readers = new ReaderWatch(leases.ground, rules, observationUs);
    this.#questions = new CasQuestions(config, leases, this.#readers, observationUs);
  }

  /** A write that was not answered may have landed, or may yet. */
  isCommitted({ starts }: CasClaim): boolean {
    return starts.length > 0;
  }

  isResting({ doing }: CasClaim): boolean {
    return doing.kind === 'resting';
  }

  isRenewing({ phase, doing }: CasClaim): boolean {
    return phase === 'holding' && (doing.kind === 'renewing' || doing.kind === 'rereading');
  }

  /** The record's own term is enough: nothing but a change of this very record ends or extends the lease. */
  observationUs({ termUs }: Sighting): number {
    const { rateMargin, fullObservation } = this.rules;
    const longUs = fullObservation ? termUs : termUs / 2;
    return rateMargin ? recordObservationUs(longUs, this.config.timing) : longUs;
  }

  // ── Acquire ────────────────────────────────────────────────────────────────────────────────────────

  contend(claim: CasClaim, step: StorageStep): void {
    const { isCalledOff, starts, name } = claim;
    // What this process knows of the record is of use as long as no write of this request may be in it.
    const freed = starts.length === 0 && !isCalledOff ? this.leases.ground.freed.take(name) : undefined;
    if (isCalledOff && starts.length === 0) this.leases.end(claim, step);
    else if (freed === undefined) this.readRecord(claim, 'reading', step);
    else this.#takeRemembered(claim, freed, step);
  }

  /** As if the record had been read just now: the swap tells whether it is still so. */
  #takeRemembered(claim: CasClaim, { record, version }: KnownRecord, step: StorageStep): void {
    const { takesFrom } = this.leases.ground;
    const { memoryIsOfEpoch, memoryIsChecked, conditionalTake } = this.rules;
    if (memoryIsOfEpoch && step.monoUs < takesFrom()) {
      this.#restUntil(claim, takesFrom(), step);
      return;
    }
    const token = this.#tokenAfter(record, 0, step);
    this.#put(claim, 'taking', { base: record, version, token, isGrounded: true, isBlind: !(conditionalTake && memoryIsChecked) }, step);
  }

  enterEpoch(): void {
    if (this.rules.memoryIsOfEpoch) this.leases.ground.freed.clear();
  }

  #restUntil(claim: CasClaim, at: MonoUs, step: StorageStep): void {
    this.leases.rest(claim, monoUs(Math.min(this.leases.later(this.config.timing.pollUs, step), at)), step);
  }

  #judge(claim: CasClaim, found: Found<LeaseRecord>, version: Version | null, step: StorageStep): void {
    const { takesFrom, owner } = this.leases.ground;
    if (isUnreadable(found)) {
      this.tellUnreadable(claim, nameKeyOf(claim.name), found, step);
      if (this.rules.unreadableIsRefused) {
        this.leases.refuse(claim, 'unreadable', step);
        return;
      }
    }
    const record = isUnreadable(found) ? null : found;
    claim.failures = 0;
    const own = record === null ? undefined : this.startOf(claim, record);
    if (record !== null && own !== undefined) {
      this.#won(claim, own, { record, version }, step);
      return;
    }
    if (claim.isCalledOff) {
      this.leases.end(claim, step);
      return;
    }
    const { until, isAlive, byWriter, isFull } = this.#readers.inTheWay(claim, record, step.monoUs);
    if (record !== null && step.monoUs < until) {
      // A claim that lost the race need not watch: the winner is alive.
      if (!claim.waits && (isAlive || (claim.hasTried && record.owner !== owner))) this.leases.refuse(claim, 'held', step);
      else if (!claim.waits && (byWriter || isFull)) this.leases.refuse(claim, isFull ? 'no-room' : 'queued', step);
      else if (!this.#want(claim, { record, version }, step)) this.#restUntil(claim, until, step);
    } else if (step.monoUs < takesFrom() || this.leases.isOutOfTime(claim, step)) {
      this.#restUntil(claim, takesFrom(), step);
    } else if (record !== null && !record.isGrounded && this.rules.tokenAboveFloor) {
      this.#readFloor(claim, { record, version }, step);
    } else {
      this.#take(claim, record, version, 0, step);
    }
  }

  /** A writer that waits for readers says so, and again before others forget it. False if there is no need. */
  #want(claim: CasClaim, { record, version }: KnownRecord, step: StorageStep): boolean {
    const mine = this.whoIs(claim);
    if (claim.mode === 'shared' || record.readers === undefined || !claim.waits) return false;
    if (!this.#readers.isWantStale(claim.name, record, mine, step.monoUs)) return false;
    const wanted = { ...mine, seq: this.leases.ground.desk.nextSeq(), token: 0, termUs: wantedUs(this.config.timing) };
    const op = this.change(claim.name, version, encodeLeaseRecord(claim.name, { ...record, wanted }), false, step);
    this.go(claim, { kind: 'wanting', ops: [op] }, step);
    return true;
  }

  /** The record came after an erased record, and its creator did not get to see the floor. */
  #readFloor(claim: CasClaim, seen: KnownRecord, step: StorageStep): void {
    this.go(claim, { kind: 'reading-floor', ops: [this.readFloor(step)], seen }, step);
  }

  #take(claim: CasClaim, record: LeaseRecord | null, version: Version | null, floor: number, step: StorageStep): void {
    const token = this.#tokenAfter(record, floor, step);
    const isGrounded = record !== null || floor > 0;
    claim.hasTried = true;
    this.#put(claim, 'taking', { base: record, version, token, isGrounded, isBlind: !this.rules.conditionalTake }, step);
  }

  #tokenAfter(record: LeaseRecord | null, floor: number, step: StorageStep): number {
    const wall = tokenAt(step);
    return this.rules.tokenAboveRecord ? Math.max((record?.token ?? 0) + 1, floor + 1, wall) : wall;
  }

  /** Replaces the record that was seen with an own record of a fresh uid. */
  #put(claim: CasClaim, kind: 'taking' | 'renewing', how: Replaced, step: StorageStep): void {
    const { lease, name, termUs, proclaiming } = claim;
    const { desk, owner } = this.leases.ground;
    const isAbove = how.token > (how.base?.token ?? 0) || kind === 'renewing' || !this.rules.tokenAboveRecord;
    invariant(isAbove, 'a name is taken with a token that is not above the one in its record');
    // Others wait as long as the record says: a renewal for a shorter term does not end what its holder still counts on.
    const watchedUs = Math.max(termUs, Math.ceil(claim.deadlineMono - step.monoUs));
    const mine = { owner, lease, seq: desk.nextSeq(), token: how.token, termUs: watchedUs };
    const next = this.#readers.composed(claim, mine, how, step.monoUs);
    claim.trips++;
    const start = { seq: mine.seq, mono: step.monoUs, wall: step.wallUs, termUs, carried: proclaiming, isGrounded: how.isGrounded };
    claim.starts = [...claim.starts, start];
    const op = this.change(name, how.version, encodeLeaseRecord(name, next), how.isBlind, step);
    this.go(claim, { kind, ops: [op], next }, step);
  }

  #taken(claim: CasClaim, { next }: CasDoingOf<'taking'>, { ok, isLost, version }: Answer, step: StorageStep): void {
    const start = this.startOf(claim, next);
    if (ok && !isLost && start !== undefined) {
      this.#won(claim, start, { record: next, version }, step);
      return;
    }
    // A write that lost never lands; a write whose answer is unknown may have won: the next read tells.
    if (ok || !this.rules.lostAnswerIsRead) this.forgetStart(claim, next);
    // Others may win for ever: its caller does not wait as long.
    if (claim.waits && step.monoUs >= claim.waitUntil && claim.starts.length === 0) this.leases.rest(claim, NEVER, step);
    else this.contend(claim, step);
  }

  #won(claim: CasClaim, start: Start, mine: KnownRecord, step: StorageStep): void {
    claim.mine = mine;
    claim.starts = [start];
    this.#readers.note(claim.name, mine.record, step.monoUs);
    const ends = this.#endsOf(start, step);
    if (this.#hasPassed(ends, step)) {
      step.emit({ kind: 'voided', lease: claim.lease });
      this.#free(claim, step);
    } else if (claim.isCalledOff || start.isGrounded || !this.rules.tokenAboveFloor) {
      this.#grant(claim, mine.record, ends, step);
    } else {
      this.#checkFloor(claim, step);
    }
  }

  #grant(claim: CasClaim, record: LeaseRecord, ends: Ends, step: StorageStep): void {
    const { seq, token } = this.ownIn(claim, record);
    claim.confirmed = seq;
    this.leases.grant(claim, ballotTime(token), ends, step);
  }

  /** Records with higher tokens may have been erased before ours was created. The eraser raises the floor first, so we see it now. */
  #checkFloor(claim: CasClaim, step: StorageStep): void {
    this.go(claim, { kind: 'checking-floor', ops: [this.readFloor(step)] }, step);
  }

  #floorChecked(claim: CasClaim, { ok, value }: Answer, step: StorageStep): void {
    const { mine, starts } = claim;
    const start = starts[0];
    const floor = ok ? decodeFloorRecord(value) : 'unanswered';
    if (mine === null || start === undefined) return;
    const ends = this.#endsOf(start, step);
    if (this.#hasPassed(ends, step)) this.#free(claim, step);
    else if (claim.isCalledOff) this.#grant(claim, mine.record, ends, step);
    else if (typeof floor !== 'number') this.#floorUnknown(claim, floor, step);
    else if (floor < this.ownIn(claim, mine.record).token) this.#ground(claim, mine, ends, step);
    else {
      const { record: base, version } = mine;
      this.#put(claim, 'taking', { base, version, token: Math.max(floor, base.token) + 1, isGrounded: true, isBlind: false }, step);
    }
  }

  /** What this process writes next says that the floor was seen. */
  #ground(claim: CasClaim, { record, version }: KnownRecord, ends: Ends, step: StorageStep): void {
    claim.mine = { record: { ...record, isGrounded: true }, version };
    this.#grant(claim, record, ends, step);
  }

  /** Without the floor no token is handed out; the taken lease is set free. */
  #floorUnknown(claim: CasClaim, why: 'unanswered' | 'corrupt' | 'format', step: StorageStep): void {
    if (why !== 'unanswered') {
      this.tellUnreadable(claim, FLOOR_KEY, why, step);
      step.emit({ kind: 'refused', lease: claim.lease, reason: 'unreadable', holder: null, unreached: [] });
      claim.isCalledOff = true;
    }
    this.#free(claim, step);
  }

  /** From when the write left: no watcher of the record has seen it earlier. */
  #endsOf({ mono, wall, termUs }: Start, step: StorageStep): Ends {
    const [fromMono, fromWall] = this.rules.deadlineFromStart ? [mono, wall] : [step.monoUs, step.wallUs];
    return { mono: monoUs(fromMono + termUs), wall: wallUs(fromWall + termUs) };
  }

  #hasPassed({ mono, wall }: Ends, step: StorageStep): boolean {
    return step.monoUs >= mono || (this.rules.holderWatchesWall && step.wallUs >= wall);
  }

  // ── Renew ──────────────────────────────────────────────────────────────────────────────────────────

  renew(claim: CasClaim, step: StorageStep): void {
    const { conditionalRenewal, conditionalSync } = this.rules;
    const isBlind = !conditionalRenewal || (!conditionalSync && claim.data !== null);
    const { record: base = null, version = null } = claim.mine ?? {};
    this.#put(claim, 'renewing', { base, version, token: claim.token, isGrounded: true, isBlind }, step);
  }

  /** The next write carries it. A holder that is none any more loses the swap: the store has refused its data. */
  sync(claim: CasClaim, data: Uint8Array, number: number, step: StorageStep): void {
    claim.data = data;
    claim.proclaiming = number;
    if (!this.isRenewing(claim)) this.renew(claim, step);
  }

  #renewed(claim: CasClaim, { next }: CasDoingOf<'renewing'>, { ok, isLost, version }: Answer, step: StorageStep): void {
    const start = this.startOf(claim, next);
    if (ok && !isLost && start !== undefined) {
      this.#adopt(claim, start, { record: next, version }, step);
      return;
    }
    // A write that lost never lands.
    if (isLost) this.forgetStart(claim, next);
    if (this.rules.lostAnswerIsRead) this.readRecord(claim, 'rereading', step);
    else this.#stop(claim, step);
  }

  /** The record is ours, as of when this write of ours left. Writes that left before it can land no more. */
  #adopt(claim: CasClaim, start: Start, mine: KnownRecord, step: StorageStep): void {
    claim.mine = mine;
    claim.starts = [start];
    claim.confirmed = start.seq;
    this.#readers.note(claim.name, mine.record, step.monoUs);
    this.leases.extend(claim, this.#endsOf(start, step), start.carried, step);
  }

  #reread(claim: CasClaim, found: Found<LeaseRecord>, version: Version | null, step: StorageStep): void {
    if (isUnreadable(found)) {
      this.tellUnreadable(claim, nameKeyOf(claim.name), found, step);
      this.leases.failRenewal(claim, step);
      return;
    }
    const start = found === null ? undefined : this.startOf(claim, found);
    // As it was: the write of the renewal has not landed, and the next is made on the same condition.
    if (start === undefined || found === null) this.#stop(claim, step);
    else if (start.seq !== claim.confirmed) this.#adopt(claim, start, { record: found, version }, step);
    else if (claim.mode === 'shared') this.#renewOn(claim, { record: found, version }, step);
    else this.leases.failRenewal(claim, step);
  }

  /** Other readers came, went or were renewed meanwhile: the record is another, and the own row is as it was. */
  #renewOn(claim: CasClaim, mine: KnownRecord, step: StorageStep): void {
    claim.mine = mine;
    this.#readers.note(claim.name, mine.record, step.monoUs);
    this.renew(claim, step);
  }

  /** Another has the record: stop now. There is nothing to give back. */
  #stop(claim: CasClaim, step: StorageStep): void {
    claim.mine = null;
    this.leases.lose(claim, step);
  }

  // ── Release ────────────────────────────────────────────────────────────────────────────────────────

  giveBack(claim: CasClaim, step: StorageStep): void {
    if (claim.mine === null) this.leases.released(claim, false, step);
    else this.#free(claim, step);
  }

  /** The token stays in the record. */
  #free(claim: CasClaim, step: StorageStep): void {
    if (claim.mine === null) return;
    const { record, version } = claim.mine;
    const next: LeaseRecord = claim.mode === 'shared' ? withoutReader(record, this.whoIs(claim)) : { ...record, isHeld: false, meta: null };
    const op = this.change(claim.name, version, encodeLeaseRecord(claim.name, next), !this.rules.conditionalRelease, step);
    this.go(claim, { kind: 'freeing', ops: [op], next }, step);
  }

  #freed(claim: CasClaim, { next }: CasDoingOf<'freeing'>, { ok, isLost, version }: Answer, step: StorageStep): void {
    if (!ok || isLost) {
      // An own write whose answer was lost may have landed since.
      this.readRecord(claim, 'reading-own', step);
      return;
    }
    // A record that is not grounded would need a read of the floor, and readers may hold it.
    if (next.isGrounded && !next.isHeld && !next.wanted) this.leases.ground.freed.keep(claim.name, { record: next, version });
    this.#letGo(claim, true, step);
  }

  #readOwn(claim: CasClaim, found: Found<LeaseRecord>, version: Version | null, step: StorageStep): void {
    const record = isUnreadable(found) ? null : found;
    const isOwn = record !== null && this.startOf(claim, record) !== undefined;
    if (!isOwn) this.#letGo(claim, true, step);
    else if (claim.phase === 'releasing' && this.leases.isOver(claim, step)) this.#letGo(claim, false, step);
    else {
      claim.mine = { record, version };
      this.#free(claim, step);
    }
  }

  /** Nothing of ours is in the record, or it does not matter any more. */
  #letGo(claim: CasClaim, isKnown: boolean, step: StorageStep): void {
    claim.mine = null;
    claim.starts = [];
    if (claim.phase === 'releasing') this.leases.released(claim, isKnown, step);
    else if (claim.isCalledOff) this.leases.end(claim, step);
    else this.leases.stumble(claim, step);
  }

  // ── Questions ──────────────────────────────────────────────────────────────────────────────────────

  ask(claim: CasClaim, step: StorageStep): void {
    this.#questions.ask(claim, step);
  }

  // ── Answers and instants ───────────────────────────────────────────────────────────────────────────

  answered(claim: CasClaim, answer: Answer, step: StorageStep): void {
    const { doing } = claim;
    switch (doing.kind) {
      case 'taking':
        this.#taken(claim, doing, answer, step);
        return;
      case 'renewing':
        this.#renewed(claim, doing, answer, step);
        return;
      case 'freeing':
        this.#freed(claim, doing, answer, step);
        return;
      case 'checking-floor':
        this.#floorChecked(claim, answer, step);
        return;
      case 'wanting':
        this.#restUntil(claim, NEVER, step);
        return;
      case 'reading-floor':
        this.#floorRead(claim, doing, answer, step);
        return;
      case 'looking':
      case 'fetching':
      case 'finding':
      case 'finding-floor':
      case 'raising-floor':
      case 'erasing':
        this.#questions.answered(claim, doing, answer, step);
        return;
      case 'idle':
      case 'resting':
        return;
      default:
        if (answer.ok) this.#readAnswered(claim, doing, answer, step);
        else this.due(claim, step);
    }
  }

  #readAnswered(
    claim: CasClaim,
    doing: CasDoingOf<'reading' | 'rereading' | 'reading-own'>,
    { value, version }: Answer,
    step: StorageStep,
  ): void {
    const found = decodeLeaseRecord(claim.name, value);
    switch (doing.kind) {
      case 'reading':
        this.#judge(claim, found, version, step);
        return;
      case 'rereading':
        this.#reread(claim, found, version, step);
        return;
      case 'reading-own':
        this.#readOwn(claim, found, version, step);
        return;
    }
  }

  #floorRead(claim: CasClaim, { seen }: CasDoingOf<'reading-floor'>, { ok, value }: Answer, step: StorageStep): void {
    const floor = ok ? decodeFloorRecord(value) : 0;
    if (typeof floor === 'string') {
      this.tellUnreadable(claim, FLOOR_KEY, floor, step);
      this.leases.refuse(claim, 'unreadable', step);
    } else if (ok) {
      this.#take(claim, seen.record, seen.version, floor, step);
    } else {
      this.leases.stumble(claim, step);
    }
  }

  /** An answer did not come, or a rest is over. */
  due(claim: CasClaim, step: StorageStep): void {
    const { doing } = claim;
    switch (doing.kind) {
      case 'taking':
        this.#taken(claim, doing, UNANSWERED, step);
        return;
      case 'renewing':
        this.#renewed(claim, doing, UNANSWERED, step);
        return;
      case 'rereading':
        this.leases.failRenewal(claim, step);
        return;
      case 'freeing':
        this.#freed(claim, doing, UNANSWERED, step);
        return;
      case 'reading-own':
        // A release that finds no answer is given up when the lease is over; until then the record is looked at again.
        if (claim.phase !== 'releasing' || this.leases.isOver(claim, step)) this.#letGo(claim, false, step);
        else this.leases.ground.desk.turn(claim, RESTING, this.leases.later(this.config.timing.retryUs, step));
        return;
      case 'checking-floor':
        this.#floorUnknown(claim, 'unanswered', step);
        return;
      case 'looking':
      case 'fetching':
      case 'finding':
      case 'finding-floor':
      case 'raising-floor':
      case 'erasing':
        this.#questions.due(claim, step);
        return;
      case 'reading':
      case 'reading-floor':
      case 'wanting':
        this.leases.stumble(claim, step);
        return;
      case 'idle':
      case 'resting':
        if (claim.phase === 'releasing') this.readRecord(claim, 'reading-own', step);
        else this.contend(claim, step);
        return;
    }
  }
}
