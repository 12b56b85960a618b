/**
 * Task Transform: the leader Ω out of the failure detector ◇S (the Slander algorithm of [Chu98]). Each member counts accusations against each member; the leader is the
 * first with the fewest. Counts travel with heartbeats and are merged by their maxima. Once no member suspects some member that is up, its count
 * stands still, and sooner or later all members that are up follow the same leader for ever.
 *
 * The paper accuses every suspected member for ever. Here only a suspected *leader* is accused, until another leads: no other count matters, and counts stand still once the choice does.
 */
import type { Snapshot } from '../contract.ts';

export class LeaderChoice {
  readonly #counts: number[];

  constructor(members: number) {
    this.#counts = Array.from({ length: members }, () => 0);
  }

  /** The first member with the fewest accusations. */
  get leader(): number {
    let leader = 0;
    for (const [member, count] of this.#counts.entries()) if (count < (this.#counts[leader] as number)) leader = member;
    return leader;
  }

  get counts(): readonly number[] {
    return this.#counts;
  }

  /** Accuses suspected leaders until one leads that is not suspected. At least one is not: no member suspects itself. True if the counts have changed. */
  accuse(suspects: (member: number) => boolean): boolean {
    let hasChanged = false;
    for (let leader = this.leader; suspects(leader); leader = this.leader) {
      this.#counts[leader] = (this.#counts[leader] as number) + 1;
      hasChanged = true;
    }
    return hasChanged;
  }

  /** Another member's counts. True if they change these. */
  merge(counts: readonly number[]): boolean {
    let hasChanged = false;
    for (const [member, count] of this.#counts.entries()) {
      const told = counts[member] ?? 0;
      if (told <= count) continue;
      this.#counts[member] = told;
      hasChanged = true;
    }
    return hasChanged;
  }

  snapshot(): Snapshot {
    return [...this.#counts];
  }

  restore(snapshot: Snapshot): void {
    for (const [member, count] of (snapshot as readonly number[]).entries()) this.#counts[member] = count;
  }
}
