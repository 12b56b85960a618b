/**
 * Watches how long the members take to answer, and says so now and then: the round trip to the slowest of
 * the fastest quorum, which an attempt waits for. The core decides what follows from it.
 */
import type { Clocks } from './clocks.ts';

const LOOK_EVERY_US = 1_000_000;

export interface PacerOptions {
  readonly clocks: Clocks;
  /** How many members must answer, as things are now. */
  readonly quorum: () => number;
  /** The smoothed round trip to each member, this node's own being 0; null where none was measured. */
  readonly roundTripsUs: () => readonly (number | null)[];
  readonly onRoundTrip: (rttUs: number) => void;
  /** It is time to look at the members, whether round trips are known or not. */
  readonly onLook?: () => void;
}

export class Pacer {
  readonly #options: PacerOptions;
  #callOff: (() => void) | null = null;

  constructor(options: PacerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#callOff = this.#options.clocks.after(LOOK_EVERY_US, () => {
      this.look();
      if (this.#callOff) this.start();
    });
  }

  stop(): void {
    this.#callOff?.();
    this.#callOff = null;
  }

  look(): void {
    const { roundTripsUs, quorum, onRoundTrip, onLook } = this.#options;
    onLook?.();
    const known = roundTripsUs().filter((rttUs) => rttUs !== null);
    const rttUs = known.sort((a, b) => a - b)[quorum() - 1];
    if (rttUs !== undefined) onRoundTrip(Math.max(1, Math.round(rttUs)));
  }
}
