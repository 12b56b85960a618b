/**
 * The rounds of one instance: FAST and NORMAL, phases 1 to 4 of [CT96] and FastCT as corrected in docs/research/divergence/fast-ct.md. This file decides what a member
 * answers, adopts and proposes. Storing, sending, suspecting and deciding are its ground's; which instances there are is the core's.
 */
import { invariant, quorumOf } from '../../kernel/index.ts';
import { firstNormal, type ConsensusConfig } from './config.ts';
import type { Instance } from './instance.ts';
import type { ConsensusMessage, InstanceMessage } from './messages.ts';
import type { ConsensusRules } from './rules.ts';

/** The message to send once a record is stored: `estimate` ends phase 1, `ack` is the vote of phase 3. */
export type StoredAnswer = { readonly kind: 'estimate' | 'ack'; readonly instance: number; readonly round: number };

export interface RoundsGround<S> {
  readonly config: ConsensusConfig;
  readonly self: number;
  /** This process is not the first of its member. */
  readonly isRestarted: boolean;
  readonly rules: ConsensusRules;
  /** A message to this member itself comes back in the same step. */
  send(to: number, message: ConsensusMessage, step: S): void;
  /** Stores the instance's state, then calls `stored` with the answer. With a disk, the estimate is the record's from then on. */
  store(instance: Instance, answer: StoredAnswer, step: S): void;
  suspects(member: number): boolean;
  decide(instance: Instance, value: Uint8Array, step: S): void;
  /** `leased` has the answer. */
  askLease(instance: Instance, step: S): void;
}

type Of<Kind extends ConsensusMessage['kind']> = Extract<ConsensusMessage, { readonly kind: Kind }>;

export class Rounds<S> {
  readonly #ground: RoundsGround<S>;
  readonly #members: number;
  readonly #quorum: number;
  readonly #normal: number;

  constructor(ground: RoundsGround<S>) {
    this.#ground = ground;
    this.#members = ground.config.members;
    this.#quorum = quorumOf(this.#members);
    this.#normal = firstNormal(ground.config);
  }

  coordinatorOf(round: number): number {
    return round % this.#members;
  }

  isFast(round: number): boolean {
    return round < this.#normal;
  }

  /** A message about an open instance, of a member or of this one itself. */
  hear(instance: Instance, from: number, message: InstanceMessage, step: S): void {
    switch (message.kind) {
      case 'estimate':
        return this.#estimate(instance, from, message, step);
      case 'newestimate':
        return this.#newEstimate(instance, from, message, step);
      case 'ack':
        return this.#ack(instance, from, message.round, step);
      case 'nack':
        return this.#nacked(instance, from, message.round, step);
      case 'abort':
        return this.#aborted(instance, message.round, step);
      case 'round':
        return this.#round(instance, from, message.round, step);
      default:
        // Asked to take part, or for the decision: there is none yet, but the asker may be behind.
        return this.#tellRound(instance, from, step);
    }
  }

  // ── Entering rounds ────────────────────────────────────────────────────────────────────────────────

