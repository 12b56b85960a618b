/** What a member says. Messages to others leave at once; messages to itself are heard in the same step, in order, and cost nothing. */
import { invariant, nodeId } from '../../kernel/index.ts';
import type { Step } from '../contract.ts';
import type { ConsensusEvent, ConsensusMessage, InstanceMessage } from './messages.ts';

type OutboxStep = Step<ConsensusMessage, ConsensusEvent>;

export class ConsensusOutbox {
  readonly #members: number;
  readonly #self: number;
  readonly #own: InstanceMessage[] = [];

  constructor(members: number, self: number) {
    this.#members = members;
    this.#self = self;
  }

  send(to: number, message: ConsensusMessage, step: OutboxStep): void {
    if (to !== this.#self) return step.send(nodeId(to), message);
    invariant('instance' in message && message.kind !== 'decide' && message.kind !== 'gone', 'a member asks itself nothing');
    this.#own.push(message);
  }

  sendOthers(message: ConsensusMessage, step: OutboxStep): void {
    for (let to = 0; to < this.#members; to++) if (to !== this.#self) step.send(nodeId(to), message);
  }

  /** The next message to itself. */
  nextOwn(): InstanceMessage | undefined {
    return this.#own.shift();
  }
}
