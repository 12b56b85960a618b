/**
 * The two clocks of a real process, and their watch. The monotonic clock stands still while the machine
 * sleeps and the wall clock may be set: comparing them shows both, and a timer that comes late shows a
 * stall of the event loop.
 */
import { monoUs, wallUs, type MonoUs, type WallUs } from '../kernel/index.ts';

export interface Clocks {
  mono(): MonoUs;
  wall(): WallUs;
  /** Runs `act` once, not before the monotonic clock shows `at`; a later call replaces an earlier one. Keeps no process alive. */
  wakeAt(at: MonoUs, act: () => void): void;
  /** The caller of a node wants something of it. Clocks of tests let time pass until that is answered. */
  asked?(): void;
  cancel(): void;
  /** Runs `act` once, after so long. Returns a function that calls it off. Keeps no process alive. */
  after(delayUs: number, act: () => void): () => void;
  /** The same two clocks, with a `wakeAt` of its own: one for each driver of a process. */
  apart(): Clocks;
}

/** Longer delays make `setTimeout` fire at once. */
const DELAY_MS_MAX = 2 ** 30;

export class SystemClocks implements Clocks {
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #firesAt = Infinity;
  /** When it is wanted: never before it fires. */
  #at = Infinity;
  #act: () => void = () => {};

  mono(): MonoUs {
    return monoUs(Math.floor(performance.now() * 1000));
  }

  wall(): WallUs {
    return wallUs(Date.now() * 1000);
  }

  /** A timer that would fire too early is left alone and looks again when it fires: the due time moves on with almost every message. */
  wakeAt(at: MonoUs, act: () => void): void {
    this.#at = at;
    this.#act = act;
    if (at < this.#firesAt) this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#firesAt = Infinity;
    this.#at = Infinity;
  }

  after(delayUs: number, act: () => void): () => void {
    const timer = setTimeout(act, Math.min(DELAY_MS_MAX, Math.ceil(delayUs / 1000)));
    timer.unref();
    return () => clearTimeout(timer);
  }

  apart(): Clocks {
    return new SystemClocks();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#firesAt = this.#at;
    const delayMs = Math.min(DELAY_MS_MAX, Math.max(0, Math.ceil((this.#at - this.mono()) / 1000)));
    this.#timer = setTimeout(this.#fired, delayMs);
    this.#timer.unref();
  }

  readonly #fired = (): void => {
    this.#firesAt = Infinity;
    if (this.#at === Infinity) return;
    if (this.mono() < this.#at) {
      this.#arm();
      return;
    }
    this.#at = Infinity;
    this.#act();
  };
}

/** What a watch of the clocks has seen, in all. */
export interface ClockWatchCounts {
  stalls: number;
  stallUsMax: number;
  sleeps: number;
  wallSteps: number;
}

/** What a watch of the clocks notices, as it does: it may be in the middle of a step. */
export type ClockNotice = (kind: 'stall' | 'sleep' | 'wall-step', us: number) => void;

/** Below this, lateness and disagreement are noise. */
const NOISE_US = 100_000;

/** Compares what the clocks show from one look to the next. */
export class ClockWatch {
  readonly #onNotice: ClockNotice | undefined;
  readonly counts: ClockWatchCounts = { stalls: 0, stallUsMax: 0, sleeps: 0, wallSteps: 0 };
  #mono: number;
  #wall: number;

  constructor(mono: MonoUs, wall: WallUs, onNotice?: ClockNotice) {
    this.#onNotice = onNotice;
    this.#mono = mono;
    this.#wall = wall;
  }

  /** A look at both clocks; `dueAt` is when this look should have come, if a timer brought it. */
  look(mono: MonoUs, wall: WallUs, dueAt: MonoUs | null): void {
    const wallAheadUs = wall - this.#wall - (mono - this.#mono);
    // Wall time without monotonic time is sleep, or a clock set forward: a holder is dead in either case. Set back is no sleep.
    if (wallAheadUs > NOISE_US) {
      this.counts.sleeps++;
      this.#onNotice?.('sleep', wallAheadUs);
    } else if (wallAheadUs < -NOISE_US) {
      this.counts.wallSteps++;
      this.#onNotice?.('wall-step', -wallAheadUs);
    }
    const lateUs = dueAt === null ? 0 : mono - dueAt;
    if (lateUs > NOISE_US) {
      this.counts.stalls++;
      this.counts.stallUsMax = Math.max(this.counts.stallUsMax, lateUs);
      this.#onNotice?.('stall', lateUs);
    }
    this.#mono = mono;
    this.#wall = wall;
  }
}
