/**
 * The Δ-lease on plain registers: CONTEND, RENEW and RELEASE of the paper's Figures 2 and 5, corrected. Two registers an
 * item: x has the name of the last contender or holder, y what the writer of a name states of it. Nothing is asked of
 * the registers but that they are atomic and that a write lands at most once, however late.
 */
import { ballotTime, incarnation, monoAfter, monoUs, NEVER, wallUs, type MonoUs } from '../../../kernel/index.ts';
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
  isUnreadable,
  tokenAt,
  type Found,
  type NameRecord,
  type Uid,
} from './contents.ts';
import { StorageCore } from './core.ts';
import type { DeltaConfig, DeltaDoing, DoingOf, WhenRead } from './delta-config.ts';
import { DeltaData } from './delta-data.ts';
import { DeltaQuestions } from './delta-questions.ts';
import { isOpenToReaders, isReleased, readBackOf, tokenOf } from './delta-readers.ts';
import { nameKeyOf, statementKeyOf } from './keys.ts';
import type { Answer, Ends, StorageLeases, StorageProtocol } from './leases.ts';
import { ALL_DELTA_RULES, LITERAL_DELTA_RULES, type DeltaRules } from './rules.ts';
import type { Sighting } from './sightings.ts';

type DeltaClaim = StorageClaim<DeltaDoing>;

