/**
 * An acceptor's side of renewal in bulk: which votes are in which bundle of their holder, RENEW, which is a vote for all of them at once, and the
 * repair where holder and voter disagree on a bundle's contents.
 */
import type { NodeId } from '../../../kernel/index.ts';
import type { NameTable } from '../../tables/index.ts';
import { META_BYTES_MAX } from '../limits.ts';
import { isViewName } from '../views.ts';
import type { AcceptorGround } from './acceptor-ground.ts';
import type { AcceptorView } from './acceptor-view.ts';
import type { QuorumStep } from './config.ts';
import type { VoteChange } from './ledger.ts';
import { BUNDLE, NO_BUNDLE, QuorumMessage, RENEW, RENEWED, RENEWS, UNFOLDED, WANTED_TOLD } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { QuorumRules } from './rules.ts';
import type { SideVotes } from './side-votes.ts';
import { BundleEntries } from './bundle-entries.ts';
import type { VoteBundle, VoteBundles } from './vote-bundles.ts';
import type { VoteTimes } from './vote-times.ts';
import type { Votes } from './votes.ts';
import type { VotingGate } from './voting-gate.ts';
import type { VotingState } from './voting-state.ts';
import type { Watchers } from './watchers.ts';

interface BulkGround {
  readonly names: NameTable;
  readonly votes: Votes;
  readonly side: SideVotes;
  readonly bundles: VoteBundles;
  readonly voting: VotingState;
  readonly gate: VotingGate;
  readonly views: AcceptorView;
  readonly rules: QuorumRules;
  readonly watchers: Watchers;
  readonly sign: AcceptorGround['sign'];
  readonly times: VoteTimes;
}

/** Names that one page of a bundle's contents looks at. */
const ROWS_PER_PAGE = 4096;
/** Where a page goes on: the number of a name, and how many of its readers were told. */
const READERS_OF_NAME = 2 ** 20;

export class BulkVotes {
  readonly #ground: BulkGround;
  readonly #reply = new QuorumMessage();

  constructor(ground: BulkGround) {
    this.#ground = ground;
  }

  /** A vote was given: says which bundle it is in from here on, if any. A vote that its proposal does not ask to bundle leaves its bundle. */
  settle(from: NodeId, number: number, change: VoteChange, message: QuorumMessage, step: QuorumStep): number {
    const { votes, side, bundles, times } = this.#ground;
    const joins = (message.flags & BUNDLE) !== 0 && (message.flags & RENEWS) !== 0 && !isViewName(message);
    const row = side.numbered(number);
    // A copy of a proposal puts nothing back that was taken out since.
    if (change === 'again') return joins ? ((row ? row.bundle : votes.bundleOf(number))?.number ?? 0) : 0;
    const { owner, termUs } = message;
    const bundle = joins ? bundles.open(owner, from, termUs, times.spanOf(termUs), times.now(step)) : null;
    if (bundle === null) {
      if (row) side.leave(row);
      else if (votes.bundleOf(number) !== null) votes.leave(number);
      return 0;
    }
    if (row) side.join(row, bundle);
    else votes.join(number, bundle);
    return bundle.number;
  }

  receive(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { voting, gate, rules } = this.#ground;
    if (message.kind === RENEW && rules.bulkInView && gate.refusesView(from, message, step)) return;
    if (voting.isSilent(from, step)) return;
    if (message.kind === RENEW) this.#renew(from, message, step);
    else this.#unfold(from, message, step);
  }

