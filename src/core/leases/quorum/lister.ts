/**
 * Questions about many names: which leases are there under a prefix? Every member is asked, page by page, and what they
 * tell is put together here: a lease is certain if a quorum of its voters had voted for it when the list began, and listed as
 * possible if that cannot be ruled out. The list is no snapshot: a lease that begins or ends meanwhile may be on it or not.
 */
import { monoAfter, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { findingOfSides, type HolderFinding, type VoterAnswer } from '../findings.ts';
import type { ListedName } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { DueHeap } from '../../tables/index.ts';
import { holderOf, isSameVote, newestOf, remainingOfVotes, voteIn, wasSo, type QuestionStart, type ToldVote } from './told-votes.ts';
import { HAS_LEASE, LIST, LISTED, type QuorumMessage } from './messages.ts';
import type { Learner } from './learner.ts';
import type { QuorumOutbox } from './outbox.ts';
import { textOf } from '../snapshots.ts';

/** So often a page is asked for before its member counts as not heard. */
const TRIES_PER_PAGE = 3;

/** What one voter told of one name. */
interface Heard {
  readonly vote: ToldVote;
  readonly isSteady: boolean;
}

interface Asked {
  readonly member: NodeId;
  state: 'asked' | 'done' | 'unheard';
  page: number;
  from: number;
  tries: number;
  /** The newest sending of this page that was heard of. */
  sending: number;
  /** The names of it so far: copies count once. */
  names: Set<string>;
  /** How many there are and where the next page begins, once its end was told. */
  end: { readonly count: number; readonly next: number } | null;
  until: MonoUs;
  /** No vote under the prefix has run out there since the list began, as far as it has told. */
  isQuiet: boolean;
}

interface Listing {
  readonly prefix: Uint8Array;
  readonly since: QuestionStart;
  asked: readonly Asked[];
  /** By name, then by member: what each told last. */
  readonly told: Map<string, { readonly name: Uint8Array; readonly by: Map<NodeId, Heard> }>;
}

export class Lister {
  readonly #out: QuorumOutbox;
  readonly #learner: Learner;
  readonly #listings = new Map<number, Listing>();
  readonly #due = new DueHeap();

  constructor(out: QuorumOutbox, learner: Learner) {
    this.#out = out;
    this.#learner = learner;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  list(number: number, prefix: Uint8Array, step: QuorumStep): void {
    const since = { monoUs: step.monoUs, wallUs: step.wallUs };
    this.#begin(number, { prefix, since, asked: [], told: new Map() }, 0, step);
  }

  /** `page`: pages up to this were asked for before, in another view. */
  #begin(number: number, listing: Listing, page: number, step: QuorumStep): void {
    listing.told.clear();
    listing.asked = this.#out.electorate.members.map((member): Asked => ({
      member,
      state: 'asked',
      page,
      from: 0,
      tries: 0,
      sending: 0,
      names: new Set(),
      end: null,
      until: step.monoUs,
      isQuiet: true,
    }));
    this.#listings.set(number, listing);
    for (const one of listing.asked) this.#ask(number, listing, one, step);
  }

  /** Other members vote on the names: every list is asked anew. */
  viewChanged(step: QuorumStep): void {
    for (const [number, listing] of this.#listings) {
      this.#begin(number, listing, Math.max(0, ...listing.asked.map(({ page }) => page)), step);
    }
  }

  unlist(number: number): void {
    this.#listings.delete(number);
  }

  /** A lease of a page, or its end. */
  listed(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const listing = this.#listings.get(message.lease);
    const asked = listing?.asked.find(({ member }) => member === from);
    if (!listing || !asked || asked.state !== 'asked' || asked.page !== message.page || step.monoUs >= asked.until) return;
    if (message.sending < asked.sending) return;
    if (message.sending > asked.sending) begin(asked, message.sending);
    if (message.kind === LISTED) this.#note(listing, asked, message, step);
    else {
      asked.end = { count: message.count, next: message.token };
      if (!this.#isSteady(listing, message, step)) asked.isQuiet = false;
    }
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
        if (asked.tries >= TRIES_PER_PAGE || this.#isEnough(listing, ({ state }) => state === 'done')) asked.state = 'unheard';
        else this.#ask(number, listing, asked, step);
      }
      this.#concludeIfDone(number, listing, step);
    }
  }

  #ask(number: number, listing: Listing, asked: Asked, step: QuorumStep): void {
    asked.page++;
    asked.tries++;
    begin(asked, 0);
    asked.until = monoAfter(step.monoUs, this.#out.timing.attemptUs);
    this.#due.push(asked.until, number);
    const message = this.#out.compose(LIST, number, listing.prefix);
    message.token = asked.from;
    message.page = asked.page;
    message.count = 0;
    this.#out.inView(message);
    step.send(asked.member, message);
  }

  /** The voter has begun another life: what an older one said counts no more. */
  uncount(voter: NodeId): void {
    for (const { asked, told } of this.#listings.values()) {
      const one = asked.find(({ member }) => member === voter);
      if (!one || (one.page === 1 && one.names.size === 0 && one.end === null)) continue;
      one.state = 'unheard';
      for (const { by } of told.values()) by.delete(voter);
    }
  }

  #note(listing: Listing, asked: Asked, message: QuorumMessage, step: QuorumStep): void {
    const name = message.name.slice(message.nameStart, message.nameEnd);
    const text = textOf(name);
    if (asked.names.has(text)) return;
    asked.names.add(text);
    if ((message.flags & HAS_LEASE) === 0) {
      // There is a vote, and nothing is known of it: it may be for a lease that no other member tells of.
      asked.isQuiet = false;
      return;
    }
    if (!this.#out.votersOf(name).includes(asked.member)) return;
    const known = listing.told.get(text) ?? { name, by: new Map<NodeId, Heard>() };
    listing.told.set(text, known);
    const vote = voteIn(message, this.#out.timing.rateErrorPpm, step);
    known.by.set(asked.member, { vote, isSteady: this.#isSteady(listing, message, step) });
  }

  #isSteady({ since }: Listing, message: QuorumMessage, step: QuorumStep): boolean {
    const { rules, timing } = this.#out;
    return !rules.atOneInstant || wasSo(message, since, step, timing.rateErrorPpm);
  }

  /** Whether, for every name, a quorum of its voters has told all it has. */
  #isEnough({ asked }: Listing, isTold: (one: Asked) => boolean): boolean {
    return this.#out.electorate.canMiss(asked.filter((one) => !isTold(one)).map(({ member }) => member));
  }

  /** All were heard, or the others could tell nothing that matters. */
  #concludeIfDone(number: number, listing: Listing, step: QuorumStep): void {
    const certain = this.#isEnough(listing, ({ state, isQuiet }) => state === 'done' && isQuiet);
    const isWaiting = listing.asked.some(({ state }) => state === 'asked');
    if (isWaiting && !certain) return;
    const found = [...listing.told.values()].map(({ name, by }) => ({ name, finding: this.#find(name, by, listing) }));
    if (isWaiting && found.some(({ finding }) => !finding.certain)) return;
    this.#listings.delete(number);
    const leases = found.flatMap(({ name, finding }) => this.#lease(name, finding, step) ?? []);
    step.emit({ kind: 'listed', lease: number, leases, certain });
  }

  #find(name: Uint8Array, by: ReadonlyMap<NodeId, Heard>, { asked }: Listing): HolderFinding<ToldVote> {
    const { electorate, rules } = this.#out;
    const answerOf = (voter: NodeId): VoterAnswer<ToldVote> | undefined => {
      const heard = by.get(voter);
      if (heard) return heard;
      const one = asked.find(({ member }) => member === voter);
      return one?.state === 'done' ? { vote: null, isSteady: one.isQuiet } : undefined;
    };
    return findingOfSides(electorate.sidesOf(this.#out.placementOf(name)), answerOf, isSameVote(rules));
  }

  /** A vote told with less time left than the list took may have been renewed since: it stays. */
  #lease(name: Uint8Array, { votes, certain }: HolderFinding<ToldVote>, step: QuorumStep): ListedName | null {
    const newest = newestOf(votes, true);
    if (!newest) return null;
    const holder = holderOf(newest, remainingOfVotes(votes, step));
    if (certain && holder.remainingUsMax > 0) this.#learner.found(name, holder, newest, step);
    return { name, holder, certain, meta: newest.meta.length > 0 ? newest.meta : null };
  }

  snapshot(): Snapshot {
    const inOrder = [...this.#listings].sort(([a], [b]) => a - b);
    return inOrder.map(([number, { prefix, since, asked, told }]) => ({
      number,
      prefix: [...prefix],
      since: { ...since },
      asked: asked.map(({ names, ...rest }) => ({ ...rest, names: [...names].sort() })),
      told: [...told]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([text, { name, by }]) => ({
          text,
          name: [...name],
          by: [...by]
            .sort(([a], [b]) => a - b)
            .map(([member, { vote, isSteady }]) => ({ member, isSteady, vote: { ...vote, meta: [...vote.meta] } })),
        })),
    }));
  }

  restore(snapshot: Snapshot): void {
    for (const { number, prefix, since, asked, told } of snapshot as unknown as ListingSnapshot[]) {
      this.#listings.set(number, {
        prefix: Uint8Array.from(prefix),
        since,
        asked: asked.map(({ names, ...rest }) => ({ ...rest, names: new Set(names) })),
        told: new Map(
          told.map(({ text, name, by }) => {
            const votes = by.map(({ member, isSteady, vote }): [NodeId, Heard] => [
              member,
              { isSteady, vote: { ...vote, meta: Uint8Array.from(vote.meta) } },
            ]);
            return [text, { name: Uint8Array.from(name), by: new Map(votes) }];
          }),
        ),
      });
      for (const { state, until } of asked) if (state === 'asked') this.#due.push(until, number);
    }
  }
}

/** Nothing is heard yet of this sending of its page. */
function begin(asked: Asked, sending: number): void {
  asked.sending = sending;
  asked.names.clear();
  asked.end = null;
}

interface ListingSnapshot {
  readonly number: number;
  readonly prefix: readonly number[];
  readonly since: QuestionStart;
  readonly asked: readonly (Omit<Asked, 'names'> & { readonly names: readonly string[] })[];
  readonly told: readonly {
    readonly text: string;
    readonly name: readonly number[];
    readonly by: readonly {
      readonly member: NodeId;
      readonly isSteady: boolean;
      readonly vote: Omit<ToldVote, 'meta'> & { readonly meta: readonly number[] };
    }[];
  }[];
}
