/**
 * The asking side of Flease and PaxosLease: takes leases in two rounds over a quorum, renews and gives back what
 * it took, and looks again now and then while another process has it. Waiting is by looking again: these engines have no
 * queues, and the process that asks at the right moment wins.
 */
import {
  BallotClock,
  monoAfter,
  monoUs,
  spanUs,
  type BallotTime,
  type MonoUs,
  type NodeId,
  type SpanUs,
  type WallUs,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { retime } from '../timing.ts';
import type { NameTable } from '../../tables/index.ts';
import type { Electorate } from '../electorate.ts';
import type { Algorithm, RoundContext } from './algorithm.ts';
import type { Ballots } from './ballots.ts';
import { aboveWritten, Claim, Round, whyFailed, type Purpose } from './claim.ts';
import { Claims } from './claims.ts';
import type { LeaseCommand, RefusalReason } from '../contract.ts';
import type { RoundStep } from './config.ts';
import { checkGrant, checkRenewal } from './hold-checks.ts';
import { lookUp } from './look.ts';
import { FOR_READ, LETS_GO, type LeaseValue, type RoundMessage } from './messages.ts';
import { RoundOutbox } from './outbox.ts';
import { backOffUs, pollAgainUs, renewAgainUs, TRIES_MAX } from './rests.ts';
import { roundPatienceUs, type Pace } from './timing.ts';
import { deadlinesOf, endIn, hasRunOut, hintOf, isRenewalDue, isSkewed, needsUsAt, remainingOfClaim, setDeadline } from './time-left.ts';

type Acquire = Extract<LeaseCommand, { kind: 'acquire' }>;
/** Is told what a look-up is sure of. */
type Found = (name: Uint8Array, value: LeaseValue, step: RoundStep) => void;

export class Contender {
  readonly #surroundings: RoundContext;
  readonly #algorithm: Algorithm;
  readonly #out: RoundOutbox;
  readonly #ballots: Ballots;
  /** Tokens are hybrid time, whatever ballots are (rule 18). */
  readonly tokens: BallotClock = new BallotClock();
  readonly #claims: Claims;
  readonly #found: Found;
  /** Of round trips as they are measured. */
  #pace: Pace;

  constructor(surroundings: RoundContext, algorithm: Algorithm, electorate: Electorate, ballots: Ballots, names: NameTable, found: Found) {
    this.#found = found;
    this.#surroundings = surroundings;
    this.#algorithm = algorithm;
    this.#out = new RoundOutbox(surroundings, electorate, algorithm.teaches);
    this.#ballots = ballots;
    const isAbsolute = surroundings.timing.clocks === 'absolute';
    this.#claims = new Claims({ names, votersOf: (name) => this.#out.votersOf(name), isAbsolute, renews: algorithm.renews });
    this.#pace = surroundings.timing;
  }

  get wakeAt(): MonoUs {
    return this.#claims.nextAt;
  }

  /** How many entries its calendar has. */
  get planned(): number {
    return this.#claims.planned;
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────

  acquire({ lease, name, termUs, waitUs, keep, meta }: Acquire, step: RoundStep): void {
    const waitUntil = monoAfter(step.monoUs, spanUs(waitUs));
    const claim = new Claim(lease, name, this.#out.votersOf(name), termUs, keep, meta, waitUs > 0, waitUntil);
    this.#claims.add(claim);
    this.#begin(claim, 'take', step);
  }

  look(lease: number, name: Uint8Array, step: RoundStep): void {
    const claim = new Claim(lease, name, this.#out.votersOf(name), 0, false, undefined, false, monoUs(0));
    this.#claims.add(claim);
    this.#begin(claim, 'look', step);
  }

  cancel(lease: number, step: RoundStep): void {
    const claim = this.#claims.get(lease);
    if (claim && (claim.phase === 'asking' || claim.phase === 'resting')) this.#giveUp(claim, 'cancelled', step);
  }

  renew(lease: number, name: Uint8Array, termUs: number, step: RoundStep): void {
    const claim = this.#renewable(lease, name, step);
    if (!claim || claim.round !== null) return;
    claim.termUs = termUs;
    this.#begin(claim, 'renew', step);
  }

  /** What the owner says of itself, anew. A renewal that is under way is let end: proclaiming again and again must not keep it from that. */
  proclaim(lease: number, name: Uint8Array, meta: Uint8Array, number: number, step: RoundStep): void {
    const claim = this.#renewable(lease, name, step);
    if (!claim) return;
    claim.meta = meta;
    claim.proclaiming = number;
    if (claim.round === null) this.#begin(claim, 'renew', step);
  }

  /** Renews it no more. A renewal that is under way is void: the deadline stands from here on. */
  lapse(lease: number, name: Uint8Array, step: RoundStep): void {
    const claim = this.#claims.find(lease, name);
    if (claim?.phase !== 'holding') return;
    Object.assign(claim, { keep: false, round: null, proclaiming: 0 });
    this.#planHold(claim, step);
  }

  #renewable(lease: number, name: Uint8Array, step: RoundStep): Claim | null {
    const claim = this.#claims.find(lease, name);
    if (claim?.phase === 'holding' && this.#algorithm.renews) return claim;
    step.emit({ kind: 'renewal-failed', lease });
    return null;
  }

  /** Round trips take this long: rounds are as patient as that needs. */
  retime(rttUs: number): void {
    this.#pace = retime(this.#surroundings.timing, rttUs);
  }

  /** The owner has stopped before any other process hears of it (rule 6). With `inUs`, it goes on until then, and stops by itself (P5). */
  release(lease: number, name: Uint8Array, inUs: number, step: RoundStep): void {
    const claim = this.#claims.find(lease, name);
    if (!claim || claim.phase !== 'holding') {
      if (claim?.phase !== 'releasing') step.emit({ kind: 'released', lease, byQuorum: false });
      return;
    }
    if (remainingOfClaim(claim, this.#surroundings, step.monoUs, step.wallUs) <= 0) {
      this.#lose(claim, step);
      return;
    }
    claim.round = null;
    claim.phase = 'releasing';
    // One ballot for all copies of the release, above whatever was written: an answer to any copy counts.
    claim.written = aboveWritten(this.#ballots.next(step), claim);
    claim.endsLater = inUs > 0;
    if (claim.endsLater) {
      endIn(claim, inUs, step);
      step.emit({ kind: 'renewed', lease, ...deadlinesOf(claim, this.#surroundings) });
    }
    if (this.#surroundings.rules.learnersFirst) this.#out.teach(claim, LETS_GO, claim.meta, step);
    if (this.#surroundings.rules.stopBeforeRelease && inUs === 0) {
      claim.isStopped = true;
      step.emit({ kind: 'stopped', lease });
    }
    this.#sendRelease(claim, step);
  }

  /** By the members' clocks all of it may be over: nothing is held from here on, and nothing given back. */
  forfeit(step: RoundStep): void {
    for (const lease of this.#claims.takeHeld()) step.emit({ kind: 'lost', lease });
  }

  /** How long the lease may still be acted under, by both clocks (rules 11, 12); 0 when it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    const claim = this.#claims.peek(lease, name);
    if (!claim || (claim.phase !== 'holding' && claim.phase !== 'releasing')) return 0;
    return Math.max(0, remainingOfClaim(claim, this.#surroundings, mono, wall));
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  readAnswered(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const found = this.#current(from, message, 'reading', step);
    if (!found) return;
    const { claim, round } = found;
    const value = message.value();
    if (value !== null && !this.#surroundings.horizon.learn(value, this.tokens, step)) return;
    round.messages++;
    if (round.heard.has(from) && this.#surroundings.rules.distinctVoters) return;
    round.heard.add(from);
    round.told.push({ from, value, written: message.written, writer: message.writer });
    this.#judge(claim, round, step);
  }

  voted(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const found = this.#current(from, message, 'writing', step);
    if (!found) return;
    const { claim, round } = found;
    if (isSkewed(round, message.clockUs, this.#surroundings)) {
      round.skewed.add(from);
      this.#judgeLosses(claim, round, step);
      return;
    }
    round.messages++;
    round.votes.add(from);
    this.#count(claim, round, step);
  }

  nacked(from: NodeId, message: RoundMessage, step: RoundStep): void {
    this.#surroundings.horizon.heed(message, this.#ballots, this.tokens, step);
    const found = this.#current(from, message, (message.flags & FOR_READ) !== 0 ? 'reading' : 'writing', step);
    if (!found) return;
    const { claim, round } = found;
    if (!this.#surroundings.rules.refusalIsNoVote && round.stage === 'writing') {
      round.votes.add(from);
      this.#count(claim, round, step);
      return;
    }
    if (!round.refused.add(from)) return;
    round.nacks.push({ from, reason: this.#surroundings.horizon.reasonOf(message, round), value: message.value() });
    if (round.stage === 'reading' && round.heard.size >= this.#surroundings.quorum) this.#judge(claim, round, step);
    else this.#judgeLosses(claim, round, step);
  }

  released(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const claim = this.#claims.get(message.lease);
    if (!claim || claim.phase !== 'releasing' || message.ballot !== claim.written || !claim.voters.includes(from)) return;
    claim.released.add(from);
    if (claim.released.size < this.#surroundings.quorum) return;
    // Given back as of a later time: that time has to come.
    if (!claim.endsLater || hasRunOut(claim, this.#surroundings, step)) this.#endRelease(claim, true, step);
  }

  wake(step: RoundStep): void {
    for (let claim = this.#claims.take(step.monoUs); claim !== null; claim = this.#claims.take(step.monoUs)) this.#moveOn(claim, step);
  }

  #moveOn(claim: Claim, step: RoundStep): void {
    const { round, phase } = claim;
    if (phase === 'releasing') {
      const hasQuorum = claim.released.size >= this.#surroundings.quorum;
      if (hasRunOut(claim, this.#surroundings, step)) this.#endRelease(claim, hasQuorum, step);
      else if (hasQuorum) this.#claims.plan(claim, claim.deadlineMono);
      else this.#sendRelease(claim, step);
    } else if (phase === 'holding') {
      if (remainingOfClaim(claim, this.#surroundings, step.monoUs, step.wallUs) <= 0) this.#lose(claim, step);
      else if (round !== null) this.#fail(claim, round, step);
      else if (isRenewalDue(claim, this.#algorithm.renews, step.monoUs)) this.#begin(claim, 'renew', step);
      else this.#planHold(claim, step);
    } else if (claim.waits && step.monoUs >= claim.waitUntil) {
      this.#giveUp(claim, claim.waitEnds, step);
    } else if (round !== null) {
      this.#fail(claim, round, step);
    } else {
      this.#begin(claim, 'take', step);
    }
  }

  // ── Rounds ─────────────────────────────────────────────────────────────────────────────────────────

  #begin(claim: Claim, purpose: Purpose, step: RoundStep): void {
    const { rules } = this.#surroundings;
    const ballot = aboveWritten(this.#ballots.next(step), claim);
    const patienceUs = roundPatienceUs(this.#pace, purpose === 'renew', claim.termUs);
    const until = rules.attemptDeadline && rules.deadlineFromFirstMessage ? monoAfter(step.monoUs, patienceUs) : monoUs(Infinity);
    if (purpose === 'take') {
      claim.phase = 'asking';
      claim.tries++;
    }
    claim.trips++;
    claim.round = new Round(purpose, ballot, step.monoUs, step.wallUs, until);
    this.#claims.plan(claim, purpose === 'renew' ? monoUs(Math.min(until, claim.deadlineMono)) : until);
    this.#out.read(claim, claim.round, step);
  }

  /** The round an answer belongs to, if it is still worth anything (rule 1). */
  #current(from: NodeId, message: RoundMessage, stage: Round['stage'], step: RoundStep): { claim: Claim; round: Round } | null {
    const claim = this.#claims.get(message.lease);
    const round = claim?.round ?? null;
    if (!claim || round === null || round.ballot !== message.ballot || round.stage !== stage) return null;
    if (!claim.voters.includes(from) && this.#surroundings.rules.answersFromAsked) return null;
    if (step.monoUs < round.until) return { claim, round };
    this.#fail(claim, round, step);
    return null;
  }

  #judge(claim: Claim, round: Round, step: RoundStep): void {
    const { quorum, rules } = this.#surroundings;
    const answers = rules.distinctVoters ? round.heard.size : round.told.length;
    if (answers < (round.purpose === 'renew' && !rules.renewalNeedsQuorum ? 1 : quorum)) return;
    if (round.purpose === 'look') {
      this.#lookOn(claim, round, step);
      return;
    }
    const judgement = this.#algorithm.judge(claim, round, this.#surroundings, step);
    switch (judgement.kind) {
      case 'wait':
        return;
      case 'take':
        this.#write(claim, round, this.#ownValue(claim, round, step), step);
        return;
      case 'help':
        claim.seen = judgement.value;
        this.#write(claim, round, judgement.value, step);
        return;
      case 'held':
        this.#held(claim, judgement.value, step);
        return;
      case 'rest':
        claim.seen = judgement.value;
        if (round.purpose === 'renew') this.#fail(claim, round, step);
        else if (claim.waits) this.#rest(claim, spanUs(judgement.spanUs), step);
        else this.#giveUp(claim, 'held', step);
        return;
    }
  }

  #lookOn(claim: Claim, round: Round, step: RoundStep): void {
    const found = lookUp(claim, round, this.#surroundings, step);
    claim.seen = found.value;
    if (found.kind === 'again') {
      claim.round = round.again(this.#ballots.next(step));
      this.#out.read(claim, claim.round, step);
    } else if (found.kind !== 'wait') {
      if (found.sure !== null) this.#found(claim.name, found.sure, step);
      this.#answer(claim, found.kind === 'certain', step);
    }
  }

  #ownValue(claim: Claim, round: Round, step: RoundStep): LeaseValue {
    const { rules, timing, owner } = this.#surroundings;
    if (round.purpose === 'take') claim.token = this.tokens.next(step.wallUs, this.#surroundings.horizon.aheadUsMax);
    const fromUs = rules.deadlineFromFirstMessage ? round.startWall : step.wallUs;
    const untilUs = timing.clocks === 'absolute' ? fromUs + claim.termUs : claim.termUs;
    claim.written = round.ballot;
    round.proclaim = claim.proclaiming;
    return { holder: owner, holderLease: claim.lease, token: claim.token, untilUs, ownBallot: round.ballot, meta: claim.meta };
  }

  #write(claim: Claim, round: Round, value: LeaseValue, step: RoundStep): void {
    const { rules } = this.#surroundings;
    round.stage = 'writing';
    round.writeMono = step.monoUs;
    round.value = value;
    round.refused.clear();
    round.nacks = [];
    round.messages = 0;
    claim.trips++;
    if (rules.attemptDeadline && !rules.deadlineFromFirstMessage) {
      round.until = monoAfter(step.monoUs, roundPatienceUs(this.#pace, round.purpose === 'renew', claim.termUs));
      this.#claims.plan(claim, round.until);
    }
    this.#out.write(claim, round.ballot, value, round.purpose === 'renew', step);
  }

  /** Rule 5: distinct voters. Rule 8: a renewal needs as many as a new lease. */
  #count(claim: Claim, round: Round, step: RoundStep): void {
    const { quorum, rules } = this.#surroundings;
    const votes = rules.distinctVoters ? round.votes.size : round.messages;
    const needed = round.purpose === 'renew' && !rules.renewalNeedsQuorum ? 1 : quorum;
    if (votes < needed || round.value === null) return;
    if (!round.isFor(this.#surroundings.owner, claim)) this.#held(claim, round.value, step);
    else if (round.purpose === 'take') this.#win(claim, round, step);
    else this.#extend(claim, round, step);
  }

  /** The lease is checked against its end at the moment it is handed out (rule 11). */
  #win(claim: Claim, round: Round, step: RoundStep): void {
    setDeadline(claim, round, this.#surroundings);
    if (remainingOfClaim(claim, this.#surroundings, step.monoUs, step.wallUs) <= 0) {
      this.#fail(claim, round, step);
      return;
    }
    checkGrant(claim, round, this.#surroundings, step.monoUs);
    claim.round = null;
    claim.phase = 'holding';
    this.#planHold(claim, step);
    this.#out.teach(claim, 0, claim.meta, step);
    const { lease, token, trips, hasWaited } = claim;
    step.emit({ kind: 'granted', lease, token, ...deadlinesOf(claim, this.#surroundings), trips, waited: hasWaited });
  }

  #extend(claim: Claim, round: Round, step: RoundStep): void {
    if (remainingOfClaim(claim, this.#surroundings, step.monoUs, step.wallUs) <= 0) {
      this.#lose(claim, step);
      return;
    }
    const { deadlineMono, deadlineWall, untilUs } = claim;
    if (round.startMono + claim.termUs >= deadlineMono) setDeadline(claim, round, this.#surroundings);
    // A wall clock that was set forward while we asked has passed the new end before it began: the old one stands.
    if (remainingOfClaim(claim, this.#surroundings, step.monoUs, step.wallUs) <= 0) {
      Object.assign(claim, { deadlineMono, deadlineWall, untilUs });
      this.#fail(claim, round, step);
      return;
    }
    checkRenewal(claim, round, this.#surroundings, deadlineMono);
    claim.round = null;
    this.#planHold(claim, step);
    this.#out.teach(claim, 0, round.value?.meta, step);
    step.emit({ kind: 'renewed', lease: claim.lease, ...deadlinesOf(claim, this.#surroundings) });
    if (round.proclaim > 0) step.emit({ kind: 'proclaimed', lease: claim.lease, number: round.proclaim });
    if (claim.proclaiming > round.proclaim) this.#begin(claim, 'renew', step);
    else claim.proclaiming = 0;
  }

  #held(claim: Claim, value: LeaseValue, step: RoundStep): void {
    const { round } = claim;
    claim.seen = value;
    if (round?.purpose === 'renew') this.#fail(claim, round, step);
    else if (!claim.waits) this.#giveUp(claim, 'held', step);
    else {
      Object.assign(claim, { hasWaited: true, tries: 0, waitEnds: 'timeout' });
      this.#rest(claim, pollAgainUs(value, this.#surroundings, step), step);
    }
  }

  #judgeLosses(claim: Claim, round: Round, step: RoundStep): void {
    if (round.refused.size + round.skewed.size > claim.voters.length - this.#surroundings.quorum) this.#fail(claim, round, step);
  }

  /** The round is void before anything is given back: a late vote finds nothing to add to (rule 6). */
  #fail(claim: Claim, round: Round, step: RoundStep): void {
    const reason = whyFailed(claim, round, this.#surroundings.quorum);
    claim.waitEnds = reason === 'skewed' ? 'skewed' : 'timeout';
    const unreached = claim.voters.filter((voter) => !round.isHeard(voter));
    if (this.#surroundings.rules.voidBeforeRelease) claim.round = null;
    if (round.purpose === 'renew') {
      claim.round = null;
      step.emit({ kind: 'renewal-failed', lease: claim.lease });
      this.#claims.plan(claim, monoUs(Math.min(monoAfter(step.monoUs, renewAgainUs(this.#surroundings, step)), claim.deadlineMono)));
      return;
    }
    if (round.purpose === 'look') {
      this.#answer(claim, false, step);
      return;
    }
    this.#out.giveBackRound(claim, round, step);
    if (reason === 'too-long' || reason === 'ahead') this.#refuse(claim, reason, unreached, step);
    else if (claim.waits || claim.tries < TRIES_MAX) this.#rest(claim, backOffUs(claim.tries, this.#surroundings, step), step);
    else this.#refuse(claim, reason, unreached, step);
  }

  #rest(claim: Claim, restUs: SpanUs, step: RoundStep): void {
    if (this.#surroundings.rules.voidBeforeRelease) claim.round = null;
    claim.phase = 'resting';
    this.#claims.plan(claim, monoAfter(step.monoUs, restUs));
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  #giveUp(claim: Claim, reason: RefusalReason, step: RoundStep): void {
    const { round } = claim;
    const unreached = round === null ? [] : claim.voters.filter((voter) => !round.isHeard(voter));
    claim.round = null;
    if (round !== null) this.#out.giveBackRound(claim, round, step);
    this.#refuse(claim, reason, unreached, step);
  }

  #refuse(claim: Claim, reason: RefusalReason, unreached: readonly number[], step: RoundStep): void {
    this.#claims.delete(claim.lease);
    step.emit({ kind: 'refused', lease: claim.lease, reason, holder: hintOf(claim.seen, this.#surroundings, step), unreached });
  }

  #answer({ lease, seen }: Claim, certain: boolean, step: RoundStep): void {
    this.#claims.delete(lease);
    step.emit({ kind: 'answered', lease, holder: hintOf(seen, this.#surroundings, step), certain, meta: seen?.meta ?? null });
  }

  #sendRelease(claim: Claim, step: RoundStep): void {
    this.#out.release(claim, step);
    this.#claims.plan(claim, monoUs(Math.min(monoAfter(step.monoUs, this.#surroundings.timing.resendUs), claim.deadlineMono)));
  }

  #endRelease(claim: Claim, byQuorum: boolean, step: RoundStep): void {
    if (!claim.isStopped) step.emit({ kind: 'stopped', lease: claim.lease });
    if (!this.#surroundings.rules.learnersFirst) this.#out.teach(claim, LETS_GO, claim.meta, step);
    this.#claims.delete(claim.lease);
    step.emit({ kind: 'released', lease: claim.lease, byQuorum });
  }

  /** Past its end: the owner has stopped, so its remaining votes may go, unless learners whose clocks are behind count on it. */
  #lose(claim: Claim, step: RoundStep): void {
    const { rules, timing } = this.#surroundings;
    this.#claims.delete(claim.lease);
    step.emit({ kind: 'lost', lease: claim.lease });
    if (!rules.giveBack || (this.#algorithm.teaches && timing.clocks === 'absolute')) return;
    this.#out.giveBack(claim, claim.written, step);
  }

  #planHold(claim: Claim, step: RoundStep): void {
    this.#claims.plan(claim, needsUsAt(claim, this.#algorithm.renews, this.#surroundings, step.monoUs));
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return {
      ballots: this.#ballots.last,
      tokens: this.tokens.last,
      pace: { attemptUs: this.#pace.attemptUs, rttUs: this.#pace.rttUs },
      claims: this.#claims.snapshot(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as { ballots: BallotTime; tokens: BallotTime; pace: Pace; claims: Snapshot };
    this.#ballots.observe(told.ballots);
    this.tokens.observe(told.tokens);
    this.#pace = told.pace;
    this.#claims.restore(told.claims);
  }
}
