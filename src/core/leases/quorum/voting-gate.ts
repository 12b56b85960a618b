/**
 * What an acceptor refuses before it looks at a name: ballots beyond belief, questions of another view than it is in, and
 * everything while it is silent.
 */
import type { NodeId } from '../../../kernel/index.ts';
import type { Horizon } from '../horizon.ts';
import { isViewName } from '../views.ts';
import type { Answers } from './answers.ts';
import type { QuorumStep } from './config.ts';
import type { AcceptorView } from './acceptor-view.ts';
import { PROPOSE, type QuorumMessage } from './messages.ts';
import type { QuorumRules } from './rules.ts';
import type { VotingState } from './voting-state.ts';

interface GateGround {
  readonly horizon: Horizon;
  readonly voting: VotingState;
  readonly views: AcceptorView;
  readonly answers: Answers;
  readonly rules: QuorumRules;
}

export class VotingGate {
  readonly #ground: GateGround;

  constructor(ground: GateGround) {
    this.#ground = ground;
  }

  /** True if the request is refused here. */
  refuses(from: NodeId, message: QuorumMessage, step: QuorumStep): boolean {
    const { horizon, voting, answers } = this.#ground;
    if (!horizon.hears(message.ballot, message.token, step)) {
      answers.refuseAhead(from, message, step);
      return true;
    }
    if (this.refusesView(from, message, step)) return true;
    if (!voting.isSilent(from, step)) return false;
    answers.refuseInSilence(from, message, step);
    return true;
  }

  /** The member votes only in the very view it is in. A view initiator's proposal brings the next view along. */
  refusesView(from: NodeId, message: QuorumMessage, step: QuorumStep): boolean {
    const { views, rules, answers } = this.#ground;
    if (views.isIn(message)) return false;
    if (message.kind === PROPOSE && isViewName(message)) {
      views.proposed(message, step);
      if (views.isIn(message)) return false;
    }
    if (!rules.viewChecked) return false;
    answers.refuseView(from, message, step);
    return true;
  }
}
