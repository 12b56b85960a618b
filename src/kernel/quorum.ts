/**
 * Majorities, counted by distinct voter (rule 5): a duplicated answer is not a second vote. Voters are
 * known by their number in the view, from 0; which nodes may vote at all is not decided here.
 */
import { invariant } from './errors.ts';

export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** A set of voter numbers. Up to 32 voters without allocation. */
export class VoterSet {
  #low = 0;
  #rest: Set<number> | undefined;
  #size = 0;

  /** How many voted. Only `add` makes it grow. */
  get size(): number {
    return this.#size;
  }

  /** True if the voter was not in the set yet. */
  add(voter: number): boolean {
    // Bits wrap around: -1 would vote as 31, and 0.5 as 0.
    invariant(Number.isSafeInteger(voter) && voter >= 0, 'a voter is a number of the view, from 0');
    if (this.has(voter)) return false;
    if (voter < 32) this.#low |= 1 << voter;
    else (this.#rest ??= new Set()).add(voter);
    this.#size++;
    return true;
  }

  has(voter: number): boolean {
    return voter >= 0 && voter < 32 ? (this.#low & (1 << voter)) !== 0 : (this.#rest?.has(voter) ?? false);
  }

  /** True if the voter was in the set. */
  delete(voter: number): boolean {
    if (!this.has(voter)) return false;
    if (voter < 32) this.#low &= ~(1 << voter);
    else this.#rest?.delete(voter);
    this.#size--;
    return true;
  }

  clear(): void {
    this.#low = 0;
    this.#rest?.clear();
    this.#size = 0;
  }

  toArray(): number[] {
    const voters: number[] = [];
    for (let voter = 0; voter < 32; voter++) if ((this.#low & (1 << voter)) !== 0) voters.push(voter);
    if (this.#rest) voters.push(...[...this.#rest].sort((a, b) => a - b));
    return voters;
  }
}
