/**
 * Leases that this node would hand over: it holds them meanwhile, and asks nothing else of their votes. A lease goes to its heir when the heir's proposal waits
 * at a quorum; until then nothing has happened, and a renewal takes the offer back (docs/research/divergence/quorum.md#hand-over).
 */
import { encodeName, monoUs, NumberMap, VoterSet, type BallotTime, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap } from '../../tables/index.ts';
import type { HandOverFailure, LeaseCommand } from '../contract.ts';
import { textOf, voterSet } from '../snapshots.ts';
import type { QuorumStep } from './config.ts';
import { HAS_LEASE, OFFER, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { Heir, QuorumOutbox } from './outbox.ts';

/** An offer is sent again once, when half of its time is over: perhaps only messages of the first sending were lost. */
const SENDINGS = 2;
/** Of the time that is left to a lease: the rest is for renewals. */
const OFFERED_PART = 1 / 2;

type HandOver = Extract<LeaseCommand, { kind: 'hand-over' }>;

/** What holders do for an offer. */
export interface OfferedHolds {
  modeOf(lease: number, name: Uint8Array): number;
  quarantineUsOf(lease: number, name: Uint8Array): number;
  leftUs(lease: number, name: Uint8Array, step: QuorumStep): number;
  /** Renewals rest; false if it is not held, or something else is under way. */
  beginOffer(lease: number, name: Uint8Array, step: QuorumStep): boolean;
  endOffer(lease: number, name: Uint8Array, step: QuorumStep): void;
  handOver(lease: number, name: Uint8Array, to: Heir, step: QuorumStep): boolean;
}

/** A proposal, and the voters at which it waits. */
interface ReadyHeir extends Heir {
  readonly voters: VoterSet;
}

interface Offer {
  readonly lease: number;
  readonly name: Uint8Array;
  readonly number: number;
  readonly to: HandOver['to'];
  readonly voters: readonly NodeId[];
  readonly endsAt: MonoUs;
  sendings: number;
  until: MonoUs;
  readonly ready: ReadyHeir[];
  /** Voters without a waiter. */
  readonly without: VoterSet;
}

type OfferSnapshot = Omit<Offer, 'name' | 'voters' | 'ready' | 'without'> & {
  readonly name: string;
  readonly ready: readonly (Heir & { readonly at: readonly number[] })[];
  readonly without: readonly number[];
};

export class Offers {
  readonly #out: QuorumOutbox;
  readonly #holds: OfferedHolds;
  readonly #open = new NumberMap<Offer>();
  readonly #due = new DueHeap();
  #number = 0;

  constructor(out: QuorumOutbox, holds: OfferedHolds) {
    this.#out = out;
    this.#holds = holds;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  begin({ lease, name, to, waitUs }: HandOver, step: QuorumStep): void {
    const holds = this.#holds;
    // An offer under way goes on: its end is told to both callers.
    if (this.#open.has(lease)) return;
    const known = this.#out.votersOf(name).filter((voter) => !this.#out.isPlain(voter));
    // A lease that has to rest has no holder for a while.
    if (holds.quarantineUsOf(lease, name) > 0) this.#tellFailure(lease, 'rests', step);
    else if (known.length < this.#quorumOf(name)) this.#tellFailure(lease, 'old-version', step);
    else if (!holds.beginOffer(lease, name, step)) this.#tellFailure(lease, 'not-held', step);
    else {
      const spanUs = Math.max(
        1,
        Math.floor(Math.min(waitUs ?? this.#out.timing.attemptUs, holds.leftUs(lease, name, step) * OFFERED_PART)),
      );
      const offer: Offer = {
        lease,
        name,
        number: ++this.#number,
        to,
        voters: known,
        endsAt: monoUs(step.monoUs + spanUs),
        sendings: 0,
        until: step.monoUs,
        ready: [],
        without: new VoterSet(),
      };
      this.#open.set(lease, offer);
      this.#send(offer, step);
    }
  }

  /** So many that it is worth while: whether the heir has a quorum is the heir's to count. */
  #quorumOf(name: Uint8Array): number {
    return this.#out.electorate.quorumFor(this.#out.placementOf(name));
  }

  /** READY: the heir's proposal waits there, or the voter has no waiter. */
  ready(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const offer = this.#open.get(message.lease);
    if (!offer || offer.number !== message.page || !offer.voters.includes(from)) return;
    const quorum = this.#quorumOf(offer.name);
    if ((message.flags & HAS_LEASE) === 0) {
      offer.without.add(from);
      // Too few are left to make a quorum.
      if (offer.without.size > offer.voters.length - quorum) this.#fail(offer, 'nobody', step);
      return;
    }
    const { holder: owner, holderLease: lease } = message;
    const ballot = message.token as BallotTime;
    let heir = offer.ready.find((one) => one.owner === owner && one.lease === lease && one.ballot === ballot);
    if (!heir) offer.ready.push((heir = { owner, lease, ballot, voters: new VoterSet() }));
    heir.voters.add(from);
    if (heir.voters.size < quorum || step.monoUs >= offer.endsAt) return;
    const to = { owner, lease, ballot };
    this.#open.delete(offer.lease);
    if (this.#holds.handOver(offer.lease, offer.name, to, step)) return;
    // Its ballot is below ours, or our time is over: it goes on as if it had not been offered.
    this.#open.set(offer.lease, offer);
    this.#fail(offer, 'nobody', step);
  }

  /** The lease is over, or was given back. */
  ended(lease: number, step: QuorumStep): void {
    if (!this.#open.delete(lease)) return;
    this.#tellFailure(lease, 'not-held', step);
  }

  wake(step: QuorumStep): void {
    for (let at = this.#due.nextAt; at <= step.monoUs; at = this.#due.nextAt) {
      const offer = this.#open.get(this.#due.take(step.monoUs));
      // Skip stale heap entries: snapshots keep only the current time.
      if (!offer || at !== offer.until) continue;
      if (step.monoUs >= offer.endsAt) this.#fail(offer, 'nobody', step);
      else this.#send(offer, step);
    }
  }

  #send(offer: Offer, step: QuorumStep): void {
    const { lease, name, number, to, voters, endsAt } = offer;
    offer.sendings++;
    offer.until = offer.sendings < SENDINGS ? monoUs(step.monoUs + Math.ceil((endsAt - step.monoUs) / 2)) : endsAt;
    this.#due.push(offer.until, lease);
    const message = this.#out.compose(OFFER, lease, name);
    message.page = number;
    message.count = 0;
    message.token = 0;
    message.remainingUs = 0;
    if (to) {
      message.flags = HAS_LEASE;
      message.holder = to.owner;
      message.holderLease = to.lease;
    }
    const mode = this.#holds.modeOf(lease, name);
    if (mode !== EXCLUSIVE) message.setMode(mode);
    this.#out.sendTo(voters, step);
  }

  /** Nothing has happened: renewals go on, and take the offer back. */
  #fail(offer: Offer, reason: HandOverFailure, step: QuorumStep): void {
    const { lease, name } = offer;
    this.#open.delete(lease);
    this.#tellFailure(lease, reason, step);
    this.#holds.endOffer(lease, name, step);
  }

  #tellFailure(lease: number, reason: HandOverFailure, step: QuorumStep): void {
    step.emit({ kind: 'hand-over-failed', lease, reason });
  }

  snapshot(): Snapshot {
    const offers = this.#open.values().map(({ name, voters: _voters, ready, without, to, ...rest }): OfferSnapshot => {
      const heirs = ready.map(({ voters, ...heir }) => ({ ...heir, at: voters.toArray() }));
      return { ...rest, to: to && { ...to }, name: textOf(name), ready: heirs, without: without.toArray() };
    });
    return [this.#number, offers];
  }

  restore(snapshot: Snapshot): void {
    const [number, offers] = snapshot as unknown as [number, OfferSnapshot[]];
    this.#number = number;
    for (const { name: text, ready, without, ...rest } of offers) {
      const name = encodeName(text);
      const heirs = ready.map(({ at, ...heir }) => ({ ...heir, voters: voterSet(at) }));
      const voters = this.#out.votersOf(name).filter((voter) => !this.#out.isPlain(voter));
      this.#open.set(rest.lease, { ...rest, name, voters, ready: heirs, without: voterSet(without) });
      this.#due.push(rest.until, rest.lease);
    }
  }
}
