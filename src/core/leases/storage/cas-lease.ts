/**
 * Leases where the store can compare and set: one record a name, replaced only on the condition that it is still what
 * was seen. A holder's deadline counts from when its write left; whoever takes over has watched the record for its whole
 * term. Late landings, lost answers and stale reads cost time, never safety. δ does not matter here but for patience.
 */
import { ballotTime, monoAfter, monoUs, NEVER, wallUs, type MonoUs } from '../../../kernel/index.ts';
import type { Boot, Version } from '../../contract.ts';
import type { StorageClaim, KnownRecord, Start } from './claim.ts';
import type { CasDoing, CasDoingOf } from './cas-config.ts';
import { CasQuestions } from './cas-questions.ts';
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
import { recordObservationUs } from './timing.ts';

type CasClaim = StorageClaim<CasDoing>;

const IDLE: CasDoing = { kind: 'idle', ops: [] };
const RESTING: CasDoing = { kind: 'resting', ops: [] };
const UNANSWERED: Answer = { op: 0, ok: false, isLost: false, value: null, version: null };

export class CasLeaseCore extends StorageCore<CasDoing> {
  constructor(config: StorageConfig, boot: Boot, rules: CasRules = ALL_CAS_RULES) {
    super(config, boot, rules, (leases) => new CasLease(config, rules, leases));
  }
}

class CasLease implements StorageProtocol<CasDoing> {
  readonly idle: CasDoing = IDLE;
  readonly resting: CasDoing = RESTING;
  readonly #config: StorageConfig;
  readonly #rules: CasRules;
  readonly #leases: StorageLeases<CasDoing>;
  readonly #questions: CasQuestions;

  constructor(config: StorageConfig, rules: CasRules, leases: StorageLeases<CasDoing>) {
    this.#config = config;
    this.#rules = rules;
    this.#leases = leases;
    this.#questions = new CasQuestions(config, leases, (seen) => this.observationUs(seen));
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
    const { rateMargin, fullObservation } = this.#rules;
    const longUs = fullObservation ? termUs : termUs / 2;
    return rateMargin ? recordObservationUs(longUs, this.#config.timing) : longUs;
  }

  // ── Acquire ────────────────────────────────────────────────────────────────────────────────────────

  contend(claim: CasClaim, step: StorageStep): void {
    const { isCalledOff, starts, name } = claim;
    // What this process knows of the record is of use as long as no write of this request may be in it.
    const freed = starts.length === 0 && !isCalledOff ? this.#leases.ground.freed.take(name) : undefined;
    if (isCalledOff && starts.length === 0) this.#leases.end(claim, step);
    else if (freed === undefined) this.#readRecord(claim, 'reading', step);
    else this.#takeRemembered(claim, freed, step);
  }

  /** As if the record had been read just now: the swap tells whether it is still so. */
  #takeRemembered(claim: CasClaim, { record, version }: KnownRecord, step: StorageStep): void {
    const { takesFrom } = this.#leases.ground;
    const { memoryIsOfEpoch, memoryIsChecked, conditionalTake } = this.#rules;
    if (memoryIsOfEpoch && step.monoUs < takesFrom()) {
      this.#restUntil(claim, takesFrom(), step);
      return;
    }
    const token = this.#tokenAfter(record, 0, step);
    this.#put(claim, 'taking', { version, token, isGrounded: true, isBlind: !(conditionalTake && memoryIsChecked) }, step);
  }

  enterEpoch(): void {
    if (this.#rules.memoryIsOfEpoch) this.#leases.ground.freed.clear();
  }

  #restUntil(claim: CasClaim, at: MonoUs, step: StorageStep): void {
    this.#leases.rest(claim, monoUs(Math.min(this.#leases.later(this.#config.timing.pollUs, step), at)), step);
  }

  #readRecord(claim: CasClaim, kind: 'reading' | 'rereading' | 'reading-own', step: StorageStep): void {
    const op = this.#leases.ground.desk.nextOp();
    step.read(this.#config.unit, nameKeyOf(claim.name), op);
    this.#go(claim, { kind, ops: [op] }, step);
  }

