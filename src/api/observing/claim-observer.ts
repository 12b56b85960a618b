/** All that is told about the claims of one process, and about the disk that a member answers claims from. */
import type { ClaimRefusal, DiskStanding } from '../../core/index.ts';
import type { Outlets } from './outlets.ts';

/** A claim: an interval, or a block of a size. */
export type ObservedWish = { readonly space: string } & ({ readonly from: number; readonly to: number } | { readonly size: number });

export class ClaimObserver {
  readonly tally: { claims: number; claimsGranted: number; claimsRefused: number } = { claims: 0, claimsGranted: 0, claimsRefused: 0 };
  readonly #outlets: Outlets;
  #wasBlank = false;

  constructor(outlets: Outlets) {
    this.#outlets = outlets;
  }

  claimed(claim: number, wish: ObservedWish): void {
    this.tally.claims++;
    const { space } = wish;
    this.#outlets.history?.append(
      'size' in wish ? { kind: 'claimed', space, claim, size: wish.size } : { kind: 'claimed', space, claim, from: wish.from, to: wish.to },
    );
  }

  granted(granted: { claim: number; space: string; from: number; to: number; attempts: number }, waitUs: number): void {
    const { claim, space, from, to, attempts } = granted;
    this.tally.claimsGranted++;
    this.#outlets.history?.append({ kind: 'allotted', space, claim, from, to });
    if (this.#outlets.hears('tenure:claim:granted'))
      this.#outlets.publish('tenure:claim:granted', { space, claim, from, to, attempts, waitMs: waitUs / 1000 });
  }

  refused({ claim, space, why }: { claim: number; space: string; why: ClaimRefusal }, waitUs: number): void {
    this.tally.claimsRefused++;
    this.#outlets.history?.append({ kind: 'denied', space, claim, why });
    if (this.#outlets.hears('tenure:claim:refused'))
      this.#outlets.publish('tenure:claim:refused', { space, claim, reason: why, waitMs: waitUs / 1000 });
  }

  recalled(claim: number, space: string): void {
    this.#outlets.history?.append({ kind: 'recalled', space, claim });
  }

  cleared(claim: number, space: string): void {
    this.#outlets.history?.append({ kind: 'cleared', space, claim });
  }

  /** How far the disk of this member is. */
  disk({ phase, generation, noted, copied, needed }: DiskStanding): void {
    const { history, log } = this.#outlets;
    if (phase === 'ready' && this.#wasBlank && generation > 1) history?.append({ kind: 'rejoined', generation });
    this.#wasBlank = phase !== 'ready';
    this.#outlets.publish('tenure:claim:disk', { phase, generation, noted, copied, needed });
    if (phase === 'failed' || phase === 'reading') return;
    const far =
      phase === 'joining' ? ` ${noted} of ${needed} members have noted this disk, and ${copied} have copied what they hold to it` : '';
    log.say('info', { phase, generation, noted, copied, needed }, DISKS[phase] + far);
  }
}

const DISKS = {
  blank: 'the disk for claims is blank: this member answers no claims until it has joined the others, or until all begin by a bootstrap',
  founding: 'the disk for claims is blank, and a bootstrap was begun',
  joining: 'the disk for claims joins the others:',
  ready: 'the disk for claims is in use: this member answers claims',
} as const;
