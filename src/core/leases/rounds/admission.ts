/**
 * Who may say what to a node of Flease or PaxosLease. Whoever asks or teaches does so in the name of its own
 * incarnation; only members answer and pass on. Flease lets anyone write back the lease of another that it read:
 * what that can do is bounded by the acceptor's rules, not here.
 */
import type { Incarnation } from '../../../kernel/index.ts';
import type { Sender } from '../../contract.ts';
import { isRoundRequest, LEARN, type RoundMessage } from './messages.ts';
import type { RoundRules } from './rules.ts';

export class RoundAdmission {
  readonly #members: number;
  readonly #rules: RoundRules;

  constructor(members: number, rules: RoundRules) {
    this.#members = members;
    this.#rules = rules;
  }

  admits(sender: Sender, message: RoundMessage): boolean {
    if (!isRoundRequest(message)) return sender.node < this.#members || !this.#rules.answersFromAsked;
    if (!this.#rules.asksInOwnName) return true;
    if (message.owner !== this.#nameOf(sender)) return false;
    // An owner tells learners of its own lease only.
    return message.kind !== LEARN || message.holder === message.owner;
  }

  #nameOf({ node, incarnation }: Sender): Incarnation {
    return this.#rules.ownerIsIncarnation ? incarnation : ((node + 1) as Incarnation);
  }
}
