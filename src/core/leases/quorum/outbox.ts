/** State that the asking roles of a node share: its identity, its voters, its ballots, and one record to send with. */
import { BallotClock, hashName, NO_BALLOT, VoterSet, type BallotTime, type Incarnation, type NodeId } from '../../../kernel/index.ts';
import type { Roster } from '../roster.ts';
import type { QuorumStep } from './config.ts';
import { ballotLimit } from '../horizon.ts';
import { HAS_LEASE, LATER, LOW, QuorumMessage, REFUSED, RELEASE, VIEWED } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { QuorumRules } from './rules.ts';
import { stretch, type Timing } from '../timing.ts';
import { longestTermUsOf, type View } from '../views.ts';
import { ViewElectorate } from './view-electorate.ts';

const NO_NAME = new Uint8Array(0);

/** The heir of a hand-over: the waiting request, and the ballot of its proposal. */
export type Heir = {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ballot: BallotTime;
};

export class QuorumOutbox {
  readonly owner: Incarnation;
  /** Which members this node asks, and counts. */
  view: View;
  electorate: ViewElectorate;
  /** As the view has it, and as it is now that round trips were measured. */
  setUp: Timing;
  timing: Timing;
  readonly rules: QuorumRules;
  readonly message: QuorumMessage = new QuorumMessage();
  readonly ballots: BallotClock = new BallotClock();
  readonly roster: Roster;
  /** Members whose version of the protocol knows exclusive leases only. */
  readonly #plain = new VoterSet();
  /** Members whose version renews each lease by itself. */
  readonly #single = new VoterSet();

  constructor(owner: Incarnation, view: View, roster: Roster, timing: Timing, rules: QuorumRules) {
    this.roster = roster;
    this.owner = owner;
    this.view = view;
    this.electorate = new ViewElectorate(view, rules);
    this.setUp = timing;
    this.timing = timing;
    this.rules = rules;
  }

  isPlain(member: NodeId): boolean {
    return this.#plain.size > 0 && this.#plain.has(member);
  }

