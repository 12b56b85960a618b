/**
 * The acceptor: a vote per name, given to one live lease at a time (rule 2), counted on this node's own
 * monotonic clock, forgotten when it ends. It also keeps the queue of those who wait. It holds no
 * promise and no vote from an earlier life: after a restart it keeps silent until none can matter (rule 4).
 */
import {
  hashName,
  monoAfter,
  monoUs,
  NEVER,
  NO_BALLOT,
  spanUs,
  WALL_US_BELIEVED_MAX,
  wallUs,
  type BallotTime,
  type Incarnation,
  type MonoUs,
  type NodeId,
  type WallUs,
} from '../../../kernel/index.ts';
import type { Boot, Snapshot } from '../../contract.ts';
import { LeaseTable, OwnerTable, type NameTable } from '../../tables/index.ts';
import { FLOOR_BUCKETS, type QuorumConfig, type QuorumStep } from './config.ts';
import { Floors } from './floors.ts';
import {
  ACCEPTED,
  ANSWER,
  FOR_PREPARE,
  HAS_LEASE,
  HELD,
  LOW,
  OUTBID,
  PREPARE,
  PROMISED,
  QUEUED,
  QUIET,
  QuorumMessage,
  REFUSED,
  RELEASED,
  RENEWS,
  SILENT,
  TOO_LONG,
  WATCHED,
} from './messages.ts';
import { Pages, type RowView } from './pages.ts';
import { Promises } from './promises.ts';
import type { QuorumRules } from './rules.ts';
import { internText, namesInOrder } from './snapshots.ts';
import { stretch, type Timing } from './timing.ts';
import { WaitingRoom, type LeaseView } from './waiting-room.ts';
import type { Watchers } from './watchers.ts';

/** How many rows one sweep looks at. */
const SWEEP_ROWS = 4096;

/** What `snapshot` makes and `restore` takes. */
interface AcceptorSnapshot {
  readonly rows: readonly (readonly [string, Incarnation, number, number, number, number, readonly number[]])[];
  readonly promises: Snapshot;
  readonly queues: Snapshot;
  readonly silence: readonly [MonoUs, WallUs, boolean, boolean];
  readonly floors: readonly number[];
  readonly clock: BallotTime;
  readonly sweepAt: MonoUs;
  readonly sweepFrom: number;
}

export class Acceptor implements LeaseView, RowView {
  readonly #self: NodeId;
  readonly #rules: QuorumRules;
  readonly #timing: Timing;
  readonly #names: NameTable;
  readonly #leases: LeaseTable;
  readonly #owners = new OwnerTable();
  readonly #floors: Floors;
  readonly #watchers: Watchers;
  readonly #promises: Promises;
  readonly #waiting: WaitingRoom;
  readonly #pages: Pages;
  readonly #metas = new Map<number, Uint8Array>();
  readonly #reply = new QuorumMessage();
  #silentUntil: MonoUs = monoUs(-Infinity);
  #silentUntilWall: WallUs = wallUs(-Infinity);
  #silenceTold = true;
  #floorsSet = true;
  /** The highest ballot seen, for those who ask with a lower one. */
  #clock: BallotTime = NO_BALLOT;
  #sweepAt: MonoUs = NEVER;
  #sweepFrom = 0;

  constructor(config: QuorumConfig, boot: Boot, names: NameTable, watchers: Watchers, rules: QuorumRules) {
    this.#self = boot.self;
    this.#rules = rules;
    this.#timing = config.timing;
    this.#names = names;
    this.#leases = new LeaseTable(names);
    this.#floors = new Floors(config.floorBuckets ?? FLOOR_BUCKETS);
    this.#watchers = watchers;
    const standsUs = rules.promiseYieldsToOwner ? config.timing.promiseUs : config.timing.silenceUs;
    this.#promises = new Promises(names, rules.oneRoundTrip ? standsUs : null);
    this.#waiting = new WaitingRoom(names, config.timing, this);
    this.#pages = new Pages(names, this);
  }

