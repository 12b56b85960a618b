/**
 * Time that passes only when it is told to, for the testing kit: one queue of everything that is going to
 * happen, and between any two happenings a turn of the real event loop, in which promises of the code under
 * test run. The same calls in the same order give the same run.
 */
import { monoUs, wallUs, type MonoUs, type WallUs } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { onAbort } from '../signals.ts';

/** 2030-01-01: a wall clock that is plainly not today's. */
const EPOCH_US = 1_893_456_000_000_000;
/** Kept from before a test replaces the timers of the process by fakes. */
const soon = setImmediate;

/** A process in virtual time. */
export class VirtualProcess {
  /** It does nothing before this instant: what should have happened to it happens then, in order. */
  standsUntilUs = 0;
  /** Nothing happens to it any more. */
  isGone = false;
}

interface Happening {
  atUs: number;
  readonly order: number;
  readonly actor: VirtualProcess | null;
  readonly act: () => void;
}

export class VirtualTime {
  #nowUs = 0;
  readonly #queue: Happening[] = [];
  #order = 0;
  #isActing = false;
  #isAdvancing = false;
  #isTurning = false;
  /** Up to here time passes by itself: messages arrive. */
  #flowsUntilUs = 0;
  /** And up to here, as long as a call waits for its answer. */
  #answersUntilUs = 0;
  readonly #isAsked: () => boolean;
  #advances: Promise<void> = Promise.resolve();
  #waiters: (() => void)[] = [];

  /** `isAsked` tells whether any call waits for its answer. */
  constructor(isAsked: () => boolean) {
    this.#isAsked = isAsked;
  }

  get nowUs(): number {
    return this.#nowUs;
  }

  /** Plans an act. Returns a function that calls it off. */
  plan(atUs: number, actor: VirtualProcess | null, act: () => void): () => void {
    const happening: Happening = { atUs: Math.max(this.#nowUs, atUs), order: this.#order++, actor, act };
    this.#insert(happening);
    this.#turnSoon();
    return () => this.#remove(happening);
  }

  /** Something is on its way, that arrives by itself. */
  flow(forUs: number): void {
    this.#flowsUntilUs = Math.max(this.#flowsUntilUs, this.#nowUs + forUs);
    this.#turnSoon();
  }

  /** If code under test runs now, it may have made a call: lets time pass by itself so far that it can be answered. */
  answer(forUs: number): void {
    if (this.#isActing) return;
    this.#answersUntilUs = Math.max(this.#answersUntilUs, this.#nowUs + forUs);
    this.#turnSoon();
  }

  /** Resolves when nothing is left that happens by itself. */
  async idle(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiters.push(resolve);
      this.#turnSoon();
    });
  }

  /** Lets so much time pass; advances that were begun earlier come first. */
  advance(forUs: number): Promise<void> {
    const done = this.#advances.then(() => this.#advance(forUs));
    // What code under test throws in its own turn is its own; an advance itself does not fail.
    this.#advances = done.catch(() => {});
    return done;
  }

  /** Over when time has gone so far. */
  async sleep(forUs: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const callOff = this.plan(this.#nowUs + forUs, null, () => {
        calm();
        resolve();
      });
      const calm = onAbort(signal, (reason) => {
        callOff();
        reject(reason);
      });
    });
  }

  async #advance(forUs: number): Promise<void> {
    const untilUs = this.#nowUs + forUs;
    this.#isAdvancing = true;
    this.#answersUntilUs = untilUs;
    try {
      for (;;) {
        await new Promise<void>((resolve) => void soon(resolve));
        const next = this.#queue[0];
        if (!next || next.atUs > untilUs) break;
        this.#happen(next);
      }
      this.#nowUs = untilUs;
    } finally {
      this.#isAdvancing = false;
      this.#turnSoon();
    }
  }

  #turnSoon(): void {
    if (this.#isTurning || this.#isAdvancing) return;
    this.#isTurning = true;
    soon(() => {
      this.#isTurning = false;
      if (this.#isAdvancing) return;
      const next = this.#queue[0];
      if (next && (next.atUs <= this.#flowsUntilUs || (next.atUs <= this.#answersUntilUs && this.#isAsked()))) {
        this.#happen(next);
        this.#turnSoon();
        return;
      }
      const waiters = this.#waiters;
      this.#waiters = [];
      for (const resolve of waiters) resolve();
    });
  }

  #happen(next: Happening): void {
    this.#queue.shift();
    const { actor } = next;
    if (actor?.isGone) return;
    if (actor && actor.standsUntilUs > next.atUs) {
      next.atUs = actor.standsUntilUs;
      this.#insert(next);
      return;
    }
    this.#nowUs = Math.max(this.#nowUs, next.atUs);
    this.#isActing = true;
    try {
      next.act();
    } finally {
      this.#isActing = false;
    }
  }

  #insert(happening: Happening): void {
    let at = this.#queue.length;
    while (at > 0 && isBefore(happening, this.#queue[at - 1])) at--;
    this.#queue.splice(at, 0, happening);
  }

  #remove(happening: Happening): void {
    const at = this.#queue.indexOf(happening);
    if (at >= 0) this.#queue.splice(at, 1);
  }
}

function isBefore(one: Happening, other: Happening | undefined): boolean {
  return other !== undefined && (one.atUs < other.atUs || (one.atUs === other.atUs && one.order < other.order));
}

/** How the clocks of one process run. */
interface ClockPace {
  /** What the monotonic clock showed when its rate was last set, and when that was. */
  shownUs: number;
  sinceUs: number;
  rate: number;
}

/** The clocks of one process in virtual time. */
export class VirtualClocks implements Clocks {
  readonly #time: VirtualTime;
  readonly #actor: VirtualProcess;
  /** How long a call of the code under test is given to be answered by itself. */
  readonly #answerUs: number;
  readonly #pace: ClockPace;
  #cancel: (() => void) | undefined;

  constructor(time: VirtualTime, actor: VirtualProcess, answerUs: number, pace: ClockPace = { shownUs: 0, sinceUs: 0, rate: 1 }) {
    this.#time = time;
    this.#actor = actor;
    this.#answerUs = answerUs;
    this.#pace = pace;
  }

  mono(): MonoUs {
    const { shownUs, sinceUs, rate } = this.#pace;
    return monoUs(shownUs + Math.floor((this.#time.nowUs - sinceUs) * rate));
  }

  wall(): WallUs {
    return wallUs(EPOCH_US + this.mono());
  }

  /** Both clocks run so much faster, or slower, from here on. Acts already planned come when they were planned for. */
  setRate(rate: number): void {
    this.#pace.shownUs = this.mono();
    this.#pace.sinceUs = this.#time.nowUs;
    this.#pace.rate = rate;
  }

  apart(): VirtualClocks {
    return new VirtualClocks(this.#time, this.#actor, this.#answerUs, this.#pace);
  }

  wakeAt(at: MonoUs, act: () => void): void {
    this.cancel();
    if (at !== Infinity) this.#cancel = this.after(at - this.mono(), act);
  }

  asked(): void {
    this.#time.answer(this.#answerUs);
  }

  cancel(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  after(delayUs: number, act: () => void): () => void {
    return this.#time.plan(this.#time.nowUs + Math.ceil(delayUs / this.#pace.rate), this.#actor, act);
  }
}
