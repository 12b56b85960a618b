/**
 * The Δ-lease on plain registers: CONTEND, RENEW and RELEASE of the paper's Figures 2 and 5, corrected. Two registers an
 * item: x has the name of the last contender or holder, y what the writer of a name states of it. Nothing is asked of
 * the registers but that they are atomic and that a write lands at most once, however late.
 */
import { ballotTime, monoAfter, monoUs, NEVER, wallUs, type MonoUs } from '../../../kernel/index.ts';
import type { Boot } from '../../contract.ts';
import { stretch } from '../timing.ts';
import type { StorageClaim } from './claim.ts';
import type { StorageStep } from './config.ts';
import {
  decodeNameRecord,
  decodeStatement,
  encodeNameRecord,
  encodeNothing,
  encodeStatement,
  isSameUid,
  isUnreadable,
  tokenAt,
  type Found,
  type NameRecord,
  type Uid,
} from './contents.ts';
import { StorageCore } from './core.ts';
import type { DeltaConfig, DeltaDoing, DoingOf } from './delta-config.ts';
import { nameKeyOf, statementKeyOf } from './keys.ts';
import type { Answer, Ends, StorageLeases, StorageProtocol } from './leases.ts';
import { ALL_DELTA_RULES, LITERAL_DELTA_RULES, type DeltaRules } from './rules.ts';
import type { Sighting } from './sightings.ts';

type DeltaClaim = StorageClaim<DeltaDoing>;

const IDLE: DeltaDoing = { kind: 'idle', ops: [] };
const RESTING: DeltaDoing = { kind: 'resting', ops: [] };
/** A try whose writes were late so often gives up. */
const WRITES_MAX = 4;

export class DeltaLeaseCore extends StorageCore<DeltaDoing> {
  constructor(config: DeltaConfig, boot: Boot, rules: DeltaRules = config.variant === 'literal' ? LITERAL_DELTA_RULES : ALL_DELTA_RULES) {
    super(config, boot, rules, (leases) => new DeltaLease(config, rules, leases));
  }
}

class DeltaLease implements StorageProtocol<DeltaDoing> {
  readonly idle: DeltaDoing = IDLE;
  readonly resting: DeltaDoing = RESTING;
  readonly #config: DeltaConfig;
  readonly #rules: DeltaRules;
  readonly #leases: StorageLeases<DeltaDoing>;
  readonly #isLiteral: boolean;

  constructor(config: DeltaConfig, rules: DeltaRules, leases: StorageLeases<DeltaDoing>) {
    this.#config = config;
    this.#rules = rules;
    this.#leases = leases;
    this.#isLiteral = config.variant === 'literal';
  }

  isCommitted({ doing: { kind } }: DeltaClaim): boolean {
    return kind === 'writing' || kind === 'pausing' || kind === 'reading-back';
  }

  /** The paper's contender delays, and looks only then. */
  isResting({ doing }: DeltaClaim): boolean {
    return doing.kind === 'resting' && !this.#isLiteral;
  }

  isRenewing({ phase, doing }: DeltaClaim): boolean {
    return phase === 'holding' && doing.kind !== 'idle' && doing.kind !== 'resting';
  }

  observationUs({ termUs }: Sighting): number {
    const { timing } = this.#config;
    const { rateMargin, fullObservation, waitOfStore } = this.#rules;
    if (this.#isLiteral || (rateMargin && fullObservation && waitOfStore)) return timing.observationUs;
    const longestUs = waitOfStore ? timing.maxTermUs : termUs;
    const plainUs = longestUs + (fullObservation ? 6 * timing.deltaUs : 0);
    return rateMargin ? stretch(plainUs, timing.rateErrorPpm) : plainUs;
  }

  // ── CONTEND ────────────────────────────────────────────────────────────────────────────────────────

  contend(claim: DeltaClaim, step: StorageStep): void {
    if (claim.isCalledOff) this.#leases.end(claim, step);
    else this.#leases.ground.desk.turn(claim, this.#read(claim, !this.#isLiteral, step), this.#patience(step));
  }

  #read({ name }: DeltaClaim, withY: boolean, step: StorageStep): DoingOf<'reading'> {
    const { unit } = this.#config;
    const { desk } = this.#leases.ground;
    const opX = desk.nextOp();
    const ops = withY ? [opX, desk.nextOp()] : [opX];
    step.read(unit, nameKeyOf(name), opX);
    if (ops[1] !== undefined) step.read(unit, statementKeyOf(name), ops[1]);
    return { kind: 'reading', ops, opX, x: null, y: null, readMono: step.monoUs, readWall: step.wallUs };
  }

