/**
 * Votes on names that are shared, or were: what PROPOSE and RELEASE mean where a name may have several votes. Live votes of one acceptor never
 * clash, so of two holders that clash the later meets the earlier's vote at a common acceptor; floors do the same for tokens: one floor for
 * writers' tokens, one for all tokens, and one for each slot (docs/research/divergence/quorum.md#modes).
 */
import { invariant, NO_BALLOT, type BallotTime, type Incarnation, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { NameTable } from '../../tables/index.ts';
import type { Changes } from './changes.ts';
import type { QuorumStep } from './config.ts';
import { Floors } from './floors.ts';
import type { Ledger, VoteChange } from './ledger.ts';
import type { Taken } from './line.ts';
import { HELD, LATER, LOW, NO_ROOM, OUTBID, QUEUED, RENEWS, type QuorumMessage } from './messages.ts';
import { clash, EXCLUSIVE, SHARED, slotOf, type LeaseKey, type LiveVote } from './modes.ts';
import type { Promises } from './promises.ts';
import type { VoteRecord } from './records.ts';
import type { QuorumRules } from './rules.ts';
import { endOf, SideVotes, type SideVote } from './side-votes.ts';
import type { VoteBundles } from './vote-bundles.ts';
import type { Votes } from './votes.ts';
import type { LeaseView, WaitingRoom } from './waiting-room.ts';

interface ModedGround {
  readonly names: NameTable;
  readonly votes: Votes;
  readonly bundles: VoteBundles;
  readonly floors: Floors;
  readonly floorBuckets: number;
  readonly changes: Changes;
  readonly ledger: Ledger | null;
  readonly rules: QuorumRules;
  readonly promises: Promises;
  /** So many votes of one name there are at most. */
  readonly sharingMax: number;
  /** The acceptor's own. */
  readonly isLive: (id: number, step: QuorumStep) => boolean;
  /** Whether a renewal waits for the others to go. */
  readonly park: (from: NodeId, message: QuorumMessage, id: number, hash: number, step: QuorumStep) => boolean;
  readonly expiry: (message: QuorumMessage, step: QuorumStep) => number;
  readonly toldClock: LeaseView['toldClock'];
  readonly removeExclusive: (id: number, step: QuorumStep) => void;
  readonly refuse: (from: NodeId, reason: number, id: number, hash: number, message: QuorumMessage, step: QuorumStep) => void;
  readonly vote: (from: NodeId, number: number, change: VoteChange, message: QuorumMessage, step: QuorumStep) => void;
}

const NOTHING: Taken = { hasWriter: false, hasReaders: false, hasSlots: false, freeSlots: (slots) => slots };
const ALL: Taken = { hasWriter: true, hasReaders: false, hasSlots: false, freeSlots: () => 0 };
const NO_BYTES = new Uint8Array(0);

export class ModedVotes implements LeaseView {
  readonly side: SideVotes;
  readonly #ground: ModedGround;
  /** How high the tokens of all leases went: a writer's is above them. */
  readonly #floorOfAll: Floors;
  /** How high the tokens of each slot went, by bucket of name and slot. */
  readonly #floorOfSlots: Floors;
  #waiting: WaitingRoom | null = null;

  constructor(ground: ModedGround) {
    this.#ground = ground;
    this.side = new SideVotes(ground.names, ground.votes, ground.bundles);
    this.#floorOfAll = new Floors(ground.floorBuckets);
    this.#floorOfSlots = new Floors(ground.floorBuckets);
  }

  /** The line needs to know of votes, and votes of the line. */
  attend(waiting: WaitingRoom): void {
    this.#waiting = waiting;
  }

  // ── Requests ───────────────────────────────────────────────────────────────────────────────────────

  propose(from: NodeId, message: QuorumMessage, found: number, hash: number, step: QuorumStep): void {
    const { rules, promises, refuse, vote } = this.#ground;
    const { mode, owner, lease, ballot, slots } = message;
    const renews = (message.flags & RENEWS) !== 0;
    this.prune(found, step);
    const id = this.#find(message, hash);
    const own = this.#ownMode(id, message, step);
    if (own >= 0) {
      const ownBallot = this.#ballotOf(id, message);
      const becomesWriter = mode === EXCLUSIVE && own !== EXCLUSIVE;
      const asksOthers = !becomesWriter || rules.upgradeAsksReaders;
      if (ballot < ownBallot && rules.refuseOwnLower) refuse(from, LOW, id, hash, message, step);
      else if (ballot === ownBallot) vote(from, this.#numberOf(id, message), 'again', message, step);
      else if (asksOthers && this.#isTaken(id, message, step)) this.#refuseUpgrade(from, HELD, id, hash, message, step);
      else if (own !== mode && mode !== SHARED && ballot <= this.#floor(id, hash, mode))
        this.#refuseUpgrade(from, LOW, id, hash, message, step);
      else if (!renews && ballot <= this.#ground.floors.base) refuse(from, LOW, id, hash, message, step);
      else this.#retune(from, own, id, hash, message, step);
    } else if (this.#isTaken(id, message, step)) {
      if (!renews || !this.#ground.park(from, message, id, hash, step)) refuse(from, HELD, id, hash, message, step);
    } else if (!renews && this.#isBlocked(id, owner, lease, { mode, slots }, step)) {
      refuse(from, QUEUED, id, hash, message, step);
    } else if (!renews && mode === EXCLUSIVE && promises.blocks(id, message, step)) {
      refuse(from, OUTBID, id, hash, message, step);
    } else if (ballot <= this.#floor(id, hash, mode)) {
      refuse(from, LOW, id, hash, message, step);
    } else if (this.side.of(id).length >= this.#ground.sharingMax) {
      refuse(from, NO_ROOM, id, hash, message, step);
    } else {
      vote(from, this.#accept(hash, message, step), 'new', message, step);
    }
  }

  /** The vote of an heir: its proposal has passed the line and the floor where it waited. */
  admit(from: NodeId, message: QuorumMessage, hash: number, step: QuorumStep): void {
    this.prune(this.#find(message, hash), step);
    this.#ground.vote(from, this.#accept(hash, message, step), 'new', message, step);
  }

  /** The live vote of a lease, whatever its mode. */
  voteOf(id: number, { owner, lease }: LeaseKey, step: QuorumStep): LiveVote | null {
    const { votes, isLive } = this.#ground;
    if (isLive(id, step) && votes.ownerOf(id) === owner && votes.leases.lease(id) === lease) return { owner, lease, mode: EXCLUSIVE };
    const row = this.side.find(id, owner, lease);
    return row && step.monoUs < endOf(row) ? { owner, lease, mode: row.mode } : null;
  }

  /** Live votes of other leases that clash with a proposal. */
  othersOf(id: number, { owner, lease, mode }: QuorumMessage, step: QuorumStep): LiveVote[] {
    const { votes, isLive } = this.#ground;
    const others: LiveVote[] = this.side.of(id).filter((row) => step.monoUs < endOf(row) && clash(row.mode, mode));
    if (isLive(id, step)) others.push({ owner: votes.ownerOf(id), lease: votes.leases.lease(id), mode: EXCLUSIVE });
    return others.filter((vote) => vote.owner !== owner || vote.lease !== lease);
  }

  /** For a mutant: the vote of one lease becomes the vote of another. */
  swap(id: number, { owner, lease }: LeaseKey, message: QuorumMessage, step: QuorumStep): void {
    const hash = this.#ground.names.hashOf(id);
    const row = this.side.find(id, owner, lease);
    if (row) this.#remove(row, hash, step);
    else this.#ground.removeExclusive(id, step);
    this.#accept(hash, message, step);
  }

  /** Whether a live vote of another lease clashes with what the message asks for: for PREPARE, which is for writers only. */
  isHeldByOthers(id: number, { owner, lease }: QuorumMessage, step: QuorumStep): boolean {
    return this.side.clashing(id, EXCLUSIVE, owner, lease, step.monoUs) !== undefined;
  }

  /** A release of a lease that has no exclusive vote here. */
  release(message: QuorumMessage, found: number, hash: number, isBelieved: boolean, step: QuorumStep): void {
    const { mode, ballot, owner, lease, termUs } = message;
    const row = this.side.find(found, owner, lease);
    const isCovered = row !== undefined && row.ballot <= ballot;
    // A proposal of this lease that is still under way must find no room here.
    const isBehind = row === undefined || row.ballot < ballot;
    if (isBehind && mode !== EXCLUSIVE && isBelieved) this.#raise(mode, hash, ballot);
    if (isBelieved) this.#floorOfAll.raise(hash, ballot);
    if (!isCovered) return;
    if ((message.flags & LATER) === 0) {
      this.#remove(row, hash, step);
      return;
    }
    if (isBelieved) row.ballot = ballot;
    this.side.leave(row);
    row.expiresAt = Math.min(row.expiresAt, this.#ground.expiry(message, step));
    invariant(termUs >= 0, 'a release is as of an earlier time');
    this.#waiting?.leaseChanged(row.id, step);
  }

  /** A proposal was refused: a copy of it, come late, must find no room here. */
  refused({ mode, ballot }: QuorumMessage, hash: number): void {
    this.#raise(mode, hash, ballot);
  }

  /** How high tokens of any mode went. */
  floorOfAll(hash: number): BallotTime {
    return this.#ground.rules.writersAboveAll ? this.#floorOfAll.get(hash) : NO_BALLOT;
  }

  /** Tells a proposer that looks for a slot which slots are free. */
  tellFree(id: number, { owner, lease, mode, slots }: QuorumMessage, reply: QuorumMessage, step: QuorumStep): void {
    reply.setMode(reply.mode, slots);
    // Where a writer or a reader is in the way no other slot is worth a try; nor where the free ones are for the waiters in line.
    const isOthers = this.#ground.isLive(id, step) || this.side.hasReader(id, step.monoUs);
    const isInVain = isOthers || this.#isBlocked(id, owner, lease, { mode, slots }, step);
    reply.freeSlots = isInVain ? NO_BYTES : this.freeSlots(id, slots, step);
  }

  /** The floor that a proposal for this mode must be above. */
  floorFor(id: number, hash: number, mode: number): BallotTime {
    return this.#floor(id, hash, mode);
  }

  // ── Rows ───────────────────────────────────────────────────────────────────────────────────────────

  /** Removes the votes for a name that have ended. */
  prune(id: number, step: QuorumStep): void {
    if (!this.side.has(id)) return;
    const { names, changes } = this.#ground;
    const hash = names.hashOf(id);
    for (const row of this.side.ended(id, step.monoUs)) {
      changes.ranOut(hash, names.toBytes(id), endOf(row), step.monoUs);
      this.#remove(row, hash, step);
    }
  }

  #find({ name, nameStart, nameEnd }: QuorumMessage, hash: number): number {
    return this.#ground.names.find(name, nameStart, nameEnd, hash);
  }

  /** The mode of the live vote that this lease has here, or -1. */
  #ownMode(id: number, message: QuorumMessage, step: QuorumStep): number {
    if (this.#isOwnExclusive(id, message, step)) return EXCLUSIVE;
    return this.side.find(id, message.owner, message.lease)?.mode ?? -1;
  }

  #isOwnExclusive(id: number, message: QuorumMessage, step: QuorumStep): boolean {
    const { votes, isLive } = this.#ground;
    return id >= 0 && isLive(id, step) && votes.ownerOf(id) === message.owner && votes.isOf(id, message);
  }

  #ballotOf(id: number, { owner, lease }: QuorumMessage): number {
    return this.side.find(id, owner, lease)?.ballot ?? this.#ground.votes.leases.ballot(id);
  }

  #numberOf(id: number, { owner, lease }: QuorumMessage): number {
    return this.side.find(id, owner, lease)?.number ?? id;
  }

  #isTaken(id: number, message: QuorumMessage, step: QuorumStep): boolean {
    const { rules, isLive } = this.#ground;
    const { mode, owner, lease, slots } = message;
    if (id < 0) return false;
    const isWriters = isLive(id, step) && !this.#isOwnExclusive(id, message, step);
    if (isWriters && (mode === EXCLUSIVE || rules.readersAskWriters)) return true;
    if (mode === EXCLUSIVE && !rules.writersAskReaders && this.side.find(id, owner, lease) === undefined) return false;
    if (slotOf(mode) >= 0 && !rules.slotsApart) return this.side.of(id).filter((row) => slotOf(row.mode) >= 0).length >= slots;
    return this.side.clashing(id, mode, owner, lease, step.monoUs) !== undefined;
  }

  #isBlocked(id: number, owner: Incarnation, lease: number, wanted: { mode: number; slots: number }, step: QuorumStep): boolean {
    const { rules } = this.#ground;
    if (wanted.mode === SHARED && !rules.readersWait) return false;
    return this.#waiting?.blocks(id, owner, lease, step, wanted) ?? false;
  }

  #refuseUpgrade(from: NodeId, reason: number, id: number, hash: number, message: QuorumMessage, step: QuorumStep): void {
    const { rules, refuse } = this.#ground;
    refuse(from, reason, id, hash, message, step);
    if (rules.upgradeKeepsVote) return;
    const row = this.side.find(id, message.owner, message.lease);
    if (row) this.#remove(row, hash, step);
  }

  /** A vote for a lease that has none here; a dead exclusive vote for the name is removed. */
  #accept(hash: number, message: QuorumMessage, step: QuorumStep): number {
    const { names, votes, changes, isLive, removeExclusive, expiry } = this.#ground;
    const { name, nameStart, nameEnd, mode, owner, lease } = message;
    const before = this.#find(message, hash);
    if (before >= 0 && votes.leases.has(before) && !isLive(before, step)) removeExclusive(before, step);
    const id = names.intern(name, nameStart, nameEnd, hash);
    changes.began(hash, step.monoUs);
    const expiresAt = expiry(message, step);
    let number = id;
    if (mode === EXCLUSIVE) this.#putExclusive(id, message, expiresAt);
    else number = this.#putSide(id, message, expiresAt).number;
    // A reader that is renewed may wait to be the only one.
    if (mode === EXCLUSIVE || (message.flags & RENEWS) === 0) this.#waiting?.leave(id, owner, lease, step);
    this.#waiting?.leaseChanged(id, step);
    return number;
  }

  #putExclusive(id: number, message: QuorumMessage, expiresAt: number): void {
    const { votes } = this.#ground;
    votes.put(id, message.owner, message.lease, message.ballot, message.token, expiresAt);
    votes.keepMeta(id, message);
  }

  #putSide(id: number, message: QuorumMessage, expiresAt: number): SideVote {
    const { mode, owner, lease, ballot, token } = message;
    return this.side.add(id, { owner, lease, mode, ballot, token, expiresAt, meta: metaOf(message) });
  }

  /** A vote for the lease that has one here already, in this mode or another. It never ends sooner (rule 7). */
  #retune(from: NodeId, own: number, id: number, hash: number, message: QuorumMessage, step: QuorumStep): void {
    const { votes, floors, changes, rules, ledger, expiry, vote } = this.#ground;
    const { mode, owner, lease, ballot, token } = message;
    if (own === EXCLUSIVE && mode === EXCLUSIVE) {
      const says = votes.extend(id, message, Math.max(votes.endOf(id), expiry(message, step)));
      vote(from, id, says ? 'says' : null, message, step);
      return;
    }
    changes.began(hash, step.monoUs);
    const row = this.side.find(id, owner, lease);
    if (row && mode !== EXCLUSIVE) {
      const isOther = row.mode !== mode || row.token !== token;
      if (isOther) this.side.leave(row);
      if (row.mode !== mode) this.#raise(row.mode, hash, row.ballot);
      row.mode = mode;
      row.ballot = ballot;
      row.token = token;
      row.expiresAt = Math.max(row.expiresAt, expiry(message, step));
      this.side.setMeta(row, metaOf(message));
      vote(from, row.number, isOther ? 'says' : null, message, step);
    } else if (row) {
      this.#putExclusive(id, message, Math.max(endOf(row), expiry(message, step)));
      ledger?.renumber(row.number, id);
      vote(from, id, 'says', message, step);
      this.side.remove(row);
      this.#waiting?.leave(id, owner, lease, step);
    } else {
      if (rules.downgradeRaisesFloor) floors.raise(hash, votes.leases.ballot(id) as BallotTime);
      const added = this.#putSide(id, message, Math.max(votes.endOf(id), expiry(message, step)));
      votes.remove(id);
      ledger?.renumber(id, added.number);
      vote(from, added.number, 'says', message, step);
    }
    this.#waiting?.leaseChanged(id, step);
  }

  #remove(row: SideVote, hash: number, step: QuorumStep): void {
    const { ledger } = this.#ground;
    this.#floorOfAll.raise(hash, row.ballot);
    if (slotOf(row.mode) >= 0) this.#raise(row.mode, hash, row.ballot);
    ledger?.drop(row.number, step);
    this.side.remove(row);
    this.#waiting?.leaseChanged(row.id, step);
  }

  /**
   * A vote was read back: in which mode it stands, or null if it is over. Of two that clash the vote with the lower ballot is. But a writer that has become a
   * reader may be a writer on the disk while another reader is there already.
   */
  makeRoom(id: number, vote: VoteRecord, step: QuorumStep): number | null {
    const { names, votes, removeExclusive } = this.#ground;
    const { mode, owner, lease, ballot } = vote;
    if (id < 0) return mode;
    const isOwn = (row: LeaseKey): boolean => row.owner === owner && row.lease === lease;
    const clashing = this.side.of(id).filter((row) => isOwn(row) || isOneOver(row.mode, mode));
    const later = clashing.filter((row) => row.ballot > ballot);
    if (later.length > 0) return mode === EXCLUSIVE && later.every((row) => row.mode === SHARED && !isOwn(row)) ? SHARED : null;
    // Of two exclusive votes, the table of exclusive votes keeps the later.
    if (mode !== EXCLUSIVE && votes.leases.has(id)) {
      if (votes.leases.ballot(id) > ballot) return null;
      if (mode === SHARED && !isOwn({ owner: votes.ownerOf(id), lease: votes.leases.lease(id) })) this.#readBackAsReader(id);
      else removeExclusive(id, step);
    }
    for (const row of clashing) this.#remove(row, names.hashOf(id), step);
    return mode;
  }

  #readBackAsReader(id: number): void {
    const { votes, ledger } = this.#ground;
    const { owner, lease, ballot, token, meta } = votes.record(id);
    const added = this.side.add(id, { owner, lease, mode: SHARED, ballot, token, expiresAt: votes.endOf(id), meta });
    votes.remove(id);
    ledger?.renumber(id, added.number);
  }

  // ── Floors ─────────────────────────────────────────────────────────────────────────────────────────

  #floor(id: number, hash: number, mode: number): BallotTime {
    const { floors, votes, rules } = this.#ground;
    const { leases } = votes;
    const writers = Math.max(floors.get(hash), id >= 0 && leases.has(id) ? leases.ballot(id) : 0);
    const slot = slotOf(mode);
    if (mode === SHARED) return (rules.readersAboveWriters ? writers : 0) as BallotTime;
    const rows = this.side.of(id);
    if (slot >= 0) {
      const own = rows.reduce((highest, row) => (row.mode === mode ? Math.max(highest, row.ballot) : highest), 0);
      return Math.max(writers, this.#floorOfSlots.get(slotHash(hash, slot)), own) as BallotTime;
    }
    if (!rules.writersAboveAll) return writers as BallotTime;
    return rows.reduce((highest, row) => Math.max(highest, row.ballot), Math.max(writers, this.#floorOfAll.get(hash))) as BallotTime;
  }

  #raise(mode: number, hash: number, ballot: BallotTime): void {
    const slot = slotOf(mode);
    if (slot >= 0) this.#floorOfSlots.raise(slotHash(hash, slot), ballot);
    else this.#ground.floors.raise(hash, ballot);
  }

  // ── For the line ───────────────────────────────────────────────────────────────────────────────────

  taken(id: number, but: { readonly owner: Incarnation; readonly lease: number } | null, step: QuorumStep): Taken {
    if (this.#ground.isLive(id, step)) return ALL;
    if (!this.side.has(id)) return NOTHING;
    const rows = this.side.of(id).filter((row) => step.monoUs < endOf(row) && (row.owner !== but?.owner || row.lease !== but.lease));
    return {
      hasWriter: false,
      hasReaders: rows.some(({ mode }) => mode === SHARED),
      hasSlots: rows.some(({ mode }) => slotOf(mode) >= 0),
      freeSlots: (slots) => slots - rows.filter(({ mode }) => slotOf(mode) >= 0 && slotOf(mode) < slots).length,
    };
  }

  nextExpiry(id: number, step: QuorumStep): number {
    const { votes, isLive } = this.#ground;
    // One by one: so many readers as one name may have are too many arguments.
    let next = isLive(id, step) ? votes.endOf(id) : Infinity;
    for (const row of this.side.of(id)) if (endOf(row) > step.monoUs) next = Math.min(next, endOf(row));
    return next;
  }

  isReader(id: number, owner: Incarnation, lease: number, step: QuorumStep): boolean {
    const row = this.side.find(id, owner, lease);
    return row !== undefined && row.mode === SHARED && step.monoUs < endOf(row);
  }

  freeSlots(id: number, slots: number, step: QuorumStep): Uint8Array {
    return this.side.freeSlots(id, slots, step.monoUs);
  }

  toldClock(step: QuorumStep): BallotTime {
    return this.#ground.toldClock(step);
  }

  snapshot(): Snapshot {
    return [this.side.snapshot(), this.#floorOfAll.snapshot(), this.#floorOfSlots.snapshot()];
  }

  restoreSnapshot(snapshot: Snapshot): void {
    const [rows, all, slots] = snapshot as unknown as [Snapshot, readonly number[], readonly number[]];
    this.side.restore(rows);
    this.#floorOfAll.restore(all);
    this.#floorOfSlots.restore(slots);
  }
}

function metaOf({ meta, metaStart, metaEnd }: QuorumMessage): Uint8Array {
  return metaEnd > metaStart ? meta.slice(metaStart, metaEnd) : NO_BYTES;
}

/** Whether of two that are read back one is sure to be over. The ballots of readers and of slots are in no order: both are honoured. */
function isOneOver(a: number, b: number): boolean {
  return clash(a, b) && (a === EXCLUSIVE || b === EXCLUSIVE || a === b);
}

/** Another bucket for each slot. */
function slotHash(hash: number, slot: number): number {
  return (Math.imul(hash ^ (slot + 1), 0x9e3779b1) >>> 1) & 0x7fffffff;
}
