/**
 * Hand-over as a member sees it: votes that their holders offer, and proposals that are parked until such a vote goes. A parked proposal is a message
 * that comes later: no vote, and in no proposer's way. A holder's renewal takes its offer back (docs/research/divergence/quorum.md#hand-over).
 */
import { monoAfter, monoUs, NEVER, NOBODY, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap, type NameTable } from '../../tables/index.ts';
import { internText, namesInOrder } from '../snapshots.ts';
import type { Timing } from '../timing.ts';
import type { QuorumStep } from './config.ts';
import { HAS_LEASE, LOW, PARK, QuorumMessage, READY, RENEWS } from './messages.ts';
import type { Answers } from './answers.ts';
import type { ModedVotes } from './moded-votes.ts';
import type { LeaseKey } from './modes.ts';
import { ParkedProposal, type ParkedSnapshot } from './parked.ts';
import type { QuorumRules } from './rules.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** This role's bit in the name table. */
const HAND_OVER_ROLE = 64;
/** Of one name. The heir of an offer finds a place in any case. */
const PARKED_MAX = 8;

interface Offer extends LeaseKey {
  /** As its holder counts its offers. */
  readonly number: number;
  readonly from: NodeId;
  readonly heir: LeaseKey;
  readonly until: MonoUs;
}

interface NamedHandOvers {
  /** When it is looked at next. */
  lookAt: MonoUs;
  readonly offers: Offer[];
  readonly parked: ParkedProposal[];
}

interface HandOverGround {
  readonly names: NameTable;
  readonly timing: Timing;
  readonly rules: QuorumRules;
  readonly waiting: WaitingRoom;
  readonly moded: ModedVotes;
  readonly answers: Answers;
  /** As a proposal that comes now; `isHeir`: it has passed the line and the floor already. */
  readonly decide: (from: NodeId, proposal: QuorumMessage, isHeir: boolean, step: QuorumStep) => void;
}

export class HandOvers {
  readonly #ground: HandOverGround;
  readonly #names: NameTable;
  readonly #open = new Map<number, NamedHandOvers>();
  readonly #due = new DueHeap();
  readonly #word = new QuorumMessage();
  #timing: Timing;