  setPlain(member: NodeId, isPlain: boolean): void {
    if (isPlain) this.#plain.add(member);
    else if (this.#plain.size > 0) this.#plain.delete(member);
  }

  isSingle(member: NodeId): boolean {
    return this.#single.size > 0 && this.#single.has(member);
  }

  setSingle(member: NodeId, isSingle: boolean): void {
    if (isSingle) this.#single.add(member);
    else if (this.#single.size > 0) this.#single.delete(member);
  }

  /** Whether so many voters know exclusive leases only that the others are no quorum. */
  isMostlyPlain(placement: number): boolean {
    if (this.#plain.size === 0) return false;
    const others = this.electorate.votersOf(placement).filter((voter) => !this.#plain.has(voter));
    return others.length < this.electorate.quorumFor(placement);
  }

  votersOf(name: Uint8Array): readonly NodeId[] {
    return this.electorate.votersOf(this.placementOf(name));
  }

  /** By which the voters of a name are found; where all vote on all, it is not looked at. */
  placementOf(name: Uint8Array): number {
    return this.electorate.isPlain ? 0 : hashName(name, 0, name.length);
  }

  /** The longest term that is voted for, with so much to rest after it. */
  termUsWithin(termUs: number, restUs: number): number {
    return Math.min(termUs, Math.max(1000, this.timing.maxTermUs - (this.rules.quarantineFits ? restUs : 0)));
  }

  /** The message asks voters for votes that count in one view only. */
  inView(message: QuorumMessage): void {
    if (this.view.epoch > 0) message.flags |= VIEWED;
  }

  /** One of so many, another for most leases of most processes. */
  spread(lease: number, count: number): number {
    return (((this.owner % 1_000_003) + lease) * 7919) % count;
  }

  /** The new ballot is also higher than `above`, which is no reason for other names to go as high. */
  nextBallot(step: QuorumStep, above: BallotTime = NO_BALLOT): BallotTime {
    return Math.max(this.ballots.next(step.wallUs, this.timing.aheadUsMax), above + 1) as BallotTime;
  }

  /** Whether this node believes a ballot to be one. */
  believes(ballot: number, step: QuorumStep): boolean {
    return ballot <= ballotLimit(step, this.timing.aheadUsMax);
  }

  /** Takes in how high ballots are, as far as that is believed. False if the lease that the answer tells of is beyond belief. */
  hears(message: QuorumMessage, step: QuorumStep): boolean {
    const { rateErrorPpm, aheadUsMax } = this.timing;
    // The floor of one name may have been driven to the edge of what its voter believes: that is no reason for other names to go as high.
    const isFloor = message.kind === REFUSED && message.reason === LOW;
    if (message.clock <= ballotLimit(step, isFloor ? aheadUsMax / 2 : aheadUsMax)) this.ballots.observe(message.clock);
    if ((message.flags & HAS_LEASE) === 0) return true;
    // No vote outlives the longest term on any clock, whatever an answer says.
    message.remainingUs = Math.min(message.remainingUs, stretch(longestTermUsOf(this.view), rateErrorPpm));
    return message.kind === REFUSED || (this.believes(message.token, step) && this.believes(message.ballot, step));
  }

  /** The record, made ready for a message about a name. */
  compose(kind: number, lease: number, name: Uint8Array): QuorumMessage {
    const { message } = this;
    message.kind = kind;
    message.owner = this.owner;
    message.lease = lease;
    message.flags = 0;
    message.print = this.roster.print;
    message.viewEpoch = this.view.epoch;
    message.viewId = this.view.id;
    message.mode = 0;
    message.setName(name, 0, name.length);
    message.setMeta(undefined);
    return message;
  }

  /** The record, made ready for a message about a bundle, which has no single name. */
  composeBulk(kind: number): QuorumMessage {
    const message = this.compose(kind, 0, NO_NAME);
    message.token = 0;
    return message;
  }

  /** Members that know exclusive leases only are sent nothing of others. */
  sendFor(mode: number, voters: readonly NodeId[], step: QuorumStep): void {
    if (mode === EXCLUSIVE || this.#plain.size === 0) this.sendTo(voters, step);
    else for (const voter of voters) if (!this.#plain.has(voter)) step.send(voter, this.message);
  }

  sendTo(voters: readonly NodeId[], step: QuorumStep): void {
    for (const voter of voters) step.send(voter, this.message);
  }

  /** Only to voters that know what that is: others would take it for a release as of now. */
  releaseLater(
    voters: readonly NodeId[],
    { lease, name, mode, ballot, afterUs }: { lease: number; name: Uint8Array; mode: number; ballot: BallotTime; afterUs: number },
    step: QuorumStep,
  ): void {
    const message = this.compose(RELEASE, lease, name);
    message.ballot = ballot;
    message.flags = LATER;
    if (mode !== EXCLUSIVE) message.setMode(mode);
    message.termUs = Math.ceil(afterUs);
    for (const voter of voters) if (!this.isPlain(voter)) step.send(voter, message);
  }

  /** To the heir, whose proposal waits at the voters. Voters that know of no heirs are told that it is free. */
  releaseTo(
    voters: readonly NodeId[],
    { lease, name, mode, ballot, to }: { lease: number; name: Uint8Array; mode: number; ballot: BallotTime; to: Heir },
    step: QuorumStep,
  ): void {
    const message = this.compose(RELEASE, lease, name);
    message.ballot = ballot;
    message.flags = HAS_LEASE;
    message.holder = to.owner;
    message.holderLease = to.lease;
    message.token = to.ballot;
    message.remainingUs = 0;
    if (mode !== EXCLUSIVE) message.setMode(mode);
    for (const voter of voters) if (!this.isPlain(voter)) step.send(voter, message);
    const old = voters.filter((voter) => this.isPlain(voter));
    if (old.length > 0) this.release(old, lease, name, ballot, 0, step, mode);
  }

  release(
    voters: readonly NodeId[],
    lease: number,
    name: Uint8Array,
    ballot: BallotTime,
    flags: number,
    step: QuorumStep,
    mode: number = EXCLUSIVE,
  ): void {
    const message = this.compose(RELEASE, lease, name);
    message.ballot = ballot;
    message.flags = flags;
    if (mode !== EXCLUSIVE) message.setMode(mode);
    this.sendFor(mode, voters, step);
  }
}