const IDLE: DeltaDoing = { kind: 'idle', ops: [] };
const RESTING: DeltaDoing = { kind: 'resting', ops: [] };
/** The common name of all readers, as section 10 of the paper has it: a mutant's. */
const BARE_READER: Uid = { owner: incarnation(0), lease: 0, seq: 0 };
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
  readonly #questions: DeltaQuestions;
  readonly #data: DeltaData;

  constructor(config: DeltaConfig, rules: DeltaRules, leases: StorageLeases<DeltaDoing>) {
    this.#config = config;
    this.#rules = rules;
    this.#leases = leases;
    this.#isLiteral = config.variant === 'literal';
    this.#data = new DeltaData(config, leases);
    this.#questions = new DeltaQuestions(config, leases, this.#data, {
      observationUs: (seen) => this.observationUs(seen),
      read: (claim, step) => this.#read(claim, !this.#isLiteral, step),
    });
  }

  /** The paper's own form has one name for all readers. */
  get canShare(): boolean {
    return !this.#isLiteral;
  }

  /** A reader has nothing to give back, so that nothing need be waited for. */
  isCommitted({ mode, doing: { kind } }: DeltaClaim): boolean {
    if (mode === 'shared' && this.#rules.readersRunOut) return false;
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
    // Another process writes, so it is alive.
    const isAlive = x !== null && sightings.note(claim.name, x, step.monoUs) && (x.owner !== owner || x.mode === 'shared');
    const freeAt = sightings.freeAt(claim.name, (seen) => this.observationUs(seen));
    const mayJoin = claim.mode === 'shared' && x !== null && isOpenToReaders(x, y, this.#rules);
    if (x === null) sightings.forget(claim.name);
    if (x !== null && !isReleased(x, y) && !mayJoin && readMono < freeAt) {
      // A reader that has not said yet that it holds will do so soon, or never.
      const isJoinable = claim.mode === 'shared' && x.mode === 'shared';
      if (isAlive && !claim.waits && !isJoinable) this.#leases.refuse(claim, 'held', step);
      else this.#leases.rest(claim, this.#isLiteral ? freeAt : monoUs(Math.min(this.#leases.later(timing.pollUs, step), freeAt)), step);
    } else if (step.monoUs < takesFrom() || this.#leases.isOutOfTime(claim, step)) {
      this.#leases.rest(claim, monoUs(Math.min(this.#leases.later(timing.pollUs, step), takesFrom())), step);
    } else if (this.#isLate(readMono, readWall, step)) {
      this.#leases.stumble(claim, step);
    } else {
      const least = Math.max((x?.token ?? 0) + 1, tokenAt(step));
      const token = claim.mode === 'shared' ? this.#leases.ground.desk.readersToken(least) : least;
      this.#write(claim, { readMono, readWall }, token, token, step);
    }
  }

  /** Rule 14: by both clocks, because a machine that sleeps sees nothing on its monotonic one. */
  #isLate(readMono: number, readWall: number, step: StorageStep): boolean {
    if (!this.#rules.timingCheck) return false;
    const byMono = step.monoUs - readMono;
    const ageUs = this.#rules.ageByBothClocks ? Math.max(byMono, step.wallUs - readWall) : byMono;
    return ageUs >= this.#config.timing.attemptUs;
  }

  /** `told` is the token in the register: no lower than any that the writer has seen there. */
  #write(claim: DeltaClaim, reading: WhenRead, token: number, told: number, step: StorageStep): void {
    const { unit } = this.#config;
    const { desk } = this.#leases.ground;
    const { name, termUs, meta, mode } = claim;
    const seq = desk.nextSeq();
    const bytes = encodeNameRecord(name, { ...this.#uid(claim, seq), token: told, termUs, meta, mode });
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
      // Data that waits goes before the renewal that tells of it.
      carried: claim.data === null ? claim.proclaiming : 0,
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
    const reading = this.#read(claim, claim.mode === 'shared', step);
    this.#go(claim, { ...reading, kind: 'reading-back', seq, token, writeMono, writeWall, carried }, this.#patience(step));
  }

  #confirm(claim: DeltaClaim, doing: DoingOf<'reading-back'>, step: StorageStep): void {
    const { seq, token, writeMono, writeWall, carried, readMono, readWall, x } = doing;
    const ends = this.#endsOf(claim, writeMono, writeWall, step);
    const { timing } = this.#config;
    const read = readBackOf(claim.mode, this.#uid(claim, seq), doing, this.#rules);
    // A reader that wrote after us and lives has said by now that it holds.
    const found = read === 'again' && step.monoUs >= writeMono + timing.pauseUs + timing.patienceUs ? 'lost' : read;
    if (found === 'again') {
      const again: DeltaDoing = { kind: 'pausing', ops: [], seq, token, writeMono, writeWall, carried };
      this.#go(claim, again, this.#leases.later(timing.retryUs, step));
    } else if (claim.phase === 'holding') {
      if (found === 'lost') this.#leases.failRenewal(claim, step);
      else this.#extend(claim, seq, ends, carried, step);
      if (found === 'mine') this.#invite(claim, seq, step);
    } else if (found === 'lost') {
      this.#lostRace(claim, { readMono, readWall }, x, step);
    } else if (step.monoUs >= ends.mono || (this.#rules.holderWatchesWall && step.wallUs >= ends.wall)) {
      this.#void(claim, { seq }, step);
    } else {
      claim.confirmed = seq;
      this.#leases.grant(claim, tokenOf(found, token, x, this.#leases.ground.desk), ends, step);
      if (found === 'mine') this.#invite(claim, seq, step);
    }
  }

  /** A reader that read its own name back says so: others may join it. It does not wait for the answer. */
  #invite(claim: DeltaClaim, seq: number, step: StorageStep): void {
    if (claim.mode !== 'shared' || claim.phase !== 'holding') return;
    const { name } = claim;
    step.write(
      this.#config.unit,
      statementKeyOf(name),
      encodeStatement(name, this.#uid(claim, seq), 'shared'),
      this.#leases.ground.desk.nextOp(),
    );
  }

  /** Another wrote after us. */
  #lostRace(claim: DeltaClaim, reading: WhenRead, x: Found<NameRecord>, step: StorageStep): void {
    if (x !== null && !isUnreadable(x)) this.#leases.ground.sightings.note(claim.name, x, step.monoUs);
    if (claim.isCalledOff) this.#leases.end(claim, step);
    // Line 12 of Figure 2 goes on with the name it read.
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
    const storing = this.#data.store(claim, step);
    if (storing !== null) this.#leases.pursue(claim, storing, this.#patience(step));
    else this.#renewName(claim, step);
  }

  #renewName(claim: DeltaClaim, step: StorageStep): void {
    if (this.#renewsBlindly(claim)) {
      this.#write(claim, { readMono: step.monoUs, readWall: step.wallUs }, claim.token, claim.token, step);
      return;
    }
    this.#leases.pursue(claim, this.#read(claim, false, step), this.#patience(step));
  }

  /** Section 7.1. A reader must state a name that it has read. */
  #renewsBlindly({ mode }: DeltaClaim): boolean {
    return this.#config.renewal === 'nd' && mode === 'exclusive';
  }

  /** Lines 1 to 5 of Figure 5. An own write that landed late is of this lease as well; and readers stand for each other. */
  #renewOn(claim: DeltaClaim, { x, readMono, readWall }: DoingOf<'reading'>, step: StorageStep): void {
    if (isUnreadable(x)) this.#tellUnreadable(claim, nameKeyOf(claim.name), x, step);
    const record = isUnreadable(x) ? null : x;
    const { owner, lease } = this.#uid(claim, 0);
    const isMine = record !== null && record.owner === owner && record.lease === lease;
    // A holder need not ask another reader for its word: no writer holds.
    const isReaders = claim.mode === 'shared' && record?.mode === 'shared';
    if (record !== null && (isMine || isReaders))
      this.#write(claim, { readMono, readWall }, claim.token, Math.max(claim.token, record.token), step);
    else this.#leases.failRenewal(claim, step);
  }

  #extend(claim: DeltaClaim, seq: number, ends: Ends, carried: number, step: StorageStep): void {
    if (!this.#rules.endIsFinal || !this.#leases.isOver(claim, step)) claim.confirmed = seq;
    this.#leases.extend(claim, ends, carried, step);
  }

  // ── RELEASE ────────────────────────────────────────────────────────────────────────────────────────

  giveBack(claim: DeltaClaim, step: StorageStep): void {
    const { doing } = claim;
    // Rule 16: others may hold by this reader's name. It runs out.
    if (claim.mode === 'shared' && this.#rules.readersRunOut) {
      this.#leases.released(claim, false, step);
      return;
    }
    const { desk } = this.#leases.ground;
    // The release names the uid of this write, if the answer comes before the deadline.
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

  /** A statement is true for ever, so it may be made again; after the deadline the claim does not wait for it. */
  #stated(claim: DeltaClaim, ok: boolean, step: StorageStep): void {
    if (ok || this.#leases.isOver(claim, step) || this.#isLiteral) this.#leases.released(claim, ok, step);
    else this.#leases.ground.desk.turn(claim, RESTING, this.#leases.later(this.#config.timing.retryUs, step));
  }

  // ── Questions and data ─────────────────────────────────────────────────────────────────────────────

  ask(claim: DeltaClaim, step: StorageStep): void {
    this.#questions.ask(claim, step);
  }

  /** Data is written before the renewal that tells of it. */
  sync(claim: DeltaClaim, data: Uint8Array, number: number, step: StorageStep): void {
    claim.data = data;
    claim.proclaiming = number;
    if (!this.isRenewing(claim)) this.renew(claim, step);
  }

  // ── Answers and instants ───────────────────────────────────────────────────────────────────────────

  answered(claim: DeltaClaim, answer: Answer, step: StorageStep): void {
    const { doing } = claim;
    switch (doing.kind) {
      case 'reading':
      case 'reading-back':
      case 'looking':
        this.#readAnswered(claim, doing, answer, step);
        return;
      case 'storing':
        if (this.#data.stored(claim, doing, answer.ok, step)) this.#renewName(claim, step);
        return;
      case 'fetching':
        this.#data.fetched(claim, answer, step);
        return;
      case 'writing':
        this.#written(claim, doing, answer.ok, step);
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

  #readAnswered(
    claim: DeltaClaim,
    doing: DoingOf<'reading' | 'reading-back' | 'looking'>,
    { op, ok, value }: Answer,
    step: StorageStep,
  ): void {
    if (!ok) {
      if (doing.kind === 'reading-back') this.#go(claim, { ...doing, ops: [] }, this.#leases.later(this.#config.timing.retryUs, step));
      else this.#readFailed(claim, step);
      return;
    }
    const ops = doing.ops.filter((one) => one !== op);
    const read =
      op === doing.opX
        ? { ...doing, ops, x: decodeNameRecord(claim.name, value) }
        : { ...doing, ops, y: decodeStatement(claim.name, value) };
    if (ops.length > 0) this.#leases.ground.desk.turn(claim, read, claim.at);
    else if (read.kind === 'looking') this.#questions.looked(claim, read, step);
    else if (read.kind === 'reading-back') this.#confirm(claim, read, step);
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
    } else if (this.#renewsBlindly(claim)) {
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
        this.#questions.look(claim, doing.first, step);
        return;
      case 'storing':
        if (this.#data.stored(claim, doing, false, step)) this.#renewName(claim, step);
        return;
      case 'fetching':
        this.#data.fetched(claim, null, step);
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

  #uid({ lease, mode }: DeltaClaim, seq: number): Uid {
    return mode === 'shared' && !this.#rules.readersHaveNames ? BARE_READER : { owner: this.#leases.ground.owner, lease, seq };
  }

  #tellUnreadable({ lease }: DeltaClaim, key: string, why: 'corrupt' | 'format', step: StorageStep): void {
    step.emit({ kind: 'unreadable', lease, key, why });
  }
}
