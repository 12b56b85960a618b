/**
 * What a holder does when a voter's bundle differs from the holder's idea of it, round after round: it asks for the whole bundle, gives
 * back votes for leases it does not hold, and relies no more on votes that are not there. A vote whose release was lost would otherwise be renewed for ever.
 */
import type { BallotTime, NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { readBundleEntries } from './bundle-entries.ts';
import type { BulkHolder, BundleShare } from './bundle-parts.ts';
import type { QuorumStep } from './config.ts';
import { QUIET, UNFOLD, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';

interface Unfolding {
  readonly voter: NodeId;
  readonly bundle: number;
  next: number;
  /** Leases that are there. */
  readonly seen: Set<number>;
}

export class BundleRepair {
  readonly #out: QuorumOutbox;
  readonly #holders: () => readonly BulkHolder[];
  /** By bundle: few are looked at, and seldom. */
  readonly #open = new Map<number, Unfolding>();

  constructor(out: QuorumOutbox, holders: () => readonly BulkHolder[]) {
    this.#out = out;
    this.#holders = holders;
  }

  /**
   * If nothing comes of it, the next rounds find the same difference and ask again, for the page that is missing: pages that came count, since
   * leases that are on none of them leave the bundle in the end.
   */
  begin({ voter, number }: BundleShare, step: QuorumStep): void {
    const unfolding = this.#open.get(number) ?? { voter, bundle: number, next: 0, seen: new Set<number>() };
    this.#open.set(number, unfolding);
    this.#ask(unfolding, step);
  }

  end({ number }: BundleShare): void {
    this.#open.delete(number);
  }

  clear(): void {
    this.#open.clear();
  }

  #ask({ voter, bundle, next }: Unfolding, step: QuorumStep): void {
    const message = this.#out.composeBulk(UNFOLD);
    message.bundle = bundle;
    message.token = next;
    step.send(voter, message);
  }

  unfolded(termMs: number, { voter, number }: BundleShare, message: QuorumMessage, step: QuorumStep): void {
    const unfolding = this.#open.get(number);
    if (unfolding?.voter !== voter) return;
    readBundleEntries(message.meta, message.metaStart, message.metaEnd, (lease, ballot, mode, name) => {
      unfolding.seen.add(lease);
      if (this.#holders().some(({ bundled }) => bundled.holds(lease, name))) return;
      this.#out.release([voter], lease, name, ballot as BallotTime, QUIET, step, mode);
    });
    if (message.token > unfolding.next) {
      unfolding.next = message.token;
      this.#ask(unfolding, step);
      return;
    }
    if (message.token > 0) return;
    this.#open.delete(number);
    for (const { bundled } of this.#holders()) {
      bundled.each(termMs, (id) => {
        if (!unfolding.seen.has(bundled.leaseOf(id))) bundled.leaveAt(id, voter);
      });
    }
  }

  snapshot(): Snapshot {
    return [...this.#open.values()]
      .sort((a, b) => a.bundle - b.bundle)
      .map(({ voter, bundle, next, seen }) => [voter, bundle, next, [...seen].sort((a, b) => a - b)]);
  }

  restore(snapshot: Snapshot): void {
    for (const [voter, bundle, next, seen] of snapshot as unknown as [NodeId, number, number, number[]][])
      this.#open.set(bundle, { voter, bundle, next, seen: new Set(seen) });
  }
}
