/**
 * The claimant of interval leases: it asks all members with LEASE until a majority has acknowledged, or a majority has answered and one of them refused. Then the
 * request is given up for good, and only after that withdrawn (rule 17). It is a part that a core contains: it is handed answers and instants, and
 * hands out messages and events.
 *
 * A block, wherever it is (`next`), is asked for behind the highest start that acceptors have named, a random number of blocks behind it that doubles with every
 * refusal, after a rest of a random part of as many round trips. A member that has no room for it anywhere, perhaps for a claim of everything that only it has heard of,
 * is set aside for a while: the others may be a majority without it. Where that does not help, members are asked in order from 0 on, each time where a majority may
 * have room at the earliest, until the block is had or there is no such place.
 */
import {
  invariant,
  NEVER,
  nodeId,
  quorumOf,
  TenureError,
  VoterSet,
  type Incarnation,
  type Interval,
  type MonoUs,
  type NodeId,
} from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { DueHeap } from '../tables/index.ts';
import { attemptOf, attemptTold, votersOf, type AttemptSnapshot } from './attempt-snapshot.ts';
import { beginClaim, hopelessOf, sweptTo, type IntervalClaim, type LeaseAttempt, type Wanted, type Withdrawal } from './claim.ts';
import { CLAIMS_MAX, WITHDRAWALS_MAX } from './config.ts';
import { checkBlockSize, checkInterval, checkSpace, INTEGER_MAX, type ClaimRefusal, type IntervalEvent } from './contract.ts';
import type { AcceptorAnswer, GenerationsTold, LeaseRequest, WithdrawRequest } from './messages.ts';
import type { ClaimantRules } from './rules.ts';

export type ClaimEvent = Extract<IntervalEvent, { kind: 'granted' | 'refused' | 'cleared' }>;

/** What a claimant is handed in every step. */
export interface ClaimantStep {
  readonly monoUs: MonoUs;
  choose(bound: number): number;
}

/** Takes a claimant's requests and events. */
export interface ClaimantOutlet<S> {
  ask(member: NodeId, request: LeaseRequest | WithdrawRequest, step: S): void;
  emit(event: ClaimEvent, step: S): void;
}

export interface ClaimantOptions {
  readonly incarnation: Incarnation;
  readonly members: number;
  readonly rttUs: number;
  /** Refused requests stay where they are: nothing is withdrawn. */
  readonly isLiteral: boolean;
}

/** A request without an answer is sent again after so many round trips, then after twice as many, and so on. */
const RESEND_TRIPS = 4;
const RESEND_DOUBLINGS = 6;
/** Blocks are sought among at most 2^10, after at most 2^10 round trips. */
const BACK_OFF_MAX = 10;
/** Spaces for which it remembers where the last block was. */
const HINTS_MAX = 1024;
/** After so many beginnings from 0 a block is sought in order. */
const LAPS_MAX = 2;

export class IntervalClaimant<S extends ClaimantStep> {
  readonly #incarnation: Incarnation;
  readonly #members: number;
  readonly #isLiteral: boolean;
  readonly #rules: ClaimantRules;
  readonly #outlet: ClaimantOutlet<S>;
  #rttUs: number;
  readonly #claims = new Map<number, IntervalClaim>();
  /** By counter, rising. */
  readonly #attempts = new Map<number, LeaseAttempt>();
  readonly #withdrawals = new Map<number, Withdrawal>();
  /** Only a mutant goes on counting votes for requests it has given up. */
  readonly #givenUp = new Map<number, LeaseAttempt>();
  /** Where to ask for the next block, by space. */
  readonly #hints = new Map<string, number>();
  /** Requests by their counter, and claims that rest by ~claim. */
  readonly #due = new DueHeap();
  #counter = 0;

