/**
 * How high ballots may go before a node no longer believes them. Ballots are hybrid time: a node that adopts a high ballot
 * takes all nodes along, and a ballot from the far future would use up the numbers of tokens. So nothing further ahead of
 * a node's own wall clock than the cell's bound is adopted, stored or passed on.
 */
import { NO_BALLOT, WALL_US_BELIEVED_MAX, type BallotTime, type WallUs } from '../../kernel/index.ts';

/** The clock of a step. */
interface Now {
  readonly wallUs: WallUs;
}

/** The highest ballot that a node whose wall clock shows this believes. */
export function ballotLimit({ wallUs }: Now, aheadUsMax: number): number {
  return Math.min(wallUs, WALL_US_BELIEVED_MAX) + aheadUsMax;
}

/** The highest ballot that one acceptor has seen and believed. */
export class Horizon {
  readonly #aheadUsMax: number;
  highest: BallotTime = NO_BALLOT;

  constructor(aheadUsMax: number) {
    this.#aheadUsMax = aheadUsMax;
  }

  isBeyond(ballot: number, now: Now): boolean {
    return ballot > ballotLimit(now, this.#aheadUsMax);
  }

  /** Takes in the ballot of a request, unless that or its token is beyond belief. */
  hears(ballot: BallotTime, token: number, now: Now): boolean {
    const limit = ballotLimit(now, this.#aheadUsMax);
    if (ballot > limit || token > limit) return false;
    if (ballot > this.highest) this.highest = ballot;
    return true;
  }

  observe(ballot: BallotTime, now: Now): void {
    if (ballot > this.highest && !this.isBeyond(ballot, now)) this.highest = ballot;
  }

  /**
   * The ballot that askers are told to go above. Only half of the bound: a client may raise this acceptor to the highest ballot that
   * it believes, and a proposer that went above that would be beyond belief for members whose clocks are a little behind.
   */
  told(now: Now): BallotTime {
    return Math.max(NO_BALLOT, Math.min(this.highest, Math.floor(ballotLimit(now, this.#aheadUsMax / 2)))) as BallotTime;
  }

  /** This node's own wall clock, as a ballot. */
  own(now: Now): BallotTime {
    return Math.max(NO_BALLOT, Math.floor(ballotLimit(now, 0))) as BallotTime;
  }
}
