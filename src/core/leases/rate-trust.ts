/**
 * Whose answers count, by the known clock rates: none while the own clock is off, and none of a member whose
 * clock is. Both lease cores leave such answers unheard, as if the member could not be reached.
 */
import { VoterSet } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { RateVerdict } from '../rate-watch.ts';

export class RateTrust {
  #isOff = false;
  readonly #off: VoterSet = new VoterSet();

  rate({ own, off }: RateVerdict): void {
    this.#isOff = own !== 'fine';
    this.#off.clear();
    for (const member of off) this.#off.add(member);
  }

  /** Whether an answer of this member counts for nothing. */
  isDeafTo(member: number): boolean {
    return this.#isOff || (this.#off.size > 0 && this.#off.has(member));
  }

  snapshot(): Snapshot {
    return [this.#isOff, this.#off.toArray()];
  }

  restore(snapshot: Snapshot): void {
    const [isOff, off] = snapshot as unknown as [boolean, readonly number[]];
    this.rate({ own: isOff ? 'fast' : 'fine', off });
  }
}
