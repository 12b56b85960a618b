/**
 * The proposer: gets leases. An uncontended acquire is one round trip: the proposal goes out at once,
 * and a quorum of votes is the lease (rule 2 makes that safe). Whoever may wait and is refused goes to the
 * queues in the same step, and gives back what it got. A try that does not wait and meets others rests a
 * random while, and asks before it proposes.
 */
import {
  invariant,
  monoAfter,
  monoUs,
  NO_BALLOT,
  NumberMap,
  spanUs,
  wallUs,
  type BallotTime,
  type MonoUs,
  type NodeId,
  type VoterSet,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap } from '../../tables/index.ts';
import type { LeaseCommand, RefusalReason } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import type { Holder } from './holder.ts';
import { ballotLimit } from '../horizon.ts';
import { AHEAD, FOR_PREPARE, LOW, OUTBID, PREPARE, PROPOSE, QUIET, UNWAIT, WAIT, WATCHED, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';
import { Pursuit, type AttemptVerdict } from './pursuit.ts';
import { patienceUs, stretch } from '../timing.ts';

/** A try that does not wait gives up after so many attempts that met others or nobody. */
const TRIES_MAX = 4;
const BACK_OFF_DOUBLINGS = 5;
/** A turn that failed is tried again so often, at least, before it is the next one's too. */
const RESTS_IN_HEAD_START = 4;

type Acquire = Extract<LeaseCommand, { kind: 'acquire' }>;

export class Proposer {
  readonly #out: QuorumOutbox;
  readonly #holder: Holder;
  readonly #pursuits = new NumberMap<Pursuit>();
  readonly #due = new DueHeap();

  constructor(out: QuorumOutbox, holder: Holder) {
    this.#out = out;
    this.#holder = holder;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  acquire(command: Acquire, step: QuorumStep): void {
    const { lease, name, termUs, waitUs, keep, meta } = command;
    const voters = this.#out.votersOf(name);
    const waitUntil = monoAfter(step.monoUs, spanUs(waitUs));
    const pursuit = new Pursuit(lease, name, voters, termUs, keep, meta, waitUs > 0, waitUntil);
    this.#pursuits.set(lease, pursuit);
    this.#attempt(pursuit, step);
  }

  /** No lease comes of it any more, whatever is still under way. */
  cancel(lease: number, step: QuorumStep): void {
    const pursuit = this.#pursuits.get(lease);
    if (pursuit) this.#giveUp(pursuit, 'cancelled', step);
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  promised(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#current(from, message, 'preparing', step);
    if (!pursuit) return;
    pursuit.promised.add(from);
    if (pursuit.promised.size < this.#out.electorate.quorum) return;
    pursuit.phase = 'proposing';
    pursuit.clearRefusals();
    this.#propose(pursuit, step);
  }

  accepted(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#current(from, message, 'proposing', step);
    if (!pursuit) return;
    if ((message.flags & WATCHED) !== 0) pursuit.watched = true;
    pursuit.accepted.add(from);
    this.#count(pursuit, step);
  }

  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    // A late refusal of the PREPARE says nothing about the PROPOSE that followed it.
    const asked = (message.flags & FOR_PREPARE) !== 0 ? 'preparing' : 'proposing';
    const pursuit = this.#current(from, message, asked, step);
    if (!pursuit) return;
    if (!this.#out.rules.refusalIsNoVote && pursuit.phase === 'proposing') {
      pursuit.accepted.add(from);
      this.#count(pursuit, step);
      return;
    }
    if (!pursuit.refused.add(from)) return;
    pursuit.refuse(from, message, this.#reasonOf(message, pursuit, step));
    this.#judgeRefusals(pursuit, step);
  }

  /** The voter has begun another life: what an older one said counts no more. */
  uncount(voter: NodeId): void {
    for (const pursuit of this.#pursuits.values()) pursuit.uncount(voter);
  }

  /** What a refusal means here, where a clock may be too far off to go by: AHEAD if the voter's or our own is. */
  #reasonOf({ reason, clock }: QuorumMessage, pursuit: Pursuit, step: QuorumStep): number {
    const { aheadUsMax } = this.#out.timing;
    // Others may have driven ballots to the edge of what the voter believes, and its clock be a little off ours: that passes.
    if (reason === AHEAD) return pursuit.startWall > clock + aheadUsMax ? AHEAD : OUTBID;
    if (reason !== LOW) return reason;
    if (!this.#out.believes(clock, step)) return clock > ballotLimit(step, 2 * aheadUsMax) ? AHEAD : OUTBID;
    pursuit.above = Math.max(pursuit.above, clock) as BallotTime;
    return LOW;
  }

  /** It is free at one acceptor, and our turn there; a quorum of them makes an attempt worth while. */
  free(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (!pursuit) return;
    this.#standsAt(from, pursuit, step);
    if (pursuit.phase !== 'waiting') return;
    pursuit.free.add(from);
    if (this.#hasTurn(pursuit)) this.#takeTurn(pursuit, step);
  }

  /** One acceptor has it in its queue. */
  inLine(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (pursuit) this.#standsAt(from, pursuit, step);
  }

  /** One acceptor has no place for it. If that leaves too few for a quorum, nothing comes of waiting. */
  noPlace(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (!pursuit || message.ballot !== pursuit.ticket || pursuit.phase !== 'waiting') return;
    pursuit.inLine.delete(from);
    pursuit.noPlace.add(from);
    if (pursuit.noPlace.size > pursuit.voters.length - this.#out.electorate.quorum) this.#giveUp(pursuit, 'no-place', step);
  }

  wake(step: QuorumStep): void {
    for (let at = this.#due.nextAt; at <= step.monoUs; at = this.#due.nextAt) {
      const pursuit = this.#pursuits.get(this.#due.take(step.monoUs));
      // By the time that holds now: of those it was once planned for no snapshot knows.
      if (!pursuit || at !== firstOf(pursuit)) continue;
      if (pursuit.waits && step.monoUs >= pursuit.waitUntil) this.#giveUp(pursuit, 'timeout', step);
      else if (step.monoUs >= pursuit.until) this.#moveOn(pursuit, step);
    }
  }

  #moveOn(pursuit: Pursuit, step: QuorumStep): void {
    switch (pursuit.phase) {
      case 'preparing':
      case 'proposing':
        this.#fail(pursuit, step);
        return;
      case 'resting':
        this.#attempt(pursuit, step);
        return;
      case 'waiting':
        if (this.#hasTurn(pursuit)) this.#takeTurn(pursuit, step);
        else this.#stayInQueues(pursuit, step);
        return;
    }
  }

  /** The attempt an answer belongs to, if it is still worth anything: its deadline is data, checked here and not left to a timer (rule 1). */
  #current(from: NodeId, message: QuorumMessage, phase: Pursuit['phase'], step: QuorumStep): Pursuit | null {
    const pursuit = this.#pursuits.get(message.lease);
    if (!pursuit || (!pursuit.voters.includes(from) && this.#out.rules.answersFromAsked)) return null;
    pursuit.met.add(from);
    if (pursuit.ballot === NO_BALLOT || message.ballot !== pursuit.ballot || pursuit.phase !== phase) return null;
    if (step.monoUs >= pursuit.until && pursuit.phase !== 'resting') {
      this.#fail(pursuit, step);
      return null;
    }
    return pursuit;
  }

  /** Rule 5: distinct voters. */
  #count(pursuit: Pursuit, step: QuorumStep): void {
    pursuit.messages++;
    const votes = this.#out.rules.distinctVoters ? pursuit.accepted.size : pursuit.messages;
    if (votes >= this.#out.electorate.quorum) this.#win(pursuit, step);
  }

  #judgeRefusals(pursuit: Pursuit, step: QuorumStep): void {
    const { quorum } = this.#out.electorate;
    // Lost already, but of an even number of voters half is no quorum: a ticket, and the holder's name, need one that was heard.
    if (pursuit.refused.size > pursuit.voters.length - quorum && pursuit.heard >= quorum) this.#fail(pursuit, step);
  }

  // ── Attempts ───────────────────────────────────────────────────────────────────────────────────────

  #attempt(pursuit: Pursuit, step: QuorumStep): void {
    const { rules, timing } = this.#out;
    const attemptUs = patienceUs(timing, pursuit.unanswered);
    pursuit.begin(this.#out.nextBallot(step, pursuit.above), step.monoUs, step.wallUs);
    this.#dueAt(pursuit, rules.attemptDeadline ? monoAfter(step.monoUs, attemptUs) : monoUs(Infinity));
    if (!pursuit.careful) {
      pursuit.phase = 'proposing';
      this.#propose(pursuit, step);
      return;
    }
    pursuit.phase = 'preparing';
    pursuit.trips++;
    this.#out.compose(PREPARE, pursuit.lease, pursuit.name).ballot = pursuit.ballot;
    this.#out.sendTo(pursuit.voters, step);
  }

  #propose(pursuit: Pursuit, step: QuorumStep): void {
    pursuit.trips++;
    const message = this.#out.compose(PROPOSE, pursuit.lease, pursuit.name);
    message.ballot = pursuit.ballot;
    message.token = pursuit.ballot;
    message.termUs = pursuit.termUs;
    message.setMeta(pursuit.meta);
    this.#out.sendTo(pursuit.voters, step);
  }

  /** A quorum voted: the lease is checked against its deadline at the moment it is handed out (rule 11). */
  #win(pursuit: Pursuit, step: QuorumStep): void {
    const deadlineMono = monoAfter(pursuit.startMono, spanUs(pursuit.termUs));
    const deadlineWall = wallUs(pursuit.startWall + pursuit.termUs);
    const watchesWall = this.#out.rules.holderWatchesWall;
    if (this.#out.rules.attemptDeadline && (step.monoUs >= deadlineMono || (watchesWall && step.wallUs >= deadlineWall))) {
      this.#fail(pursuit, step);
      return;
    }
    const last = this.#holder.tokenOf(pursuit.name);
    if (pursuit.ballot <= last) {
      // Members that restarted have forgotten how high the name went, and this process has not: its votes go over to a ballot above.
      pursuit.careful = false;
      pursuit.above = last as BallotTime;
      this.#attempt(pursuit, step);
      return;
    }
    this.#checkGrant(pursuit, deadlineMono, step);
    this.#pursuits.delete(pursuit.lease);
    // Where it has the vote it has left the queue.
    this.#leaveQueues(pursuit, pursuit.accepted, step);
    this.#holder.hold(pursuit, deadlineMono, deadlineWall, step);
  }

  /** What every grant has, whatever led to it. */
  #checkGrant({ phase, ballot, accepted, termUs }: Pursuit, deadlineMono: MonoUs, { monoUs: mono }: QuorumStep): void {
    const { rules, electorate } = this.#out;
    invariant(phase === 'proposing' && ballot !== NO_BALLOT, 'an attempt won that is void');
    invariant(accepted.size >= electorate.quorum || !rules.distinctVoters, 'a lease was granted without a quorum of voters');
    invariant(deadlineMono <= mono + termUs, 'a lease was granted for longer than its term');
  }

  /** The attempt is void before its release leaves: a late vote finds nothing to add to (rule 6). */
  #fail(pursuit: Pursuit, step: QuorumStep): void {
    const { ballot, phase } = pursuit;
    const verdict = pursuit.verdict(this.#out.electorate.quorum);
    const unreached = pursuit.unreached();
    if (verdict === 'no-quorum') pursuit.unanswered++;
    const isLastTry = !pursuit.waits && pursuit.tries >= TRIES_MAX;
    if (verdict === 'low' && !isLastTry) {
      // Nobody is in the way, our clock lags behind a ballot of before: now that we know it, the next is above. Votes
      // that it got go over to that one at once; given back, they would be the next one's in line.
      pursuit.careful = false;
      this.#attempt(pursuit, step);
      return;
    }
    if (this.#out.rules.voidBeforeRelease) {
      pursuit.ballot = NO_BALLOT;
      pursuit.phase = 'resting';
    }
    // In line before anything is given back: in between, its place would be the next one's.
    const isQueued = pursuit.waits && this.#isWorthWaiting(verdict, pursuit) && this.#enterQueues(pursuit, step);
    if (phase === 'proposing') this.#giveBack(pursuit, ballot, step);
    if (isQueued) return;
    switch (verdict) {
      case 'low':
        this.#refuse(pursuit, 'contended', unreached, step);
        return;
      case 'held':
      case 'queued':
        if (pursuit.waits) this.#rest(pursuit, step);
        else this.#refuse(pursuit, verdict, unreached, step);
        return;
      case 'maybe-held':
        if (isLastTry) this.#refuse(pursuit, 'held', unreached, step);
        else this.#rest(pursuit, step);
        return;
      case 'split':
        pursuit.careful = true;
        if (isLastTry) this.#refuse(pursuit, 'contended', unreached, step);
        else this.#rest(pursuit, step);
        return;
      case 'ahead':
      case 'too-long':
      case 'no-room':
        this.#refuse(pursuit, verdict, unreached, step);
        return;
      case 'silent':
      case 'no-quorum':
        if (isLastTry) this.#refuse(pursuit, verdict, unreached, step);
        else this.#rest(pursuit, step);
        return;
    }
  }

  /** Releases what an attempt got, or may have got: split votes must not cost a term. */
  #giveBack(pursuit: Pursuit, ballot: BallotTime, step: QuorumStep): void {
    const voters = pursuit.voters.filter((voter) => !pursuit.refused.has(voter));
    this.#out.release(voters, pursuit.lease, pursuit.name, ballot, QUIET, step);
  }

  #rest(pursuit: Pursuit, step: QuorumStep): void {
    this.#dueAt(pursuit, this.#afterBackOff(pursuit, Infinity, step));
  }

  /** A random while, longer with every try: contenders that move in step split the vote for ever. */
  #afterBackOff(pursuit: Pursuit, longestUs: number, step: QuorumStep): MonoUs {
    const doubledUs = this.#out.timing.backOffUs * (1 << Math.min(pursuit.tries - 1, BACK_OFF_DOUBLINGS));
    const boundUs = Math.max(1, Math.min(doubledUs, longestUs));
    return monoAfter(step.monoUs, spanUs(this.#out.rules.jitter ? 1 + step.choose(boundUs) : 1));
  }

  // ── Queues ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Others are in the way; or answers came too late to be worth anything, and many who ask again and again would only
   * make them later. Those in line are told when it is free, and who stands there already stays whatever went wrong.
   */
  #isWorthWaiting(verdict: AttemptVerdict, { ticket }: Pursuit): boolean {
    if (!this.#out.rules.queues || verdict === 'low' || verdict === 'ahead') return false;
    if (verdict === 'too-long' || verdict === 'no-room') return false;
    return ticket !== NO_BALLOT || verdict !== 'silent';
  }

  /** The ticket is taken once, after a quorum has answered, in time or not: it is above every ticket that quorum knew. False if too few were. */
  #enterQueues(pursuit: Pursuit, step: QuorumStep): boolean {
    const { rules, timing, electorate } = this.#out;
    if (pursuit.ticket === NO_BALLOT) {
      if (pursuit.met.size < electorate.quorum) return false;
      pursuit.ticket = rules.ticketAfterQuorum ? this.#out.nextBallot(step) : pursuit.firstBallot;
      pursuit.restUntil = step.monoUs;
    } else {
      // It was its turn, and nothing came of it: not at once again, but well within a head start.
      pursuit.restUntil = this.#afterBackOff(pursuit, Math.floor(timing.headStartUs / RESTS_IN_HEAD_START), step);
    }
    pursuit.inLine.clear();
    this.#queue(pursuit, step);
    return true;
  }

  /** Tells all voters that it is there. */
  #queue(pursuit: Pursuit, step: QuorumStep): void {
    const { timing } = this.#out;
    pursuit.phase = 'waiting';
    pursuit.free.clear();
    pursuit.noPlace.clear();
    pursuit.resendGapUs = timing.attemptUs;
    pursuit.refreshAt = monoAfter(step.monoUs, timing.refreshUs);
    this.#wait(pursuit, pursuit.voters, step);
  }

  #stayInQueues(pursuit: Pursuit, step: QuorumStep): void {
    if (step.monoUs >= pursuit.refreshAt) {
      this.#queue(pursuit, step);
      return;
    }
    pursuit.resendGapUs *= 2;
    const missing = pursuit.voters.filter((voter) => !pursuit.inLine.has(voter));
    this.#wait(pursuit, missing, step);
  }

  #wait(pursuit: Pursuit, voters: readonly NodeId[], step: QuorumStep): void {
    const { refreshAt, resendGapUs } = pursuit;
    this.#dueAt(pursuit, voters.length === 0 ? refreshAt : monoUs(Math.min(refreshAt, step.monoUs + resendGapUs)));
    const message = this.#out.compose(WAIT, pursuit.lease, pursuit.name);
    message.ballot = pursuit.ticket;
    // Once all have answered, they answer again only if they had forgotten it.
    if (pursuit.inLine.size === pursuit.voters.length) message.flags = QUIET;
    this.#out.sendTo(voters, step);
  }

  #leaveQueues(pursuit: Pursuit, but: VoterSet | null, step: QuorumStep): void {
    if (pursuit.ticket === NO_BALLOT) return;
    this.#out.compose(UNWAIT, pursuit.lease, pursuit.name);
    this.#out.sendTo(but ? pursuit.voters.filter((voter) => !but.has(voter)) : pursuit.voters, step);
  }

  #inQueues(from: NodeId, message: QuorumMessage): Pursuit | null {
    const pursuit = this.#pursuits.get(message.lease);
    return pursuit && pursuit.ticket !== NO_BALLOT && pursuit.voters.includes(from) ? pursuit : null;
  }

  #standsAt(voter: NodeId, pursuit: Pursuit, step: QuorumStep): void {
    pursuit.inLine.add(voter);
    pursuit.noPlace.delete(voter);
    if (pursuit.isQueued || pursuit.inLine.size < this.#out.electorate.quorum) return;
    pursuit.isQueued = true;
    step.emit({ kind: 'queued', lease: pursuit.lease });
  }

  #hasTurn(pursuit: Pursuit): boolean {
    return pursuit.free.size >= this.#out.electorate.quorum;
  }

  #takeTurn(pursuit: Pursuit, step: QuorumStep): void {
    if (step.monoUs < pursuit.restUntil) {
      this.#dueAt(pursuit, pursuit.restUntil);
      return;
    }
    pursuit.careful = false;
    this.#attempt(pursuit, step);
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  #giveUp(pursuit: Pursuit, reason: RefusalReason, step: QuorumStep): void {
    const { ballot, phase } = pursuit;
    const unreached = pursuit.unreached();
    this.#pursuits.delete(pursuit.lease);
    if (phase === 'proposing' && ballot !== NO_BALLOT) this.#giveBack(pursuit, ballot, step);
    this.#refuse(pursuit, reason, unreached, step);
  }

  #refuse(pursuit: Pursuit, reason: RefusalReason, unreached: readonly number[], step: QuorumStep): void {
    this.#pursuits.delete(pursuit.lease);
    this.#leaveQueues(pursuit, null, step);
    const { rateErrorPpm } = this.#out.timing;
    const holder = pursuit.holderHint((span) => stretch(span, rateErrorPpm));
    step.emit({ kind: 'refused', lease: pursuit.lease, reason, holder, unreached });
  }

  #dueAt(pursuit: Pursuit, at: MonoUs): void {
    pursuit.until = at;
    const first = firstOf(pursuit);
    if (first !== Infinity) this.#due.push(first, pursuit.lease);
  }

  snapshot(): Snapshot {
    return this.#pursuits.values().map((pursuit) => pursuit.snapshot());
  }

  restore(snapshot: Snapshot): void {
    for (const told of snapshot as readonly Snapshot[]) {
      const pursuit = Pursuit.restore(told);
      this.#pursuits.set(pursuit.lease, pursuit);
      this.#dueAt(pursuit, pursuit.until);
    }
  }
}

/** When to look at it again. */
function firstOf({ waits, waitUntil, until }: Pursuit): MonoUs {
  return waits ? monoUs(Math.min(until, waitUntil)) : until;
}