  #judge(claim: CasClaim, found: Found<LeaseRecord>, version: Version | null, step: StorageStep): void {
    const { sightings, takesFrom, owner } = this.#leases.ground;
    if (isUnreadable(found)) {
      this.#tellUnreadable(claim, nameKeyOf(claim.name), found, step);
      if (this.#rules.unreadableIsRefused) {
        this.#leases.refuse(claim, 'unreadable', step);
        return;
      }
    }
    const record = isUnreadable(found) ? null : found;
    claim.failures = 0;
    const own = record === null ? undefined : this.#startOf(claim, record);
    if (record !== null && own !== undefined) {
      this.#won(claim, own, { record, version }, step);
      return;
    }
    if (claim.isCalledOff) {
      this.#leases.end(claim, step);
      return;
    }
    const isHeld = record !== null && record.isHeld;
    const isAlive = isHeld && sightings.note(claim.name, record, step.monoUs) && record.owner !== owner;
    if (!isHeld) sightings.forget(claim.name);
    const freeAt = sightings.freeAt(claim.name, (seen) => this.observationUs(seen));
    if (isHeld && step.monoUs < freeAt) {
      // One that was beaten to it need not watch: whoever did so is alive.
      if (!claim.waits && (isAlive || (claim.hasTried && record.owner !== owner))) this.#leases.refuse(claim, 'held', step);
      else this.#restUntil(claim, freeAt, step);
    } else if (step.monoUs < takesFrom()) {
      this.#restUntil(claim, takesFrom(), step);
    } else if (record !== null && !record.isGrounded && this.#rules.tokenAboveFloor) {
      this.#readFloor(claim, { record, version }, step);
    } else {
      this.#take(claim, record, version, 0, step);
    }
  }

  /** The record came after one that was erased, and its creator did not get to see the floor. */
  #readFloor(claim: CasClaim, seen: KnownRecord, step: StorageStep): void {
    const op = this.#leases.ground.desk.nextOp();
    step.read(this.#config.unit, FLOOR_KEY, op);
    this.#go(claim, { kind: 'reading-floor', ops: [op], seen }, step);
  }

  #take(claim: CasClaim, record: LeaseRecord | null, version: Version | null, floor: number, step: StorageStep): void {
    const token = this.#tokenAfter(record, floor, step);
    const isGrounded = record !== null || floor > 0;
    claim.hasTried = true;
    this.#put(claim, 'taking', { version, token, isGrounded, isBlind: !this.#rules.conditionalTake }, step);
  }

  #tokenAfter(record: LeaseRecord | null, floor: number, step: StorageStep): number {
    const wall = tokenAt(step);
    return this.#rules.tokenAboveRecord ? Math.max((record?.token ?? 0) + 1, floor + 1, wall) : wall;
  }

  /** Puts an own record of a fresh uid in the place of what was seen. */
  #put(
    claim: CasClaim,
    kind: 'taking' | 'renewing',
    how: { readonly version: Version | null; readonly token: number; readonly isGrounded: boolean; readonly isBlind: boolean },
    step: StorageStep,
  ): void {
    const { desk, owner } = this.#leases.ground;
    const { lease, name, termUs, meta, proclaiming } = claim;
    const next: LeaseRecord = {
      owner,
      lease,
      seq: desk.nextSeq(),
      token: how.token,
      // Others wait as long as the record says: a renewal for a shorter term does not end what its holder still counts on.
      termUs: Math.max(termUs, Math.ceil(claim.deadlineMono - step.monoUs)),
      meta,
      isHeld: true,
      isGrounded: how.isGrounded,
    };
    claim.trips++;
    claim.starts = [...claim.starts, { seq: next.seq, mono: step.monoUs, wall: step.wallUs, termUs, carried: proclaiming }];
    const op = this.#change(name, how.version, encodeLeaseRecord(name, next), how.isBlind, step);
    this.#go(claim, { kind, ops: [op], next }, step);
  }

  #change(name: string, seen: Version | null, value: Uint8Array, isBlind: boolean, step: StorageStep): number {
    const op = this.#leases.ground.desk.nextOp();
    if (isBlind) step.write(this.#config.unit, nameKeyOf(name), value, op);
    else step.swap(this.#config.unit, nameKeyOf(name), seen, value, op);
    return op;
  }

  #taken(claim: CasClaim, { next }: CasDoingOf<'taking'>, { ok, isLost, version }: Answer, step: StorageStep): void {
    const start = claim.starts.find(({ seq }) => seq === next.seq);
    if (ok && !isLost && start !== undefined) {
      this.#won(claim, start, { record: next, version }, step);
      return;
    }
    // A write that lost never lands; one of which nothing is known may have won: the next read tells.
    if (ok || !this.#rules.lostAnswerIsRead) claim.starts = claim.starts.filter(({ seq }) => seq !== next.seq);
    // Others may win for ever: its caller does not wait as long.
    if (claim.waits && step.monoUs >= claim.waitUntil && claim.starts.length === 0) this.#leases.rest(claim, NEVER, step);
    else this.contend(claim, step);
  }

  #won(claim: CasClaim, start: Start, mine: KnownRecord, step: StorageStep): void {
    claim.mine = mine;
    claim.starts = [start];
    const ends = this.#endsOf(start, step);
    if (this.#hasPassed(ends, step)) {
      step.emit({ kind: 'voided', lease: claim.lease });
      this.#free(claim, step);
    } else if (claim.isCalledOff || mine.record.isGrounded || !this.#rules.tokenAboveFloor) {
      this.#grant(claim, mine.record, ends, step);
    } else {
      this.#checkFloor(claim, step);
    }
  }

  #grant(claim: CasClaim, { seq, token }: LeaseRecord, ends: Ends, step: StorageStep): void {
    claim.confirmed = seq;
    this.#leases.grant(claim, ballotTime(token), ends, step);
  }

  /** Records with higher tokens may have been erased before ours was created. Whoever erases raises the floor first, so we see it now. */
  #checkFloor(claim: CasClaim, step: StorageStep): void {
    const op = this.#leases.ground.desk.nextOp();
    step.read(this.#config.unit, FLOOR_KEY, op);
    this.#go(claim, { kind: 'checking-floor', ops: [op] }, step);
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
    else if (floor < mine.record.token) this.#ground(claim, mine, ends, step);
    else this.#put(claim, 'taking', { version: mine.version, token: floor + 1, isGrounded: true, isBlind: false }, step);
  }

  /** What this process writes next says that the floor was seen. */
  #ground(claim: CasClaim, { record, version }: KnownRecord, ends: Ends, step: StorageStep): void {
    claim.mine = { record: { ...record, isGrounded: true }, version };
    this.#grant(claim, record, ends, step);
  }

  /** Without the floor no token is handed out; what was taken is set free. */
  #floorUnknown(claim: CasClaim, why: 'unanswered' | 'corrupt' | 'format', step: StorageStep): void {
    if (why !== 'unanswered') {
      this.#tellUnreadable(claim, FLOOR_KEY, why, step);
      step.emit({ kind: 'refused', lease: claim.lease, reason: 'unreadable', holder: null, unreached: [] });
      claim.isCalledOff = true;
    }
    this.#free(claim, step);
  }

  /** From when the write left: whoever watches the record has seen it no earlier. */
  #endsOf({ mono, wall, termUs }: Start, step: StorageStep): Ends {
    const [fromMono, fromWall] = this.#rules.deadlineFromStart ? [mono, wall] : [step.monoUs, step.wallUs];
    return { mono: monoUs(fromMono + termUs), wall: wallUs(fromWall + termUs) };
  }

  #hasPassed({ mono, wall }: Ends, step: StorageStep): boolean {
    return step.monoUs >= mono || (this.#rules.holderWatchesWall && step.wallUs >= wall);
  }

  #startOf({ lease, starts }: CasClaim, { owner, lease: of, seq, isHeld }: LeaseRecord): Start | undefined {
    if (owner !== this.#leases.ground.owner || of !== lease || !isHeld) return undefined;
    return starts.find((start) => start.seq === seq);
  }

  // ── Renew ──────────────────────────────────────────────────────────────────────────────────────────

  renew(claim: CasClaim, step: StorageStep): void {
    const version = claim.mine?.version ?? null;
    this.#put(claim, 'renewing', { version, token: claim.token, isGrounded: true, isBlind: !this.#rules.conditionalRenewal }, step);
  }

  #renewed(claim: CasClaim, { next }: CasDoingOf<'renewing'>, { ok, isLost, version }: Answer, step: StorageStep): void {
    const start = claim.starts.find(({ seq }) => seq === next.seq);
    if (ok && !isLost && start !== undefined) this.#adopt(claim, start, { record: next, version }, step);
    else if (this.#rules.lostAnswerIsRead) this.#readRecord(claim, 'rereading', step);
    else this.#stop(claim, step);
  }

  /** The record is ours, as of when this write of ours left. Writes that left before it can land no more. */
  #adopt(claim: CasClaim, start: Start, mine: KnownRecord, step: StorageStep): void {
    claim.mine = mine;
    claim.starts = [start];
    claim.confirmed = start.seq;
    this.#leases.extend(claim, this.#endsOf(start, step), start.carried, step);
  }

  #reread(claim: CasClaim, found: Found<LeaseRecord>, version: Version | null, step: StorageStep): void {
    if (isUnreadable(found)) {
      this.#tellUnreadable(claim, nameKeyOf(claim.name), found, step);
      this.#leases.failRenewal(claim, step);
      return;
    }
    const start = found === null ? undefined : this.#startOf(claim, found);
    // As it was: the write of the renewal has not landed, and the next is made on the same condition.
    if (start === undefined) this.#stop(claim, step);
    else if (start.seq === claim.confirmed) this.#leases.failRenewal(claim, step);
    else if (found !== null) this.#adopt(claim, start, { record: found, version }, step);
  }

  /** Another has the record: stop now. There is nothing to give back. */
  #stop(claim: CasClaim, step: StorageStep): void {
    claim.mine = null;
    this.#leases.lose(claim, step);
  }

  // ── Release ────────────────────────────────────────────────────────────────────────────────────────

  giveBack(claim: CasClaim, step: StorageStep): void {
    if (claim.mine === null) this.#leases.released(claim, false, step);
    else this.#free(claim, step);
  }

  /** The token stays in the record. */
  #free(claim: CasClaim, step: StorageStep): void {
    if (claim.mine === null) return;
    const { record, version } = claim.mine;
    const next: LeaseRecord = { ...record, isHeld: false, meta: null };
    const op = this.#change(claim.name, version, encodeLeaseRecord(claim.name, next), !this.#rules.conditionalRelease, step);
    this.#go(claim, { kind: 'freeing', ops: [op], next }, step);
  }

  #freed(claim: CasClaim, { next }: CasDoingOf<'freeing'>, { ok, isLost, version }: Answer, step: StorageStep): void {
    if (!ok || isLost) {
      // An own write whose answer was lost may have landed since.
      this.#readRecord(claim, 'reading-own', step);
      return;
    }
    // Of one that is not grounded the floor would have to be read.
    if (next.isGrounded) this.#leases.ground.freed.keep(claim.name, { record: next, version });
    this.#letGo(claim, true, step);
  }

  #readOwn(claim: CasClaim, found: Found<LeaseRecord>, version: Version | null, step: StorageStep): void {
    const record = isUnreadable(found) ? null : found;
    const isOwn = record !== null && this.#startOf(claim, record) !== undefined;
    if (!isOwn) this.#letGo(claim, true, step);
    else if (claim.phase === 'releasing' && this.#leases.isOver(claim, step)) this.#letGo(claim, false, step);
    else {
      claim.mine = { record, version };
      this.#free(claim, step);
    }
  }

  /** Nothing of ours is in the record, or it does not matter any more. */
  #letGo(claim: CasClaim, isKnown: boolean, step: StorageStep): void {
    claim.mine = null;
    claim.starts = [];
    if (claim.phase === 'releasing') this.#leases.released(claim, isKnown, step);
    else if (claim.isCalledOff) this.#leases.end(claim, step);
    else this.#leases.stumble(claim, step);
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
      case 'reading-floor':
        this.#floorRead(claim, doing, answer, step);
        return;
      case 'looking':
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
      this.#tellUnreadable(claim, FLOOR_KEY, floor, step);
      this.#leases.refuse(claim, 'unreadable', step);
    } else if (ok) {
      this.#take(claim, seen.record, seen.version, floor, step);
    } else {
      this.#leases.stumble(claim, step);
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
        this.#leases.failRenewal(claim, step);
        return;
      case 'freeing':
        this.#freed(claim, doing, UNANSWERED, step);
        return;
      case 'reading-own':
        // A release that finds no answer is given up when the lease is over; until then the record is looked at again.
        if (claim.phase !== 'releasing' || this.#leases.isOver(claim, step)) this.#letGo(claim, false, step);
        else this.#leases.ground.desk.turn(claim, RESTING, this.#leases.later(this.#config.timing.retryUs, step));
        return;
      case 'checking-floor':
        this.#floorUnknown(claim, 'unanswered', step);
        return;
      case 'looking':
      case 'finding':
      case 'finding-floor':
      case 'raising-floor':
      case 'erasing':
        this.#questions.due(claim, step);
        return;
      case 'reading':
      case 'reading-floor':
        this.#leases.stumble(claim, step);
        return;
      case 'idle':
      case 'resting':
        if (claim.phase === 'releasing') this.#readRecord(claim, 'reading-own', step);
        else this.contend(claim, step);
        return;
    }
  }

  #go(claim: CasClaim, doing: CasDoing, step: StorageStep): void {
    // A renewal that is not cut at the deadline waits for its write for ever: that is what reviving means.
    const isEndless = !this.#rules.endIsFinal && doing.kind === 'renewing';
    const until: MonoUs = isEndless ? NEVER : monoAfter(step.monoUs, this.#config.timing.patienceUs);
    if (claim.phase === 'holding') this.#leases.pursue(claim, doing, until);
    else this.#leases.ground.desk.turn(claim, doing, until);
  }

  #tellUnreadable({ lease }: CasClaim, key: string, why: 'corrupt' | 'format', step: StorageStep): void {
    step.emit({ kind: 'unreadable', lease, key, why });
  }
}
