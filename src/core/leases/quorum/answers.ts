/** An acceptor's replies: promises, votes and refusals, in one record that is used again and again. The acceptor decides what to answer. */
import type { BallotTime, NodeId } from '../../../kernel/index.ts';
import type { AcceptorGround } from './acceptor-ground.ts';
import type { QuorumStep } from './config.ts';
import type { HeldAnswer } from './ledger.ts';
import type { AcceptorView } from './acceptor-view.ts';
import {
  ACCEPTED,
  AHEAD,
  FOR_PREPARE,
  LOW,
  OTHER_VIEW,
  PREPARE,
  PROMISED,
  QuorumMessage,
  REFUSED,
  RELEASED,
  SILENT,
  TOO_LONG,
  VIEWED,
} from './messages.ts';
import type { ModedVotes } from './moded-votes.ts';
import type { QuorumRules } from './rules.ts';
import type { VoteReports } from './vote-reports.ts';
import { SILENT_US_MAX, type VotingState } from './voting-state.ts';
import type { Horizon } from '../horizon.ts';

interface AnswerGround {
  readonly rules: QuorumRules;
  readonly horizon: Horizon;
  readonly voting: VotingState;
  readonly telling: VoteReports;
  readonly moded: ModedVotes;
  readonly views: AcceptorView;
  readonly sign: AcceptorGround['sign'];
}

export class Answers {
  readonly #ground: AnswerGround;
  readonly #reply = new QuorumMessage();

  constructor(ground: AnswerGround) {
    this.#ground = ground;
  }

  /** Answers a question about the name. */
  tell(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { telling, sign } = this.#ground;
    telling.answer(message, this.#reply, step);
    sign(this.#reply, message.print);
    step.send(from, this.#reply);
  }

  /** A vote that its disk has now. */
  sendVote({ to, owner, lease, ballot, flags, print, bundle, row }: HeldAnswer, step: QuorumStep): void {
    const { rules, horizon, views, sign } = this.#ground;
    if (!rules.replyAfterWrite) return;
    const reply = this.#reply;
    reply.kind = ACCEPTED;
    reply.flags = flags;
    reply.owner = owner;
    reply.lease = lease;
    reply.ballot = ballot;
    reply.clock = horizon.told(step);
    reply.bundle = bundle;
    reply.row = row;
    if ((flags & VIEWED) !== 0) views.fillStored(reply);
    sign(reply, print);
    step.send(to, reply);
  }

  accept(from: NodeId, flags: number, message: QuorumMessage, step: QuorumStep): void {
    this.#reply.flags = flags;
    this.#reply.bundle = message.bundle;
    this.#reply.row = message.row;
    this.send(from, ACCEPTED, message, step);
  }

  /** Beyond belief: nothing of it is kept, and the asker is told what this acceptor takes the time to be. */
  refuseAhead(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#reply.reason = AHEAD;
    this.#reply.flags = message.kind === PREPARE ? FOR_PREPARE : 0;
    this.send(from, REFUSED, message, step, this.#ground.horizon.own(step));
  }

  /** It is in another view, which comes with the refusal. */
  refuseView(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#reply.reason = OTHER_VIEW;
    this.#reply.flags = message.kind === PREPARE ? FOR_PREPARE : 0;
    this.#reply.setMeta(this.#ground.views.bytes);
    this.send(from, REFUSED, message, step);
  }

  refuseInSilence(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const reply = this.#reply;
    reply.reason = SILENT;
    reply.flags = message.kind === PREPARE ? FOR_PREPARE : 0;
    reply.remainingUs = Math.min(this.#ground.voting.silentForUs(step.monoUs), SILENT_US_MAX);
    this.send(from, REFUSED, message, step);
  }

  refuse(from: NodeId, reason: number, id: number, hash: number, message: QuorumMessage, step: QuorumStep): void {
    const { rules, telling, moded, horizon } = this.#ground;
    telling.lease(id, this.#reply, step);
    this.#reply.reason = reason;
    if (message.kind === PREPARE) this.#reply.flags |= FOR_PREPARE;
    // A proposer that is refused may ask for nothing more: a late copy of its proposal must find no room here.
    else if (rules.tokenAboveFloor && reason !== TOO_LONG) moded.refused(message, hash);
    if (message.slots > 0) moded.tellFree(id, message, this.#reply, step);
    this.send(from, REFUSED, message, step, reason === LOW ? moded.floorFor(id, hash, message.mode) : horizon.told(step));
  }

  send(from: NodeId, kind: number, message: QuorumMessage, step: QuorumStep, clock: BallotTime = this.#ground.horizon.told(step)): void {
    const reply = this.#reply;
    if (kind === PROMISED || kind === RELEASED) reply.flags = 0;
    reply.kind = kind;
    reply.owner = message.owner;
    reply.lease = message.lease;
    reply.ballot = message.ballot;
    reply.clock = clock;
    if (kind === ACCEPTED && (reply.flags & VIEWED) !== 0) this.#ground.views.fillStored(reply);
    if (kind === ACCEPTED || kind === PROMISED) this.#ground.sign(reply, message.print);
    step.send(from, reply);
  }
}
