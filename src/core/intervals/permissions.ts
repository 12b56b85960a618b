/**
 * The permissions of one space at one acceptor: integers taken for good, and those together with integers of open claims. A billion integers in a row cost one entry.
 */
import { IntervalSet, type Interval } from '../../kernel/index.ts';

/** So many pieces are looked at for a gap that is large enough; then it is the end of all. */
const PIECES_SEARCHED = 4096;

export class SpacePermissions {
  readonly name: string;
  readonly taken: IntervalSet = new IntervalSet();
  /** Taken, or of an open claim. */
  readonly occupied: IntervalSet = new IntervalSet();
  /** Where each taken interval is kept, by its start. */
  readonly places: Map<number, number> = new Map();
  open = 0;
  /** Claims that overlap may be open. A restart after a crash between two writes finds the withdrawn claim again: its successor was written first. */
  isDoubled = false;

  constructor(name: string) {
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.open === 0 && this.taken.pieces === 0;
  }

  /** No process claims these any more, but taken integers stay taken. */
  free(from: number, to: number): void {
    this.occupied.remove(from, to);
    for (const [start, end] of this.taken.touching(from, to)) this.occupied.add(start, end);
  }

  /** The first piece of [from, to] that is not free; null if all of it is. */
  overlap(from: number, to: number, byEnds: boolean): Interval | null {
    const found = this.occupied.firstOverlap(from, to);
    if (found === null) return null;
    const [start, end] = found;
    // The paper's test: one end of the occupied interval is within the request.
    if (!byEnds && !(from <= start && start <= to) && !(from <= end && end <= to)) return null;
    return [Math.max(from, start), Math.min(to, end)];
  }

  /** Where so many are free, from there on; -1 if nowhere. */
  nextFree(from: number, size: number): number {
    return this.occupied.firstRun(from, size, PIECES_SEARCHED) ?? -1;
  }
}
