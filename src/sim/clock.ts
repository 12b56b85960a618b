/**
 * A machine's two clocks, as functions of true time: they run a little fast or slow, the wall clock is
 * off and may be stepped, and while the machine sleeps the monotonic clock stands still (the wall clock
 * does not). All integers, so every engine computes the same.
 */
import { monoUs, wallUs, type MonoUs, type WallUs } from '../kernel/index.ts';

/** Roughly 2027: simulated wall clocks look like those of real machines. */
export const SIM_EPOCH_US = 1_800_000_000_000_000;

export class MachineClock {
  #sinceUs = 0;
  #monoAtSince: number;
  #wallAtSince: number;
  #ratePpm: number;
  #asleep = false;

  constructor(monoStartUs: number, wallOffsetUs: number, ratePpm: number) {
    this.#monoAtSince = monoStartUs;
    this.#wallAtSince = SIM_EPOCH_US + wallOffsetUs;
    this.#ratePpm = ratePpm;
  }

  monoAt(trueUs: number): MonoUs {
    return monoUs(this.#monoAtSince + (this.#asleep ? 0 : this.#local(trueUs - this.#sinceUs)));
  }

  wallAt(trueUs: number): WallUs {
    return wallUs(this.#wallAtSince + this.#local(trueUs - this.#sinceUs));
  }

  /** The first true instant at which the monotonic clock shows `mono`, if nothing happens to the clock until then. */
  trueWhenMono(mono: MonoUs, nowTrueUs: number): number {
    const span = mono - this.monoAt(nowTrueUs);
    if (span <= 0) return nowTrueUs;
    let at = nowTrueUs + Math.floor((span * 1_000_000) / (1_000_000 + this.#ratePpm));
    // The guess is off by a microsecond or two, because spans are rounded; sleep only makes it later.
    if (!this.#asleep) while (this.monoAt(at) < mono) at++;
    return at;
  }

  setRate(trueUs: number, ratePpm: number): void {
    this.#rebase(trueUs);
    this.#ratePpm = ratePpm;
  }

  stepWall(trueUs: number, byUs: number): void {
    this.#rebase(trueUs);
    this.#wallAtSince += byUs;
  }

  get isAsleep(): boolean {
    return this.#asleep;
  }

  sleep(trueUs: number): void {
    this.#rebase(trueUs);
    this.#asleep = true;
  }

  awake(trueUs: number): void {
    this.#rebase(trueUs);
    this.#asleep = false;
  }

  /** The machine was rebooted: the monotonic clock begins anew. */
  restartMono(trueUs: number, monoStartUs: number): void {
    this.#rebase(trueUs);
    this.#monoAtSince = monoStartUs;
    this.#asleep = false;
  }

  #local(spanUs: number): number {
    return spanUs + Math.floor((spanUs * this.#ratePpm) / 1_000_000);
  }

  #rebase(trueUs: number): void {
    const mono = this.monoAt(trueUs);
    const wall = this.wallAt(trueUs);
    this.#sinceUs = trueUs;
    this.#monoAtSince = mono;
    this.#wallAtSince = wall;
  }
}
