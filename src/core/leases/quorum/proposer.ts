/**
 * The proposer: gets leases. An uncontended acquire is one round trip: the proposal goes out at once,
 * and a quorum of votes is the lease (rule 2 makes that safe). A pursuit that may wait and is refused goes to the
 * queues in the same step, and gives back the votes it got. A try that does not wait and meets other proposers rests
 * a random while, and asks before it proposes.
 */
import {
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
import type { LeaseCommand, RefusalReason, UpgradeRefusal } from '../contract.ts';
import { afterBackOff, checkWin, reasonOf } from './attempts.ts';
import type { QuorumStep } from './config.ts';
import type { Holders } from './holders.ts';
import { FOR_PREPARE, PARK, PREPARE, PROPOSE, QUIET, RENEWS, UPGRADING, WATCHED, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE, SHARED, slotMode, slotOf } from './modes.ts';
import type { QuorumOutbox } from './outbox.ts';
import { Pursuit, type AttemptVerdict } from './pursuit.ts';
import { PlaceInLine } from './place-in-line.ts';
import { patienceUs, stretch } from '../timing.ts';

/** A try that does not wait gives up after so many attempts that met other processes or too few voters. */
const TRIES_MAX = 4;
/** Of many slots another may be free each time. */
const SLOT_TRIES_MAX = 16;
/** A turn that failed is tried again so often, at least, before it is the next one's too. */
const RESTS_IN_HEAD_START = 4;

type Acquire = Extract<LeaseCommand, { kind: 'acquire' }>;

export class Proposer {
  readonly #out: QuorumOutbox;
  readonly #holder: Holders;
  readonly #pursuits = new NumberMap<Pursuit>();
  readonly #due = new DueHeap();
  readonly #standing: PlaceInLine;

  constructor(out: QuorumOutbox, holder: Holders) {
    this.#out = out;
    this.#holder = holder;
    this.#standing = new PlaceInLine(out, (pursuit, at) => this.#dueAt(pursuit, at));
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  acquire(command: Acquire, step: QuorumStep): void {
    const { lease, name, waitUs } = command;
    const voters = this.#out.votersOf(name);
    const waitUntil = monoAfter(step.monoUs, spanUs(waitUs));
    const pursuit = new Pursuit(command, voters, waitUs > 0, waitUntil);
    pursuit.placement = this.#out.placementOf(name);
    this.#pursuits.set(lease, pursuit);
    if (pursuit.slots > 0 && pursuit.slot < 0) pursuit.mode = slotMode(this.#out.spread(lease, pursuit.slots));
    this.#begin(pursuit, step);
  }

  /** A reader becomes the only one: an attempt of its own lease, which it holds meanwhile. */
  upgrade({ lease, name, waitUs }: Extract<LeaseCommand, { kind: 'upgrade' }>, step: QuorumStep): void {
    if (this.#pursuits.has(lease)) return;
    if (!this.#holder.canUpgrade(lease, name, step)) {
      step.emit({ kind: 'upgrade-refused', lease, reason: 'not-shared', holder: null, unreached: [] });
      return;
    }
    const wanted = { lease, name, termUs: this.#holder.termUsOf(lease, name), keep: true };
    const pursuit = new Pursuit(wanted, this.#out.votersOf(name), waitUs > 0, monoAfter(step.monoUs, spanUs(waitUs)), true);
    pursuit.placement = this.#out.placementOf(name);
    this.#pursuits.set(lease, pursuit);
    this.#begin(pursuit, step);
  }

  /** The lease of an upgrade is over. */
  drop(lease: number, step: QuorumStep): void {
    const pursuit = this.#pursuits.get(lease);
    if (pursuit?.upgrades) this.#giveUp(pursuit, 'cancelled', step);
  }

  /** Voters that know exclusive leases only count as refusing all others. */
  #begin(pursuit: Pursuit, step: QuorumStep): void {
    const isPlain = pursuit.mode === EXCLUSIVE && !pursuit.upgrades;
    if (isPlain || !this.#out.isMostlyPlain(pursuit.placement)) this.#attempt(pursuit, step);
    else
      this.#refuse(
        pursuit,
        'old-version',
        pursuit.voters.filter((voter) => this.#out.isPlain(voter)),
        step,
      );
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
    if (!this.#isQuorum(pursuit.promised, pursuit)) return;
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
    pursuit.refuse(from, message, reasonOf(message, pursuit, this.#out, step));
    this.#judgeRefusals(pursuit, step);
  }

  /** The voter has begun another life: what an older one said counts no more. */
  uncount(voter: NodeId): void {
    for (const pursuit of this.#pursuits.values()) pursuit.uncount(voter);
  }

  /** It is free at one acceptor, and our turn there; a quorum of them makes an attempt worth while. */
  free(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (!pursuit) return;
    this.#standing.standsAt(from, pursuit, step);
    if (pursuit.phase !== 'waiting') return;
    pursuit.free.add(from);
    if (message.freeSlots.length > 0) pursuit.toldFree(from, message.freeSlots, message.mode);
    if (this.#hasTurn(pursuit)) this.#takeTurn(pursuit, step);
  }

  /** A holder would hand over to this one: a fresh attempt, whose proposals wait at the voters for the holder's release. */
  invited(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (!pursuit || pursuit.upgrades || pursuit.phase !== 'waiting') return;
    pursuit.careful = false;
    pursuit.parks = true;
    if (slotOf(message.mode) >= 0 && slotOf(message.mode) < pursuit.slots) pursuit.mode = message.mode;
    this.#attempt(pursuit, step);
  }

  /** One acceptor has it in its queue. */
  inLine(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (pursuit) this.#standing.standsAt(from, pursuit, step);
  }

  /** One acceptor has no place for it. If that leaves too few for a quorum, nothing comes of waiting. */
  noPlace(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const pursuit = this.#inQueues(from, message);
    if (!pursuit || message.ballot !== pursuit.ticket || pursuit.phase !== 'waiting') return;
    pursuit.inLine.delete(from);
    pursuit.noPlace.add(from);
    if (!this.#out.electorate.isLost(pursuit.noPlace, pursuit.placement)) return;
    this.#giveUp(pursuit, message.reason === UPGRADING ? 'upgrading' : 'no-place', step);
  }

  wake(step: QuorumStep): void {
    for (let at = this.#due.nextAt; at <= step.monoUs; at = this.#due.nextAt) {
      const pursuit = this.#pursuits.get(this.#due.take(step.monoUs));
      // Skip stale heap entries: snapshots keep only the current deadline.
      if (!pursuit || at !== pursuit.firstAt) continue;
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
        if (this.#hasTurn(pursuit) && !pursuit.asksAgain) this.#takeTurn(pursuit, step);
        else this.#standing.stay(pursuit, step);
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
    const isWon = this.#out.rules.distinctVoters ? this.#isQuorum(pursuit.accepted, pursuit) : pursuit.messages >= this.#quorumOf(pursuit);
    if (isWon) this.#win(pursuit, step);
  }

  #judgeRefusals(pursuit: Pursuit, step: QuorumStep): void {
    // The try is lost, but half of an even number of voters is no quorum: a ticket, and the holder's name, need answers from a quorum.
    const isLost = this.#out.electorate.isLost(pursuit.refused, pursuit.placement);
    if (isLost && pursuit.heard >= this.#quorumOf(pursuit)) this.#fail(pursuit, step);
  }

  #isQuorum(voters: VoterSet, { placement }: Pursuit): boolean {
    return this.#out.electorate.isQuorum(voters, placement);
  }

  #quorumOf({ placement }: Pursuit): number {
    return this.#out.electorate.quorumFor(placement);
  }

  /** Other voters, or other quorums of them: attempts under way begin anew, at once, and count as no further try. */
  viewChanged(step: QuorumStep): void {
    for (const pursuit of this.#pursuits.values()) {
      pursuit.placement = this.#out.placementOf(pursuit.name);
      pursuit.moveTo(this.#out.votersOf(pursuit.name));
      if (pursuit.phase === 'waiting') this.#standing.enter(pursuit, step);
      if (pursuit.phase !== 'preparing' && pursuit.phase !== 'proposing') continue;
      pursuit.tries--;
      this.#attempt(pursuit, step);
    }
  }

  votersOf(lease: number): readonly NodeId[] | undefined {
    return this.#pursuits.get(lease)?.voters;
  }

  // ── Attempts ───────────────────────────────────────────────────────────────────────────────────────

  #attempt(pursuit: Pursuit, step: QuorumStep): void {
    const { rules, timing } = this.#out;
    pursuit.termUs = this.#out.termUsWithin(pursuit.termUsAsked, pursuit.quarantineUs);
    const attemptUs = patienceUs(timing, pursuit.unanswered);
    const above = pursuit.upgrades
      ? (Math.max(pursuit.above, this.#holder.ballotOf(pursuit.lease, pursuit.name)) as BallotTime)
      : pursuit.above;
    pursuit.begin(this.#out.nextBallot(step, above), step.monoUs, step.wallUs);
    if (pursuit.upgrades && !this.#holder.beginUpgrade(pursuit, step)) {
      this.#giveUp(pursuit, 'not-shared', step);
      return;
    }
    this.#dueAt(pursuit, rules.attemptDeadline ? monoAfter(step.monoUs, attemptUs) : monoUs(Infinity));
    // Readers and slots ask for no promises: several of them may ask at once.
    if (!pursuit.careful || pursuit.mode !== EXCLUSIVE || pursuit.upgrades) {
      pursuit.phase = 'proposing';
      this.#propose(pursuit, step);
      return;
    }
    pursuit.phase = 'preparing';
    pursuit.trips++;
    const message = this.#out.compose(PREPARE, pursuit.lease, pursuit.name);
    message.ballot = pursuit.ballot;
    this.#out.inView(message);
    this.#out.sendTo(pursuit.voters, step);
  }

  #propose(pursuit: Pursuit, step: QuorumStep): void {
    pursuit.trips++;
    const message = this.#out.compose(PROPOSE, pursuit.lease, pursuit.name);
    message.ballot = pursuit.ballot;
    message.token = pursuit.ballot;
    message.termUs = pursuit.termUs + (this.#out.rules.quarantineInVote ? pursuit.quarantineUs : 0);
    message.setMeta(pursuit.meta);
    if (pursuit.parks) message.flags = PARK;
    this.#out.inView(message);
    if (pursuit.mode !== EXCLUSIVE) message.setMode(pursuit.mode, pursuit.slots);
    if (pursuit.upgrades) {
      message.flags |= RENEWS;
      this.#holder.fillUpgrade(pursuit, message);
    }
    this.#out.sendFor(pursuit.upgrades ? SHARED : pursuit.mode, pursuit.voters, step);
  }

  /** A quorum voted: the lease is checked against its deadline at the moment it is handed out (rule 11). */
  #win(pursuit: Pursuit, step: QuorumStep): void {
    const isFromStart = !pursuit.parks || this.#out.rules.handedFromStart;
    const deadlineMono = monoAfter(isFromStart ? pursuit.startMono : step.monoUs, spanUs(pursuit.termUs));
    const deadlineWall = wallUs((isFromStart ? pursuit.startWall : step.wallUs) + pursuit.termUs);
    const watchesWall = this.#out.rules.holderWatchesWall;
    if (this.#out.rules.attemptDeadline && (step.monoUs >= deadlineMono || (watchesWall && step.wallUs >= deadlineWall))) {
      this.#fail(pursuit, step);
      return;
    }
    const last = pursuit.mode === EXCLUSIVE && !pursuit.upgrades ? this.#holder.tokenOf(pursuit.name) : NO_BALLOT;
    if (pursuit.ballot <= last) {
      // Members that restarted have forgotten how high the name went, and this process has not: its votes go over to a ballot above.
      pursuit.careful = false;
      pursuit.above = last as BallotTime;
      this.#attempt(pursuit, step);
      return;
    }
    checkWin(pursuit, deadlineMono, this.#out, step);
    this.#pursuits.delete(pursuit.lease);
    // Where it has the vote it has left the queue.
    this.#standing.leave(pursuit, pursuit.accepted, step);
    if (!pursuit.upgrades) this.#holder.hold(pursuit, deadlineMono, deadlineWall, step);
    else if (!this.#holder.upgrade(pursuit, step)) {
      this.#giveBack(pursuit, pursuit.ballot, step);
      this.#refuse(pursuit, 'not-shared', [], step);
    }
  }

  /** The attempt is void before its release leaves: a late vote finds nothing to add to (rule 6). */
  #fail(pursuit: Pursuit, step: QuorumStep): void {
    const { ballot, phase } = pursuit;
    const verdict = pursuit.verdict(this.#quorumOf(pursuit));
    const unreached = pursuit.unreached();
    // Proposals that wait are not answered until they are decided.
    if (verdict === 'no-quorum' && !pursuit.parks) pursuit.unanswered++;
    const isLastTry = !pursuit.waits && pursuit.tries >= (pursuit.slots > 0 ? SLOT_TRIES_MAX : TRIES_MAX);
    if (verdict === 'low' && !isLastTry) {
      // No lease is in the way, our clock lags behind an earlier ballot: now that we know it, the next is above. Votes
      // that it got go over to that one at once; given back, they would be the next waiter's.
      pursuit.careful = false;
      this.#attempt(pursuit, step);
      return;
    }
    if (pursuit.slots > 0 && !isLastTry && this.#otherSlot(pursuit, verdict, step)) return;
    pursuit.parks = false;
    if (this.#out.rules.voidBeforeRelease) {
      pursuit.ballot = NO_BALLOT;
      pursuit.phase = 'resting';
    }
    // In line before anything is given back: in between, its place would be the next one's.
    const isQueued = pursuit.waits && this.#standing.isWorthWhile(verdict, pursuit) && this.#enterQueues(pursuit, step);
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

  /** Another slot is free: what this one got is given back, and that one is tried at once. */
  #otherSlot(pursuit: Pursuit, verdict: AttemptVerdict, step: QuorumStep): boolean {
    if (verdict !== 'held' && verdict !== 'maybe-held' && verdict !== 'split') return false;
    const tried = slotOf(pursuit.mode);
    const free = pursuit.freeAtAll().filter((slot) => slot !== tried);
    if (free.length === 0) return false;
    const { ballot } = pursuit;
    pursuit.ballot = NO_BALLOT;
    this.#giveBack(pursuit, ballot, step);
    pursuit.mode = slotMode(free[this.#out.spread(pursuit.lease + pursuit.tries, free.length)] as number);
    this.#attempt(pursuit, step);
    return true;
  }

  /** Releases the votes that an attempt got, or may have got: split votes must not cost a term. An upgrade gives nothing back: its votes turn back. */
  #giveBack(pursuit: Pursuit, ballot: BallotTime, step: QuorumStep): void {
    if (pursuit.upgrades && this.#out.rules.failedUpgradeKeeps) {
      this.#holder.turnBack(pursuit, step);
      return;
    }
    const voters = pursuit.voters.filter((voter) => !pursuit.refused.has(voter));
    this.#out.release(voters, pursuit.lease, pursuit.name, ballot, QUIET, step, pursuit.mode);
    if (pursuit.upgrades) this.#holder.turnBack(pursuit, step);
  }

  #rest(pursuit: Pursuit, step: QuorumStep): void {
    this.#dueAt(pursuit, afterBackOff(pursuit, Infinity, this.#out, step));
  }

  // ── Queues ─────────────────────────────────────────────────────────────────────────────────────────

  /** The ticket is taken once, after a quorum has answered, in time or not: it is above every ticket that quorum knew. False if too few were. */
  #enterQueues(pursuit: Pursuit, step: QuorumStep): boolean {
    const { rules, timing } = this.#out;
    if (pursuit.ticket === NO_BALLOT) {
      if (!this.#isQuorum(pursuit.met, pursuit)) return false;
      pursuit.ticket = rules.ticketAfterQuorum ? this.#out.nextBallot(step) : pursuit.firstBallot;
      pursuit.restUntil = step.monoUs;
    } else {
      // It was its turn, and nothing came of it: not at once again, but well within a head start.
      pursuit.restUntil = afterBackOff(pursuit, Math.floor(timing.headStartUs / RESTS_IN_HEAD_START), this.#out, step);
    }
    pursuit.inLine.clear();
    this.#standing.enter(pursuit, step);
    return true;
  }

  #inQueues(from: NodeId, message: QuorumMessage): Pursuit | null {
    const pursuit = this.#pursuits.get(message.lease);
    return pursuit && pursuit.ticket !== NO_BALLOT && pursuit.voters.includes(from) ? pursuit : null;
  }

  #hasTurn(pursuit: Pursuit): boolean {
    return this.#isQuorum(pursuit.free, pursuit);
  }

  #takeTurn(pursuit: Pursuit, step: QuorumStep): void {
    if (step.monoUs < pursuit.restUntil) {
      this.#dueAt(pursuit, pursuit.restUntil);
      return;
    }
    pursuit.careful = false;
    if (pursuit.slots === 0 || pursuit.chooseSlot(this.#quorumOf(pursuit), step.monoUs)) this.#attempt(pursuit, step);
    else this.#standing.askAgain(pursuit, step);
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  #giveUp(pursuit: Pursuit, reason: UpgradeRefusal, step: QuorumStep): void {
    const { ballot, phase } = pursuit;
    const unreached = pursuit.unreached();
    this.#pursuits.delete(pursuit.lease);
    if (phase === 'proposing' && ballot !== NO_BALLOT) this.#giveBack(pursuit, ballot, step);
    this.#refuse(pursuit, reason, unreached, step);
  }

  #refuse(pursuit: Pursuit, reason: UpgradeRefusal, unreached: readonly number[], step: QuorumStep): void {
    this.#pursuits.delete(pursuit.lease);
    this.#standing.leave(pursuit, null, step);
    const { rateErrorPpm } = this.#out.timing;
    const holder = pursuit.holderHint((span) => stretch(span, rateErrorPpm));
    if (pursuit.upgrades) step.emit({ kind: 'upgrade-refused', lease: pursuit.lease, reason, holder, unreached });
    // The reasons that only an upgrade has are given to upgrades only.
    else step.emit({ kind: 'refused', lease: pursuit.lease, reason: reason as RefusalReason, holder, unreached });
  }

  #dueAt(pursuit: Pursuit, at: MonoUs): void {
    pursuit.until = at;
    const first = pursuit.firstAt;
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
