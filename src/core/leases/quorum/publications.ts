/**
 * What the holders of this node say of themselves: the metadata of each lease that has some, and which ballot
 * carried it first. Every renewal carries it, because members may have forgotten it.
 */
import { NO_BALLOT, NumberMap, type BallotTime } from '../../../kernel/index.ts';
import type { QuorumMessage } from './messages.ts';

interface Publication {
  readonly meta: Uint8Array;
  /** The first ballot that carried it; none while it was not sent yet. */
  ballot: BallotTime;
  /** The number of the proclaim; 0 once a quorum has it, and for what came with the acquire. */
  proclaim: number;
}

export type PublicationsSnapshot = readonly (readonly [number, readonly number[], BallotTime, number])[];

export class Publications {
  readonly #byLease = new NumberMap<Publication>();

  /** What a lease says of itself from its grant on. */
  begin(lease: number, meta: Uint8Array | undefined, ballot: BallotTime): void {
    if (meta !== undefined && meta.length > 0) this.#byLease.set(lease, { meta, ballot, proclaim: 0 });
  }

  proclaim(lease: number, meta: Uint8Array, number: number): void {
    this.#byLease.set(lease, { meta, ballot: NO_BALLOT, proclaim: number });
  }

  /** Puts it into a proposal; says which proclaim that was. */
  carry(lease: number, message: QuorumMessage): number {
    const published = this.#byLease.get(lease);
    if (published?.ballot === NO_BALLOT) published.ballot = message.ballot;
    message.setMeta(published?.meta);
    return published?.proclaim ?? 0;
  }

  /** Puts the metadata into a word to learners, if voters have it. Metadata that was not sent to voters yet is no news. */
  fillNews(lease: number, message: QuorumMessage): void {
    const published = this.#byLease.get(lease);
    if (published === undefined || published.ballot === NO_BALLOT) return;
    message.ballot = published.ballot;
    message.setMeta(published.meta);
  }

  /** A quorum has what a proposal carried. */
  confirm(lease: number, proclaim: number): void {
    const published = this.#byLease.get(lease);
    if (published?.proclaim === proclaim) published.proclaim = 0;
  }

  /** Something was proclaimed that no proposal has carried yet. */
  isUnsent(lease: number): boolean {
    return this.#byLease.get(lease)?.ballot === NO_BALLOT;
  }

  forget(lease: number): void {
    this.#byLease.delete(lease);
  }

  snapshot(): PublicationsSnapshot {
    return this.#byLease.entries().map(([lease, { meta, ballot, proclaim }]) => [lease, [...meta], ballot, proclaim]);
  }

  restore(snapshot: PublicationsSnapshot): void {
    for (const [lease, meta, ballot, proclaim] of snapshot) this.#byLease.set(lease, { meta: Uint8Array.from(meta), ballot, proclaim });
  }
}
