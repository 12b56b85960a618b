/**
 * Ballots from the clock (F6). A ballot is a bucket of time, a number drawn once for the bucket and one that counts, then
 * the incarnation: within a bucket neither a fast clock nor frequent asking favours a process, and the order is total.
 * PaxosLease's are plain hybrid time. One asker's ballots rise strictly, so that no two of its attempts share one.
 */
import {
  BallotClock,
  ballotTime,
  compareBallots,
  invariant,
  NO_BALLOT,
  WALL_US_BELIEVED_MAX,
  type BallotTime,
  type Incarnation,
} from '../../../kernel/index.ts';
import type { BallotOrder } from '../../registers/round-based.ts';
import { ballotLimit } from '../horizon.ts';
import type { RoundStep } from './config.ts';
import type { RoundRules } from './rules.ts';
import { BUCKET_US_MIN, type RoundTiming } from './timing.ts';

/** A draw in a bucket is a number below this. */
const DRAWS = 256;
/** A draw has room for so many ballots in the narrowest bucket, and for more in proportion: a process that asks more often than that is a step ahead. */
const COUNTS_MIN = 256;

export interface Ballots {
  readonly last: BallotTime;
  next(step: RoundStep): BallotTime;
  /** A ballot was refused in favour of this one: the next goes above it. */
  observe(ballot: BallotTime): void;
  /** The highest ballot that any clock gives by itself when it shows this. */
  highestAt(wallUs: number): number;
}

/** Flease's: fair within a bucket, also to processes that ask seldom. */
export class BucketBallots implements Ballots {
  readonly #bucketUs: number;
  readonly #aheadUsMax: number;
  readonly #counts: number;
  readonly #breaksTies: boolean;
  #last = 0;

  constructor(bucketUs: number, breaksTies: boolean, aheadUsMax: number = Infinity) {
    this.#bucketUs = bucketUs;
    this.#aheadUsMax = aheadUsMax;
    this.#counts = Math.max(COUNTS_MIN, Math.floor((bucketUs * COUNTS_MIN) / BUCKET_US_MIN));
    this.#breaksTies = breaksTies;
  }

  get last(): BallotTime {
    return ballotTime(this.#last);
  }

  observe(ballot: BallotTime): void {
    if (ballot > this.#last) this.#last = ballot;
  }

  highestAt(wallUs: number): number {
    return (Math.floor(wallUs / this.#bucketUs) + 1) * DRAWS * this.#counts;
  }

  next(step: RoundStep): BallotTime {
    // The clock was set back by more than any node believes: earlier ballots count no more.
    if (this.#last > this.highestAt(ballotLimit(step, this.#aheadUsMax))) this.#last = 0;
    const bucket = Math.floor(Math.min(step.wallUs, WALL_US_BELIEVED_MAX) / this.#bucketUs) * DRAWS;
    // A process that drew for every ballot would rise in its bucket with each request: the highest of many draws counts.
    const isNew = this.#last < bucket * this.#counts;
    const next = isNew ? (bucket + (this.#breaksTies ? step.choose(DRAWS) : 0)) * this.#counts : this.#last + 1;
    invariant(Number.isSafeInteger(next), 'ballots have run out: a wall clock or an observed ballot is beyond belief');
    this.#last = next;
    return ballotTime(next);
  }
}

/** The paper's, compared as "equal if within ε": a process with a fast clock may win, and the order goes in circles. */
export class PlainBallots implements Ballots {
  readonly #clock = new BallotClock(NO_BALLOT);
  readonly #aheadUsMax: number;

  constructor(aheadUsMax: number = Infinity) {
    this.#aheadUsMax = aheadUsMax;
  }

  get last(): BallotTime {
    return this.#clock.last;
  }

  observe(ballot: BallotTime): void {
    this.#clock.observe(ballot);
  }

  highestAt(wallUs: number): number {
    return wallUs;
  }

  next(step: RoundStep): BallotTime {
    return this.#clock.next(step.wallUs, this.#aheadUsMax);
  }
}

/** The order acceptors compare by. Only the simulator has anything but the total one. */
export function ballotOrder(rules: RoundRules, timing: RoundTiming): BallotOrder {
  if (!rules.ballotsByIncarnation) return (aTime, aBy, bTime, bBy) => (aTime === bTime ? crudeHash(aBy) - crudeHash(bBy) : aTime - bTime);
  if (rules.bucketedBallots) return compareBallots;
  const { skewUs } = timing;
  return (aTime, aBy, bTime, bBy) => (Math.abs(aTime - bTime) <= skewUs ? aBy - bBy : aTime - bTime);
}

/** "Ballot mod n" with more proposers than n. */
function crudeHash(by: Incarnation): number {
  return by % 2;
}