  get wakeAt(): MonoUs {
    const silenceOver = this.#silenceTold ? NEVER : this.#silentUntil;
    return monoUs(Math.min(this.#promises.wakeAt, this.#waiting.wakeAt, this.#sweepAt, silenceOver));
  }

  /** Live and dead rows that are still there. */
  get rows(): number {
    return this.#leases.count;
  }

  start(restarted: boolean, step: QuorumStep): void {
    if (!restarted) return;
    this.#floorsSet = false;
    if (!this.#rules.restartSilence) return;
    this.#silentUntil = monoAfter(step.monoUs, this.#timing.silenceUs);
    this.#silentUntilWall = wallUs(step.wallUs + this.#timing.silenceUs);
    this.#silenceTold = false;
  }

  // ── Votes ──────────────────────────────────────────────────────────────────────────────────────────

  prepare(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#observe(message.ballot);
    if (this.#refuseInSilence(from, message, step)) return;
    const hash = hashName(message.name, message.nameStart, message.nameEnd);
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd, hash);
    if (!this.#rules.oneRoundTrip) {
      this.#prepareLiteral(from, id, message, step);
      return;
    }
    if (this.isLive(id, step) && !this.#isSameLease(id, message)) {
      if (!this.#rules.promiseYieldsToOwner) this.#promises.make(message, step);
      this.#refuse(from, HELD, id, message, step);
    } else if (this.#waiting.blocks(id, message.owner, message.lease, step)) {
      this.#refuse(from, QUEUED, id, message, step);
    } else if (this.#promises.blocks(id, message, step)) {
      this.#refuse(from, OUTBID, id, message, step);
    } else if (message.ballot <= this.#floorOf(id, hash)) {
      this.#refuse(from, LOW, id, message, step);
    } else {
      this.#promises.make(message, step);
      this.#answer(from, PROMISED, message, step);
    }
  }

  propose(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#observe(message.ballot);
    if (this.#refuseInSilence(from, message, step)) return;
    const hash = hashName(message.name, message.nameStart, message.nameEnd);
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd, hash);
    const renews = (message.flags & RENEWS) !== 0;
    if (message.termUs > this.#timing.maxTermUs) {
      this.#refuse(from, TOO_LONG, id, message, step);
    } else if (!this.#rules.oneRoundTrip) {
      this.#proposeLiteral(from, id, message, step);
    } else if (this.isLive(id, step) && (this.#isSameLease(id, message) || this.#rules.keepLiveLease)) {
      if (!this.#isSameLease(id, message)) {
        if (!this.#rules.promiseYieldsToOwner) this.#promises.make(message, step);
        this.#refuse(from, HELD, id, message, step);
      } else if (this.#rules.refuseOwnLower && message.ballot < this.#leases.ballot(id)) {
        this.#refuse(from, LOW, id, message, step);
      } else if (!this.#rules.promiseYieldsToOwner && this.#promises.isToAnother(id, message, step)) {
        this.#refuse(from, OUTBID, id, message, step);
      } else {
        // The same proposal again changes nothing; its vote was counted from when it came first.
        if (message.ballot !== this.#leases.ballot(id)) this.#extend(id, message, step);
        this.#vote(from, message, step);
      }
    } else if (!renews && this.#waiting.blocks(id, message.owner, message.lease, step)) {
      this.#refuse(from, QUEUED, id, message, step);
    } else if (!renews && this.#promises.blocks(id, message, step)) {
      this.#refuse(from, OUTBID, id, message, step);
    } else if (this.#rules.tokenAboveFloor && message.ballot <= this.#floorOf(id, hash)) {
      this.#refuse(from, LOW, id, message, step);
    } else {
      this.#accept(hash, message, step);
      this.#vote(from, message, step);
    }
  }

  /** Removes the owner's row if its ballot is at most this one, and nothing else (rule 6). */
  release(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#observe(message.ballot);
    const hash = hashName(message.name, message.nameStart, message.nameEnd);
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd, hash);
    if (id >= 0 && this.#leases.has(id) && this.#ownerOf(id) === message.owner && this.#isReleasable(id, message)) {
      this.#remove(id, step);
    }
    // A proposal of this lease that is still under way must find no room here.
    if (this.#rules.tokenAboveFloor) this.#floors.raise(hash, message.ballot);
    if ((message.flags & QUIET) === 0) this.#answer(from, RELEASED, message, step);
  }

  query(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const reply = this.#reply;
    if (this.#isSilent(from, step)) return;
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd);
    reply.kind = ANSWER;
    reply.owner = message.owner;
    reply.lease = message.lease;
    reply.clock = this.#clock;
    this.describe(id, reply, step);
    step.send(from, reply);
  }

  list(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (!this.#isSilent(from, step)) this.#pages.send(from, message, step);
  }

  // ── Those who wait ─────────────────────────────────────────────────────────────────────────────────

  wait(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#observe(message.ballot);
    if (!this.#isSilent(from, step)) this.#waiting.enter(from, message, step);
  }

  unwait(message: QuorumMessage, step: QuorumStep): void {
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd);
    if (id >= 0) this.#waiting.leave(id, message.owner, message.lease, step);
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  wake(step: QuorumStep): void {
    if (!this.#silenceTold && step.monoUs >= this.#silentUntil) {
      this.#silenceTold = true;
      if (!this.#floorsSet) this.#setFloors(step);
      step.emit({ kind: 'ready' });
    }
    this.#promises.wake(step);
    this.#waiting.wake(step);
    if (step.monoUs >= this.#sweepAt) this.#sweep(step);
  }

  /** Takes dead rows away, a slice at a time; goes round once a term. */
  #sweep(step: QuorumStep): void {
    const leases = this.#leases;
    const end = Math.min(this.#sweepFrom + SWEEP_ROWS, this.#names.idLimit);
    for (let id = this.#sweepFrom; id < end; id++) {
      if (leases.has(id) && !this.isLive(id, step)) this.#remove(id, step);
    }
    this.#sweepFrom = end >= this.#names.idLimit ? 0 : end;
    this.#sweepAt = NEVER;
    this.#scheduleSweep(step);
  }

  #scheduleSweep(step: QuorumStep): void {
    if (this.#leases.count === 0 || this.#sweepAt !== NEVER) return;
    const slices = Math.ceil(this.#names.idLimit / SWEEP_ROWS);
    this.#sweepAt = monoAfter(step.monoUs, spanUs(Math.max(1000, Math.floor(this.#timing.maxTermUs / slices))));
  }

  // ── Rows ───────────────────────────────────────────────────────────────────────────────────────────

  /** A vote for a lease that has none here; what is left of a dead one goes. */
  #accept(hash: number, message: QuorumMessage, step: QuorumStep): void {
    const leases = this.#leases;
    // Looked up anew: seeing to a queue may have let the name go since.
    const id = this.#names.intern(message.name, message.nameStart, message.nameEnd, hash);
    const owner = this.#owners.indexOf(message.owner);
    this.#owners.retain(owner);
    if (leases.has(id)) {
      this.#owners.release(leases.owner(id));
      leases.setOwner(id, owner);
      leases.setLease(id, message.lease);
      leases.setBallot(id, message.ballot);
      leases.setToken(id, message.token);
      leases.setExpiresAt(id, this.#expiry(message, step));
    } else {
      leases.add(id, owner, message.lease, message.ballot, message.token, this.#expiry(message, step));
    }
    this.#keepMeta(id, message);
    this.#scheduleSweep(step);
    this.#waiting.leave(id, message.owner, message.lease, step);
    this.#waiting.leaseChanged(id, step);
  }

  /** A vote for the lease that has this one already: its deadline only moves on (rule 7). */
  #extend(id: number, message: QuorumMessage, step: QuorumStep): void {
    const leases = this.#leases;
    const expiresAt = this.#expiry(message, step);
    leases.setBallot(id, message.ballot);
    leases.setToken(id, message.token);
    leases.setExpiresAt(id, this.#rules.neverShorten ? Math.max(leases.expiresAt(id), expiresAt) : expiresAt);
    leases.setLease(id, message.lease);
    this.#keepMeta(id, message);
  }

  #remove(id: number, step: QuorumStep): void {
    const leases = this.#leases;
    if (this.#rules.tokenAboveFloor) this.#floors.raise(this.#names.hashOf(id), leases.ballot(id) as BallotTime);
    this.#owners.release(leases.owner(id));
    this.#metas.delete(id);
    leases.remove(id);
    this.#waiting.leaseChanged(id, step);
  }

  #keepMeta(id: number, message: QuorumMessage): void {
    if (message.metaEnd > message.metaStart) this.#metas.set(id, message.meta.slice(message.metaStart, message.metaEnd));
    else if (this.#metas.size > 0) this.#metas.delete(id);
  }

  #expiry({ termUs }: QuorumMessage, step: QuorumStep): number {
    const span = this.#rules.stretchTerm ? stretch(termUs, this.#timing.rateErrorPpm) : termUs;
    return (this.#rules.votesByMonotonic ? step.monoUs : step.wallUs) + span;
  }

  /** Judged on this acceptor's own monotonic clock: a step of the wall clock must not free a live vote (rule 12). */
  isLive(id: number, step: QuorumStep): boolean {
    if (id < 0 || !this.#leases.has(id)) return false;
    return (this.#rules.votesByMonotonic ? step.monoUs : step.wallUs) < this.#leases.expiresAt(id);
  }

  expiresAt(id: number): number {
    return this.#leases.expiresAt(id);
  }

  /** The highest ballot seen: whoever asks with a lower one is told. */
  get clock(): BallotTime {
    return this.#clock;
  }

  #ownerOf(id: number): Incarnation {
    return this.#owners.incarnationOf(this.#leases.owner(id));
  }

  /** Another lease of the same incarnation is another owner's (rule 3). */
  #isSameLease(id: number, message: QuorumMessage): boolean {
    return this.#ownerOf(id) === message.owner && (!this.#rules.handlesApart || this.#leases.lease(id) === message.lease);
  }

  #isReleasable(id: number, message: QuorumMessage): boolean {
    if (!this.#rules.releaseByBallot) return true;
    return this.#leases.ballot(id) <= message.ballot && (this.#leases.lease(id) === message.lease || !this.#rules.handlesApart);
  }

  #floorOf(id: number, hash: number): BallotTime {
    const floor = this.#floors.get(hash);
    return id >= 0 && this.#leases.has(id) ? (Math.max(floor, this.#leases.ballot(id)) as BallotTime) : floor;
  }

  // ── The papers to the letter: rule 2 off, prepare always, promises for ever ────────────────────────

  #prepareLiteral(from: NodeId, id: number, message: QuorumMessage, step: QuorumStep): void {
    if (this.#promises.blocks(id, message, step)) return;
    this.#promises.make(message, step);
    this.#tellLease(id, step);
    const reply = this.#reply;
    reply.kind = PROMISED;
    reply.owner = message.owner;
    reply.lease = message.lease;
    reply.ballot = message.ballot;
    reply.clock = this.#clock;
    step.send(from, reply);
  }

  #proposeLiteral(from: NodeId, id: number, message: QuorumMessage, step: QuorumStep): void {
    if (this.#promises.blocks(id, message, step)) return;
    // The proposal may have reached us though our promise was not among those it was built on.
    this.#promises.make(message, step);
    this.#accept(hashName(message.name, message.nameStart, message.nameEnd), message, step);
    this.#vote(from, message, step);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    const leases = this.#leases;
    const rows = namesInOrder(this.#names, (id) => leases.has(id)).map(({ id, text }) => [
      text,
      this.#ownerOf(id),
      leases.lease(id),
      leases.ballot(id),
      leases.token(id),
      leases.expiresAt(id),
      [...(this.#metas.get(id) ?? [])],
    ]);
    const silence = [this.#silentUntil, this.#silentUntilWall, this.#silenceTold, this.#floorsSet];
    return {
      rows,
      promises: this.#promises.snapshot(),
      queues: this.#waiting.snapshot(),
      silence,
      floors: this.#floors.snapshot(),
      clock: this.#clock,
      sweepAt: this.#sweepAt,
      sweepFrom: this.#sweepFrom,
    };
  }

  restore(snapshot: Snapshot): void {
    const { rows, promises, queues, silence, floors, clock, sweepAt, sweepFrom } = snapshot as unknown as AcceptorSnapshot;
    for (const [text, incarnation, lease, ballot, token, expiresAt, meta] of rows) {
      const id = internText(this.#names, text);
      const owner = this.#owners.indexOf(incarnation);
      this.#owners.retain(owner);
      this.#leases.add(id, owner, lease, ballot, token, expiresAt);
      if (meta.length > 0) this.#metas.set(id, Uint8Array.from(meta));
    }
    this.#promises.restore(promises);
    this.#waiting.restore(queues);
    [this.#silentUntil, this.#silentUntilWall, this.#silenceTold, this.#floorsSet] = silence;
    this.#floors.restore(floors);
    this.#clock = clock;
    this.#sweepAt = sweepAt;
    this.#sweepFrom = sweepFrom;
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  #observe(ballot: BallotTime): void {
    if (ballot > this.#clock) this.#clock = ballot;
  }

  /** The silence covers the whole node, its own vote included (rule 4), and ends by monotonic time only. */
  #isSilent(from: NodeId, step: QuorumStep): boolean {
    if (from === this.#self && !this.#rules.silenceCoversOwnVote) return false;
    if (this.#rules.silenceByMonotonic ? step.monoUs < this.#silentUntil : step.wallUs < this.#silentUntilWall) return true;
    if (!this.#floorsSet) this.#setFloors(step);
    return false;
  }

  /**
   * A restarted acceptor has forgotten how high it went. By the end of its silence its wall clock has
   * passed every ballot of before, unless it lags by more than the silence (rule 18).
   */
  #setFloors(step: QuorumStep): void {
    this.#floorsSet = true;
    if (!this.#rules.tokenAboveFloor) return;
    // Whoever is refused for being below must be told what to go above.
    this.#observe(Math.floor(Math.min(step.wallUs, WALL_US_BELIEVED_MAX)) as BallotTime);
    this.#floors.raiseAll(this.#clock);
  }

  #refuseInSilence(from: NodeId, message: QuorumMessage, step: QuorumStep): boolean {
    if (!this.#isSilent(from, step)) return false;
    const reply = this.#reply;
    reply.reason = SILENT;
    reply.flags = message.kind === PREPARE ? FOR_PREPARE : 0;
    reply.remainingUs = Math.max(0, this.#silentUntil - step.monoUs);
    this.#answer(from, REFUSED, message, step);
    return true;
  }

  #refuse(from: NodeId, reason: number, id: number, message: QuorumMessage, step: QuorumStep): void {
    this.#tellLease(id, step);
    this.#reply.reason = reason;
    if (message.kind === PREPARE) this.#reply.flags |= FOR_PREPARE;
    this.#answer(from, REFUSED, message, step);
  }

  #vote(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#reply.flags = this.#watchers.isWatched(message) ? WATCHED : 0;
    this.#answer(from, ACCEPTED, message, step);
  }

  #answer(from: NodeId, kind: number, message: QuorumMessage, step: QuorumStep): void {
    const reply = this.#reply;
    if (kind === PROMISED) reply.flags = 0;
    reply.kind = kind;
    reply.owner = message.owner;
    reply.lease = message.lease;
    reply.ballot = message.ballot;
    reply.clock = this.#clock;
    step.send(from, reply);
  }

  /** All there is to know of the live lease, for those who ask. */
  describe(id: number, reply: QuorumMessage, step: QuorumStep): void {
    this.#tellLease(id, step, reply);
    const isTold = (reply.flags & HAS_LEASE) !== 0;
    reply.ballot = isTold ? (this.#leases.ballot(id) as BallotTime) : NO_BALLOT;
    reply.setMeta(isTold ? this.#metas.get(id) : undefined);
  }

  /** Fills in what this acceptor knows of the live lease, if there is one. */
  #tellLease(id: number, step: QuorumStep, reply: QuorumMessage = this.#reply): void {
    if (id < 0 || !this.isLive(id, step)) {
      reply.flags = 0;
      return;
    }
    const leases = this.#leases;
    reply.flags = HAS_LEASE;
    reply.holder = this.#ownerOf(id);
    reply.holderLease = leases.lease(id);
    reply.token = leases.token(id);
    reply.remainingUs = Math.max(0, Math.ceil(leases.expiresAt(id) - (this.#rules.votesByMonotonic ? step.monoUs : step.wallUs)));
  }
}