  constructor({ incarnation, members, rttUs, isLiteral }: ClaimantOptions, rules: ClaimantRules, outlet: ClaimantOutlet<S>) {
    this.#incarnation = incarnation;
    this.#members = members;
    this.#rttUs = rttUs;
    this.#isLiteral = isLiteral;
    this.#rules = rules;
    this.#outlet = outlet;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  /** Claims that are not answered, or not cleared yet. */
  get underWay(): number {
    return this.#claims.size;
  }

  retime(rttUs: number): void {
    this.#rttUs = rttUs;
  }

  // ── What callers want ──────────────────────────────────────────────────────────────────────────────

  /** lease(from, to). Throws what is wrong with the argument. */
  claim(claim: number, space: string, from: number, to: number, step: S): void {
    checkSpace(space);
    checkInterval(from, to);
    this.#begin({ claim, space, from, size: to - from + 1 }, step);
  }

  next(claim: number, space: string, size: number, step: S): void {
    checkSpace(space);
    checkBlockSize(size);
    this.#begin({ claim, space, from: null, size }, step);
  }

  /** The claim is given up for good, unless it was answered already. */
  callOff(claim: number, step: S): void {
    const called = this.#claims.get(claim);
    if (!called) return;
    if (called.phase === 'decided') {
      if (!this.#rules.grantedIsKept) this.#withdrawGranted(called, step);
      return;
    }
    const attempt = this.#attempts.get(called.counter);
    called.phase = 'decided';
    called.counter = 0;
    if (attempt) this.#giveUp(attempt, called, step);
    this.#clearIfDone(called, step);
  }

  #begin(wanted: Wanted, step: S): void {
    if (!Number.isSafeInteger(wanted.claim) || wanted.claim < 1 || this.#claims.has(wanted.claim))
      throw new TenureError('TENURE_BAD_ARGUMENT', `${wanted.claim} is no number for a claim: they are from 1 on, and each has its own`);
    const claim = beginClaim(wanted);
    this.#claims.set(wanted.claim, claim);
    if (this.#claims.size > CLAIMS_MAX) this.#refuse(claim, 'limit', null, null, step);
    else if (wanted.from === null) this.#askForBlock(claim, this.#hints.get(wanted.space) ?? 0, step);
    else this.#ask(claim, wanted.from, step);
  }

  // ── LEASE ──────────────────────────────────────────────────────────────────────────────────────────

  #ask(claim: IntervalClaim, from: number, step: S): void {
    const counter = ++this.#counter;
    const attempt: LeaseAttempt = {
      claim: claim.claim,
      space: claim.space,
      counter,
      from,
      to: from + claim.size - 1,
      acks: Array.from({ length: this.#members }, () => 0),
      known: Array.from({ length: this.#members }, () => 0),
      nacks: new VoterSet(),
      refusal: null,
      next: -1,
      hopeless: new VoterSet(),
      nexts: Array.from({ length: this.#members }, () => -1),
      littered: this.#litteredBy(claim),
      messages: 0,
      resendAt: NEVER,
      resends: 0,
    };
    claim.attempts++;
    claim.counter = counter;
    claim.phase = 'asking';
    this.#attempts.set(counter, attempt);
    this.#resend(attempt, step);
    this.#sendLease(attempt, step);
  }

  /** Members that have not answered a withdrawal of this claim. */
  #litteredBy({ claim, pending }: IntervalClaim): number[] {
    if (pending === 0) return [];
    const littered = new VoterSet();
    for (const withdrawal of this.#withdrawals.values())
      if (withdrawal.claim === claim) for (const member of withdrawal.missing.toArray()) littered.add(member);
    return littered.toArray();
  }

  #sendLease(attempt: LeaseAttempt, step: S): void {
    for (let member = 0; member < this.#members; member++) this.#sendLeaseTo(member, attempt, step);
  }

  #sendLeaseTo(member: number, attempt: LeaseAttempt, step: S): void {
    const { space, counter, from, to, nacks } = attempt;
    if (this.#isNewest(attempt, member) || nacks.has(member)) return;
    const request = { kind: 'lease', space, incarnation: this.#incarnation, counter, from, to } as const;
    this.#outlet.ask(nodeId(member), { ...request, closed: this.#closedAt(member) }, step);
  }

  /** What this member has not answered is sent to it; when it is due again stays as it is. */
  reached(member: number, step: S): void {
    for (const attempt of this.#attempts.values()) this.#sendLeaseTo(member, attempt, step);
    for (const withdrawal of this.#withdrawals.values()) if (withdrawal.missing.has(member)) this.#sendWithdrawTo(member, withdrawal, step);
  }

  /** Whether this member has acknowledged, on the newest of its disks that any answer to the same request knows of. */
  #isNewest({ acks, known }: LeaseAttempt, member: number): boolean {
    const generation = acks[member] as number;
    return generation > 0 && (!this.#rules.newestDisksCount || generation >= (known[member] as number));
  }

  /** An ACK or NACK; any other answer is not for a claimant. */
  answered(from: NodeId, answer: AcceptorAnswer & GenerationsTold, step: S): void {
    if (answer.incarnation !== this.#incarnation || from >= this.#members) return;
    if (answer.kind === 'withdrawn') {
      this.#withdrawn(from, answer.counter, step);
      return;
    }
    const attempt = this.#attempts.get(answer.counter) ?? this.#givenUp.get(answer.counter);
    if (!attempt) return;
    attempt.messages++;
    for (const [member, generation] of answer.generations.entries())
      if (generation > (attempt.known[member] ?? Infinity)) attempt.known[member] = generation;
    if (answer.kind === 'ack') attempt.acks[from] = Math.max(attempt.acks[from] as number, answer.generations[from] ?? 0);
    else this.#refusedBy(from, attempt, answer);
    this.#decide(attempt, step);
  }

  #refusedBy(from: NodeId, attempt: LeaseAttempt, nack: Extract<AcceptorAnswer, { kind: 'nack' }>): void {
    const { why, overlapFrom, overlapTo, next } = nack;
    attempt.nacks.add(from);
    attempt.refusal ??= { why, overlapFrom, overlapTo };
    if (why === 'limit') attempt.refusal = { why, overlapFrom, overlapTo };
    else if (next < 0) attempt.hopeless.add(from);
    attempt.next = Math.max(attempt.next, next);
    attempt.nexts[from] = next;
  }

  #decide(attempt: LeaseAttempt, step: S): void {
    const { nacks, refusal } = attempt;
    const { majorityGrants, distinctMembers } = this.#rules;
    const quorum = quorumOf(this.#members);
    let voters = 0;
    for (let member = 0; member < this.#members; member++) if (this.#isNewest(attempt, member)) voters++;
    const votes = distinctMembers ? voters : attempt.messages - nacks.size;
    if (votes >= (majorityGrants ? quorum : quorum - 1)) {
      this.#grant(attempt, step);
      return;
    }
    // A member that has both acknowledged and refused, on two of its disks, is counted once.
    let answers = 0;
    for (let member = 0; member < this.#members; member++)
      if (nacks.has(member) ? !this.#isSetAside(member, attempt) : this.#isNewest(attempt, member)) answers++;
    // A sweep waits for all, until the request is sent again.
    const isSwept = (this.#claims.get(attempt.claim)?.sweep ?? -1) >= 0 && attempt.resends < 2;
    if (refusal !== null && answers >= (isSwept ? this.#members : quorum) && this.#attempts.has(attempt.counter))
      this.#refused(attempt, step);
  }

  /** Until the request is sent again, which is when the others should have answered. */
  #isSetAside(member: number, { claim: number, hopeless, resends }: LeaseAttempt): boolean {
    const claim = this.#claims.get(number);
    return resends < 2 && hopeless.has(member) && claim !== undefined && claim.sweep < 0 && claim.full.includes(member);
  }

  #grant({ claim: number, space, counter, from, to }: LeaseAttempt, step: S): void {
    const claim = this.#claims.get(number);
    this.#attempts.delete(counter);
    this.#givenUp.delete(counter);
    if (!claim) return;
    invariant(!this.#rules.givenUpBeforeWithdrawn || claim.counter === counter, 'a claim is granted that was given up');
    claim.phase = 'decided';
    claim.counter = 0;
    if (claim.from === null) this.#hint(space, to < INTEGER_MAX ? to + 1 : 0);
    this.#outlet.emit({ kind: 'granted', claim: number, space, from, to, attempts: claim.attempts }, step);
    claim.granted = counter;
    claim.nextFree = from;
    this.#clearIfDone(claim, step);
  }

  #refused(attempt: LeaseAttempt, step: S): void {
    const { refusal, next } = attempt;
    const claim = this.#claims.get(attempt.claim);
    invariant(claim !== undefined && refusal !== null, 'a claim is refused that is not under way');
    claim.counter = 0;
    if (claim.from === null && refusal.why === 'overlap' && !this.#isExhausted(attempt, claim)) {
      const doublings = Math.min(claim.attempts, BACK_OFF_MAX);
      claim.phase = 'resting';
      claim.restsUntil = (step.monoUs + step.choose((1 << doublings) * this.#rttUs)) as MonoUs;
      this.#due.push(claim.restsUntil, ~claim.claim);
      this.#giveUp(attempt, claim, step);
      return;
    }
    claim.phase = 'decided';
    this.#giveUp(attempt, claim, step);
    const { why, overlapFrom, overlapTo } = refusal;
    const isOverlap = why === 'overlap';
    const reason: ClaimRefusal = isOverlap && claim.from === null ? 'exhausted' : why;
    this.#refuse(claim, reason, isOverlap ? [overlapFrom, overlapTo] : null, next < 0 ? null : next, step);
  }

  /** Whether no majority has room for the block anywhere; if that is not certain, where it is asked for next. */
  #isExhausted(attempt: LeaseAttempt, claim: IntervalClaim): boolean {
    const { hopeless, next, from } = attempt;
    const quorum = quorumOf(this.#members);
    // A claim of everything that fewer have heard of may be refused yet: its integers are free again then.
    const isHopelessForAll = hopelessOf(attempt) > this.#members - quorum;
    if (claim.sweep >= 0) {
      const to = sweptTo(attempt, (member) => this.#isNewest(attempt, member), quorum);
      claim.sweep = to === Infinity ? 0 : to;
      return to === Infinity && isHopelessForAll;
    }
    if (from === 0) {
      claim.full = hopeless.toArray();
      if (isHopelessForAll) return true;
    }
    if (hopeless.size > this.#members - quorum || hopeless.toArray().some((member) => !claim.full.includes(member))) {
      claim.nextFree = -1;
      // Where there is little room, spreading leads out of it.
      claim.spread = 0;
      if (++claim.laps >= LAPS_MAX) claim.sweep = 0;
    } else {
      claim.nextFree = Math.max(claim.nextFree, next);
      claim.spread++;
    }
    return false;
  }

  #refuse(claim: IntervalClaim, why: ClaimRefusal, overlap: Interval | null, next: number | null, step: S): void {
    const { claim: number, space, attempts } = claim;
    claim.phase = 'decided';
    this.#outlet.emit({ kind: 'refused', claim: number, space, why, overlap, next, attempts }, step);
    this.#clearIfDone(claim, step);
  }

  // ── A block, wherever it is ────────────────────────────────────────────────────────────────────────

  #askForBlock(claim: IntervalClaim, base: number, step: S): void {
    const { size, spread, sweep } = claim;
    const last = INTEGER_MAX - size + 1;
    const apart = spread === 0 || base < 0 || sweep >= 0 ? 0 : step.choose(1 << Math.min(spread, BACK_OFF_MAX));
    const start = base + size * apart;
    // Near the end of all integers there is no room to spread, and a hint may be behind the last block.
    this.#ask(claim, Math.max(0, start <= last ? start : base <= last ? base : 0), step);
  }

  #hint(space: string, start: number): void {
    this.#hints.delete(space);
    this.#hints.set(space, start);
    if (this.#hints.size <= HINTS_MAX) return;
    for (const oldest of this.#hints.keys()) {
      this.#hints.delete(oldest);
      return;
    }
  }

  // ── WITHDRAW ───────────────────────────────────────────────────────────────────────────────────────

  /** For good: no vote that comes from here on is counted. Only then are members told. */
  #giveUp(attempt: LeaseAttempt, claim: IntervalClaim, step: S): void {
    const { space, counter, from, to } = attempt;
    this.#attempts.delete(counter);
    if (!this.#rules.givenUpBeforeWithdrawn) this.#givenUp.set(counter, attempt);
    if (this.#isLiteral) return;
    this.#withdraw({ claim: claim.claim, space, counter, from, to }, claim, step);
  }

  #withdraw(what: Pick<Withdrawal, 'claim' | 'space' | 'counter' | 'from' | 'to'>, claim: IntervalClaim, step: S): void {
    const missing = new VoterSet();
    for (let member = 0; member < this.#members; member++) missing.add(member);
    const withdrawal: Withdrawal = { ...what, missing, resendAt: NEVER, resends: 0 };
    claim.pending++;
    this.#withdrawals.set(what.counter, withdrawal);
    this.#resend(withdrawal, step);
    this.#sendWithdraw(withdrawal, step);
    if (this.#withdrawals.size > WITHDRAWALS_MAX) this.#abandonOldest(step);
  }

  #sendWithdraw(withdrawal: Withdrawal, step: S): void {
    for (const member of withdrawal.missing.toArray()) this.#sendWithdrawTo(member, withdrawal, step);
  }

  #sendWithdrawTo(member: number, { space, counter, from, to }: Withdrawal, step: S): void {
    const request = { kind: 'withdraw', space, incarnation: this.#incarnation, counter, from, to } as const;
    this.#outlet.ask(nodeId(member), { ...request, closed: this.#closedAt(member) }, step);
  }

  #withdrawn(from: NodeId, counter: number, step: S): void {
    const withdrawal = this.#withdrawals.get(counter);
    if (!withdrawal || !withdrawal.missing.delete(from) || withdrawal.missing.size > 0) return;
    this.#ended(withdrawal, true, step);
  }

  /** Some member was not reached for long: the claim's permission stays there. */
  #abandonOldest(step: S): void {
    for (const oldest of this.#withdrawals.values()) {
      this.#ended(oldest, false, step);
      return;
    }
  }

  #ended({ claim: number, counter }: Withdrawal, everywhere: boolean, step: S): void {
    this.#withdrawals.delete(counter);
    const claim = this.#claims.get(number);
    if (!claim) return;
    claim.pending--;
    claim.everywhere &&= everywhere;
    this.#clearIfDone(claim, step);
  }

  #clearIfDone(claim: IntervalClaim, step: S): void {
    if (claim.phase !== 'decided' || claim.pending > 0) return;
    // Only a mutant may still withdraw it.
    if (!this.#rules.grantedIsKept && claim.granted > 0) return;
    this.#claims.delete(claim.claim);
    this.#outlet.emit({ kind: 'cleared', claim: claim.claim, everywhere: claim.everywhere && !this.#isLiteral }, step);
  }

  /** Only a mutant withdraws a granted claim. */
  #withdrawGranted(claim: IntervalClaim, step: S): void {
    const { claim: number, space, size, nextFree: from, granted: counter } = claim;
    if (counter === 0) return;
    claim.granted = 0;
    this.#withdraw({ claim: number, space, counter, from, to: from + size - 1 }, claim, step);
  }

  /** Own claims up to this one are decided, and this member has answered their withdrawals. */
  #closedAt(member: number): number {
    let first = this.#counter + 1;
    for (const counter of this.#attempts.keys()) {
      first = counter;
      break;
    }
    for (const { counter, missing } of this.#withdrawals.values()) if (counter < first && missing.has(member)) first = counter;
    return first - 1;
  }

  // ── Instants ───────────────────────────────────────────────────────────────────────────────────────

  wake(step: S): void {
    for (let due = this.#due.take(step.monoUs); due !== -1; due = this.#due.take(step.monoUs)) this.#look(due, step);
  }

  #look(due: number, step: S): void {
    const claim = due < 0 ? this.#claims.get(~due) : undefined;
    if (claim?.phase === 'resting' && claim.restsUntil <= step.monoUs)
      this.#askForBlock(claim, claim.sweep < 0 ? claim.nextFree : claim.sweep, step);
    const attempt = this.#attempts.get(due);
    const withdrawal = this.#withdrawals.get(due);
    const errand = attempt ?? withdrawal;
    if (!errand || errand.resendAt > step.monoUs) return;
    this.#resend(errand, step);
    // Answers that were set aside count from here on.
    if (attempt) this.#decide(attempt, step);
    if (attempt && this.#attempts.has(due)) this.#sendLease(attempt, step);
    else if (withdrawal) this.#sendWithdraw(withdrawal, step);
  }

  #resend(errand: LeaseAttempt | Withdrawal, step: S): void {
    const trips = RESEND_TRIPS * (1 << Math.min(errand.resends++, RESEND_DOUBLINGS));
    errand.resendAt = (step.monoUs + trips * this.#rttUs) as MonoUs;
    this.#due.push(errand.resendAt, errand.counter);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return {
      claims: [...this.#claims.values()].map((claim) => ({ ...claim, full: [...claim.full] })).sort((a, b) => a.claim - b.claim),
      attempts: [...this.#attempts.values()].map(attemptTold),
      givenUp: [...this.#givenUp.values()].map(attemptTold),
      withdrawals: [...this.#withdrawals.values()].map(({ missing, ...rest }) => ({ ...rest, missing: missing.toArray() })),
      hints: [...this.#hints].map(([space, start]) => [space, start] as const),
      numbers: [this.#counter, this.#rttUs],
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as ClaimantSnapshot;
    for (const claim of told.claims) {
      this.#claims.set(claim.claim, { ...claim });
      if (claim.phase === 'resting') this.#due.push(claim.restsUntil, ~claim.claim);
    }
    for (const attempt of told.attempts) {
      this.#attempts.set(attempt.counter, attemptOf(attempt));
      this.#due.push(attempt.resendAt, attempt.counter);
    }
    for (const attempt of told.givenUp) this.#givenUp.set(attempt.counter, attemptOf(attempt));
    for (const { missing, ...rest } of told.withdrawals) {
      this.#withdrawals.set(rest.counter, { ...rest, missing: votersOf(missing) });
      this.#due.push(rest.resendAt, rest.counter);
    }
    for (const [space, start] of told.hints) this.#hints.set(space, start);
    [this.#counter, this.#rttUs] = told.numbers;
  }
}

interface ClaimantSnapshot {
  readonly claims: readonly IntervalClaim[];
  readonly attempts: readonly AttemptSnapshot[];
  readonly givenUp: readonly AttemptSnapshot[];
  readonly withdrawals: readonly (Omit<Withdrawal, 'missing'> & { readonly missing: readonly number[] })[];
  readonly hints: readonly (readonly [string, number])[];
  readonly numbers: readonly [number, number];
}
