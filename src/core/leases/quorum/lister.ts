/**
 * Questions about many names: what is leased under a prefix? Every member is asked, page by page, and what they
 * tell is put together here: a lease is listed if a quorum of its voters told of it, and listed as possible if
 * those who were not heard could make it one. The list is no snapshot: what begins or ends meanwhile may be on it or not.
 */
import { monoAfter, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { ListedLease } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { DueHeap } from '../../tables/index.ts';
import { HAS_LEASE, LIST, LISTED, type QuorumMessage } from './messages.ts';
import type { Learner } from './learner.ts';
import type { Outgoing } from './outgoing.ts';
import { textOf } from '../snapshots.ts';
import { stretch } from '../timing.ts';

/** So often a page is asked for before its member counts as not heard. */
const TRIES_PER_PAGE = 3;

/** What one voter told of one name. */
interface Told {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly token: number;
  readonly ballot: BallotTime;
  /** It cannot last longer here. */
  readonly until: MonoUs;
  readonly meta: Uint8Array;
}

interface Asked {
  readonly member: NodeId;
  state: 'asked' | 'done' | 'unheard';
  page: number;
  from: number;
  tries: number;
  /** The names of this page so far: copies count once. */
  names: Set<string>;
  /** How many there are and where the next page begins, once its end was told. */
  end: { readonly count: number; readonly next: number } | null;
  until: MonoUs;
}

interface Listing {
  readonly prefix: Uint8Array;
  readonly asked: readonly Asked[];
  /** By name, then by member: what each told last. */
  readonly told: Map<string, { readonly name: Uint8Array; readonly by: Map<NodeId, Told> }>;
}

export class Lister {
  readonly #out: Outgoing;
  readonly #learner: Learner;
  readonly #listings = new Map<number, Listing>();
  readonly #due = new DueHeap();

  constructor(out: Outgoing, learner: Learner) {
    this.#out = out;
    this.#learner = learner;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  list(number: number, prefix: Uint8Array, step: QuorumStep): void {
    const asked = this.#out.electorate.members.map((member): Asked => ({
      member,
      state: 'asked',
      page: 0,
      from: 0,
      tries: 0,
      names: new Set(),
      end: null,
      until: step.monoUs,
    }));
    const listing: Listing = { prefix, asked, told: new Map() };
    this.#listings.set(number, listing);
    for (const one of asked) this.#ask(number, listing, one, step);
  }

  unlist(number: number): void {
    this.#listings.delete(number);
  }

  /** A lease of a page, or its end. */
  listed(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const listing = this.#listings.get(message.lease);
    const asked = listing?.asked[from];
    if (!listing || !asked || asked.state !== 'asked' || asked.page !== message.page || step.monoUs >= asked.until) return;
    if (message.kind === LISTED) this.#note(listing, asked, message, step);
    else asked.end = { count: message.count, next: message.token };
    if (asked.end === null || asked.names.size < asked.end.count) return;
    asked.tries = 0;
    // A next page that does not go on would be asked for for ever.
    if (asked.end.next > asked.from) {
      asked.from = asked.end.next;
      this.#ask(message.lease, listing, asked, step);
    } else {
      asked.state = 'done';
      asked.names.clear();
      this.#concludeIfDone(message.lease, listing, step);
    }
  }

  wake(step: QuorumStep): void {
    for (let number = this.#due.take(step.monoUs); number >= 0; number = this.#due.take(step.monoUs)) {
      const listing = this.#listings.get(number);
      if (!listing) continue;
      for (const asked of listing.asked) {
        if (asked.state !== 'asked' || step.monoUs < asked.until) continue;
        if (asked.tries >= TRIES_PER_PAGE || this.#isEnough(listing)) asked.state = 'unheard';
        else this.#ask(number, listing, asked, step);
      }
      this.#concludeIfDone(number, listing, step);
    }
  }

  #ask(number: number, listing: Listing, asked: Asked, step: QuorumStep): void {
    asked.page++;
    asked.tries++;
    asked.names.clear();
    asked.end = null;
    asked.until = monoAfter(step.monoUs, this.#out.timing.attemptUs);
    this.#due.push(asked.until, number);
    const message = this.#out.compose(LIST, number, listing.prefix);
    message.token = asked.from;
    message.page = asked.page;
    message.count = 0;
    step.send(asked.member, message);
  }

  #note(listing: Listing, asked: Asked, message: QuorumMessage, step: QuorumStep): void {
    const name = message.name.slice(message.nameStart, message.nameEnd);
    const text = textOf(name);
    if (asked.names.has(text) || (message.flags & HAS_LEASE) === 0) return;
    asked.names.add(text);
    if (!this.#out.votersOf(name).includes(asked.member)) return;
    const known = listing.told.get(text) ?? { name, by: new Map<NodeId, Told>() };
    listing.told.set(text, known);
    known.by.set(asked.member, {
      owner: message.holder,
      lease: message.holderLease,
      token: message.token,
      ballot: message.ballot,
      until: monoAfter(step.monoUs, stretch(message.remainingUs, this.#out.timing.rateErrorPpm)),
      meta: message.meta.slice(message.metaStart, message.metaEnd),
    });
  }

  /** Whether for every name a quorum of its voters is among those who told all they have. */
  #isEnough(listing: Listing): boolean {
    const { size, quorum } = this.#out.electorate;
    const missing = listing.asked.filter(({ state }) => state !== 'done').length;
    return missing <= size - quorum;
  }

  #concludeIfDone(number: number, listing: Listing, step: QuorumStep): void {
    if (listing.asked.some(({ state }) => state === 'asked')) return;
    this.#listings.delete(number);
    const leases: ListedLease[] = [];
    for (const { name, by } of listing.told.values()) {
      const lease = this.#judge(name, [...by.values()], listing, step);
      if (lease) leases.push(lease);
    }
    step.emit({ kind: 'listed', lease: number, leases, certain: this.#isEnough(listing) });
  }

  #judge(name: Uint8Array, told: readonly Told[], listing: Listing, step: QuorumStep): ListedLease | null {
    const { quorum } = this.#out.electorate;
    const voters = this.#out.votersOf(name);
    const unheard = voters.filter((voter) => listing.asked[voter]?.state !== 'done').length;
    let most: readonly Told[] = [];
    for (const { owner, lease } of told) {
      const same = told.filter((other) => other.owner === owner && other.lease === lease);
      if (same.length > most.length) most = same;
    }
    const newest = most.toSorted((a, b) => b.ballot - a.ballot)[0];
    const remainingUsMax = Math.max(0, ...most.map(({ until }) => until - step.monoUs));
    if (!newest || remainingUsMax === 0 || most.length + unheard < quorum) return null;
    const holder = { owner: newest.owner, token: newest.token, remainingUsMax };
    const certain = most.length >= quorum;
    if (certain) this.#learner.found(name, holder, newest.ballot, newest.meta, step);
    return {
      name,
      holder,
      certain,
      meta: newest.meta.length > 0 ? newest.meta : null,
    };
  }

  snapshot(): Snapshot {
    const inOrder = [...this.#listings].sort(([a], [b]) => a - b);
    return inOrder.map(([number, { prefix, asked, told }]) => ({
      number,
      prefix: [...prefix],
      asked: asked.map(({ names, ...rest }) => ({ ...rest, names: [...names].sort() })),
      told: [...told]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([text, { name, by }]) => ({
          text,
          name: [...name],
          by: [...by].sort(([a], [b]) => a - b).map(([member, { meta, ...rest }]) => ({ member, ...rest, meta: [...meta] })),
        })),
    }));
  }

  restore(snapshot: Snapshot): void {
    for (const { number, prefix, asked, told } of snapshot as unknown as ListingSnapshot[]) {
      this.#listings.set(number, {
        prefix: Uint8Array.from(prefix),
        asked: asked.map(({ names, ...rest }) => ({ ...rest, names: new Set(names) })),
        told: new Map(
          told.map(({ text, name, by }) => {
            const votes = by.map(({ member, meta, ...rest }): [NodeId, Told] => [member, { ...rest, meta: Uint8Array.from(meta) }]);
            return [text, { name: Uint8Array.from(name), by: new Map(votes) }];
          }),
        ),
      });
      for (const { state, until } of asked) if (state === 'asked') this.#due.push(until, number);
    }
  }
}

interface ListingSnapshot {
  readonly number: number;
  readonly prefix: readonly number[];
  readonly asked: readonly (Omit<Asked, 'names'> & { readonly names: readonly string[] })[];
  readonly told: readonly {
    readonly text: string;
    readonly name: readonly number[];
    readonly by: readonly (Omit<Told, 'meta'> & { readonly member: NodeId; readonly meta: readonly number[] })[];
  }[];
}
