/**
 * How high an acceptor has gone, per bucket of names: new grants must be above (rule 18). A row that is
 * reclaimed leaves its ballot here, so ended leases cost nothing; names that share a bucket only make
 * each other's ballots a little higher.
 */
import { NO_BALLOT, type BallotTime } from '../../../kernel/index.ts';

export class Floors {
  readonly #buckets: number;
  #floors: Float64Array | null = null;
  /** Under all buckets: where a restarted acceptor begins. */
  #base: BallotTime = NO_BALLOT;

  constructor(buckets: number) {
    this.#buckets = buckets;
  }

  get(nameHash: number): BallotTime {
    return this.#floors ? (Math.max(this.#base, this.#floors[nameHash % this.#buckets] as number) as BallotTime) : this.#base;
  }

  get base(): BallotTime {
    return this.#base;
  }

  raiseAll(to: BallotTime): void {
    if (to > this.#base) this.#base = to;
  }

  raise(nameHash: number, to: BallotTime): void {
    this.#floors ??= new Float64Array(this.#buckets);
    const bucket = nameHash % this.#buckets;
    if (to > (this.#floors[bucket] as number)) this.#floors[bucket] = to;
  }

  snapshot(): readonly number[] {
    return [this.#base, ...(this.#floors ?? [])];
  }

  restore([base, ...floors]: readonly number[]): void {
    this.#base = (base ?? 0) as BallotTime;
    this.#floors = floors.length > 0 ? Float64Array.from(floors) : null;
  }
}
