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

  /** Does the work and gives its leases back. */
  async under<T>(leases: readonly HeldLease[], work: () => Promise<T> | T): Promise<T> {
    let ended = (): void => {};
    const end = new Promise<void>((resolve) => (ended = resolve));
    for (const lease of leases) this.#ends.set(lease, end);
    try {
      return await this.#do(leases, work);
    } finally {
      for (const lease of leases) this.#ends.delete(lease);
      ended();
    }
  }

  async #do<T>(leases: readonly HeldLease[], work: () => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await this.#releases.giveBack(leases);
      throw error;
    }
    const lost = leases.find((lease) => !lease.valid && !lease.isGivenBack);
    const ended = lost?.ended;
    await this.#releases.giveBack(leases);
    if (lost) throw new LeaseLostError(lost.name, result, ended);
    return result;
  }

  /** Waits for each work until it has ended and given back its lease, at most until the lease is over. */
  async ended(timeoutUs: number = Infinity): Promise<void> {
    const ends = [...this.#ends].map(([lease, end]) => this.#releases.atMost(end, Math.min(timeoutUs, lease.remainingUs)));
    await Promise.all(ends);
  }
}
