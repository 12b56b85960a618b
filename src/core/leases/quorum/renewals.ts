/**
 * Renewals under way: the messages of each, the sum of their answers, and when each is tried again. Authority moves on only with a fresh quorum
 * (rule 8). Where answers are slow, voters that have not answered are asked the same again: a vote, however late, is for the term from when the renewal began.
 */
import {
  invariant,
  monoAfter,
  monoUs,
  NO_BALLOT,
  NumberMap,
  VoterSet,
  type BallotTime,
  type MonoUs,
  type NodeId,
} from '../../../kernel/index.ts';
import { DueHeap } from '../../tables/index.ts';
import { textOf, voterSet } from '../snapshots.ts';
import { renewalPatienceUs } from '../timing.ts';
import type { BulkRound } from './bundle-parts.ts';
import type { BundledRows } from './bundled-rows.ts';
import type { QuorumStep } from './config.ts';
import type { HeldRows } from './held-rows.ts';
import { GATED, IS_WATCHED, KEEP, LIMITED, RENEWING, WAS_WANTED, type HoldAgenda } from './hold-agenda.ts';
import type { HoldKeys } from './hold-keys.ts';
import { BUNDLE, LOW, PROPOSE, QUIET, RENEWS, SILENT, WANTED, WATCHED, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';
import type { Publications } from './publications.ts';
import { renewalSnapshot, type HolderSnapshot, type Renewal } from './under-way.ts';

interface RenewalGround {
  readonly out: QuorumOutbox;
  readonly keys: HoldKeys;
  readonly rows: HeldRows;
  readonly agenda: HoldAgenda;
  readonly bundled: BundledRows;
  readonly published: Publications;
  readonly lose: (id: number, step: QuorumStep) => void;
}

export class Renewals {
  readonly #ground: RenewalGround;
  readonly #rows: HeldRows;
  readonly #open = new NumberMap<Renewal>();
  readonly #due = new DueHeap();

  constructor(ground: RenewalGround) {
    this.#ground = ground;
    this.#rows = ground.rows;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  get(lease: number): Renewal | undefined {
    return this.#open.get(lease);
  }

  /** Voters have been asked, and have time to answer. */
  isAsking(lease: number): boolean {
    const renewal = this.#open.get(lease);
    return renewal !== undefined && renewal.ballot !== NO_BALLOT && !renewal.isResting;
  }

  /** It is void, whatever is still under way. */
  drop(lease: number): void {
    this.#open.delete(lease);
  }

  wake(step: QuorumStep): void {
    for (let at = this.#due.nextAt; at <= step.monoUs; at = this.#due.nextAt) {
      const renewal = this.#open.get(this.#due.take(step.monoUs));
      // Skip stale heap entries: snapshots keep only the current deadline.
      if (renewal && at === renewal.until) this.#again(renewal, step);
    }
  }

  accepted(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    // Also when the renewal is over, and nothing waits for this vote any more.
    if ((message.flags & BUNDLE) !== 0) this.#ground.bundled.joined(from, message);
    const renewal = this.#open.get(message.lease);
    if (!renewal || renewal.ballot === NO_BALLOT || message.ballot !== renewal.ballot || !this.#rows.isVoter(from, renewal.id)) return;
    if ((message.flags & WATCHED) !== 0) this.#rows.set(renewal.id, IS_WATCHED);
    if ((message.flags & WANTED) !== 0) this.#noteWanted(renewal, step);
    renewal.accepted.add(from);
    const { electorate, rules } = this.#ground.out;
    const isEnough = !rules.renewalNeedsQuorum || electorate.isQuorum(renewal.accepted, this.#rows.placement(renewal.id));
    if (isEnough) this.#extend(renewal, step);
  }

  /** The voter has begun another life. Leases that are held were won before. */
  uncount(voter: NodeId): void {
    for (const renewal of this.#open.values()) renewal.accepted.delete(voter);
  }

  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const renewal = this.#open.get(message.lease);
    if (!renewal || renewal.ballot === NO_BALLOT || message.ballot !== renewal.ballot || !this.#rows.isVoter(from, renewal.id)) return;
    renewal.refused.add(from);
    // A silent voter has not looked at it.
    renewal.isRefused ||= message.reason !== SILENT;
    // That far ahead it is no reason for other names to go as high, but for this one it is.
    if (message.reason === LOW && this.#ground.out.believes(message.clock, step))
      renewal.above = Math.max(renewal.above, message.clock) as BallotTime;
    if (this.#ground.out.electorate.isLost(renewal.refused, this.#rows.placement(renewal.id))) this.#fail(renewal, step);
  }

  /** The voters, or their quorums, have changed: renewals under way begin anew at once, and so do renewals that were refused in the earlier view. */
  viewChanged(step: QuorumStep): void {
    for (const renewal of this.#open.values()) {
      const isToBeAsked = this.isGated(renewal.id) && renewal.extends;
      if (renewal.ballot !== NO_BALLOT || (renewal.isResting && !isToBeAsked)) this.send(renewal, step);
    }
  }

  isGated(id: number): boolean {
    return this.#rows.is(id, GATED) && this.#ground.out.rules.gateAsked;
  }

  /** Nothing is sent before the holder says to go on. If it does not, the lease runs out. */
  askHolder(id: number, step: QuorumStep): void {
    const renewal = this.#new(id, this.#rows.termUs(id), true, step);
    this.#plan(renewal, monoUs(this.#rows.table.deadlineMono(id)));
    step.emit({ kind: 'renewal-due', lease: renewal.lease });
  }

  /** What a holder says of itself is carried by a renewal, which moves the deadline on unless the holder is to be asked before. */
  carryNews(id: number, step: QuorumStep): void {
    this.start(id, this.#rows.termUs(id), !this.isGated(id), step);
  }

  /** `becomes`: the mode that its caller is told of when it is done. */
  start(id: number, termUs: number, isExtension: boolean, step: QuorumStep, becomes: number | null = null): void {
    const renewal = this.#new(id, termUs, isExtension, step);
    renewal.becomes = becomes;
    this.send(renewal, step);
  }

  #new(id: number, termUs: number, isExtension: boolean, step: QuorumStep): Renewal {
    const lease = this.#rows.table.lease(id);
    const { unanswered = 0, above = NO_BALLOT } = this.#open.get(lease) ?? {};
    this.#rows.set(id, RENEWING);
    const renewal: Renewal = {
      lease,
      id,
      termUs,
      proclaim: 0,
      extends: isExtension,
      becomes: null,
      isWanted: false,
      ballot: NO_BALLOT,
      above,
      startMono: step.monoUs,
      startWall: step.wallUs,
      until: step.monoUs,
      isResting: false,
      unanswered,
      isRefused: false,
      accepted: new VoterSet(),
      refused: new VoterSet(),
    };
    this.#open.set(lease, renewal);
    return renewal;
  }

  send(renewal: Renewal, step: QuorumStep): void {
    const { id, lease } = renewal;
    const { out, keys } = this.#ground;
    const termUs = out.termUsWithin(renewal.termUs, keys.quarantineUsOf(id));
    renewal.termUs = termUs;
    // Its grant may have a higher ballot than other names have come to.
    renewal.ballot = out.nextBallot(step, Math.max(this.#rows.table.ballot(id), renewal.above) as BallotTime);
    renewal.startMono = step.monoUs;
    renewal.startWall = step.wallUs;
    renewal.accepted.clear();
    renewal.isRefused = false;
    const message = this.#begin(renewal, step);
    renewal.proclaim = this.#ground.published.carry(lease, message);
    this.#rows.sendToVoters(id, step);
  }

  /** Sends the same proposal again to voters that have not voted. */
  #resend(renewal: Renewal, step: QuorumStep): void {
    const { id, lease, accepted } = renewal;
    const { out, keys, published } = this.#ground;
    published.carry(lease, this.#begin(renewal, step));
    const missing = this.#rows.voters(id).filter((voter) => !accepted.has(voter));
    out.sendFor(keys.modeOf(id), missing, step);
  }

  #begin(renewal: Renewal, step: QuorumStep): QuorumMessage {
    const { id, ballot, termUs, unanswered } = renewal;
    renewal.isResting = false;
    renewal.refused.clear();
    this.#plan(renewal, monoAfter(step.monoUs, renewalPatienceUs(this.#ground.out.timing, termUs, unanswered)));
    return this.#compose(id, ballot, termUs);
  }

  /** Not if there is something else to say by now, or another proposal was sent for the lease since. */
  #isToBeResent({ id, lease, ballot, isRefused }: Renewal): boolean {
    return ballot !== NO_BALLOT && !isRefused && !this.#ground.published.isUnsent(lease) && this.#rows.table.ballot(id) === ballot;
  }

  #compose(id: number, ballot: BallotTime, termUs: number): QuorumMessage {
    const { out, keys, bundled } = this.#ground;
    // A release must cover every ballot this lease ever sent.
    this.#rows.table.setBallot(id, ballot);
    const message = this.#rows.compose(PROPOSE, id, RENEWS);
    message.ballot = ballot;
    message.token = this.#rows.table.token(id);
    // Members remember a slot that is to rest for longer than its holder may use it.
    message.termUs = termUs + (out.rules.quarantineInVote ? keys.quarantineUsOf(id) : 0);
    out.inView(message);
    bundled.mark(message, id, termUs);
    return message;
  }

  // ── In bulk ────────────────────────────────────────────────────────────────────────────────────────

  /** Voters that do not have it in a bundle are asked to take it in. The holder does not wait: each answer carries all it needs. */
  join(id: number, voters: readonly NodeId[], step: QuorumStep): void {
    const { out, published } = this.#ground;
    const lease = this.#rows.table.lease(id);
    // An unsent proclaim is first carried to all voters.
    if (published.isUnsent(lease)) return;
    const ballot = out.nextBallot(step, this.#rows.table.ballot(id) as BallotTime);
    published.carry(lease, this.#compose(id, ballot, this.#rows.termUs(id)));
    out.sendTo(voters, step);
  }

  /** Enough voters have renewed the bundles that it is in. True if the next round is to see to it: then it has no entry in the agenda. */
  extendInBulk(id: number, { startMono, startWall, termUs }: BulkRound, step: QuorumStep): boolean {
    const { agenda, out, lose } = this.#ground;
    const { rules } = out;
    const holds = this.#rows.table;
    if (rules.endIsFinal && this.#rows.isOver(id, step)) {
      lose(id, step);
      return false;
    }
    if (rules.holderWatchesWall && step.wallUs >= startWall + termUs) return false;
    if (rules.bulkFromStart) this.#rows.setDeadline(id, startMono, startWall, termUs);
    else this.#rows.setDeadline(id, step.monoUs, step.wallUs, termUs);
    const deadlineMonoUs = monoUs(holds.deadlineMono(id));
    invariant(deadlineMonoUs > step.monoUs || !rules.endIsFinal, 'a lease was renewed in bulk that is over');
    const flags = holds.flags(id);
    const isLimited = (flags & LIMITED) !== 0;
    if ((flags & WAS_WANTED) !== 0) this.#rows.clear(id, WAS_WANTED);
    if (isLimited && this.#rows.isAtLimit(id)) this.#rows.clear(id, KEEP);
    step.emit({ kind: 'renewed', lease: holds.lease(id), deadlineMonoUs, deadlineWallUs: this.#rows.wallDeadline(id) });
    if ((flags & RENEWING) !== 0) return false;
    if (isLimited) agenda.schedule(id);
    return !isLimited;
  }

  /** A fresh quorum: the deadline moves on from when this renewal began, and never back. A lease that ran out meanwhile stays dead. */
  #extend(renewal: Renewal, step: QuorumStep): void {
    const { id, lease, termUs } = renewal;
    const holds = this.#rows.table;
    invariant(holds.has(id) && holds.lease(id) === lease, 'a renewal is of a lease that is not held');
    if (this.#ground.out.rules.endIsFinal && this.#rows.isOver(id, step)) {
      this.#ground.lose(id, step);
      return;
    }
    if (renewal.extends && renewal.startMono + termUs >= holds.deadlineMono(id)) {
      // The wall clock was set forward since it began: the lease may live on, but the renewal is over (rule 11).
      if (this.#ground.out.rules.holderWatchesWall && step.wallUs >= renewal.startWall + termUs) {
        this.#fail(renewal, step);
        return;
      }
      // Both from the same instant: a wall deadline from before the wall clock was set back would never come in a sleep.
      this.#rows.setDeadline(id, renewal.startMono, renewal.startWall, termUs);
    }
    invariant(holds.deadlineMono(id) > step.monoUs || !this.#ground.out.rules.endIsFinal, 'a lease was renewed that is over');
    if (this.#rows.termUs(id) !== termUs) {
      this.#ground.bundled.leave(id);
      holds.setTermMs(id, Math.ceil(termUs / 1000));
    }
    this.#rows.clear(id, this.#rows.isAtLimit(id) ? RENEWING | KEEP : RENEWING);
    this.#open.delete(lease);
    this.#ground.agenda.schedule(id);
    if (this.#rows.is(id, IS_WATCHED)) this.#rows.tellLearners(id, termUs, 0, step);
    const { deadlineMonoUs, deadlineWallUs } = this.#rows.deadline(id);
    step.emit({ kind: 'renewed', lease, deadlineMonoUs, deadlineWallUs });
    if (renewal.becomes !== null) step.emit({ kind: 'downgraded', lease });
    if (renewal.proclaim > 0) {
      this.#ground.published.confirm(lease, renewal.proclaim);
      step.emit({ kind: 'proclaimed', lease, number: renewal.proclaim });
    }
    if (this.#ground.published.isUnsent(lease)) this.carryNews(id, step);
  }

  /** A failed renewal releases nothing: the old lease lives until its deadline (rule 6). */
  #fail(renewal: Renewal, step: QuorumStep): void {
    const { id, lease } = renewal;
    if (!this.#ground.out.rules.failedRenewalKeeps)
      this.#ground.out.release(this.#rows.voters(id), lease, this.#ground.keys.nameOf(id), renewal.ballot, QUIET, step);
    renewal.ballot = NO_BALLOT;
    this.#rest(renewal, step);
  }

  #rest(renewal: Renewal, step: QuorumStep): void {
    renewal.isResting = true;
    step.emit({ kind: 'renewal-failed', lease: renewal.lease });
    this.#plan(renewal, monoAfter(step.monoUs, this.#ground.out.timing.retryUs));
  }

  #overdue(renewal: Renewal, step: QuorumStep): void {
    renewal.unanswered++;
    if (this.#ground.out.rules.failedRenewalKeeps) this.#rest(renewal, step);
    else this.#fail(renewal, step);
  }

  #again(renewal: Renewal, step: QuorumStep): void {
    const { id } = renewal;
    if (this.#rows.isOver(id, step)) this.#ground.lose(id, step);
    else if (renewal.ballot !== NO_BALLOT && !renewal.isResting) this.#overdue(renewal, step);
    else if (this.isGated(id) && renewal.extends) this.askHolder(id, step);
    else if (this.#isToBeResent(renewal)) this.#resend(renewal, step);
    else this.send(renewal, step);
  }

  #plan(renewal: Renewal, until: MonoUs): void {
    // Not past the deadline: a lost lease is reported as lost.
    renewal.until = monoUs(Math.min(until, Math.max(this.#rows.table.deadlineMono(renewal.id), renewal.startMono + 1)));
    this.#due.push(renewal.until, renewal.lease);
  }

  /** A hint, told once for each time that a renewal begins to hear of it. */
  #noteWanted(renewal: Renewal, step: QuorumStep): void {
    if (renewal.isWanted) return;
    renewal.isWanted = true;
    step.emit({ kind: 'wanted', lease: renewal.lease });
  }

  snapshot(): HolderSnapshot['renewals'] {
    return this.#open.values().map((renewal) => renewalSnapshot(renewal, textOf(this.#ground.keys.nameOf(renewal.id))));
  }

  restore(renewals: HolderSnapshot['renewals']): void {
    for (const { name, accepted, refused, ...rest } of renewals) {
      const id = this.#ground.keys.restore(rest.lease, name);
      this.#open.set(rest.lease, { ...rest, id, accepted: voterSet(accepted), refused: voterSet(refused) });
      this.#due.push(rest.until, rest.lease);
    }
  }
}