  #renew(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { watchers, sign, times } = this.#ground;
    const bundle = this.#renewable(message, step);
    if (bundle === undefined) {
      this.#answer(NO_BUNDLE, message);
      step.send(from, this.#reply);
      return;
    }
    bundle.until = Math.max(bundle.until, times.expiry(message, step));
    bundle.from = from;
    this.#answer(RENEWED, message);
    this.#reply.count = bundle.digest.count;
    this.#reply.sumLow = bundle.digest.low;
    this.#reply.sumHigh = bundle.digest.high;
    sign(this.#reply, message.print);
    step.send(from, this.#reply);
    watchers.relayBundle(bundle.owner, message.termUs, step);
  }

  /** The votes of a bundle were given for this very term: a bundle that is read back after a restart lasts no longer. */
  #renewable({ owner, bundle: number, termUs }: QuorumMessage, step: QuorumStep): VoteBundle | undefined {
    const { bundles, rules, views, times } = this.#ground;
    const found = bundles.find(owner, number) ?? (rules.bulkByNumber ? undefined : bundles.findByTerm(owner, termUs));
    if (found === undefined || termUs > views.termUsMax) return undefined;
    if (rules.bulkLapses && found.until <= times.now(step)) return undefined;
    const isAsLong = termUs === found.termUs && times.spanOf(termUs) <= found.spanUs;
    return isAsLong || !rules.bulkAsLongAsVotes ? found : undefined;
  }

  #answer(kind: number, { owner, bundle, page }: QuorumMessage): void {
    const reply = this.#reply;
    reply.kind = kind;
    reply.flags = 0;
    reply.owner = owner;
    reply.lease = 0;
    reply.page = page;
    reply.count = 0;
    reply.bundle = bundle;
  }

  /** UNFOLD: some leases of the bundle, and where to go on. */
  #unfold(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { names, bundles } = this.#ground;
    const bundle = bundles.find(message.owner, message.bundle);
    if (bundle === undefined) {
      this.#answer(NO_BUNDLE, message);
      step.send(from, this.#reply);
      return;
    }
    const entries = new BundleEntries(META_BYTES_MAX);
    let id = Math.floor(message.token / READERS_OF_NAME);
    let told = message.token % READERS_OF_NAME;
    const end = Math.min(names.idLimit, id + ROWS_PER_PAGE);
    let next = 0;
    for (; id < end && next === 0; id++, told = 0) {
      told = this.#unfoldName(id, told, bundle, entries);
      if (told >= 0) next = id * READERS_OF_NAME + told;
    }
    this.#answer(UNFOLDED, message);
    this.#reply.token = next > 0 ? next : id < names.idLimit ? id * READERS_OF_NAME : 0;
    this.#reply.setMeta(entries.bytes);
    step.send(from, this.#reply);
  }

  /** How many of the name are told of if there is no room for more; -1 if all are. The exclusive one comes first, and is one of them. */
  #unfoldName(id: number, from: number, bundle: VoteBundle, entries: BundleEntries): number {
    const { names, votes, side } = this.#ground;
    const { leases } = votes;
    let told = from;
    if (told === 0) {
      const isIn = leases.has(id) && votes.bundleOf(id) === bundle;
      if (isIn && !entries.add(leases.lease(id), leases.ballot(id), EXCLUSIVE, names.toBytes(id))) return 0;
      told = 1;
    }
    const rows = side.of(id);
    for (; told <= rows.length; told++) {
      const row = rows[told - 1];
      if (row?.bundle === bundle && !entries.add(row.lease, row.ballot, row.mode, names.toBytes(id))) return told;
    }
    return -1;
  }

  /** A waiter stands in line for the name. Holders that renew each lease by itself hear of it with the next vote. */
  tellWanted({ name, nameStart, nameEnd }: QuorumMessage, step: QuorumStep): void {
    const { names, votes, side } = this.#ground;
    const id = names.find(name, nameStart, nameEnd);
    if (id < 0) return;
    const bundle = votes.leases.has(id) ? votes.bundleOf(id) : null;
    if (bundle) this.#sayWanted(id, bundle, votes.leases.lease(id), step);
    for (const row of side.of(id)) if (row.bundle) this.#sayWanted(id, row.bundle, row.lease, step);
  }

  #sayWanted(id: number, { owner, from }: VoteBundle, lease: number, step: QuorumStep): void {
    const reply = this.#reply;
    const name = this.#ground.names.toBytes(id);
    reply.kind = WANTED_TOLD;
    reply.flags = 0;
    reply.owner = owner;
    reply.lease = lease;
    reply.setName(name, 0, name.length);
    step.send(from, reply);
  }
}
