/**
 * Whose monotonic clock runs too fast or too slow. Leases need no clocks that agree, only clocks of which none runs
 * faster than another by more than (1+ρ)/(1−ρ): a member's vote must not end before the holder's lease. Each node
 * compares its own clock with the members', and judges only what is certain: a peer's clock was read at some instant
 * between two readings of the own one, and whatever that instant was, the rates are too far apart. Pure; no clock is
 * read here.
 */
const PPM = 1_000_000;

/** Readings of two monotonic clocks: the own before and after, the peer's at some instant in between. */
export interface ClockReading {
  readonly beforeUs: number;
  readonly afterUs: number;
  readonly peerUs: number;
}

/** How a peer's clock runs, as seen by ours; `unknown` until it was read over a whole window. */
export type PeerPace = 'unknown' | 'alike' | 'faster' | 'slower';

/**
 * How the own clock runs. `fine`: most members' clocks agree with it. `slow`: as many run faster, for certain, and
 * leases held here may be over by their clocks. `fast`: the reverse, and votes given here may end too early.
 */
export type OwnPace = 'fine' | 'fast' | 'slow';

export interface RateVerdict {
  readonly own: OwnPace;
  /** Members whose clocks are off while the own one is fine. */
  readonly off: readonly number[];
}

export interface RateWatchOptions {
  /** ρ. */
  readonly rateErrorPpm: number;
  /** Rates are judged over so much of the own clock, or a little more. */
  readonly windowUs: number;
}

/** One peer's clock against ours. */
class Comparison {
  pace: PeerPace = 'unknown';
  readonly #options: RateWatchOptions;
  /** In order; the first is the reading that the next is judged by, or an earlier one. */
  readonly #readings: ClockReading[] = [];

  constructor(options: RateWatchOptions) {
    this.#options = options;
  }

  add(reading: ClockReading): void {
    const readings = this.#readings;
    const newest = readings.at(-1);
    // The same reading again, or an impossible one: a peer that started anew has a clock that did.
    if (newest && (reading.beforeUs <= newest.beforeUs || reading.afterUs < reading.beforeUs)) return;
    if (newest && reading.peerUs < newest.peerUs) {
      readings.length = 0;
      this.pace = 'unknown';
    }
    readings.push(reading);
    // The latest reading that is a whole window old. Older readings are not needed any more.
    let base = -1;
    while (base + 1 < readings.length && this.#isWindow(readings[base + 1] as ClockReading, reading)) base++;
    if (base > 0) readings.splice(0, base);
    if (base >= 0) this.pace = this.#judge(readings[0] as ClockReading, reading);
  }

  #isWindow(from: ClockReading, to: ClockReading): boolean {
    return to.beforeUs - from.afterUs >= this.#options.windowUs;
  }

  #judge(from: ClockReading, to: ClockReading): PeerPace {
    const [fast, slow] = [PPM + this.#options.rateErrorPpm, PPM - this.#options.rateErrorPpm];
    const peerUs = to.peerUs - from.peerUs;
    // Between the two instants at which the peer's clock was read, ours has gone on by something from `leastUs` to `mostUs`.
    const leastUs = to.beforeUs - from.afterUs;
    const mostUs = to.afterUs - from.beforeUs;
    if (peerUs * slow > mostUs * fast) return 'faster';
    return peerUs * fast < leastUs * slow ? 'slower' : 'alike';
  }
}

export class RateWatch {
  readonly #options: RateWatchOptions;
  readonly #peers = new Map<number, Comparison>();
  #own: OwnPace = 'fine';
  /** Members that were found to be off while most agreed with us. They say nothing against our own clock until they agree again. */
  #off: readonly number[] = [];

  constructor(options: RateWatchOptions) {
    this.#options = options;
  }

  /** The clock of a member was read. */
  read(member: number, reading: ClockReading): void {
    let comparison = this.#peers.get(member);
    if (!comparison) {
      comparison = new Comparison(this.#options);
      this.#peers.set(member, comparison);
    }
    comparison.add(reading);
  }

  /** Another process goes under the member's name: its clock is another. */
  forget(member: number): void {
    this.#peers.delete(member);
  }

  paceOf(member: number): PeerPace {
    return this.#peers.get(member)?.pace ?? 'unknown';
  }

  /**
   * By the clocks of the members that are `present`, this node left out. Clocks that agree with the own clock stand
   * against clocks that disagree in the same way; where there are as many on both sides, it is unknown which are off, and
   * this node takes it that its own is. Once off, it is off until some member's clock agrees again.
   */
  judge(present: Iterable<number>): RateVerdict {
    let [alike, faster, slower] = [0, 0, 0];
    const off: number[] = [];
    for (const member of present) {
      const pace = this.paceOf(member);
      if (pace === 'alike') alike++;
      if (pace === 'alike' || pace === 'unknown') continue;
      off.push(member);
      if (this.#off.includes(member)) continue;
      if (pace === 'faster') faster++;
      else slower++;
    }
    const most = Math.max(faster, slower);
    if (most > alike) this.#own = faster >= slower ? 'slow' : 'fast';
    else if (alike > 0) this.#own = 'fine';
    this.#off = this.#own === 'fine' ? off : [];
    return { own: this.#own, off: this.#off };
  }
}
