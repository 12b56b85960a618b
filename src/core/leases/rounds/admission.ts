/**
 * What each sender may say to a node of Flease or PaxosLease. A process asks and teaches in the name of its own
 * incarnation; only members answer and pass on. Flease lets any process write back another's lease that it read, so a
 * liar can make such a lease last longer and change its metadata; it cannot end it.
 */
import type { Incarnation } from '../../../kernel/index.ts';
import type { Sender } from '../../contract.ts';
import { isRoundRequest, ROUND_LEARN, WRITE, type RoundMessage } from './messages.ts';
import type { RoundRules } from './rules.ts';

export class RoundAdmission {
  readonly #members: number;
  readonly #helps: boolean;
  readonly #rules: RoundRules;

  /** `helps`: a process that reads another's lease writes it back (Flease). */
  constructor(members: number, helps: boolean, rules: RoundRules) {
    this.#members = members;
    this.#helps = helps;
    this.#rules = rules;
  }

  admits(sender: Sender, message: RoundMessage): boolean {
    if (!isRoundRequest(message)) return sender.node < this.#members || !this.#rules.answersFromAsked;
    if (!this.#rules.asksInOwnName) return true;
    if (message.owner !== this.#nameOf(sender)) return false;
    // Owners propose, and tell learners of, their own leases only.
    const isOwn = message.holder === message.owner || (message.kind !== ROUND_LEARN && message.kind !== WRITE);
    return isOwn || (message.kind === WRITE && this.#helps);
  }

  #nameOf({ node, incarnation }: Sender): Incarnation {
    return this.#rules.ownerIsIncarnation ? incarnation : ((node + 1) as Incarnation);
  }
}
