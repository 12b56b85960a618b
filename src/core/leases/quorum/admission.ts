/**
 * What each sender may say to a node of the quorum engine. A process asks in the name of its own incarnation; only
 * members answer; only members, and processes that know their secret, end a silence early. The role that would count
 * an answer judges whether the answer was asked for.
 */
import type { Incarnation } from '../../../kernel/index.ts';
import type { Sender } from '../../contract.ts';
import { isForMembers, isRequest, LINE, LIST, NOTE, QUERY, VIEW_TOLD, WATCH, type QuorumMessage } from './messages.ts';
import type { QuorumRules } from './rules.ts';
import { isViewName } from '../views.ts';

/** Requests that change nothing for others. */
const ONLY_ASKS: readonly number[] = [QUERY, LIST, LINE, WATCH];

export class Admission {
  readonly #members: number;
  readonly #rules: QuorumRules;

  constructor(members: number, rules: QuorumRules) {
    this.#members = members;
    this.#rules = rules;
  }

  admits(sender: Sender, message: QuorumMessage): boolean {
    const isMember = sender.node < this.#members;
    if (!isRequest(message)) return isMember || !this.#rules.answersFromAsked;
    if (this.#rules.asksInOwnName && message.owner !== this.#nameOf(sender)) return false;
    // A life that was noted cannot be taken back: only the member itself has a say in it.
    if (message.kind === NOTE || message.kind === VIEW_TOLD) return isMember;
    // View initiators are trusted with the cell. Other processes may ask which process makes views, but neither wait for that lease nor drive up its ballots.
    if (!isMember && !sender.isAdmin && isViewName(message)) return ONLY_ASKS.includes(message.kind);
    return isMember || sender.isAdmin || !isForMembers(message);
  }

  #nameOf({ node, incarnation }: Sender): Incarnation {
    return this.#rules.ownerIsIncarnation ? incarnation : ((node + 1) as Incarnation);
  }
}
