/**
 * The bundles of one acceptor: votes for leases of one holder and one term that are renewed together. While a bundle lives, no process but its
 * holder takes votes out of it; once it has run out it is never renewed again. Numbers are of this life only: a later life has others
 * (docs/research/divergence/quorum.md#bundles).
 */
import { NumberMap, type Incarnation, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { BundleDigest } from './bundle-digest.ts';

/** So many one client may have: each is for another term. */
export const BUNDLES_OF_CLIENT_MAX = 16;

export interface VoteBundle {
  readonly number: number;
  readonly owner: Incarnation;
  /** Of its votes, and how long each of these is honoured if it is read back. */
  readonly termUs: number;
  readonly spanUs: number;
  /** By the clock of votes. */
  until: number;
  /** Where its holder was heard of last. */
  from: NodeId;
  readonly digest: BundleDigest;
  /** Its place in the list of all, by which exclusive votes know it. */
  index: number;
}

/** A vote that can be in a bundle, whatever its mode. */
export interface BundledVote {
  readonly lease: number;
  readonly token: number;
  readonly mode: number;
}

/** The votes say themselves in which they are. */
type BundleSnapshot = readonly [number, Incarnation, number, number, number, NodeId, boolean];

export class VoteBundles {
  readonly #list: (VoteBundle | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #byNumber = new NumberMap<VoteBundle>();
  readonly #byOwner = new Map<Incarnation, VoteBundle[]>();
  readonly #base: number;
  #made = 0;

  constructor(life: Incarnation) {
    // Spread, so that neighbouring lives are far apart; below 2^52, so that there is room to count.
    this.#base = Number(BigInt.asUintN(52, BigInt(life) * 0x9e3779b97f4a7c15n));
  }

  get isEmpty(): boolean {
    return this.#byNumber.size === 0;
  }

  at(index: number): VoteBundle {
    return this.#list[index] as VoteBundle;
  }

  /** The owner's bundle of this number, which may be renewed unless it has run out. */
  find(owner: Incarnation, number: number): VoteBundle | undefined {
    const bundle = number === 0 ? undefined : this.#byNumber.get(number);
    return bundle?.owner === owner ? bundle : undefined;
  }

  /** What a mutant takes instead: any of the term. */
  findByTerm(owner: Incarnation, termUs: number): VoteBundle | undefined {
    return this.#byOwner.get(owner)?.find((bundle) => bundle.termUs === termUs);
  }

  /** The bundle for votes of this term, as it is or a new one; null if the owner has too many. */
  open(owner: Incarnation, from: NodeId, termUs: number, spanUs: number, now: number): VoteBundle | null {
    const own = this.#byOwner.get(owner) ?? [];
    const known = own.find((bundle) => bundle.termUs === termUs && bundle.spanUs === spanUs);
    if (known && known.until > now) {
      known.until = Math.max(known.until, now + spanUs);
      known.from = from;
      return known;
    }
    if (known) this.#retire(known);
    if (own.length >= BUNDLES_OF_CLIENT_MAX) return null;
    const number = this.#base + ++this.#made;
    const index = this.#free.pop() ?? this.#list.length;
    const bundle = { number, owner, termUs, spanUs, until: now + spanUs, from, digest: new BundleDigest(), index };
    this.#enter(bundle);
    return bundle;
  }

  #enter(bundle: VoteBundle): void {
    this.#list[bundle.index] = bundle;
    this.#byNumber.set(bundle.number, bundle);
    const own = this.#byOwner.get(bundle.owner);
    if (own) own.push(bundle);
    else this.#byOwner.set(bundle.owner, [bundle]);
  }

  add(bundle: VoteBundle, { lease, token, mode }: BundledVote): void {
    bundle.digest.add(lease, token, mode);
  }

  /** With its last vote the bundle is gone. */
  take(bundle: VoteBundle, { lease, token, mode }: BundledVote): void {
    bundle.digest.take(lease, token, mode);
    if (bundle.digest.count > 0) return;
    this.#retire(bundle);
    this.#list[bundle.index] = undefined;
    this.#free.push(bundle.index);
    if (this.#free.length === this.#list.length) this.#free.length = this.#list.length = 0;
  }

  /** It is renewed no more; votes that are in it end with it. */
  #retire(bundle: VoteBundle): void {
    if (!this.#byNumber.delete(bundle.number)) return;
    const own = this.#byOwner.get(bundle.owner) ?? [];
    own.splice(own.indexOf(bundle), 1);
    if (own.length === 0) this.#byOwner.delete(bundle.owner);
  }

  /** Bundles that have votes, by number: retired bundles, too, because their votes are where they are until they go. */
  snapshot(): Snapshot {
    const bundles = this.#list.filter((bundle) => bundle !== undefined).sort((a, b) => a.number - b.number);
    return [
      this.#made,
      bundles.map((bundle) => [
        bundle.number,
        bundle.owner,
        bundle.termUs,
        bundle.spanUs,
        bundle.until,
        bundle.from,
        this.#byNumber.has(bundle.number),
      ]),
    ];
  }

  restore(snapshot: Snapshot): void {
    const [made, bundles] = snapshot as unknown as [number, readonly BundleSnapshot[]];
    this.#made = made;
    for (const [number, owner, termUs, spanUs, until, from, isOpen] of bundles) {
      const bundle = { number, owner, termUs, spanUs, until, from, digest: new BundleDigest(), index: this.#list.length };
      this.#enter(bundle);
      if (!isOpen) this.#retire(bundle);
    }
  }

  /** For the restoring of votes. */
  numbered(number: number): VoteBundle | undefined {
    return this.#list.find((bundle) => bundle?.number === number);
  }
}
