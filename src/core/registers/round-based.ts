/**
 * Flease's round-based register (F1), the side that stores: one value, the highest ballot of a READ and
 * the ballot of the last WRITE. READ and WRITE with a ballot that is too low are refused. A copy of a READ that was
 * answered is answered again in the same way: the paper's channels do not duplicate, real ones do.
 */
import { NO_BALLOT, NOBODY, type BallotTime, type compareBallots, type Incarnation } from '../../kernel/index.ts';

/** How two ballots compare. The simulator brings the papers' own orders, which are none (rule 9). */
export type BallotOrder = typeof compareBallots;

export class RoundsRegister<Value> {
  readTime: BallotTime = NO_BALLOT;
  readBy: Incarnation = NOBODY;
  writeTime: BallotTime = NO_BALLOT;
  writeBy: Incarnation = NOBODY;
  value: Value | null = null;

  /** READ(k): true is ackREAD, and from here on no lower ballot reads or writes. */
  read(time: BallotTime, by: Incarnation, compare: BallotOrder): boolean {
    if (compare(this.writeTime, this.writeBy, time, by) >= 0) return false;
    if (compare(this.readTime, this.readBy, time, by) > 0) return false;
    this.readTime = time;
    this.readBy = by;
    return true;
  }

  /** Whether WRITE(k, …) would be acknowledged. */
  mayWrite(time: BallotTime, by: Incarnation, compare: BallotOrder): boolean {
    return compare(this.writeTime, this.writeBy, time, by) <= 0 && compare(this.readTime, this.readBy, time, by) <= 0;
  }

  write(time: BallotTime, by: Incarnation, value: Value): void {
    this.writeTime = time;
    this.writeBy = by;
    this.value = value;
  }

  /** The ballot to beat. */
  highest(compare: BallotOrder): BallotTime {
    return compare(this.readTime, this.readBy, this.writeTime, this.writeBy) >= 0 ? this.readTime : this.writeTime;
  }
}
