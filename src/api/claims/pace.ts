/** How long the core of claims is told that a round trip takes, the flush included: as this process's own claims show. Nothing that safety rests on follows from it. */

/** Before any claim was answered. */
const FIRST_US = 10_000;
const TRIP_US_MIN = 1000;
const TRIP_US_MAX = 250_000;
/** A blank disk that no claim waits for looks for others every two of these. */
const REST_US = 500_000;
/** The core is told of changes of more than a part of this. */
const GRAIN = 4;
const WEIGHT = 8;

export class ClaimPace {
  readonly #retime: (rttUs: number) => void;
  #tripUs = FIRST_US;
  #toldUs = FIRST_US;

  constructor(retime: (rttUs: number) => void) {
    this.#retime = retime;
  }

  get rttUs(): number {
    return this.#toldUs;
  }

  /** A claim was granted at its first attempt, after so long. */
  sample(waitUs: number): void {
    const trip = Math.min(TRIP_US_MAX, Math.max(TRIP_US_MIN, waitUs));
    this.#tripUs += (trip - this.#tripUs) / WEIGHT;
  }

  wake(): void {
    this.#retimeTo(Math.round(this.#tripUs));
  }

  rest(): void {
    this.#retimeTo(REST_US);
  }

  #retimeTo(us: number): void {
    if (Math.abs(us - this.#toldUs) * GRAIN <= this.#toldUs) return;
    this.#toldUs = us;
    this.#retime(us);
  }
}