  constructor(ground: HandOverGround) {
    this.#ground = ground;
    this.#names = ground.names;
    this.#timing = ground.timing;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  /** Mostly nothing is offered or parked. */
  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  retime(timing: Timing): void {
    this.#timing = timing;
  }

  /** OFFER: invites the heir, and tells the holder which proposal is parked already, or that there is no waiter here. */
  offer(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { waiting, moded } = this.#ground;
    const id = this.#names.find(message.name, message.nameStart, message.nameEnd);
    const { owner, lease, page: number } = message;
    const vote = id < 0 ? null : moded.voteOf(id, { owner, lease }, step);
    if (vote === null) return;
    const isNamed = (message.flags & HAS_LEASE) !== 0;
    const heir = waiting.heirOf(id, isNamed ? { owner: message.holder, lease: message.holderLease } : null, step);
    if (heir === null) {
      this.#answer(from, { owner, lease, number }, null, step);
      return;
    }
    const named = this.#of(id);
    remove(named.offers, (offer) => isSame(offer, message));
    const offer = { owner, lease, number, from, heir, until: monoAfter(step.monoUs, this.#timing.attemptUs) };
    named.offers.push(offer);
    waiting.invite(id, heir, vote.mode, step);
    for (const parked of named.parked) if (isSame(parked.message, heir)) this.#tellReady(id, offer, parked, step);
    this.#look(id, step);
  }

  /**
   * A proposal that may wait, where others are in its way: of a waiter, until a vote is given to it; of a holder whose vote is not here, until the
   * other goes. False if it is to be decided now.
   */
  park(from: NodeId, message: QuorumMessage, id: number, hash: number, step: QuorumStep): boolean {
    const { rules, waiting, moded, answers } = this.#ground;
    if (id < 0 || moded.othersOf(id, message, step).length === 0) return false;
    const isRenewal = (message.flags & PARK) === 0;
    // A reader that wants to be the only one asks for another token, and tries again by itself.
    if (isRenewal && message.token === message.ballot) return false;
    const offer = isRenewal ? undefined : this.#open.get(id)?.offers.find(({ heir }) => isSame(heir, message));
    if (!isRenewal && !offer && !waiting.stands(id, message)) return false;
    const parked = this.#open.get(id)?.parked ?? [];
    if (!offer && parked.length >= PARKED_MAX && !parked.some((one) => isSame(one.message, message))) return false;
    if (message.ballot <= moded.floorFor(id, hash, message.mode)) {
      answers.refuse(from, LOW, id, hash, message, step);
      return true;
    }
    const named = this.#of(id);
    // A message of before that comes late changes nothing.
    if (named.parked.some((one) => isSame(one.message, message) && one.message.ballot > message.ballot)) return true;
    remove(named.parked, (one) => isSame(one.message, message));
    const added = new ParkedProposal(from, message, monoAfter(step.monoUs, this.#timing.attemptUs));
    named.parked.push(added);
    if (!rules.parkIsNoVote && !isRenewal) answers.accept(from, 0, added.message, step);
    if (offer) this.#tellReady(id, offer, added, step);
    this.#look(id, step);
    return true;
  }

  /** Whether its holder offers it: what a renewal takes back. */
  isOffered(id: number, message: QuorumMessage): boolean {
    return this.#open.get(id)?.offers.some((offer) => isSame(offer, message)) ?? false;
  }

  /** A lease has a vote: proposals parked below its ballot would come late, and its own offer and proposals are done with. */
  voted(id: number, message: QuorumMessage, step: QuorumStep): void {
    const named = this.#open.get(id);
    if (!named) return;
    if ((message.flags & RENEWS) !== 0) remove(named.offers, (offer) => isSame(offer, message));
    const low = named.parked.filter((parked) => parked.message.ballot <= message.ballot);
    remove(named.parked, (parked) => low.includes(parked));
    for (const { from, message: late } of low) {
      if (!isSame(late, message)) this.#ground.answers.refuse(from, LOW, id, this.#names.hashOf(id), late, step);
    }
    this.#tidy(id);
  }

  /** RELEASE was carried out. The heir's proposal is decided; if it is not here, the heir is first in line. Whatever else is parked is decided as if it came now. */
  released(id: number, message: QuorumMessage, step: QuorumStep): void {
    const { waiting, decide, moded } = this.#ground;
    const named = this.#open.get(id);
    const isGiven = (message.flags & HAS_LEASE) !== 0;
    const heir = { owner: message.holder, lease: message.holderLease };
    if (named) {
      // Parked proposals of this lease are void.
      remove(named.parked, (parked) => isSame(parked.message, message) && parked.message.ballot <= message.ballot);
      remove(named.offers, (offer) => isSame(offer, message));
    }
    const index =
      isGiven && named ? named.parked.findIndex((parked) => isSame(parked.message, heir) && parked.message.ballot === message.token) : -1;
    const parked = named?.parked[index];
    if (parked && parked.message.ballot > message.ballot && moded.othersOf(id, parked.message, step).length === 0) {
      named?.parked.splice(index, 1);
      decide(parked.from, parked.message, true, step);
    } else if (isGiven) waiting.putFirst(id, heir, step);
    this.#settle(id, step);
  }

  wake(step: QuorumStep): void {
    for (let id = this.#due.take(step.monoUs); id >= 0; id = this.#due.take(step.monoUs)) {
      // Skip stale heap entries: snapshots keep only the next look.
      if ((this.#open.get(id)?.lookAt ?? NEVER) <= step.monoUs) this.#settle(id, step);
    }
  }

  /** Decides proposals that no vote is in the way of any more, and forgets proposals that have waited for long enough. */
  #settle(id: number, step: QuorumStep): void {
    const named = this.#open.get(id);
    if (!named) return;
    if (this.#ground.rules.offerEnds) remove(named.offers, ({ until }) => until <= step.monoUs);
    for (const parked of named.parked.slice()) {
      if (!named.parked.includes(parked)) continue;
      const isOver = parked.until <= step.monoUs;
      const isFree = !isOver && this.#ground.moded.othersOf(id, parked.message, step).length === 0;
      if (isOver || isFree) remove(named.parked, (one) => one === parked);
      if (isFree) this.#ground.decide(parked.from, parked.message, false, step);
    }
    this.#tidy(id);
    this.#look(id, step);
  }

  /** The holder hears of the heir's proposal if its own vote is all that is in the way. */
  #tellReady(id: number, offer: Offer, { message }: ParkedProposal, step: QuorumStep): void {
    const others = this.#ground.moded.othersOf(id, message, step);
    if (others.length !== 1 || !others.every((vote) => isSame(vote, offer))) return;
    this.#answer(offer.from, offer, message, step);
    if (!this.#ground.rules.parkKeepsVote) this.#ground.moded.swap(id, offer, message, step);
  }

  #answer(
    to: NodeId,
    { owner, lease, number }: Pick<Offer, 'owner' | 'lease' | 'number'>,
    heir: QuorumMessage | null,
    step: QuorumStep,
  ): void {
    const word = this.#word;
    word.kind = READY;
    word.owner = owner;
    word.lease = lease;
    word.page = number;
    word.flags = heir ? HAS_LEASE : 0;
    word.holder = heir?.owner ?? NOBODY;
    word.holderLease = heir?.lease ?? 0;
    word.token = heir?.ballot ?? 0;
    word.clock = this.#ground.moded.toldClock(step);
    step.send(to, word);
  }

  #of(id: number): NamedHandOvers {
    let named = this.#open.get(id);
    if (!named) {
      this.#open.set(id, (named = { lookAt: NEVER, offers: [], parked: [] }));
      this.#names.retain(id, HAND_OVER_ROLE);
    }
    return named;
  }

  #tidy(id: number): void {
    const named = this.#open.get(id);
    if (!named || named.offers.length + named.parked.length > 0) return;
    this.#open.delete(id);
    this.#names.drop(id, HAND_OVER_ROLE);
  }

  #look(id: number, step: QuorumStep): void {
    const named = this.#open.get(id);
    if (!named) return;
    const ends = [...named.offers, ...named.parked].map(({ until }) => until).filter((at) => at > step.monoUs);
    const at = Math.min(NEVER, ...ends, named.parked.length > 0 ? this.#ground.moded.nextExpiry(id, step) : NEVER);
    const next = monoUs(Math.max(at, step.monoUs + 1));
    if (next === named.lookAt) return;
    named.lookAt = next;
    this.#due.push(next, id);
  }

  snapshot(): Snapshot {
    return namesInOrder(this.#names, (id) => this.#open.has(id)).map(({ id, text }) => {
      const { lookAt, offers, parked } = this.#open.get(id) as NamedHandOvers;
      return [text, lookAt, offers.map((offer) => ({ ...offer, heir: { ...offer.heir } })), parked.map((one) => one.snapshot())];
    }) as unknown as Snapshot;
  }

  restore(snapshot: Snapshot): void {
    for (const [text, lookAt, offers, parked] of snapshot as unknown as [string, MonoUs, Offer[], ParkedSnapshot[]][]) {
      const id = internText(this.#names, text);
      const named = this.#of(id);
      named.offers.push(...offers);
      named.parked.push(...parked.map((one) => ParkedProposal.restore(one, text)));
      named.lookAt = lookAt;
      this.#due.push(lookAt, id);
    }
  }
}

function isSame(a: LeaseKey, b: LeaseKey): boolean {
  return a.owner === b.owner && a.lease === b.lease;
}

function remove<Item>(items: Item[], isGone: (item: Item) => boolean): void {
  for (let i = items.length - 1; i >= 0; i--) if (isGone(items[i] as Item)) items.splice(i, 1);
}
