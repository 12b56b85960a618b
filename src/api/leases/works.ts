/** Work of `using` that has not ended, and its end. The lease it runs under is given back by it and nothing else (rule 6). */
import { LeaseLostError } from './errors.ts';
import type { HeldLease } from './held-lease.ts';
import type { Releases } from './releases.ts';

export class Works {
  readonly #releases: Releases;
  readonly #ends = new Map<HeldLease, Promise<void>>();

  constructor(releases: Releases) {
    this.#releases = releases;
  }

  has(lease: HeldLease): boolean {
    return this.#ends.has(lease);
  }

  leases(): Iterable<HeldLease> {
    return this.#ends.keys();
  }

  /** Does the work and gives the lease back. */
  async under<T>(lease: HeldLease, work: () => Promise<T> | T): Promise<T> {
    let ended = (): void => {};
    this.#ends.set(lease, new Promise((resolve) => (ended = resolve)));
    try {
      return await this.#do(lease, work);
    } finally {
      this.#ends.delete(lease);
      ended();
    }
  }

  async #do<T>(lease: HeldLease, work: () => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await this.#releases.giveBack([lease]);
      throw error;
    }
    const wasLost = !lease.valid && !lease.isGivenBack;
    await this.#releases.giveBack([lease]);
    if (wasLost) throw new LeaseLostError(lease.name, result);
    return result;
  }

  /** Waits for each work until it has ended and given back its lease, at most until the lease is over. */
  async ended(timeoutUs: number = Infinity): Promise<void> {
    const ends = [...this.#ends].map(([lease, end]) => this.#releases.atMost(end, Math.min(timeoutUs, lease.remainingUs)));
    await Promise.all(ends);
  }
}
