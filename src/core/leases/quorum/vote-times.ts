/** How long an acceptor's votes last, and by which of its clocks: its own monotonic one, because a step of the wall clock must not free a live vote (rule 12). */
import { stretch } from '../timing.ts';
import type { QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import type { QuorumRules } from './rules.ts';

export class VoteTimes {
  readonly #rules: QuorumRules;
  readonly #rateErrorPpm: () => number;
  // Most votes are for the same term as the vote before: stretching takes divisions.
  #lastTermUs = -1;
  #lastPpm = -1;
  #lastSpanUs = 0;

  /** The rate error is the view's. */
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
    if (!this.#rules.stretchTerm) return termUs;
    const ppm = this.#rateErrorPpm();
    if (termUs === this.#lastTermUs && ppm === this.#lastPpm) return this.#lastSpanUs;
    this.#lastTermUs = termUs;
    this.#lastPpm = ppm;
    this.#lastSpanUs = stretch(termUs, ppm);
    return this.#lastSpanUs;
  }
}
