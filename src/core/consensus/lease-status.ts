/**
 * The lease-status cache of FastCT: which instances this life of a member leads FAST rounds in, and in which it cannot. It asks for leases of λ instances at a time, one lease after another. It is
 * in memory only: the next life asks anew, and is refused the instances that this one was granted. A refusal counts for instances that are taken or wait for an answer; the rest may be asked for again.
 */
import { invariant } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { IntervalSize, lambdaMax, type LambdaChoice } from './interval-size.ts';

export interface LeaseStatusOptions {
  readonly lambda: LambdaChoice;
  /** [cn, cn+λ], one more than λ: Figure 4 to the letter. */
  readonly isLiteral: boolean;
  /** The next lease is asked for before this one ends. */
  readonly asksAhead: boolean;
}

export interface LeaseStatusOutlet<S> {
  /** Asks for a lease. */
  claim(from: number, to: number, step: S): void;
  /** Whether an instance is led FAST. */
  lead(instance: number, isGranted: boolean, step: S): void;
}

type Range = readonly [from: number, to: number];

export class LeaseStatus<S> {
  readonly #options: LeaseStatusOptions;
  readonly #outlet: LeaseStatusOutlet<S>;
  readonly #size: IntervalSize;
  #granted: Range[] = [];
  #refused: Range[] = [];
  /** The instances asked for now. */
  #asked: Range | null = null;
  /** Instances that wait for an answer. */
  #waiting: number[] = [];
  #highest = 0;

  constructor(options: LeaseStatusOptions, outlet: LeaseStatusOutlet<S>) {
    this.#options = options;
    this.#outlet = outlet;
    this.#size = new IntervalSize(options.lambda);
  }

  /** λ, as it is now. */
  get lambda(): number {
    return this.#size.size;
  }

  /** A FAST coordinator wants to know. */
  wants(instance: number, step: S): void {
    this.#highest = Math.max(this.#highest, instance);
    const status = this.#statusOf(instance);
    if (status !== null) {
      this.#outlet.lead(instance, status, step);
      return this.#askAhead(step);
    }
    this.#waiting.push(instance);
    this.#ask(step);
  }

  granted(from: number, to: number, step: S): void {
    this.#asked = null;
    this.#size.granted();
    this.#granted.push([from, to]);
    this.#answer(step);
    this.#askAhead(step);
  }

  /** `overlap` are the instances that were taken; null if that is not why. Instances that wait for this lease are not led FAST. */
  refused(overlap: Range | null, step: S): void {
    const asked = this.#asked;
    invariant(asked !== null, 'a lease is refused that nobody has asked for');
    this.#asked = null;
    this.#size.refused();
    if (overlap) this.#refused.push(overlap);
    const failed = this.#waiting.filter((instance) => isIn(instance, asked));
    this.#waiting = this.#waiting.filter((instance) => !isIn(instance, asked));
    for (const instance of failed) this.#outlet.lead(instance, false, step);
    this.#answer(step);
  }

  /** Instances up to here are decided: the consensus asks about them no more. */
  forgetUpTo(instance: number): void {
    this.#granted = this.#granted.filter(([, to]) => to > instance);
    this.#refused = this.#refused.filter(([, to]) => to > instance);
    this.#waiting = this.#waiting.filter((waiting) => waiting > instance);
  }

  #answer(step: S): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const instance of waiting) {
      const status = this.#statusOf(instance);
      if (status === null) this.#waiting.push(instance);
      else this.#outlet.lead(instance, status, step);
    }
    this.#ask(step);
  }

  #statusOf(instance: number): boolean | null {
    if (this.#granted.some((range) => isIn(instance, range))) return true;
    return this.#refused.some((range) => isIn(instance, range)) ? false : null;
  }

  #ask(step: S): void {
    const first = this.#waiting[0];
    if (this.#asked !== null || first === undefined) return;
    this.#claim(Math.min(first, ...this.#waiting), step);
  }

  /** Asks for the next lease before the last one ends, where instances follow one another. */
  #askAhead(step: S): void {
    const { asksAhead } = this.#options;
    if (!asksAhead || this.#asked !== null || this.#statusOf(this.#highest) !== true) return;
    let end = this.#highest;
    while (this.#statusOf(end + 1) === true) end++;
    if (end - this.#highest < this.lambda / 2 && this.#statusOf(end + 1) === null) this.#claim(end + 1, step);
  }

  /** Never further ahead than members that lost their memory take for leased. */
  #claim(from: number, step: S): void {
    const { lambda, isLiteral } = this.#options;
    let last = Math.min(from + this.lambda - 1 + (isLiteral ? 1 : 0), this.#highest + 2 * lambdaMax(lambda) - 1);
    // Instances with a known status are not asked for: an own lease would refuse its neighbour.
    for (const [known] of [...this.#granted, ...this.#refused]) if (known > from && known <= last) last = known - 1;
    if (last < from) return;
    this.#asked = [from, last];
    this.#outlet.claim(from, last, step);
  }

  snapshot(): Snapshot {
    return {
      granted: this.#granted.map((range) => [...range]),
      refused: this.#refused.map((range) => [...range]),
      asked: this.#asked && [...this.#asked],
      waiting: [...this.#waiting],
      highest: this.#highest,
      lambda: this.lambda,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as StatusSnapshot;
    this.#granted = told.granted.map(([from, to]) => [from, to]);
    this.#refused = told.refused.map(([from, to]) => [from, to]);
    this.#asked = told.asked && [told.asked[0], told.asked[1]];
    this.#waiting = [...told.waiting];
    this.#highest = told.highest;
    this.#size.restore(told.lambda);
  }
}

interface StatusSnapshot {
  readonly granted: readonly Range[];
  readonly refused: readonly Range[];
  readonly asked: Range | null;
  readonly waiting: readonly number[];
  readonly highest: number;
  readonly lambda: number;
}

function isIn(instance: number, [from, to]: Range): boolean {
  return instance >= from && instance <= to;
}
