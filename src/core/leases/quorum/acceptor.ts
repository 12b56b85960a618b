/**
 * The acceptor: a vote per name, given to one live lease at a time (rule 2), counted on this node's own
 * monotonic clock, forgotten when it ends. It also keeps the queue of waiters. Of an earlier life it
 * knows what its ledger kept, if it has one; its voting state says when it may vote at all (rule 4).
 */
import { invariant, monoUs, NO_BALLOT, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { LeaseTable, NameTable } from '../../tables/index.ts';
import type { AcceptorGround, AcceptorSnapshot } from './acceptor-ground.ts';
import { Answers } from './answers.ts';
import { BulkVotes } from './bulk-votes.ts';
import { Changes } from './changes.ts';
import { CHANGE_BUCKETS, FLOOR_BUCKETS, LEASES_PER_PAGE, type QuorumStep } from './config.ts';
import { Floors } from './floors.ts';
import { HandOvers } from './hand-overs.ts';
import { Horizon } from '../horizon.ts';
import { MEMBER_LIMITS } from '../limits.ts';
import { KeptVotes } from './kept-votes.ts';
import { Ledger, type LedgerView, type VoteChange } from './ledger.ts';
import {
  BUNDLE,
  HAS_LEASE,
  HELD,
  LATER,
  LOW,
  NO_ROOM,
  OUTBID,
  PARK,
  PROMISED,
  QUEUED,
  QUIET,
  RELEASED,
  RENEWS,
  TOO_LONG,
  VIEWED,
  WANTED,
  WATCHED,
  type QuorumMessage,
} from './messages.ts';
import { Pages } from './pages.ts';
import { Promises } from './promises.ts';
import type { VoteRecord } from './records.ts';
import type { QuorumRules } from './rules.ts';
import { AcceptorView, type ViewVote } from './acceptor-view.ts';
import { VotingGate } from './voting-gate.ts';
import { VotingState } from './voting-state.ts';
import { isViewName, VIEW_NAME } from '../views.ts';
import { Sweep } from './sweep.ts';
import { VoteReports } from './vote-reports.ts';
import type { Timing } from '../timing.ts';
import { VoteBundles } from './vote-bundles.ts';
import { VoteTimes } from './vote-times.ts';
import { Votes } from './votes.ts';
import { WaitingRoom } from './waiting-room.ts';
import { ModedVotes } from './moded-votes.ts';
import { EXCLUSIVE } from './modes.ts';
import type { Watchers } from './watchers.ts';

export class Acceptor {
  readonly voting: VotingState;
  readonly views: AcceptorView;
  readonly bulk: BulkVotes;
  readonly #bundles: VoteBundles;
  readonly #ledger: Ledger | null;
  readonly #rules: QuorumRules;
  readonly #times: VoteTimes;
  readonly #gate: VotingGate;
  readonly #names: NameTable;
  readonly #votes: Votes;
  readonly #leases: LeaseTable;
  readonly #floors: Floors;
  readonly #changes: Changes;
  readonly #telling: VoteReports;
  readonly #watchers: Watchers;
  readonly #promises: Promises;
  readonly #waiting: WaitingRoom;
  readonly #moded: ModedVotes;
  readonly #kept: KeptVotes;
  readonly #pages: Pages;
  readonly #sweep: Sweep;
  readonly #answers: Answers;
  readonly #handOvers: HandOvers;
  readonly #horizon: Horizon;
  #given = 0;

  constructor({ config, boot, names, watchers, sign, succession, rules, followed }: AcceptorGround) {
    const view: LedgerView = {
      voteOf: (number) => this.#kept.voteOf(number),
      restoreVote: (vote, step) => this.#restoreVote(vote, step),
      restoreFloor: (floor, step) => this.#kept.restoreFloor(floor, step),
      sendVote: (answer, step) => this.#answers.sendVote(answer, step),
      restoreView: (kept, step) => this.views.restoreView(kept, step),
      viewKept: (bytes) => this.views.viewKept(bytes),
    };
    this.#ledger = (config.keeps ?? 'nothing') === 'nothing' ? null : new Ledger(view, config, boot.incarnation, rules);
    this.voting = new VotingState(
      { boot, timing: config.timing, rules, ledger: this.#ledger, succession },
      (step) => boot.restarted && this.#kept.setFloors(step),
    );
    this.#rules = rules;
    this.#times = new VoteTimes(rules, () => this.views.rateErrorPpm);
    this.#names = names;
    this.#bundles = new VoteBundles(boot.incarnation);
    this.#votes = new Votes(names, rules, this.#bundles, config.limits?.leases);
    this.#leases = this.#votes.leases;
    this.#sweep = new Sweep(config.timing.maxTermUs);
    this.#horizon = new Horizon(config.timing.aheadUsMax);
    this.#floors = new Floors(config.floorBuckets ?? FLOOR_BUCKETS);
    this.#changes = new Changes(config.timing.maxTermUs, config.changeBuckets ?? CHANGE_BUCKETS);
    this.#watchers = watchers;
    this.#promises = new Promises(names, rules.promiseYieldsToOwner ? config.timing.promiseUs : config.timing.silenceUs);
    const isLive = (id: number, step: QuorumStep): boolean => this.isLive(id, step);
    this.#moded = new ModedVotes({
      names,
      votes: this.#votes,
      bundles: this.#bundles,
      floors: this.#floors,
      floorBuckets: config.floorBuckets ?? FLOOR_BUCKETS,
      changes: this.#changes,
      ledger: this.#ledger,
      rules,
      promises: this.#promises,
      sharingMax: config.limits?.sharing ?? MEMBER_LIMITS.sharing,
      isLive,
      park: (from, message, id, hash, step) => this.#handOvers.park(from, message, id, hash, step),
      expiry: (message, step) => this.#times.expiry(message, step),
      toldClock: (step) => this.#horizon.told(step),
      removeExclusive: (id, step) => this.#remove(id, step),
      refuse: (from, reason, id, hash, message, step) => this.#answers.refuse(from, reason, id, hash, message, step),
      vote: (from, number, change, message, step) => this.#vote(from, number, change, message, step),
    });
    this.#waiting = new WaitingRoom({ names, timing: config.timing, leases: this.#moded, rules, placesMax: config.limits?.waiters });
    this.#moded.attend(this.#waiting);
    this.#kept = new KeptVotes({ names, votes: this.#votes, moded: this.#moded, floors: this.#floors, horizon: this.#horizon, rules });
    this.#telling = new VoteReports({
      names,
      votes: this.#votes,
      changes: this.#changes,
      floors: this.#floors,
      voting: this.voting,
      horizon: this.#horizon,
      rules,
      side: this.#moded.side,
      isLive,
    });
    const viewHash = names.hash(VIEW_NAME, 0, VIEW_NAME.length);
    const state = { ledger: this.#ledger, voting: this.voting, floors: this.#floors, horizon: this.#horizon, viewHash };
    const viewVote = (message: QuorumMessage | null, step: QuorumStep): ViewVote => this.#viewVote(message, step);
    const hooks = { viewVote, dropVotes: (step: QuorumStep): void => this.#dropVotes(step), adopted: followed };
    this.views = new AcceptorView({ config, boot, rules, succession, ...state, ...hooks });
    const { voting, views } = this;
    this.#answers = new Answers({ rules, horizon: this.#horizon, voting, views, telling: this.#telling, moded: this.#moded, sign });
    this.#gate = new VotingGate({ horizon: this.#horizon, voting, views, answers: this.#answers, rules });
    const bulk = { names, votes: this.#votes, side: this.#moded.side, bundles: this.#bundles, gate: this.#gate };
    this.bulk = new BulkVotes({ ...bulk, voting, views, rules, watchers, sign, times: this.#times });
    const hall = { names, timing: config.timing, rules, waiting: this.#waiting, moded: this.#moded, answers: this.#answers };
    this.#handOvers = new HandOvers({ ...hall, decide: (from, proposal, isHeir, step) => this.#decide(from, proposal, isHeir, step) });
    this.#pages = new Pages({ names, rows: this.#telling, sign, leasesMax: config.leasesPerPage ?? LEASES_PER_PAGE });
  }

  get wakeAt(): MonoUs {
    const { voting, views } = this;
    return monoUs(
      Math.min(this.#promises.wakeAt, this.#waiting.wakeAt, this.#sweep.at, voting.wakeAt, views.wakeAt, this.#handOvers.wakeAt),
    );
  }

  get highestBallot(): BallotTime {
    return this.#horizon.highest;
  }

  /** Votes given in this life. */
  get given(): number {
    return this.#given;
  }

  // ── Votes ──────────────────────────────────────────────────────────────────────────────────────────

  prepare(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (this.#gate.refuses(from, message, step)) return;
    const hash = this.#names.hash(message.name, message.nameStart, message.nameEnd);
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd, hash);
    const isOthers = (this.isLive(id, step) && !this.#votes.isSameLease(id, message)) || this.#moded.isHeldByOthers(id, message, step);
    if (isOthers) {
      if (!this.#rules.promiseYieldsToOwner) this.#promises.make(message, step);
      this.#answers.refuse(from, HELD, id, hash, message, step);
    } else if (this.#waiting.blocks(id, message.owner, message.lease, step)) {
      this.#answers.refuse(from, QUEUED, id, hash, message, step);
    } else if (this.#promises.blocks(id, message, step)) {
      this.#answers.refuse(from, OUTBID, id, hash, message, step);
    } else if (message.ballot <= this.#floorOf(id, hash)) {
      this.#answers.refuse(from, LOW, id, hash, message, step);
    } else {
      this.#promises.make(message, step);
      this.#answers.send(from, PROMISED, message, step);
    }
  }

  propose(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (this.#gate.refuses(from, message, step)) return;
    const hash = this.#names.hash(message.name, message.nameStart, message.nameEnd);
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd, hash);
    const renews = (message.flags & RENEWS) !== 0;
    const isLive = this.isLive(id, step);
    const isSame = isLive && this.#votes.isSameLease(id, message);
    if (this.#ledger?.isFull) return;
    if (message.termUs > this.views.termUsMax && this.#rules.quarantineFits) {
      this.#answers.refuse(from, TOO_LONG, id, hash, message, step);
    } else if (!this.#hasRoom(id, isSame, message)) {
      this.#answers.refuse(from, NO_ROOM, id, hash, message, step);
    } else if ((message.flags & PARK) !== 0 && this.#handOvers.park(from, message, id, hash, step)) {
      return;
    } else if (renews && !this.#rules.offerEnds && this.#handOvers.isOffered(id, message)) {
      this.#answers.refuse(from, HELD, id, hash, message, step);
    } else if (message.mode !== EXCLUSIVE || this.#moded.side.has(id)) {
      this.#moded.propose(from, message, id, hash, step);
    } else if (isLive && (isSame || this.#rules.keepLiveLease)) {
      if (!isSame) {
        if (!this.#rules.promiseYieldsToOwner) this.#promises.make(message, step);
        if (renews && this.#handOvers.park(from, message, id, hash, step)) return;
        this.#answers.refuse(from, HELD, id, hash, message, step);
      } else {
        this.#proposeOwn(from, id, hash, message, step);
      }
    } else if (!renews && this.#waiting.blocks(id, message.owner, message.lease, step)) {
      this.#answers.refuse(from, QUEUED, id, hash, message, step);
    } else if (!renews && this.#promises.blocks(id, message, step)) {
      this.#answers.refuse(from, OUTBID, id, hash, message, step);
    } else if (this.#rules.tokenAboveFloor && message.ballot <= this.#floorOf(id, hash)) {
      this.#answers.refuse(from, LOW, id, hash, message, step);
    } else {
      this.#vote(from, this.#accept(hash, message, step), 'new', message, step);
    }
  }

  /** Of the lease that has the live vote. A method of its own: what renewals run through is compiled whole. */
  #proposeOwn(from: NodeId, id: number, hash: number, message: QuorumMessage, step: QuorumStep): void {
    const ballot = this.#leases.ballot(id);
    const isLower = this.#rules.refuseOwnLower && message.ballot < ballot;
    // Below where this life began: the row was read back, maybe by mistake, and others may have had higher tokens since (rule 18).
    const isOfBefore = this.#rules.tokenAboveFloor && message.ballot !== ballot && message.ballot <= this.#floors.base;
    if (isLower || (isOfBefore && (message.flags & RENEWS) === 0)) this.#answers.refuse(from, LOW, id, hash, message, step);
    else if (!this.#rules.promiseYieldsToOwner && this.#promises.isToAnother(id, message, step))
      this.#answers.refuse(from, OUTBID, id, hash, message, step);
    // The same proposal again changes nothing; its vote was counted from when it came first.
    else if (message.ballot === ballot) this.#vote(from, id, 'again', message, step);
    else this.#vote(from, id, this.#extend(id, hash, message, step) ? 'says' : null, message, step);
  }

  /** Removes the owner's row if its ballot is at most this one, and nothing else (rule 6). */
  release(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#horizon.observe(message.ballot, step);
    const hash = this.#names.hash(message.name, message.nameStart, message.nameEnd);
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd, hash);
    // A ballot beyond belief ends its owner's leases here, and leaves nothing behind: above such a floor no proposer would get a vote again.
    const isBelieved = !this.#horizon.isBeyond(message.ballot, step);
    const isExclusive = id >= 0 && this.#leases.has(id) && this.#votes.isReleasable(id, message);
    if (isExclusive) {
      if ((message.flags & LATER) === 0) this.#removeOf(message.owner, id, step);
      else this.#shorten(id, message, isBelieved, step);
    } else if (message.mode !== EXCLUSIVE || this.#moded.side.has(id)) {
      this.#moded.release(message, id, hash, isBelieved, step);
    }
    // A proposal of this lease that is still under way must find no room here, also one by which a reader would have become the only one.
    if ((message.mode === EXCLUSIVE || isExclusive) && this.#rules.tokenAboveFloor && isBelieved) this.#floors.raise(hash, message.ballot);
    const isHandedOver = (message.flags & HAS_LEASE) !== 0;
    if (id >= 0 && (isHandedOver || !this.#handOvers.isIdle) && (message.flags & LATER) === 0) this.#handOvers.released(id, message, step);
    if ((message.flags & QUIET) !== 0) return;
    // The lease is over for good, and a word that it waits, come late, must not keep others waiting.
    if (id >= 0) this.#waiting.leave(id, message.owner, message.lease, step);
    this.#answers.send(from, RELEASED, message, step);
  }

  query(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (this.#gate.refusesView(from, message, step) || this.voting.isSilent(from, step)) return;
    this.#answers.tell(from, message, step);
  }

  list(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (!this.#gate.refusesView(from, message, step) && !this.voting.isSilent(from, step)) this.#pages.send(from, message, step);
  }

  // ── Waiters ────────────────────────────────────────────────────────────────────────────────────────

  wait(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (!this.believes(message, step)) return;
    this.#horizon.observe(message.ballot, step);
    if (this.voting.isSilent(from, step)) return;
    this.#waiting.enter(from, message, step);
    if (!this.#bundles.isEmpty) this.bulk.tellWanted(message, step);
  }

  unwait(message: QuorumMessage, step: QuorumStep): void {
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd);
    if (id >= 0) this.#waiting.leave(id, message.owner, message.lease, step);
  }

  // ── Hand-over ──────────────────────────────────────────────────────────────────────────────────────

  offer(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (!this.voting.isSilent(from, step)) this.#handOvers.offer(from, message, step);
  }

  tellLine(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (!this.voting.isSilent(from, step)) this.#waiting.tellLine(from, message, step);
  }

  /** A proposal that was parked. The heir's is voted for as it is: the holder's own ballots are below it, and what raised floors since are refusals. */
  #decide(from: NodeId, proposal: QuorumMessage, isHeir: boolean, step: QuorumStep): void {
    if (!isHeir) this.propose(from, proposal, step);
    else if (!this.#gate.refusesView(from, proposal, step) && !this.voting.isSilent(from, step) && this.#ledger?.isFull !== true)
      this.#moded.admit(from, proposal, this.#names.hash(proposal.name, proposal.nameStart, proposal.nameEnd), step);
  }

  /** Only how long a turn lasts, and how long a proposal waits, depends on it: votes and silences do not. */
  retime(timing: Timing): void {
    this.#waiting.retime(timing);
    this.#handOvers.retime(timing);
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  wake(step: QuorumStep): void {
    this.voting.wake(step);
    this.views.wake(step);
    this.#promises.wake(step);
    this.#waiting.wake(step);
    this.#handOvers.wake(step);
    if (step.monoUs >= this.#sweep.at) this.#sweepOut(step);
  }

  /** Takes dead rows away. */
  #sweepOut(step: QuorumStep): void {
    this.#sweep.go(this.#names.idLimit, (id) => {
      if (this.#leases.has(id) && !this.isLive(id, step)) this.#remove(id, step);
      this.#moded.prune(id, step);
    });
    this.#changes.forget(step.monoUs);
    this.#scheduleSweep(step);
  }

  #scheduleSweep(step: QuorumStep): void {
    if (this.#leases.count + this.#moded.side.count > 0 || !this.#changes.isEmpty) this.#sweep.plan(this.#names.idLimit, step.monoUs);
  }

  // ── Rows ───────────────────────────────────────────────────────────────────────────────────────────

  /** A vote for a lease that has none here; a dead vote for the name is removed. */
  #accept(hash: number, message: QuorumMessage, step: QuorumStep): number {
    // Looked up anew: seeing to a queue may have let the name go since.
    const id = this.#names.intern(message.name, message.nameStart, message.nameEnd, hash);
    invariant(!this.isLive(id, step) || !this.#rules.keepLiveLease, 'a live vote was given to another lease');
    invariant(message.ballot > this.#floorOf(id, hash) || !this.#rules.tokenAboveFloor, 'a vote was given below the floor of its name');
    if (this.#leases.has(id)) this.#telling.ranOut(id, step);
    this.#changes.began(hash, step.monoUs);
    this.#votes.put(id, message.owner, message.lease, message.ballot, message.token, this.#times.expiry(message, step));
    this.#votes.keepMeta(id, message);
    this.#waiting.leave(id, message.owner, message.lease, step);
    this.#waiting.leaseChanged(id, step);
    return id;
  }

  /** A vote for the lease that has this one already: its deadline only moves on (rule 7). True if it is for another try of its holder, or says something else of it. */
  #extend(id: number, hash: number, message: QuorumMessage, step: QuorumStep): boolean {
    const endsAt = this.#votes.endOf(id);
    const expiresAt = this.#times.expiry(message, step);
    invariant(message.ballot > this.#leases.ballot(id) || !this.#rules.refuseOwnLower, 'a vote was extended by a ballot below its own');
    // A vote that was read back counts from here on: the disk does not tell whether the vote was live before.
    const isAnew = this.#leases.token(id) !== message.token || this.#telling.isReadBack(id);
    if (isAnew) this.#changes.began(hash, step.monoUs);
    const isOther = this.#votes.extend(id, message, this.#rules.neverShorten ? Math.max(endsAt, expiresAt) : expiresAt);
    invariant(this.#votes.endOf(id) >= endsAt || !this.#rules.neverShorten, 'a vote was made shorter');
    return isOther;
  }

  /** Its holder ends no later than this (P5). The record on the disk stays: a vote that is read back only takes longer to end. */
  #shorten(id: number, message: QuorumMessage, isBelieved: boolean, step: QuorumStep): void {
    const { termUs, ballot } = message;
    const spanUs = this.#rules.laterStretched ? this.#times.spanOf(termUs) : termUs;
    const now = this.#times.now(step);
    if (isBelieved) this.#leases.setBallot(id, ballot);
    this.#votes.leave(id);
    this.#leases.setExpiresAt(id, Math.min(this.#leases.expiresAt(id), now + spanUs));
    this.#waiting.leaseChanged(id, step);
  }

  /** A release is its owner's own word: it ends no vote of another. */
  #removeOf(owner: Incarnation, id: number, step: QuorumStep): void {
    invariant(this.#votes.ownerOf(id) === owner, 'a release ended the vote of another owner');
    this.#remove(id, step);
  }

  #remove(id: number, step: QuorumStep): void {
    if (this.#rules.tokenAboveFloor) this.#floors.raise(this.#names.hashOf(id), this.#leases.ballot(id) as BallotTime);
    if (!this.isLive(id, step)) this.#telling.ranOut(id, step);
    this.#ledger?.drop(id, step);
    this.#votes.remove(id);
    this.#waiting.leaseChanged(id, step);
  }

  /** Judged on this acceptor's own monotonic clock: a step of the wall clock must not free a live vote (rule 12). */
  isLive(id: number, step: QuorumStep): boolean {
    if (id < 0 || !this.#leases.has(id)) return false;
    const now = this.#times.now(step);
    return now < this.#leases.expiresAt(id) || now < this.#votes.endOf(id);
  }

  /** Whether the client has room for its proposal, besides its other votes. A lease that has a vote here and brings no metadata takes no more room. */
  #hasRoom(id: number, isSame: boolean, message: QuorumMessage): boolean {
    if (isSame && message.metaEnd === message.metaStart) return true;
    return this.#votes.hasRoom(id, message, this.#moded.side.metaOf(id, message));
  }

  /** Whether ballot and token of a request are near enough to be believed. */
  believes({ ballot, token }: QuorumMessage, step: QuorumStep): boolean {
    return !this.#horizon.isBeyond(Math.max(ballot, token), step);
  }

  #viewVote(message: QuorumMessage | null, step: QuorumStep): ViewVote {
    const id = this.#names.find(VIEW_NAME, 0, VIEW_NAME.length);
    if (!this.isLive(id, step)) return 'none';
    return message !== null && this.#votes.isSameLease(id, message) ? 'own' : 'others';
  }

  #dropVotes(step: QuorumStep): void {
    for (let id = 0; id < this.#names.idLimit; id++) if (this.#leases.has(id)) this.#remove(id, step);
  }

  #floorOf(id: number, hash: number): BallotTime {
    const floor = this.#floors.get(hash);
    const above = Math.max(floor, this.#moded.floorOfAll(hash));
    return Math.max(above, id >= 0 && this.#leases.has(id) ? this.#leases.ballot(id) : NO_BALLOT) as BallotTime;
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return {
      bundles: this.#bundles.snapshot(),
      rows: this.#votes.snapshot(),
      promises: this.#promises.snapshot(),
      queues: this.#waiting.snapshot(),
      voting: this.voting.snapshot(),
      ledger: this.#ledger?.snapshot((number) => this.#kept.textOf(number)) ?? null,
      floors: this.#floors.snapshot(),
      clock: this.#horizon.highest,
      sweepAt: this.#sweep.at,
      sweepFrom: this.#sweep.from,
      votes: this.#given,
      changes: this.#changes.snapshot(),
      sending: this.#pages.sending,
      moded: this.#moded.snapshot(),
      handOvers: this.#handOvers.snapshot(),
      views: this.views.snapshot(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as AcceptorSnapshot;
    this.#bundles.restore(told.bundles);
    this.#votes.restore(told.rows);
    this.#moded.restoreSnapshot(told.moded);
    this.#handOvers.restore(told.handOvers);
    this.#promises.restore(told.promises);
    this.#waiting.restore(told.queues);
    this.voting.restore(told.voting);
    this.#ledger?.restore(told.ledger, (text) => this.#kept.numberIn(text));
    this.#floors.restore(told.floors);
    this.#horizon.highest = told.clock;
    this.#sweep.at = told.sweepAt;
    this.#sweep.from = told.sweepFrom;
    this.#given = told.votes;
    this.#changes.restore(told.changes);
    this.#pages.sending = told.sending;
    this.views.restore(told.views);
  }

  #restoreVote(vote: VoteRecord, step: QuorumStep): number {
    const number = this.#kept.restoreVote(vote, step);
    this.#scheduleSweep(step);
    return number;
  }

  #vote(from: NodeId, id: number, change: VoteChange, message: QuorumMessage, step: QuorumStep): void {
    invariant(this.voting.isOpen || !this.#rules.silenceCoversOwnVote, 'a member voted in its silence');
    const isWanted = (message.flags & RENEWS) !== 0 && this.#waiting.isWanted(this.#moded.side.nameOf(id));
    const isView = this.views.view.epoch > 0 && isViewName(message);
    const flags = (this.#watchers.isWatched(message) ? WATCHED : 0) | (isWanted ? WANTED : 0) | (isView ? VIEWED : 0);
    this.#given++;
    if (!this.#handOvers.isIdle) this.#handOvers.voted(this.#moded.side.nameOf(id), message, step);
    if (change === 'new') this.#scheduleSweep(step);
    // Where no holder asks for bundles, none has to be looked up.
    const isAlone = (message.flags & BUNDLE) === 0 && this.#bundles.isEmpty;
    message.bundle = isAlone ? 0 : this.bulk.settle(from, id, change, message, step);
    const told = message.bundle === 0 ? flags : flags | BUNDLE;
    const isKept = this.#ledger?.keep(id, this.#times.spanOf(message.termUs), change, from, message, told, step) ?? true;
    if (!isKept && this.#rules.replyAfterWrite) return;
    this.#answers.accept(from, told, message, step);
  }
}
