/**
 * The holder's side: what this node holds, until when on both of its clocks, and when each is renewed.
 * Held leases are rows of a table; only renewals and releases under way are objects. Authority moves on
 * only with a fresh quorum (rule 8), and ends before the release leaves (rule 6).
 */
import {
  encodeName,
  invariant,
  monoAfter,
  monoUs,
  NO_BALLOT,
  NumberMap,
  VoterSet,
  wallUs,
  type BallotTime,
  type MonoUs,
  type NodeId,
  type WallUs,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { Calendar, DueHeap, HoldTable, type NameTable } from '../../tables/index.ts';
import type { LeaseCommand } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { LEARN, LET_GO, PROPOSE, QUIET, RENEWS, WATCHED, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';
import { Publications } from './publications.ts';
import type { Pursuit } from './pursuit.ts';
import { internText, namesInOrder, voterSet } from '../snapshots.ts';
import { renewAfterUs, renewalPatienceUs } from '../timing.ts';
import { releasingSnapshot, renewalSnapshot, type HolderSnapshot, type Releasing, type Renewal } from './under-way.ts';

/** Flags of a hold. */
const KEEP = 1;
const RENEWING = 2;
const IS_WATCHED = 4;

/** The calendar is this part of the longest term fine. */
const CALENDAR_PARTS = 256;
/** Terms of fewer widths than this are too short for the calendar: early by its width would be much too early. */
const CALENDAR_WIDTHS_MIN = 12;
/** How many holds one wake looks at, so that a burst of renewals does not stop the process. */
const VISITS_PER_WAKE = 10_000;

type Renew = Extract<LeaseCommand, { kind: 'renew' }>;
type Release = Extract<LeaseCommand, { kind: 'release' }>;
type Proclaim = Extract<LeaseCommand, { kind: 'proclaim' }>;
type Lapse = Extract<LeaseCommand, { kind: 'lapse' }>;

export class Holder {
  readonly #out: QuorumOutbox;
  readonly #names: NameTable;
  readonly #holds: HoldTable;
  readonly #calendar: Calendar;
  readonly #published = new Publications();
  readonly #renewals = new NumberMap<Renewal>();
  readonly #releases = new NumberMap<Releasing>();
  readonly #due = new DueHeap();
  /** Of holds with short terms: when to look at each, exactly. */
  readonly #soon = new DueHeap();

  constructor(out: QuorumOutbox, names: NameTable) {
    this.#out = out;
    this.#names = names;
    this.#holds = new HoldTable(names);
    this.#calendar = new Calendar(Math.max(1, Math.floor(out.timing.maxTermUs / CALENDAR_PARTS)));
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.#due.nextAt, this.#soon.nextAt, this.#calendar.nextDueUs));
  }

  /** Of a lease on the name that is held, or has run out and was not looked at since; 0 if there is none. */
  tokenOf(name: Uint8Array): number {
    const id = this.#names.find(name, 0, name.length);
    return id >= 0 && this.#holds.has(id) ? this.#holds.token(id) : NO_BALLOT;
  }

  /** How long the lease may still be acted under: computed from the clocks when asked, never from a flag a timer sets (rule 11). 0 if it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    const id = this.#find(lease, name);
    if (id < 0) return 0;
    return this.#out.rules.validByClock ? Math.max(0, this.#remaining(id, mono, wall)) : 1;
  }

  /** A quorum voted: from here on it is ours. */
  hold(pursuit: Pursuit, deadlineMono: MonoUs, deadlineWall: WallUs, step: QuorumStep): void {
    const { lease, name, ballot, termUs, keep, watched, trips, ticket } = pursuit;
    const hash = this.#names.hash(name, 0, name.length);
    // An earlier lease of this process on the same name has run out; it just was not looked at since.
    const earlier = this.#names.find(name, 0, name.length, hash);
    if (earlier >= 0 && this.#holds.has(earlier)) {
      invariant(ballot > this.#holds.token(earlier), 'a lease was granted with a token that is not above the last one of its name');
      this.#lose(earlier, step);
    }
    const id = this.#names.intern(name, 0, name.length, hash);
    const flags = (keep ? KEEP : 0) | (watched ? IS_WATCHED : 0);
    this.#holds.add(id, lease, ballot, ballot, deadlineMono, deadlineWall, Math.ceil(termUs / 1000), flags);
    this.#published.begin(lease, pursuit.meta, ballot);
    this.#schedule(id);
    if (watched) this.#tellLearners(id, termUs, 0, step);
    step.emit({
      kind: 'granted',
      lease,
      token: ballot,
      deadlineMonoUs: deadlineMono,
      deadlineWallUs: this.#wallDeadline(deadlineWall),
      trips,
      waited: ticket !== NO_BALLOT,
    });
  }

  renew({ lease, name, termUs }: Renew, step: QuorumStep): void {
    const id = this.#find(lease, name);
    if (id < 0) step.emit({ kind: 'renewal-failed', lease });
    // One that is under way is joined: beginning anew with each call would never let one end.
    else if ((this.#renewals.get(lease)?.ballot ?? NO_BALLOT) === NO_BALLOT) this.#startRenewal(id, termUs, step);
  }

  /** One that is under way is let end, and the next carries it: proclaiming again and again must not keep renewals from ending. */
  proclaim({ lease, name, meta, number }: Proclaim, step: QuorumStep): void {
    const id = this.#find(lease, name);
    if (id < 0) {
      step.emit({ kind: 'renewal-failed', lease });
      return;
    }
    this.#published.proclaim(lease, meta, number);
    const renewal = this.#renewals.get(lease);
    if (!renewal) this.#startRenewal(id, this.#holds.termMs(id) * 1000, step);
    else if (renewal.ballot === NO_BALLOT) this.#sendRenewal(renewal, step);
  }

  /** A renewal that is under way is void: the deadline stands from here on. */
  lapse({ lease, name }: Lapse): void {
    const id = this.#find(lease, name);
    if (id < 0) return;
    this.#renewals.delete(lease);
    this.#holds.setFlags(id, this.#holds.flags(id) & ~(KEEP | RENEWING));
    this.#schedule(id);
  }

  release({ lease, name }: Release, step: QuorumStep): void {
    const id = this.#find(lease, name);
    if (id < 0) {
      if (!this.#releases.has(lease)) step.emit({ kind: 'released', lease, byQuorum: false });
      return;
    }
    if (this.#releases.has(lease)) return;
    const holds = this.#holds;
    const releasing: Releasing = {
      lease,
      name,
      voters: this.#voters(id),
      ballot: holds.ballot(id) as BallotTime,
      answered: new VoterSet(),
      overAt: monoUs(holds.deadlineMono(id)),
      until: step.monoUs,
      gapUs: this.#out.timing.resendUs,
    };
    this.#releases.set(lease, releasing);
    if ((holds.flags(id) & IS_WATCHED) !== 0) this.#tellLearners(id, 0, LET_GO, step);
    if (this.#out.rules.stopBeforeRelease) this.#stop(id, step);
    this.#sendRelease(releasing, step);
  }

  /** By the members' clocks all of it may be over: nothing is held from here on, and nothing given back. */
  forfeit(step: QuorumStep): void {
    for (let id = 0; id < this.#names.idLimit; id++) if (this.#holds.has(id)) this.#lose(id, step, false);
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  accepted(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const renewal = this.#renewals.get(message.lease);
    if (!renewal || renewal.ballot === NO_BALLOT || message.ballot !== renewal.ballot || !this.#isVoter(from, renewal.id)) return;
    if (step.monoUs >= renewal.until) {
      this.#failRenewal(renewal, step);
      return;
    }
    if ((message.flags & WATCHED) !== 0) this.#setFlag(renewal.id, IS_WATCHED);
    renewal.accepted.add(from);
    const needed = this.#out.rules.renewalNeedsQuorum ? this.#out.electorate.quorum : 1;
    if (renewal.accepted.size >= needed) this.#extend(renewal, step);
  }

  /** The voter has begun another life. Leases that are held were won before. */
  uncount(voter: NodeId): void {
    for (const renewal of this.#renewals.values()) renewal.accepted.delete(voter);
  }

  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const renewal = this.#renewals.get(message.lease);
    if (!renewal || renewal.ballot === NO_BALLOT || message.ballot !== renewal.ballot || !this.#isVoter(from, renewal.id)) return;
    renewal.refused.add(from);
    if (renewal.refused.size > this.#out.electorate.size - this.#out.electorate.quorum) this.#failRenewal(renewal, step);
  }

  released(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const releasing = this.#releases.get(message.lease);
    if (!releasing || message.ballot !== releasing.ballot || !releasing.voters.includes(from)) return;
    releasing.answered.add(from);
    if (releasing.answered.size < this.#out.electorate.quorum) return;
    this.#endRelease(releasing, true, step);
  }

  wake(step: QuorumStep): void {
    this.#calendar.take(step.monoUs, (id) => this.#visit(id, step), VISITS_PER_WAKE);
    for (let left = VISITS_PER_WAKE; left > 0 && this.#soon.nextAt <= step.monoUs; left--) this.#visit(this.#soon.take(step.monoUs), step);
    for (let at = this.#due.nextAt; at <= step.monoUs; at = this.#due.nextAt) {
      const lease = this.#due.take(step.monoUs);
      const renewal = this.#renewals.get(lease);
      // By the time that holds now: of those it was once planned for no snapshot knows.
      if (renewal && at === renewal.until) this.#renewAgain(renewal, step);
      const releasing = this.#releases.get(lease);
      if (releasing && at === releasing.until) this.#sendRelease(releasing, step);
    }
  }

  // ── Renewal ────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A hold is due for its renewal or its end. Stale entries end up here, too, and change nothing: no snapshot keeps them, and a
   * restored core does the same as this one.
   */
  #visit(id: number, step: QuorumStep): void {
    const holds = this.#holds;
    if (!holds.has(id) || (holds.flags(id) & RENEWING) !== 0 || !this.#isDue(id, step.monoUs)) return;
    if (this.#remaining(id, step.monoUs, step.wallUs) <= 0) this.#lose(id, step);
    else this.#startRenewal(id, holds.termMs(id) * 1000, step);
  }

  #startRenewal(id: number, termUs: number, step: QuorumStep): void {
    const lease = this.#holds.lease(id);
    this.#setFlag(id, RENEWING);
    const renewal: Renewal = {
      lease,
      id,
      termUs,
      proclaim: 0,
      ballot: NO_BALLOT,
      startMono: step.monoUs,
      startWall: step.wallUs,
      until: step.monoUs,
      accepted: new VoterSet(),
      refused: new VoterSet(),
    };
    this.#renewals.set(lease, renewal);
    this.#sendRenewal(renewal, step);
  }

  #sendRenewal(renewal: Renewal, step: QuorumStep): void {
    const { id, lease, termUs } = renewal;
    // It may have been granted above what other names have come to.
    renewal.ballot = this.#out.nextBallot(step, this.#holds.ballot(id) as BallotTime);
    renewal.startMono = step.monoUs;
    renewal.startWall = step.wallUs;
    renewal.accepted.clear();
    renewal.refused.clear();
    this.#renewalUntil(renewal, monoAfter(step.monoUs, renewalPatienceUs(this.#out.timing, termUs)));
    // A release must cover every ballot this lease ever sent.
    this.#holds.setBallot(id, renewal.ballot);
    const message = this.#out.compose(PROPOSE, lease, this.#names.toBytes(id));
    message.ballot = renewal.ballot;
    message.token = this.#holds.token(id);
    message.termUs = termUs;
    message.flags = RENEWS;
    renewal.proclaim = this.#published.carry(lease, message);
    this.#out.sendTo(this.#voters(id), step);
  }

  /** A fresh quorum: the deadline moves on from when this renewal began, and never back. A lease that ran out meanwhile stays dead. */
  #extend(renewal: Renewal, step: QuorumStep): void {
    const { id, lease, termUs } = renewal;
    const holds = this.#holds;
    invariant(holds.has(id) && holds.lease(id) === lease, 'a renewal is of a lease that is not held');
    if (this.#out.rules.endIsFinal && this.#remaining(id, step.monoUs, step.wallUs) <= 0) {
      this.#lose(id, step);
      return;
    }
    if (renewal.startMono + termUs >= holds.deadlineMono(id)) {
      // The wall clock was set forward since it began: what it extends may live on, but it is over (rule 11).
      if (this.#out.rules.holderWatchesWall && step.wallUs >= renewal.startWall + termUs) {
        this.#failRenewal(renewal, step);
        return;
      }
      // Both from the same instant: a wall deadline from before the wall clock was set back would never come in a sleep.
      holds.setDeadlineMono(id, renewal.startMono + termUs);
      holds.setDeadlineWall(id, renewal.startWall + termUs);
    }
    invariant(holds.deadlineMono(id) > step.monoUs || !this.#out.rules.endIsFinal, 'a lease was renewed that is over');
    holds.setTermMs(id, Math.ceil(termUs / 1000));
    holds.setFlags(id, holds.flags(id) & ~RENEWING);
    this.#renewals.delete(lease);
    this.#schedule(id);
    if ((holds.flags(id) & IS_WATCHED) !== 0) this.#tellLearners(id, termUs, 0, step);
    const deadlineWallUs = this.#wallDeadline(wallUs(holds.deadlineWall(id)));
    step.emit({ kind: 'renewed', lease, deadlineMonoUs: monoUs(holds.deadlineMono(id)), deadlineWallUs });
    if (renewal.proclaim > 0) {
      this.#published.confirm(lease, renewal.proclaim);
      step.emit({ kind: 'proclaimed', lease, number: renewal.proclaim });
    }
    if (this.#published.isUnsent(lease)) this.#startRenewal(id, termUs, step);
  }

  /** A failed renewal releases nothing: the old lease lives until its deadline (rule 6). */
  #failRenewal(renewal: Renewal, step: QuorumStep): void {
    const { id, lease } = renewal;
    if (!this.#out.rules.failedRenewalKeeps)
      this.#out.release(this.#voters(id), lease, this.#names.toBytes(id), renewal.ballot, QUIET, step);
    renewal.ballot = NO_BALLOT;
    step.emit({ kind: 'renewal-failed', lease });
    this.#renewalUntil(renewal, monoAfter(step.monoUs, this.#out.timing.retryUs));
  }

  #renewAgain(renewal: Renewal, step: QuorumStep): void {
    const { id } = renewal;
    if (this.#remaining(id, step.monoUs, step.wallUs) <= 0) this.#lose(id, step);
    else if (renewal.ballot !== NO_BALLOT) this.#failRenewal(renewal, step);
    else this.#sendRenewal(renewal, step);
  }

  #renewalUntil(renewal: Renewal, until: MonoUs): void {
    // Not past the deadline: what is lost is said to be lost.
    renewal.until = monoUs(Math.min(until, Math.max(this.#holds.deadlineMono(renewal.id), renewal.startMono + 1)));
    this.#due.push(renewal.until, renewal.lease);
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  #sendRelease(releasing: Releasing, step: QuorumStep): void {
    if (step.monoUs >= releasing.overAt) {
      this.#endRelease(releasing, false, step);
      return;
    }
    const { voters, answered } = releasing;
    // The first time nobody has answered, and mostly there is no second.
    const unheard = answered.size === 0 ? voters : voters.filter((voter) => !answered.has(voter));
    this.#out.release(unheard, releasing.lease, releasing.name, releasing.ballot, 0, step);
    releasing.until = monoUs(Math.min(step.monoUs + releasing.gapUs, releasing.overAt));
    releasing.gapUs *= 2;
    this.#due.push(releasing.until, releasing.lease);
  }

  #endRelease(releasing: Releasing, byQuorum: boolean, step: QuorumStep): void {
    this.#releases.delete(releasing.lease);
    const id = this.#out.rules.stopBeforeRelease ? -1 : this.#find(releasing.lease, releasing.name);
    if (id >= 0) this.#stop(id, step);
    step.emit({ kind: 'released', lease: releasing.lease, byQuorum });
  }

  #stop(id: number, step: QuorumStep): void {
    const lease = this.#holds.lease(id);
    this.#forget(id, lease);
    step.emit({ kind: 'stopped', lease });
  }

  /** Past its deadline the holder has stopped, so what is left of its votes may go. */
  #lose(id: number, step: QuorumStep, givesBack = true): void {
    const lease = this.#holds.lease(id);
    const ballot = this.#holds.ballot(id) as BallotTime;
    const name = this.#names.toBytes(id);
    const voters = this.#voters(id);
    this.#forget(id, lease);
    step.emit({ kind: 'lost', lease });
    if (givesBack) this.#out.release(voters, lease, name, ballot, QUIET, step);
  }

  #forget(id: number, lease: number): void {
    this.#renewals.delete(lease);
    this.#published.forget(lease);
    invariant(this.#holds.remove(id), 'a lease ended that is not held');
  }

  // ── Rows ───────────────────────────────────────────────────────────────────────────────────────────

  #find(lease: number, name: Uint8Array): number {
    const id = this.#names.find(name, 0, name.length);
    return id >= 0 && this.#holds.has(id) && this.#holds.lease(id) === lease ? id : -1;
  }

  /** A holder is dead when either of its clocks says so (rule 12). */
  #remaining(id: number, mono: MonoUs, wall: WallUs): number {
    const byMono = this.#holds.deadlineMono(id) - mono;
    return this.#out.rules.holderWatchesWall ? Math.min(byMono, this.#holds.deadlineWall(id) - wall) : byMono;
  }

  #wallDeadline(deadline: WallUs): WallUs {
    return this.#out.rules.holderWatchesWall ? deadline : wallUs(Infinity);
  }

  /** When this hold needs something: its renewal, or its end. */
  #dueAt(id: number): number {
    const holds = this.#holds;
    if ((holds.flags(id) & KEEP) === 0) return holds.deadlineMono(id);
    const termUs = holds.termMs(id) * 1000;
    return holds.deadlineMono(id) - termUs + renewAfterUs(termUs);
  }

  #isShort(id: number): boolean {
    return this.#holds.termMs(id) * 1000 < CALENDAR_WIDTHS_MIN * this.#calendar.widthUs;
  }

  /** The calendar may be early by its width: good for a renewal; an end must have come. */
  #calendarDueAt(id: number): number {
    return this.#dueAt(id) + ((this.#holds.flags(id) & KEEP) === 0 ? this.#calendar.widthUs : 0);
  }

  #isDue(id: number, mono: MonoUs): boolean {
    return this.#isShort(id) ? this.#dueAt(id) <= mono : this.#calendar.hasBegun(this.#calendarDueAt(id), mono);
  }

  #schedule(id: number): void {
    if (!this.#isShort(id)) return this.#calendar.schedule(id, this.#calendarDueAt(id));
    this.#soon.push(monoUs(this.#dueAt(id)), id);
    if (this.#soon.isOvergrown(this.#holds.count, this.#names.idLimit)) this.#sweepSoon();
  }

  #sweepSoon(): void {
    this.#soon.clear();
    for (let id = 0; id < this.#names.idLimit; id++) {
      const isDue = this.#holds.has(id) && (this.#holds.flags(id) & RENEWING) === 0 && this.#isShort(id);
      if (isDue) this.#soon.push(monoUs(this.#dueAt(id)), id);
    }
  }

  #setFlag(id: number, flag: number): void {
    this.#holds.setFlags(id, this.#holds.flags(id) | flag);
  }

  #voters(id: number): readonly NodeId[] {
    return this.#out.electorate.votersOf(this.#names.placementOf(id));
  }

  #isVoter(from: NodeId, id: number): boolean {
    return this.#out.electorate.isVoter(from, this.#names.placementOf(id));
  }

  /** Passed on by the members to those who watch. A release is told before it is proposed (P6). */
  #tellLearners(id: number, remainingUs: number, flags: number, step: QuorumStep): void {
    const message = this.#out.compose(LEARN, this.#holds.lease(id), this.#names.toBytes(id));
    message.token = this.#holds.token(id);
    message.ballot = this.#holds.token(id) as BallotTime;
    message.termUs = remainingUs;
    message.flags = flags;
    if (flags === 0) this.#published.fillNews(this.#holds.lease(id), message);
    this.#out.sendTo(this.#voters(id), step);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    const holds = this.#holds;
    const rows = namesInOrder(this.#names, (id) => holds.has(id)).map(({ id, text }) => [
      text,
      holds.lease(id),
      holds.token(id),
      holds.ballot(id),
      holds.deadlineMono(id),
      holds.deadlineWall(id),
      holds.termMs(id),
      holds.flags(id),
    ]);
    const renewals = this.#renewals.values().map((renewal) => renewalSnapshot(renewal, this.#names));
    const releases = this.#releases.values().map(releasingSnapshot);
    return { rows, renewals, releases, published: this.#published.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    const { rows, renewals, releases, published } = snapshot as unknown as HolderSnapshot;
    this.#published.restore(published);
    for (const [text, ...row] of rows) {
      const id = internText(this.#names, text);
      this.#holds.add(id, ...row);
      if ((this.#holds.flags(id) & RENEWING) === 0) this.#schedule(id);
    }
    for (const { name, accepted, refused, ...rest } of renewals) {
      const id = internText(this.#names, name);
      this.#renewals.set(rest.lease, { ...rest, id, accepted: voterSet(accepted), refused: voterSet(refused) });
      this.#due.push(rest.until, rest.lease);
    }
    for (const { name: text, answered, ...rest } of releases) {
      const name = encodeName(text);
      const voters = this.#out.votersOf(name);
      this.#releases.set(rest.lease, { ...rest, name, voters, answered: voterSet(answered) });
      this.#due.push(rest.until, rest.lease);
    }
  }
}
