/**
 * Ballots: which proposer may go first when several want the same thing. Ordered by hybrid time, then by
 * incarnation: a total order (Flease's "equal if within ε" is not transitive, PaxosLease's "mod n"
 * collides; rule 9). The time part of the first ballot that wins a lease is its fencing token.
 *
 * A ballot is two safe integers rather than an object, so that tables and messages can hold it flat.
 */
import { invariant } from './errors.ts';
import type { Incarnation } from './ids.ts';

/** Hybrid time in microseconds: at least the wall clock, and above every ballot seen. A positive safe integer. */
export type BallotTime = number & { readonly __ballotTime: true };

/**
 * About the year 2200. A wall clock that shows more is not believed: it may drag tokens as far as this, and
 * above it come single steps, of which there are enough for ever.
 */
export const WALL_US_BELIEVED_MAX = 7_258_000_000_000_000;

/** No ballot of an honest peer is above this; it leaves room below the end of the safe integers. */
export const BALLOT_TIME_MAX: BallotTime = 8_500_000_000_000_000 as BallotTime;

/** Below every real ballot. */
export const NO_BALLOT: BallotTime = 0 as BallotTime;

export function ballotTime(value: number): BallotTime {
  return value as BallotTime;
}

/** Negative if a comes before b, positive if after, 0 if they are the same ballot. */
export function compareBallots(aTime: BallotTime, aOwner: Incarnation, bTime: BallotTime, bOwner: Incarnation): number {
  return aTime !== bTime ? aTime - bTime : aOwner - bOwner;
}

/** Hands out ballot times: strictly rising, never behind the wall clock, above all that were observed. */
export class BallotClock {
  #last: number;

  constructor(last: BallotTime = NO_BALLOT) {
    this.#last = last;
  }

  get last(): BallotTime {
    return this.#last as BallotTime;
  }

  observe(time: BallotTime): void {
    if (time > this.#last) this.#last = time;
  }

  /** A wall clock that was set back by more than `aheadUsMax` begins anew: no node would believe a ballot above the last one. */
  next(wallUs: number, aheadUsMax: number = Infinity): BallotTime {
    const wall = Math.floor(Math.min(wallUs, WALL_US_BELIEVED_MAX));
    const next = Math.max((this.#last > wall + aheadUsMax ? NO_BALLOT : this.#last) + 1, wall);
    // Past the safe integers adding one changes nothing: the same ballot, and so the same fencing token, would be handed out twice.
    invariant(Number.isSafeInteger(next), 'ballot times have run out: a wall clock or an observed ballot is beyond belief');
    this.#last = next;
    return next as BallotTime;
  }
}