  /** Both registers were read. */
  #judge(claim: DeltaClaim, { x: found, y, readMono, readWall }: DoingOf<'reading'>, step: StorageStep): void {
    const { timing } = this.#config;
    const { sightings, takesFrom, owner } = this.#leases.ground;
    if (isUnreadable(y)) this.#tellUnreadable(claim, statementKeyOf(claim.name), y, step);
    if (isUnreadable(found)) {
      this.#tellUnreadable(claim, nameKeyOf(claim.name), found, step);
      if (this.#rules.unreadableIsRefused) {
        this.#leases.refuse(claim, 'unreadable', step);
        return;
      }
    }
    const x = isUnreadable(found) ? null : found;
    claim.failures = 0;
    // Somebody else writes: that somebody is alive.
    const isAlive = x !== null && sightings.note(claim.name, x, step.monoUs) && x.owner !== owner;
    const freeAt = sightings.freeAt(claim.name, (seen) => this.observationUs(seen));
    const isReleased = x !== null && !isUnreadable(y) && isSameUid(x, y);
    if (x === null) sightings.forget(claim.name);
    if (x !== null && !isReleased && readMono < freeAt) {
      if (isAlive && !claim.waits) this.#leases.refuse(claim, 'held', step);
      else this.#leases.rest(claim, this.#isLiteral ? freeAt : monoUs(Math.min(this.#leases.later(timing.pollUs, step), freeAt)), step);
    } else if (step.monoUs < takesFrom()) {
      this.#leases.rest(claim, monoUs(Math.min(this.#leases.later(timing.pollUs, step), takesFrom())), step);
    } else if (this.#isLate(readMono, readWall, step)) {
      this.#leases.stumble(claim, step);
    } else {
      this.#write(claim, { readMono, readWall }, Math.max((x?.token ?? 0) + 1, tokenAt(step)), step);
    }
  }

  /** Rule 14: by both clocks, because a machine that sleeps sees nothing on its monotonic one. */
  #isLate(readMono: number, readWall: number, step: StorageStep): boolean {
    if (!this.#rules.timingCheck) return false;
    const byMono = step.monoUs - readMono;
    const ageUs = this.#rules.ageByBothClocks ? Math.max(byMono, step.wallUs - readWall) : byMono;
    return ageUs >= this.#config.timing.attemptUs;
  }

  #write(claim: DeltaClaim, reading: Pick<DoingOf<'reading'>, 'readMono' | 'readWall'>, token: number, step: StorageStep): void {
    const { unit } = this.#config;
    const { desk, owner } = this.#leases.ground;
    const { lease, name, termUs, meta } = claim;
    const seq = desk.nextSeq();
    const bytes = encodeNameRecord(name, { owner, lease, seq, token, termUs, meta });
    // A client library that sends again by itself is what the second write of a mutant stands for.
    const ops = this.#rules.writeOnce ? [desk.nextOp()] : [desk.nextOp(), desk.nextOp()];
    claim.trips++;
    for (const op of ops) step.write(unit, nameKeyOf(name), bytes, op);
    const doing: DeltaDoing = {
      kind: 'writing',
      ops,
      ...reading,
      seq,
      token: ballotTime(token),
      writeMono: step.monoUs,
      writeWall: step.wallUs,
      carried: claim.proclaiming,
    };
    this.#go(claim, doing, claim.phase === 'holding' ? this.#renewalPatience(step) : this.#voidAt(reading.readMono, step));
  }

  #voidAt(readMono: MonoUs, step: StorageStep): MonoUs {
    const { attemptUs, observationUs } = this.#config.timing;
    return this.#rules.timingCheck ? monoAfter(readMono, attemptUs) : monoAfter(step.monoUs, observationUs);
  }

  /** The register may hold this name, now or later: it is never held, and never released (rule 14). */
  #void(claim: DeltaClaim, { seq }: Pick<DoingOf<'writing'>, 'seq'>, step: StorageStep): void {
    step.emit({ kind: 'voided', lease: claim.lease });
    this.#leases.ground.sightings.forget(claim.name);
    if (!this.#rules.voidReleasesNothing) this.#sayReleased(claim.name, this.#uid(claim, seq), step);
    if (!claim.waits && !claim.isCalledOff && claim.trips >= WRITES_MAX) this.#leases.refuse(claim, 'unreachable', step);
    else this.#leases.stumble(claim, step);
  }

  #pause(claim: DeltaClaim, { seq, token, writeMono, writeWall, carried }: DoingOf<'writing'>, step: StorageStep): void {
    const { timing } = this.#config;
    const pauseUs = this.#rules.readBackPause ? (this.#rules.rateMargin ? timing.pauseUs : 2 * timing.deltaUs) : 0;
    const doing: DeltaDoing = { kind: 'pausing', ops: [], seq, token, writeMono, writeWall, carried };
    this.#go(claim, doing, monoUs(step.monoUs + pauseUs));
  }

  /** Reads may be repeated. */
  #readBack(claim: DeltaClaim, doing: DoingOf<'pausing' | 'reading-back'>, step: StorageStep): void {
    const { seq, token, writeMono, writeWall, carried } = doing;
    const isOver = step.monoUs >= this.#endsOf(claim, writeMono, writeWall, step).mono;
    if (claim.phase === 'contending' && isOver) {
      this.#void(claim, { seq }, step);
      return;
    }
    const { ops, readMono, readWall } = this.#read(claim, false, step);
    const next: DeltaDoing = { kind: 'reading-back', ops, readMono, readWall, seq, token, writeMono, writeWall, carried };
    this.#go(claim, next, this.#patience(step));
  }

  #confirm(claim: DeltaClaim, doing: DoingOf<'reading-back'>, x: Found<NameRecord>, step: StorageStep): void {
    const { seq, token, writeMono, writeWall, carried, readMono, readWall } = doing;
    const ends = this.#endsOf(claim, writeMono, writeWall, step);
    const isMine = x !== null && !isUnreadable(x) && isSameUid(x, this.#uid(claim, seq));
    if (claim.phase === 'holding') {
      if (!isMine) this.#leases.failRenewal(claim, step);
      else this.#extend(claim, seq, ends, carried, step);
    } else if (!isMine) {
      this.#lostRace(claim, { readMono, readWall }, x, step);
    } else if (step.monoUs >= ends.mono || (this.#rules.holderWatchesWall && step.wallUs >= ends.wall)) {
      this.#void(claim, { seq }, step);
    } else {
      claim.confirmed = seq;
      this.#leases.grant(claim, token, ends, step);
    }
  }

  /** Another wrote after us. */
  #lostRace(claim: DeltaClaim, reading: Pick<DoingOf<'reading'>, 'readMono' | 'readWall'>, x: Found<NameRecord>, step: StorageStep): void {
    if (x !== null && !isUnreadable(x)) this.#leases.ground.sightings.note(claim.name, x, step.monoUs);
    if (claim.isCalledOff) this.#leases.end(claim, step);
    // Line 12 of Figure 2 goes on with what it read.
    else if (this.#isLiteral) this.#judge(claim, { kind: 'reading', ops: [], opX: 0, ...reading, x, y: null }, step);
    else if (!claim.waits && x !== null) this.#leases.refuse(claim, 'contended', step);
    else this.contend(claim, step);
  }

  /** At most a term from now, and from the write's invocation at most 4δ more (rule 14): on both clocks. */
  #endsOf({ termUs }: DeltaClaim, writeMono: number, writeWall: number, step: StorageStep): Ends {
    const slackUs = this.#rules.deadlineFromWrite ? this.#config.timing.slackUs : Infinity;
    const mono = monoUs(Math.min(step.monoUs + termUs, writeMono + termUs + slackUs));
    return { mono, wall: wallUs(Math.min(step.wallUs + termUs, writeWall + termUs + slackUs)) };
  }

  // ── RENEW ──────────────────────────────────────────────────────────────────────────────────────────

  renew(claim: DeltaClaim, step: StorageStep): void {
    if (this.#config.renewal === 'nd') {
      this.#write(claim, { readMono: step.monoUs, readWall: step.wallUs }, claim.token, step);
      return;
    }
    this.#leases.pursue(claim, this.#read(claim, false, step), this.#patience(step));
  }

  /** Lines 1 to 5 of Figure 5. An own write that landed late is of this lease as well. */
  #renewOn(claim: DeltaClaim, { x, readMono, readWall }: DoingOf<'reading'>, step: StorageStep): void {
    if (isUnreadable(x)) this.#tellUnreadable(claim, nameKeyOf(claim.name), x, step);
    const isMine = x !== null && !isUnreadable(x) && x.owner === this.#leases.ground.owner && x.lease === claim.lease;
    if (isMine) this.#write(claim, { readMono, readWall }, claim.token, step);
    else this.#leases.failRenewal(claim, step);
  }

  #extend(claim: DeltaClaim, seq: number, ends: Ends, carried: number, step: StorageStep): void {
    if (!this.#rules.endIsFinal || !this.#leases.isOver(claim, step)) claim.confirmed = seq;
    this.#leases.extend(claim, ends, carried, step);
  }

  // ── RELEASE ────────────────────────────────────────────────────────────────────────────────────────

  giveBack(claim: DeltaClaim, step: StorageStep): void {
    const { doing } = claim;
    const { desk } = this.#leases.ground;
    // The name that this write leaves behind is the one to release, if the answer comes before the deadline.
    if (doing.kind === 'writing' && doing.seq !== claim.confirmed && !this.#leases.isOver(claim, step)) {
      const until = monoUs(Math.min(step.monoUs + this.#config.timing.attemptUs, claim.deadlineMono));
      desk.turn(claim, { kind: 'awaiting-write', ops: doing.ops, seq: doing.seq }, until);
      return;
    }
    this.#state(claim, step);
  }

  #state(claim: DeltaClaim, step: StorageStep): void {
    const op = this.#sayReleased(claim.name, this.#uid(claim, claim.confirmed), step);
    this.#leases.ground.desk.turn(claim, { kind: 'stating', ops: [op] }, this.#patience(step));
  }

  /** Rule 15: the name is not touched. ⊥ over it, as in Figure 2, would wipe the next holder's name when it lands late. */
  #sayReleased(name: string, uid: Uid, step: StorageStep): number {
    const { unit } = this.#config;
    const op = this.#leases.ground.desk.nextOp();
    if (this.#rules.releaseApart) step.write(unit, statementKeyOf(name), encodeStatement(name, uid), op);
    else step.write(unit, nameKeyOf(name), encodeNothing(name), op);
    return op;
  }

  /** A statement is true for ever, so it may be made again; after the deadline nobody waits for it. */
  #stated(claim: DeltaClaim, ok: boolean, step: StorageStep): void {
    if (ok || this.#leases.isOver(claim, step) || this.#isLiteral) this.#leases.released(claim, ok, step);
    else this.#leases.ground.desk.turn(claim, RESTING, this.#leases.later(this.#config.timing.retryUs, step));
  }

  // ── Questions ──────────────────────────────────────────────────────────────────────────────────────

  ask(claim: DeltaClaim, step: StorageStep): void {
    if (claim.wants === 'erasure') {
      this.#leases.ground.desk.remove(claim);
      step.emit({ kind: 'compacted', lease: claim.lease, erased: false });
      return;
    }
    this.#look(claim, null, step);
  }

  #look(claim: DeltaClaim, first: DoingOf<'looking'>['first'], step: StorageStep): void {
    const own = this.#leases.ownHolder(claim.name, step);
    if (own !== null) {
      const remainingUsMax = this.#leases.remainingUs(own, step.monoUs, step.wallUs);
      this.#leases.answer(claim, { owner: this.#leases.ground.owner, token: own.token, remainingUsMax }, true, own.meta, step);
      return;
    }
    const reading = this.#read(claim, !this.#isLiteral, step);
    this.#leases.ground.desk.turn(claim, { ...reading, kind: 'looking', first }, this.#patience(step));
  }

  /**
   * One look tells what is there; a second that finds the same 2δ later, that no contender of before the first is about to write. Nobody is certain where
   * nothing was written, where what was written last is stated to be released, or has stood for an observation. Another's name is not: a void write
   * that landed late may stand over the name of a holder. While an epoch is waited out nothing is certain: the store may have lost what a holder wrote.
   */
  #looked(claim: DeltaClaim, { x, y, first, readMono }: DoingOf<'looking'>, step: StorageStep): void {
    if (isUnreadable(x)) {
      this.#tellUnreadable(claim, nameKeyOf(claim.name), x, step);
      this.#leases.answer(claim, null, false, null, step);
      return;
    }
    const isReleased = x !== null && y !== null && !isUnreadable(y) && isSameUid(x, y);
    if (x !== null) this.#leases.ground.sightings.note(claim.name, x, step.monoUs);
    if (first === null) {
      const until = monoAfter(step.monoUs, this.#config.timing.pauseUs);
      this.#leases.ground.desk.turn(claim, { kind: 'look-pausing', ops: [], first: { x, y } }, until);
      return;
    }
    const before = isUnreadable(first.x) ? null : first.x;
    const said = isUnreadable(first.y) ? null : first.y;
    const isSame = x === null ? before === null : isSameUid(x, before) && isReleased === isSameUid(before, said);
    const { sightings, takesFrom } = this.#leases.ground;
    const isFree = x === null || isReleased || readMono >= sightings.freeAt(claim.name, (seen) => this.observationUs(seen));
    const holder = isFree ? null : this.#leases.hint(claim.name, step);
    const certain = isSame && isFree && !this.#isLiteral && readMono >= takesFrom();
    this.#leases.answer(claim, holder, certain, x?.meta ?? null, step);
  }

  // ── Answers and instants ───────────────────────────────────────────────────────────────────────────

  answered(claim: DeltaClaim, answer: Answer, step: StorageStep): void {
    const { doing } = claim;
    switch (doing.kind) {
      case 'reading':
      case 'looking':
        this.#readAnswered(claim, doing, answer, step);
        return;
      case 'writing':
        this.#written(claim, doing, answer.ok, step);
        return;
      case 'reading-back':
        if (!answer.ok) this.#go(claim, { ...doing, ops: [] }, this.#leases.later(this.#config.timing.retryUs, step));
        else this.#confirm(claim, doing, decodeNameRecord(claim.name, answer.value), step);
        return;
      case 'awaiting-write':
        if (answer.ok && !this.#leases.isOver(claim, step)) claim.confirmed = doing.seq;
        this.#state(claim, step);
        return;
      case 'stating':
        this.#stated(claim, answer.ok, step);
        return;
      case 'idle':
      case 'resting':
      case 'pausing':
      case 'look-pausing':
        return;
    }
  }

  #readAnswered(claim: DeltaClaim, doing: DoingOf<'reading' | 'looking'>, { op, ok, value }: Answer, step: StorageStep): void {
    if (!ok) {
      this.#readFailed(claim, step);
      return;
    }
    const ops = doing.ops.filter((one) => one !== op);
    const read =
      op === doing.opX
        ? { ...doing, ops, x: decodeNameRecord(claim.name, value) }
        : { ...doing, ops, y: decodeStatement(claim.name, value) };
    if (ops.length > 0) this.#leases.ground.desk.turn(claim, read, claim.at);
    else if (read.kind === 'looking') this.#looked(claim, read, step);
    else if (claim.phase === 'holding') this.#renewOn(claim, read, step);
    else this.#judge(claim, read, step);
  }

  #readFailed(claim: DeltaClaim, step: StorageStep): void {
    if (claim.phase === 'asking') this.#leases.answer(claim, this.#leases.hint(claim.name, step), false, null, step);
    else if (claim.phase === 'holding') this.#leases.failRenewal(claim, step);
    else this.#leases.stumble(claim, step);
  }

  #written(claim: DeltaClaim, doing: DoingOf<'writing'>, ok: boolean, step: StorageStep): void {
    const { seq, writeMono, writeWall, readMono, readWall, carried } = doing;
    if (claim.phase === 'contending') {
      if (ok && !this.#isLate(readMono, readWall, step)) this.#pause(claim, doing, step);
      else this.#void(claim, doing, step);
    } else if (!ok) {
      this.#leases.failRenewal(claim, step);
    } else if (this.#config.renewal === 'nd') {
      this.#extend(claim, seq, this.#endsOf(claim, writeMono, writeWall, step), carried, step);
    } else {
      if (!this.#leases.isOver(claim, step)) claim.confirmed = seq;
      this.#pause(claim, doing, step);
    }
  }

  due(claim: DeltaClaim, step: StorageStep): void {
    const { doing } = claim;
    switch (doing.kind) {
      case 'reading':
      case 'looking':
        this.#readFailed(claim, step);
        return;
      case 'writing':
        if (claim.phase === 'holding') this.#leases.failRenewal(claim, step);
        else this.#void(claim, doing, step);
        return;
      case 'pausing':
      case 'reading-back':
        this.#readBack(claim, doing, step);
        return;
      case 'awaiting-write':
        this.#state(claim, step);
        return;
      case 'stating':
        this.#leases.released(claim, false, step);
        return;
      case 'look-pausing':
        this.#look(claim, doing.first, step);
        return;
      case 'idle':
      case 'resting':
        if (claim.phase === 'releasing') this.#state(claim, step);
        else this.contend(claim, step);
        return;
    }
  }

  #go(claim: DeltaClaim, doing: DeltaDoing, until: MonoUs): void {
    if (claim.phase === 'holding') this.#leases.pursue(claim, doing, until);
    else this.#leases.ground.desk.turn(claim, doing, until);
  }

  /** How long an answer is waited for. The paper's processes wait for every one. */
  #patience({ monoUs: now }: StorageStep): MonoUs {
    return this.#isLiteral ? NEVER : monoAfter(now, this.#config.timing.patienceUs);
  }

  /** A renewal that is not cut at the deadline waits for its write for ever: that is what reviving means. */
  #renewalPatience(step: StorageStep): MonoUs {
    return this.#rules.endIsFinal ? this.#patience(step) : NEVER;
  }

  #uid({ lease }: DeltaClaim, seq: number): Uid {
    return { owner: this.#leases.ground.owner, lease, seq };
  }

  #tellUnreadable({ lease }: DeltaClaim, key: string, why: 'corrupt' | 'format', step: StorageStep): void {
    step.emit({ kind: 'unreadable', lease, key, why });
  }
}
