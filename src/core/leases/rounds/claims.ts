/** The claims of one node by the numbers its callers gave them, and the calendar of when to look at each again. */
import { monoUs, type MonoUs } from '../../../kernel/index.ts';
import { DueHeap } from '../quorum/due-heap.ts';
import type { Claim } from './claim.ts';

/** The calendar is written anew when it has so many more entries than there are claims. */
const STALE_MIN = 64;
const STALE_FACTOR = 4;

export class Claims {
  readonly #claims = new Map<number, Claim>();
  readonly #due = new DueHeap();

  get nextAt(): MonoUs {
    return this.#due.nextAt;
  }

  /** How many entries the calendar has. */
  get planned(): number {
    return this.#due.size;
  }

  get(lease: number): Claim | undefined {
    return this.#claims.get(lease);
  }

  add(claim: Claim): void {
    this.#claims.set(claim.lease, claim);
  }

  delete(lease: number): void {
    this.#claims.delete(lease);
  }

  inOrder(): Claim[] {
    return [...this.#claims.values()].sort((a, b) => a.lease - b.lease);
  }

  /** Looks at it at this instant, or when its caller's patience ends. */
  plan(claim: Claim, at: MonoUs): void {
    claim.until = at;
    this.#enter(claim);
    if (this.#due.size > STALE_MIN + STALE_FACTOR * this.#claims.size) this.#sweep();
  }

  /** The next claim whose time has come. */
  take(now: MonoUs): Claim | null {
    for (let lease = this.#due.take(now); lease >= 0; lease = this.#due.take(now)) {
      const claim = this.#claims.get(lease);
      if (claim && now >= firstOf(claim)) return claim;
    }
    return null;
  }

  #enter(claim: Claim): void {
    const first = firstOf(claim);
    if (first !== Infinity) this.#due.push(first, claim.lease);
  }

  /** Leases that ended long before they were due leave entries behind: with long terms those would pile up. */
  #sweep(): void {
    this.#due.clear();
    for (const claim of this.#claims.values()) this.#enter(claim);
  }
}

function firstOf({ until, waits, phase, waitUntil }: Claim): MonoUs {
  return waits && (phase === 'asking' || phase === 'resting') ? monoUs(Math.min(until, waitUntil)) : until;
}
