/**
 * The conduct of a member that has lost its memory (rule 26). An earlier life of it may have voted in any instance up to some bound, so it abstains up to there. It asks until a
 * majority of members that are not asking themselves have told up to where they took part or abstain; K is the highest. A voter in instance k knew that k − window was decided,
 * by the votes of a majority, one of which has answered: so no vote of the earlier life was for an instance above K + window.
 */
import type { Snapshot } from '../contract.ts';

export class LostMemory {
  readonly #quorum: number;
  readonly #told = new Map<number, number>();

  constructor(quorum: number) {
    this.#quorum = quorum;
  }

  hear(from: number, bound: number): void {
    this.#told.set(from, bound);
  }

  /** K; null as long as too few have told. */
  get highest(): number | null {
    return this.#told.size < this.#quorum ? null : Math.max(...this.#told.values());
  }

  snapshot(): Snapshot {
    return [...this.#told].sort(([one], [other]) => one - other);
  }

  restore(snapshot: Snapshot): void {
    for (const [from, bound] of snapshot as readonly (readonly [number, number])[]) this.#told.set(from, bound);
  }
}