  /** The first round: FAST where there are such, led by the leader of the moment. Its ESTIMATE asks for a proposal, so it is not sent where that is here already (`proposedIn`). */
  begin(instance: Instance, leader: number, proposedIn: number, step: S): void {
    const { self } = this.#ground;
    if (this.#normal === 0) return this.enter(instance, 0, step);
    instance.moveTo(leader);
    // Nothing is promised in a FAST round, so nothing has to be stored for it.
    instance.isRoundStored = true;
    if (leader !== self) {
      if (proposedIn !== leader) this.#sendEstimate(instance, step);
      return;
    }
    instance.isLeaseAsked = true;
    this.#ground.askLease(instance, step);
  }

  /** A recovered member goes on above the round it has stored: in that round it may have said something already, as its coordinator, too. */
  recover(instance: Instance, step: S): void {
    this.enter(instance, instance.round + (this.#ground.rules.recoversAbove ? 1 : 0), step);
  }

  /** A NORMAL round, this one or the first above it whose coordinator is not suspected. */
  enter(instance: Instance, atLeast: number, step: S): void {
    let round = Math.max(atLeast, this.#normal);
    while (this.#ground.suspects(this.coordinatorOf(round))) round++;
    this.#leave(instance, round, step);
    this.#ground.store(instance, { kind: 'estimate', instance: instance.number, round }, step);
  }

  /**
   * Tells the members that wait for this one in a round that it leaves: all members, if it is the coordinator, and the coordinators of rounds that are left or passed
   * over.
   */
  #leave(instance: Instance, round: number, step: S): void {
    const left = instance.round;
    invariant(round > left || !this.#ground.rules.recoversAbove, 'a member enters higher rounds only');
    const waiting = new Set([...instance.estimates.keys(), ...instance.acks.toArray()]);
    waiting.delete(this.#ground.self);
    instance.moveTo(round);
    for (const member of waiting) this.#abort(instance.number, left, member, step);
    if (left >= 0 && this.isFast(left)) this.#nack(instance, left, step);
    // Each coordinator but the next one is told of the last of its rounds.
    const first = Math.max(left, this.#normal, round - this.#members + 1);
    for (let passed = first; passed < round; passed++) this.#nack(instance, passed, step);
  }

  #nack(instance: Instance, round: number, step: S): void {
    const { self, rules } = this.#ground;
    const to = this.coordinatorOf(round);
    if (to === self || !rules.answersRefusals) return;
    this.#ground.send(to, { kind: 'nack', instance: instance.number, round }, step);
  }

  /** Its coordinator may be suspected now. */
  suspected(instance: Instance, step: S): void {
    if (this.#ground.suspects(this.coordinatorOf(instance.round))) this.enter(instance, instance.round + 1, step);
  }

  /** The record that an answer waited for is stored. */
  stored(instance: Instance, { kind, round }: StoredAnswer, step: S): void {
    // An answer for a round that has been left since would be ignored.
    if (instance.round !== round) return;
    instance.isRoundStored = true;
    if (kind === 'ack') {
      instance.isAckStored = true;
      this.#sendAck(instance, step);
      // A proposal may come long after its coordinator: that one is suspected already, and will not be again.
      this.suspected(instance, step);
    } else if (instance.adopted !== round) {
      this.#sendEstimate(instance, step);
    }
  }

  #sendEstimate({ number, round, ts, estimate }: Instance, step: S): void {
    this.#ground.send(this.coordinatorOf(round), { kind: 'estimate', instance: number, round, ts, value: estimate }, step);
  }

  #sendAck({ number, round }: Instance, step: S): void {
    this.#ground.send(this.coordinatorOf(round), { kind: 'ack', instance: number, round }, step);
  }

  // ── Phase 2: the coordinator ───────────────────────────────────────────────────────────────────────

  #estimate(instance: Instance, from: number, { round, ts, value }: Of<'estimate'>, step: S): void {
    if (this.isFast(round)) return this.#fastEstimate(instance, from, round, value, step);
    if (this.coordinatorOf(round) !== this.#ground.self) return;
    if (round < instance.round) return this.#tellRound(instance, from, step);
    if (round > instance.round) this.enter(instance, round, step);
    if (instance.proposal !== null) return this.#sendProposal(instance, from, step);
    instance.estimates.set(from, { ts, value: value.slice() });
    this.#mayPropose(instance, step);
  }

  /** In a FAST round estimates are only questions: is there going to be a proposal? A leader with nothing of its own to propose takes a value from them. */
  #fastEstimate(instance: Instance, from: number, round: number, value: Uint8Array, step: S): void {
    const leads = round === instance.round && round === this.#ground.self;
    if (!leads) return this.#abort(instance.number, round, from, step);
    if (instance.isLeaseAsked) instance.estimates.set(from, { ts: -1, value: value.slice() });
    else if (instance.proposal !== null) this.#sendProposal(instance, from, step);
  }

  #abort(number: number, round: number, to: number, step: S): void {
    if (this.#ground.rules.aborts) this.#ground.send(to, { kind: 'abort', instance: number, round }, step);
  }

  /** The answer to `askLease`. */
  leased(instance: Instance, isGranted: boolean, step: S): void {
    const { rules, isRestarted } = this.#ground;
    if (!instance.isLeaseAsked) return;
    instance.isLeaseAsked = false;
    const leads = isGranted || !rules.fastNeedsLease || (isRestarted && !rules.neverFastAgain);
    if (leads) {
      const found = [...instance.estimates.values()].find(({ value }) => value.length > 0);
      return this.#propose(instance, instance.hasValue || !found ? instance.estimate : found.value, step);
    }
    this.enter(instance, this.#normal, step);
  }

  /** The caller of this member has something to propose after all. */
  valueCame(instance: Instance, step: S): void {
    const { self } = this.#ground;
    const own = instance.estimates.get(self);
    if (own) instance.estimates.set(self, { ts: own.ts, value: instance.estimate });
    if (!this.isFast(instance.round) && this.coordinatorOf(instance.round) === self) this.#mayPropose(instance, step);
  }

  #mayPropose(instance: Instance, step: S): void {
    const { config, rules, self } = this.#ground;
    const { estimates, round, proposal } = instance;
    // Its own round is stored once its own estimate is here.
    if (proposal !== null || (!estimates.has(self) && rules.storesBeforeEstimate)) return;
    const isShort = config.mode.kind === 'chandra-toueg' && config.mode.shortcut && round === 0 && instance.hasValue;
    if (isShort && instance.isRoundStored) return this.#propose(instance, instance.estimate, step);
    if (estimates.size < (rules.estimatesOfQuorum ? this.#quorum : 1)) return this.#mayGiveUp(instance, step);
    this.#propose(instance, this.#chosen(instance), step);
  }

  /** The estimate of the highest timestamp. Where no proposal was adopted any estimate will do: this member's own, or one that is not empty. */
  #chosen({ estimates }: Instance): Uint8Array {
    const own = estimates.get(this.#ground.self);
    let chosen = own ?? { ts: -Infinity, value: new Uint8Array(0) };
    for (const estimate of estimates.values()) {
      const isFuller = estimate.ts === chosen.ts && chosen.value.length === 0;
      if (estimate.ts > chosen.ts || isFuller) chosen = estimate;
    }
    return chosen.value;
  }

  #propose(instance: Instance, value: Uint8Array, step: S): void {
    invariant(instance.proposal === null, 'a coordinator proposes once in a round');
    invariant(this.coordinatorOf(instance.round) === this.#ground.self, 'only its coordinator proposes in a round');
    instance.proposal = value;
    for (let to = 0; to < this.#members; to++) this.#sendProposal(instance, to, step);
  }

  #sendProposal({ number, round, proposal }: Instance, to: number, step: S): void {
    if (proposal !== null) this.#ground.send(to, { kind: 'newestimate', instance: number, round, value: proposal }, step);
  }

  // ── Phase 3: all members ───────────────────────────────────────────────────────────────────────────

  #newEstimate(instance: Instance, from: number, { round, value }: Of<'newestimate'>, step: S): void {
    if (this.isFast(round) && instance.round !== round) return this.#nack(instance, round, step);
    if (round < instance.round) return this.#tellRound(instance, from, step);
    if (round > instance.round) this.#leave(instance, round, step);
    if (instance.adopted === round) {
      if (instance.isAckStored) this.#sendAck(instance, step);
      return;
    }
    // This member's own proposal is its own already; a received one is the driver's, and a disk's record is a copy of it.
    const isKept = from === this.#ground.self || this.#ground.config.keeps === 'disk';
    this.#adopt(instance, isKept ? value : value.slice(), step);
  }

  /** The value is this member's own, or is once it is stored. */
  #adopt(instance: Instance, value: Uint8Array, step: S): void {
    const { rules } = this.#ground;
    const { round, number } = instance;
    invariant(instance.adopted < round || !rules.recoversAbove, 'a member adopts proposals of higher rounds only');
    instance.adopted = round;
    if (rules.ackAdopts) {
      instance.estimate = value;
      instance.hasValue = true;
      if (rules.keepsTimestamp) instance.ts = round;
    }
    if (this.isFast(round)) instance.hasAckedFast = true;
    this.#ground.store(instance, { kind: 'ack', instance: number, round }, step);
  }

  /** The coordinator will not lead its round. */
  #aborted(instance: Instance, round: number, step: S): void {
    if (round === instance.round) this.enter(instance, round + 1, step);
  }

  // ── Phase 4: the coordinator ───────────────────────────────────────────────────────────────────────

  #ack(instance: Instance, from: number, round: number, step: S): void {
    if (round < instance.round) return this.#tellRound(instance, from, step);
    if (round !== instance.round || instance.proposal === null) return;
    instance.acks.add(from);
    if (instance.acks.size >= this.#quorum) this.#ground.decide(instance, instance.proposal, step);
    else this.#mayGiveUp(instance, step);
  }

  #nacked(instance: Instance, from: number, round: number, step: S): void {
    // The sender is past that round already.
    if (round > instance.round && !this.isFast(round)) return this.enter(instance, round + 1, step);
    if (round !== instance.round || this.coordinatorOf(round) !== this.#ground.self) return;
    instance.nacks.add(from);
    this.#mayGiveUp(instance, step);
  }

  #mayGiveUp(instance: Instance, step: S): void {
    if (instance.nacks.size > 0 && instance.answers >= this.#quorum) this.enter(instance, instance.round + 1, step);
  }

  // ── Higher rounds, and retransmission ──────────────────────────────────────────────────────────────

  /** Another member is in this round. A member that hears of a higher round follows. */
  #round(instance: Instance, from: number, round: number, step: S): void {
    if (round > instance.round) this.enter(instance, round, step);
    else if (round < instance.round) this.#tellRound(instance, from, step);
    else if (from === this.coordinatorOf(round)) this.#answerCoordinator(instance, step);
  }

  #tellRound({ number, round }: Instance, to: number, step: S): void {
    if (this.isFast(round) || !this.#ground.rules.answersRefusals) return;
    this.#ground.send(to, { kind: 'round', instance: number, round }, step);
  }

  #answerCoordinator(instance: Instance, step: S): void {
    if (instance.isAckStored) this.#sendAck(instance, step);
    else if (instance.isRoundStored && instance.adopted !== instance.round) this.#sendEstimate(instance, step);
  }

  /** Nothing has changed for a while: says again whatever has no answer yet. */
  repeat(instance: Instance, step: S): void {
    const { self } = this.#ground;
    const { round, proposal, acks, nacks, estimates, number } = instance;
    const coordinator = this.coordinatorOf(round);
    if (coordinator !== self) {
      // The coordinator repeats its proposal; this member needs to hear the outcome.
      if (instance.isAckStored) this.#ground.send(coordinator, { kind: 'begin', instance: number, round }, step);
      else this.#answerCoordinator(instance, step);
      return;
    }
    if (instance.isLeaseAsked) return;
    for (let to = 0; to < this.#members; to++) {
      if (to === self) continue;
      if (proposal === null && !estimates.has(to)) this.#tellRound(instance, to, step);
      if (proposal !== null && !acks.has(to) && !nacks.has(to)) this.#sendProposal(instance, to, step);
    }
  }
}
