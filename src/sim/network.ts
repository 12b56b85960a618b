/** The faulty network: how many copies of a message arrive, when, and which links are cut. */
import type { Chooser } from '../kernel/index.ts';
import type { FaultPlan } from './faults.ts';

const MILLION = 1_000_000;

/** A cut between one side and the other; a flapping cut is there every other interval. */
export interface Cut {
  readonly onSide: Uint8Array;
  readonly oneWay: boolean;
  readonly flapUs: number;
  readonly sinceUs: number;
}

export class Network {
  faults: FaultPlan;
  readonly #chooser: Chooser;
  readonly #termUs: number;
  readonly #cuts = new Set<Cut>();

  constructor(chooser: Chooser, faults: FaultPlan, termUs: number) {
    this.#chooser = chooser;
    this.faults = faults;
    this.#termUs = termUs;
  }

  /** How many copies of a message sent now will be under way. */
  copies(): number {
    const { lossPpm, duplicatePpm } = this.faults;
    if (lossPpm > 0 && this.#chooser.below(MILLION) < lossPpm) return 0;
    if (duplicatePpm > 0 && this.#chooser.below(MILLION) < duplicatePpm) return 2 + this.#chooser.below(2);
    return 1;
  }

  latencyUs(): number {
    const { latencyUsMin, latencyUsSpread, tailPpm, latePpm } = this.faults;
    let latencyUs = latencyUsMin + this.#chooser.below(latencyUsSpread + 1);
    if (tailPpm > 0) {
      for (let doubled = 0; doubled < 12 && this.#chooser.below(MILLION) < tailPpm; doubled++) latencyUs *= 2;
    }
    if (latePpm > 0 && this.#chooser.below(MILLION) < latePpm) latencyUs += this.latenessUs();
    return latencyUs;
  }

  /** Late by a little, so that messages overtake each other, or by terms, so that they come when all is over. */
  latenessUs(): number {
    const termUs = this.#termUs;
    const scales = [Math.ceil(termUs / 20), Math.ceil(termUs / 4), termUs, termUs * 3];
    return this.#chooser.below(scales[this.#chooser.below(scales.length)] as number);
  }

  cut(nodes: number, nowUs: number): Cut {
    const onSide = new Uint8Array(nodes);
    // Half of the cuts take one node away, the others split the world.
    if (this.#chooser.below(2) === 0) onSide[this.#chooser.below(nodes)] = 1;
    else for (let node = 0; node < nodes; node++) onSide[node] = this.#chooser.below(2);
    const flaps = this.#chooser.below(MILLION) < this.faults.flapPpm;
    const made: Cut = {
      onSide,
      oneWay: this.#chooser.below(MILLION) < this.faults.oneWayPpm,
      flapUs: flaps ? 1 + this.#chooser.below(Math.max(1, Math.floor(this.#termUs / 10))) : 0,
      sinceUs: nowUs,
    };
    this.#cuts.add(made);
    return made;
  }

  /** These nodes from all others, both ways. */
  cutOff(side: readonly number[], nodes: number, nowUs: number): Cut {
    const made: Cut = {
      onSide: Uint8Array.from({ length: nodes }, (_, node) => Number(side.includes(node))),
      oneWay: false,
      flapUs: 0,
      sinceUs: nowUs,
    };
    this.#cuts.add(made);
    return made;
  }

  /** False if it was mended before. */
  mend(cut: Cut): boolean {
    return this.#cuts.delete(cut);
  }

  mendAll(): void {
    this.#cuts.clear();
  }

  isCut(from: number, to: number, nowUs: number): boolean {
    if (this.#cuts.size === 0) return false;
    for (const cut of this.#cuts) {
      const fromSide = cut.onSide[from] as number;
      if (fromSide === cut.onSide[to]) continue;
      if (cut.oneWay && fromSide === 0) continue;
      if (cut.flapUs > 0 && Math.floor((nowUs - cut.sinceUs) / cut.flapUs) % 2 === 1) continue;
      return true;
    }
    return false;
  }
}
