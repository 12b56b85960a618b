/**
 * The holder's side: what this node holds, until when on both of its clocks, and when each is renewed.
 * Held leases are rows of a table; only renewals and releases under way are objects. Authority moves on
 * only with a fresh quorum (rule 8), and ends before the release leaves (rule 6).
 */
import { invariant, monoUs, NO_BALLOT, wallUs, type BallotTime, type MonoUs, type NodeId, type WallUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { HoldTable } from '../../tables/index.ts';
import type { LeaseCommand } from '../contract.ts';
import type { BulkHolder, RoundsView } from './bundle-parts.ts';
import { BundledRows } from './bundled-rows.ts';
import type { QuorumStep } from './config.ts';
import { HeldRows } from './held-rows.ts';
import { CHANGING, GATED, HoldAgenda, IS_WATCHED, KEEP, LEAVING, LIMITED, RENEWING, WAS_WANTED } from './hold-agenda.ts';
import type { HoldKeys } from './hold-keys.ts';
import type { HoldLimits } from './hold-limits.ts';
import { LET_GO, QUIET, type QuorumMessage } from './messages.ts';
import { SHARED, slotOf } from './modes.ts';
import type { Heir, QuorumOutbox } from './outbox.ts';
import type { Publications } from './publications.ts';
import type { Pursuit } from './pursuit.ts';
import { Releaser } from './releaser.ts';
import { Renewals } from './renewals.ts';
import type { HolderSnapshot } from './under-way.ts';

type Renew = Extract<LeaseCommand, { kind: 'renew' }>;
type Release = Extract<LeaseCommand, { kind: 'release' }>;
type Proclaim = Extract<LeaseCommand, { kind: 'proclaim' }>;
type Lapse = Extract<LeaseCommand, { kind: 'lapse' }>;

/** What holders of all modes share. */
export interface HolderGround {
  readonly out: QuorumOutbox;
  readonly keys: HoldKeys;
  readonly limits: HoldLimits;
  readonly published: Publications;
  readonly rounds: RoundsView;
  /** A lease is not held any more. */
  readonly ended: (lease: number, step: QuorumStep) => void;
}

/** A hold that goes from one holder to another. */
export interface MovedHold {
  readonly token: number;
  readonly ballot: number;
  readonly deadlineMono: number;
  readonly deadlineWall: number;
  readonly termMs: number;
  readonly flags: number;
}

export class Holder implements BulkHolder {
  readonly bundled: BundledRows;
  readonly #out: QuorumOutbox;
  readonly #keys: HoldKeys;
  readonly #rows: HeldRows;
  readonly #holds: HoldTable;
  readonly #agenda: HoldAgenda;
  readonly #published: Publications;
  readonly renewals: Renewals;
  readonly #limits: HoldLimits;
  readonly #releases: Releaser;
  readonly #ended: HolderGround['ended'];

  /** `side`: which of the two holders of a node it is. */
  constructor(ground: HolderGround, side: 0 | 1) {
    const { out, keys, limits, published, rounds } = ground;
    this.#out = out;
    this.#keys = keys;
    this.#limits = limits;
    this.#published = published;
    this.#ended = ground.ended;
    this.#rows = new HeldRows(ground);
    this.#holds = this.#rows.table;
    this.#agenda = new HoldAgenda(this.#holds, keys.names, out.timing.maxTermUs);
    const lose = (id: number, step: QuorumStep): void => this.#lose(id, step);
    this.bundled = new BundledRows({ out, keys, rounds, rows: this.#rows, agenda: this.#agenda }, side);
    this.renewals = new Renewals({ out, keys, published, rows: this.#rows, agenda: this.#agenda, bundled: this.bundled, lose });
    this.#releases = new Releaser(out, ({ lease, name, endsAt }, step) => {
      const hasStopped = endsAt === 0 && out.rules.stopBeforeRelease && out.rules.handedStopsFirst;
      const id = hasStopped ? -1 : this.#rows.find(lease, name);
      if (id >= 0) this.#stop(id, step);
    });
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.renewals.wakeAt, this.#agenda.nextAt, this.#releases.wakeAt));
  }

  get count(): number {
    return this.#holds.count;
  }

  /** Whether anything waits for answers here. */
  get isIdle(): boolean {
    return this.#holds.count === 0 && this.#releases.count === 0;
  }

  isReleasing(lease: number): boolean {
    return this.#releases.has(lease);
  }

  /** The row of a lease that is held, or has run out and was not looked at since; -1 if there is none. */
  find(lease: number, name: Uint8Array): number {
    return this.#rows.find(lease, name);
  }

  /** Of a lease on the name that is held, or has run out and was not looked at since; 0 if there is none. */
  tokenOf(name: Uint8Array): number {
    const id = this.#keys.find(0, name);
    return id >= 0 && this.#holds.has(id) ? this.#holds.token(id) : NO_BALLOT;
  }

  /** How long the lease may still be acted under: computed from the clocks when asked, never from a flag a timer sets (rule 11). 0 if it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    const id = this.#rows.find(lease, name);
    if (id < 0) return 0;
    return this.#out.rules.validByClock ? Math.max(0, this.#rows.remaining(id, mono, wall)) : 1;
  }

  /** A quorum voted: from here on it is ours. */
  hold(pursuit: Pursuit, termEndMono: MonoUs, termEndWall: WallUs, step: QuorumStep): void {
    const { lease, name, ballot, termUs, keep, watched, trips, ticket, gated, maxHoldUs } = pursuit;
    // An earlier lease of this process on the same name has run out; it just was not looked at since.
    const earlier = this.#keys.find(lease, name);
    if (earlier >= 0 && this.#holds.has(earlier)) {
      invariant(ballot > this.#holds.token(earlier), 'a lease was granted with a token that is not above the last one of its name');
      this.#lose(earlier, step);
    }
    const id = this.#keys.intern(lease, name);
    const isLimited = maxHoldUs < Infinity;
    if (isLimited)
      this.#limits.set(lease, { monoUs: monoUs(pursuit.startMono + maxHoldUs), wallUs: wallUs(pursuit.startWall + maxHoldUs) });
    const deadlineMono = monoUs(Math.min(termEndMono, pursuit.startMono + maxHoldUs));
    const deadlineWall = wallUs(Math.min(termEndWall, pursuit.startWall + maxHoldUs));
    // Where the limit comes first there is nothing to renew.
    const isKept = keep && deadlineMono < pursuit.startMono + maxHoldUs;
    const flags = (isKept ? KEEP : 0) | (watched ? IS_WATCHED : 0) | (gated ? GATED : 0) | (isLimited ? LIMITED : 0);
    this.#holds.add(id, lease, ballot, ballot, deadlineMono, deadlineWall, Math.ceil(termUs / 1000), flags);
    this.#published.begin(lease, pursuit.meta, ballot);
    this.#agenda.schedule(id);
    if (watched) this.#rows.tellLearners(id, termUs, 0, step);
    const { deadlineMonoUs, deadlineWallUs } = this.#rows.deadline(id);
    const granted = { kind: 'granted', lease, token: ballot, deadlineMonoUs, deadlineWallUs, trips, waited: ticket !== NO_BALLOT } as const;
    step.emit(pursuit.slots === 0 ? granted : { ...granted, slot: slotOf(pursuit.mode) });
  }

  renew({ lease, name, termUs }: Renew, step: QuorumStep): void {
    const id = this.#rows.find(lease, name);
    if (id < 0 || this.#rows.is(id, LEAVING)) step.emit({ kind: 'renewal-failed', lease });
    else if (this.#rows.is(id, CHANGING)) return;
    // Join a renewal that is under way: beginning anew with each call would never let a renewal end.
    else if (!this.renewals.isAsking(lease)) this.renewals.start(id, termUs, true, step);
  }

  /** A renewal under way runs to its end and the next carries the metadata: frequent proclaims must not keep renewals from ending. */
  proclaim({ lease, name, meta, number }: Proclaim, step: QuorumStep): void {
    const id = this.#rows.find(lease, name);
    if (id < 0 || this.#rows.is(id, LEAVING)) {
      step.emit({ kind: 'renewal-failed', lease });
      return;
    }
    this.#published.proclaim(lease, meta, number);
    // The proposal that ends it carries it.
    if (this.#rows.is(id, CHANGING)) return;
    if (this.renewals.isAsking(lease)) return;
    const renewal = this.renewals.get(lease);
    if (!renewal || this.renewals.isGated(id)) this.renewals.carryNews(id, step);
    else this.renewals.send(renewal, step);
  }

  /** A renewal that is under way is void: the deadline stands from here on. */
  lapse({ lease, name }: Lapse): void {
    const id = this.#rows.find(lease, name);
    if (id < 0) return;
    this.renewals.drop(lease);
    this.#rows.clear(id, KEEP | RENEWING);
    this.#agenda.schedule(id);
  }

  release({ lease, name, inUs = 0 }: Release, step: QuorumStep): void {
    const id = this.#rows.find(lease, name);
    if (id < 0) {
      if (!this.#releases.has(lease)) step.emit({ kind: 'released', lease, byQuorum: false });
      return;
    }
    if (this.#releases.has(lease)) {
      if (this.#rows.is(id, LEAVING) && inUs === 0) this.#leave(id, step);
      return;
    }
    if (this.#rows.is(id, CHANGING)) {
      // Nothing comes of the change any more; the release covers its ballot.
      this.#rows.clear(id, CHANGING);
      this.#ended(lease, step);
    }
    const isLater = inUs > 0 && !this.#rows.isOver(id, step);
    this.#beginRelease(id, name, isLater ? Math.min(this.#holds.deadlineMono(id), step.monoUs + inUs) : 0, step);
    if (isLater) {
      this.#endLater(id, inUs, step);
      return;
    }
    if (this.#rows.is(id, IS_WATCHED)) this.#rows.tellLearners(id, 0, LET_GO, step);
    if (this.#out.rules.stopBeforeRelease) this.#stop(id, step);
    this.#releases.send(lease, step);
  }

  /** The heir's proposal waits at a quorum. Its ballot is above all that this lease ever sent, so the release of these votes takes nothing from the heir. False if it is too late. */
  handOver(lease: number, name: Uint8Array, to: Heir, step: QuorumStep): boolean {
    const id = this.#rows.find(lease, name);
    if (id < 0 || !this.#rows.is(id, CHANGING) || this.#rows.isOver(id, step) || to.ballot <= this.#holds.ballot(id)) return false;
    this.#rows.clear(id, CHANGING);
    this.#beginRelease(id, name, 0, step, to);
    step.emit({ kind: 'handed-over', lease, to: to.owner });
    // Learners hear of the heir from the heir: they are not told that it is free in between.
    if (this.#out.rules.handedStopsFirst) this.#stop(id, step);
    this.#releases.send(lease, step);
    return true;
  }

  /** A slot that is to rest is free only after its quarantine: voters are told so, though its holder has stopped. */
  #beginRelease(id: number, name: Uint8Array, endsAt: number, step: QuorumStep, to: Heir | null = null): void {
    const quarantineUs = this.#out.rules.releaseAfterQuarantine ? this.#keys.quarantineUsOf(id) : 0;
    const begun = {
      lease: this.#holds.lease(id),
      name,
      mode: this.#keys.modeOf(id),
      voters: this.#rows.voters(id),
      ballot: this.#holds.ballot(id) as BallotTime,
      to,
      endsAt: monoUs(endsAt),
      freeAt: monoUs(quarantineUs > 0 ? Math.max(endsAt, step.monoUs) + quarantineUs : endsAt),
      overAt: monoUs(this.#holds.deadlineMono(id) + quarantineUs),
    };
    this.#releases.begin(begun, step);
  }

  /** The holder is bound by the earlier end before any other process hears of it, and renews no more (P5). */
  #endLater(id: number, inUs: number, step: QuorumStep): void {
    const holds = this.#holds;
    const lease = holds.lease(id);
    this.renewals.drop(lease);
    if (this.#out.rules.bulkSkipsLeaving) this.bundled.leave(id);
    if (this.#out.rules.laterBounded) {
      holds.setDeadlineMono(id, Math.min(holds.deadlineMono(id), step.monoUs + inUs));
      holds.setDeadlineWall(id, Math.min(holds.deadlineWall(id), step.wallUs + inUs));
      if (this.#out.rules.bulkSkipsLeaving) holds.setTermMs(id, Math.min(holds.termMs(id), Math.ceil(inUs / 1000)));
    }
    this.#rows.clear(id, KEEP | RENEWING);
    this.#rows.set(id, LEAVING);
    this.#agenda.schedule(id);
    this.#releases.send(lease, step);
    step.emit({ kind: 'shortened', lease, ...this.#rows.deadline(id) });
  }

  /** By the members' clocks all of it may be over: nothing is held from here on, and nothing given back. */
  forfeit(step: QuorumStep): void {
    for (let id = 0; id < this.#keys.names.idLimit; id++) if (this.#holds.has(id)) this.#lose(id, step, false);
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  accepted(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.renewals.accepted(from, message, step);
  }

  /** The voter has begun another life. Leases that are held were won before. */
  uncount(voter: NodeId): void {
    this.renewals.uncount(voter);
  }

  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.renewals.refused(from, message, step);
  }

  released(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#releases.answered(from, message, step);
  }

  viewChanged(step: QuorumStep): void {
    this.renewals.viewChanged(step);
    this.#releases.viewChanged();
  }

  /** Of a lease that is held. */
  votersOf(lease: number): readonly NodeId[] | undefined {
    const renewal = this.renewals.get(lease);
    return renewal && this.#rows.voters(renewal.id);
  }

  // ── In bulk ────────────────────────────────────────────────────────────────────────────────────────

  /** A waiter stands in line for it; the holder is told once between two rounds. */
  wanted(lease: number, name: Uint8Array, step: QuorumStep): void {
    const id = this.#rows.find(lease, name);
    if (id < 0 || this.#rows.is(id, WAS_WANTED)) return;
    this.#rows.set(id, WAS_WANTED);
    step.emit({ kind: 'wanted', lease });
  }

  wake(step: QuorumStep): void {
    this.#agenda.take(step.monoUs, (id) => this.#visit(id, step));
    this.renewals.wake(step);
    this.#releases.wake(step);
  }

  // ── Renewal ────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A hold is due for its renewal or its end. Stale entries end up here, too, and change nothing: no snapshot keeps them, and a
   * restored core does the same as this one.
   */
  #visit(id: number, step: QuorumStep): void {
    const holds = this.#holds;
    if (!holds.has(id) || (holds.flags(id) & (RENEWING | CHANGING)) !== 0 || !this.#agenda.isDue(id, step.monoUs)) return;
    if (this.#rows.isOver(id, step)) this.#lose(id, step);
    else if (this.renewals.isGated(id)) this.renewals.askHolder(id, step);
    else if (this.bundled.serves(id)) this.bundled.due(id, step);
    else this.renewals.start(id, this.#rows.termUs(id), true, step);
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  #stop(id: number, step: QuorumStep): void {
    const lease = this.#holds.lease(id);
    this.#forget(id, lease, step);
    step.emit({ kind: 'stopped', lease });
  }

  /** Past its deadline the holder has stopped, so its remaining votes may go. */
  #lose(id: number, step: QuorumStep, givesBack = true): void {
    const lease = this.#holds.lease(id);
    if (this.#rows.is(id, LEAVING) && givesBack) {
      this.#leave(id, step);
      return;
    }
    const isAtLimit = this.#rows.isAtLimit(id);
    const ballot = this.#holds.ballot(id) as BallotTime;
    const name = this.#keys.nameOf(id);
    const mode = this.#keys.modeOf(id);
    // The votes for a slot that is to rest are left to run out: they last for as long as it must.
    const leavesVotes = this.#keys.quarantineUsOf(id) > 0 && this.#out.rules.releaseAfterQuarantine;
    const voters = this.#rows.voters(id);
    // Others that it holds may live on, and with them its bundle.
    if (this.#holds.bundled(id) !== 0 && this.#rows.is(id, IS_WATCHED)) this.#rows.tellLearners(id, 0, LET_GO, step);
    this.#forget(id, lease, step);
    this.#releases.drop(lease);
    step.emit(isAtLimit ? { kind: 'lost', lease, why: 'max-hold' } : { kind: 'lost', lease });
    if (givesBack && !leavesVotes) this.#out.release(voters, lease, name, ballot, QUIET, step, mode);
  }

  /** The lease was given back as of this instant. */
  #leave(id: number, step: QuorumStep): void {
    const lease = this.#holds.lease(id);
    if (this.#rows.is(id, IS_WATCHED)) this.#rows.tellLearners(id, 0, LET_GO, step);
    this.#stop(id, step);
    this.#releases.stopped(lease, step);
  }

  #forget(id: number, lease: number, step: QuorumStep): void {
    this.#limits.forget(lease);
    this.#published.forget(lease);
    this.#drop(id, lease);
    this.#ended(lease, step);
  }

  #drop(id: number, lease: number): void {
    this.renewals.drop(lease);
    this.bundled.leave(id);
    invariant(this.#holds.remove(id), 'a lease ended that is not held');
    this.#keys.forget(id);
  }

  // ── Other modes ────────────────────────────────────────────────────────────────────────────────────

  /** Its votes are asked for another mode with this ballot: a renewal that is under way is void, and none begins. False if it is not held. */
  beginChange(lease: number, name: Uint8Array, ballot: BallotTime, step: QuorumStep): boolean {
    const id = this.#rows.find(lease, name);
    if (id < 0 || this.#rows.is(id, LEAVING) || this.#rows.isOver(id, step)) return false;
    this.renewals.drop(lease);
    this.#rows.clear(id, RENEWING);
    this.#rows.set(id, CHANGING);
    if (this.#out.rules.bulkByMode) this.bundled.leave(id);
    // A release must cover every ballot this lease ever sent.
    this.#holds.setBallot(id, ballot);
    return true;
  }

  /** What a proposal for another mode says besides. */
  fillChange(lease: number, name: Uint8Array, message: QuorumMessage): void {
    const id = this.#rows.find(lease, name);
    if (id < 0) return;
    if (!this.#out.rules.upgradeNewToken) message.token = this.#holds.token(id);
    this.#published.carry(lease, message);
  }

  /** The change came to nothing: votes that were given for it turn back, and the lease keeps its mode. */
  turnBack(lease: number, name: Uint8Array, step: QuorumStep): void {
    const id = this.#rows.find(lease, name);
    if (id < 0 || !this.#rows.is(id, CHANGING)) return;
    this.#rows.clear(id, CHANGING);
    if (this.#rows.isOver(id, step)) this.#lose(id, step);
    else this.renewals.start(id, this.#rows.termUs(id), this.#rows.is(id, KEEP) && !this.renewals.isGated(id), step);
  }

  /** A quorum has voted for it as the only one. It lasts from the start of that, though it may have lasted longer: a voter may know of nothing else. */
  upgrade(pursuit: Pursuit, step: QuorumStep): boolean {
    const { lease, name, ballot, startMono, startWall, termUs } = pursuit;
    const id = this.#rows.find(lease, name);
    if (id < 0 || !this.#rows.is(id, CHANGING) || this.#rows.isOver(id, step)) return false;
    const { rules } = this.#out;
    const before = { mono: this.#holds.deadlineMono(id), wall: this.#holds.deadlineWall(id) };
    this.#rows.clear(id, CHANGING);
    if (rules.upgradeNewToken) this.#holds.setToken(id, ballot);
    this.#rows.setDeadline(id, startMono, startWall, termUs);
    if (!rules.upgradeFromStart && before.mono > this.#holds.deadlineMono(id)) {
      this.#holds.setDeadlineMono(id, before.mono);
      this.#holds.setDeadlineWall(id, before.wall);
    }
    if (this.#rows.isAtLimit(id)) this.#rows.clear(id, KEEP);
    this.#agenda.schedule(id);
    step.emit({ kind: 'upgraded', lease, token: this.#holds.token(id) as BallotTime, ...this.#rows.deadline(id) });
    if (this.#published.isUnsent(lease)) this.renewals.carryNews(id, step);
    return true;
  }

  /** From here on it is a reader's, and its voters are told until they answer. */
  downgrade(lease: number, name: Uint8Array, step: QuorumStep): void {
    const id = this.#rows.find(lease, name);
    if (id < 0) return;
    const { downgradeAtOnce } = this.#out.rules;
    if (downgradeAtOnce) step.emit({ kind: 'downgraded', lease });
    this.renewals.start(id, this.#rows.termUs(id), false, step, downgradeAtOnce ? null : SHARED);
  }

  /** Whether it may change its mode. */
  canChange(lease: number, name: Uint8Array, step: QuorumStep): boolean {
    const id = this.#rows.find(lease, name);
    return id >= 0 && !this.#rows.is(id, LEAVING | CHANGING) && !this.#rows.isOver(id, step);
  }

  termUsOf(lease: number, name: Uint8Array): number {
    const id = this.#rows.find(lease, name);
    return id < 0 ? 0 : this.#rows.termUs(id);
  }

  quarantineUsOf(lease: number, name: Uint8Array): number {
    const id = this.#rows.find(lease, name);
    return id < 0 ? 0 : this.#keys.quarantineUsOf(id);
  }

  /** How long it may still be acted under. */
  leftUs(lease: number, name: Uint8Array, step: QuorumStep): number {
    const id = this.#rows.find(lease, name);
    return id < 0 ? 0 : this.#rows.remaining(id, step.monoUs, step.wallUs);
  }

  ballotOf(lease: number, name: Uint8Array): BallotTime {
    const id = this.#rows.find(lease, name);
    return (id < 0 ? NO_BALLOT : this.#holds.ballot(id)) as BallotTime;
  }

  /** Its hold goes to another holder. */
  moveOut(lease: number, name: Uint8Array): MovedHold | null {
    const id = this.#rows.find(lease, name);
    if (id < 0) return null;
    const holds = this.#holds;
    const moved = {
      token: holds.token(id),
      ballot: holds.ballot(id),
      deadlineMono: holds.deadlineMono(id),
      deadlineWall: holds.deadlineWall(id),
      termMs: holds.termMs(id),
      flags: holds.flags(id) & ~(RENEWING | WAS_WANTED),
    };
    this.#drop(id, lease);
    return moved;
  }

  moveIn(lease: number, name: Uint8Array, { token, ballot, deadlineMono, deadlineWall, termMs, flags }: MovedHold): void {
    const id = this.#keys.intern(lease, name);
    this.#holds.add(id, lease, token, ballot, deadlineMono, deadlineWall, termMs, flags);
    this.#agenda.schedule(id);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return { rows: this.#rows.snapshot(), renewals: this.renewals.snapshot(), releases: this.#releases.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    const { rows, renewals, releases } = snapshot as unknown as HolderSnapshot;
    for (const id of this.#rows.restore(rows)) if (!this.#rows.is(id, RENEWING | CHANGING)) this.#agenda.schedule(id);
    this.renewals.restore(renewals);
    this.#releases.restore(releases);
  }
}
