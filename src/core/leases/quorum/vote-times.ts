/** How long an acceptor's votes last, and by which of its clocks: its own monotonic one, because a step of the wall clock must not free a live vote (rule 12). */
import { stretch } from '../timing.ts';
import type { QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import type { QuorumRules } from './rules.ts';

export class VoteTimes {
  readonly #rules: QuorumRules;
  readonly #rateErrorPpm: () => number;

  /** The rate error is that of the view. */
  constructor(rules: QuorumRules, rateErrorPpm: () => number) {
    this.#rules = rules;
    this.#rateErrorPpm = rateErrorPpm;
  }

  now({ monoUs, wallUs }: QuorumStep): number {
    return this.#rules.votesByMonotonic ? monoUs : wallUs;
  }

  expiry({ termUs }: QuorumMessage, step: QuorumStep): number {
    return this.now(step) + this.spanOf(termUs);
  }

  spanOf(termUs: number): number {
    return this.#rules.stretchTerm ? stretch(termUs, this.#rateErrorPpm()) : termUs;
  }
}
