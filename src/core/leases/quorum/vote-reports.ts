/** An acceptor's reports of its votes, in refusals, answers and lists; and since when each has been so. */
import { NO_BALLOT, type BallotTime } from '../../../kernel/index.ts';
import type { NameTable } from '../../tables/index.ts';
import type { Changes } from './changes.ts';
import type { QuorumStep } from './config.ts';
import type { Floors } from './floors.ts';
import type { Horizon } from '../horizon.ts';
import { ANSWER, BUNDLE, HAS_LEASE, READ_BACK, type QuorumMessage } from './messages.ts';
import type { RowView } from './pages.ts';
import type { QuorumRules } from './rules.ts';
import type { VotingState } from './voting-state.ts';
import { endOf, type SideVote, type SideVotes } from './side-votes.ts';
import type { Votes } from './votes.ts';

interface TellingGround {
  readonly names: NameTable;
  readonly votes: Votes;
  readonly changes: Changes;
  readonly floors: Floors;
  readonly voting: VotingState;
  readonly horizon: Horizon;
  readonly rules: QuorumRules;
  readonly side: SideVotes;
  readonly isLive: (id: number, step: QuorumStep) => boolean;
}

export class VoteReports implements RowView {
  readonly #ground: TellingGround;

  constructor(ground: TellingGround) {
    this.#ground = ground;
  }

  toldClock(step: QuorumStep): BallotTime {
    return this.#ground.horizon.told(step);
  }

  /** Fills in what this acceptor knows of the live lease, if there is one. The message is used again and again: nothing of another lease stays in it. */
  lease(id: number, reply: QuorumMessage, step: QuorumStep): void {
    const { votes, rules, isLive } = this.#ground;
    reply.flags = 0;
    reply.remainingUs = 0;
    reply.mode = 0;
    if (id < 0) return;
    if (!isLive(id, step)) {
      this.#sideLease(id, reply, step);
      return;
    }
    const { leases } = votes;
    reply.flags = HAS_LEASE;
    reply.holder = votes.ownerOf(id);
    reply.holderLease = leases.lease(id);
    reply.token = leases.token(id);
    reply.remainingUs = Math.max(0, Math.ceil(votes.endOf(id) - (rules.votesByMonotonic ? step.monoUs : step.wallUs)));
  }

  /** Of several readers, or slots, the first is told of. */
  #sideLease(id: number, reply: QuorumMessage, step: QuorumStep): void {
    const row = this.#firstOf(id, step);
    if (row === undefined) return;
    reply.flags = HAS_LEASE;
    reply.holder = row.owner;
    reply.holderLease = row.lease;
    reply.token = row.token;
    reply.remainingUs = Math.max(0, Math.ceil(endOf(row) - step.monoUs));
    reply.setMode(row.mode);
  }

  #firstOf(id: number, step: QuorumStep): SideVote | undefined {
    return this.#ground.side.of(id).find((row) => step.monoUs < endOf(row));
  }

  /** The answer to a question about a name. */
  answer({ owner, lease, name, nameStart, nameEnd }: QuorumMessage, reply: QuorumMessage, step: QuorumStep): void {
    const { names } = this.#ground;
    const hash = names.hash(name, nameStart, nameEnd);
    reply.kind = ANSWER;
    reply.owner = owner;
    reply.lease = lease;
    reply.clock = this.toldClock(step);
    this.describe(names.find(name, nameStart, nameEnd, hash), hash, reply, step);
  }

  /** All there is to know of the live lease, for an answer. */
  describe(id: number, hash: number, reply: QuorumMessage, step: QuorumStep): void {
    const { votes, changes, side } = this.#ground;
    const { leases } = votes;
    this.lease(id, reply, step);
    const isTold = (reply.flags & HAS_LEASE) !== 0;
    const row = this.#firstOf(id, step);
    if (isTold && row !== undefined) {
      // There may be others beside it: that it is told of is no word about them.
      reply.flags |= row.bundle === null ? READ_BACK : READ_BACK | BUNDLE;
      reply.ballot = row.ballot;
      reply.setMeta(row.meta);
      reply.steadyUs = 0;
      return;
    }
    reply.ballot = isTold ? (leases.ballot(id) as BallotTime) : NO_BALLOT;
    reply.setMeta(isTold ? votes.metaOf(id) : undefined);
    if (isTold && this.isReadBack(id)) reply.flags |= READ_BACK;
    if (isTold && votes.bundleOf(id) !== null) reply.flags |= BUNDLE;
    // Readers that have ended and were not looked at since count as well.
    let endedAt = id >= 0 && leases.has(id) ? votes.endOf(id) : -Infinity;
    for (const ended of side.of(id)) endedAt = Math.max(endedAt, endOf(ended));
    const since = isTold ? changes.begunSince(hash) : Math.max(endedAt, changes.ranOutSince(hash));
    reply.steadyUs = this.#agoUs(since, step);
  }

  /** The votes of this life are above where it began. A vote that the disk had kept may be there by mistake: its release need not have reached the disk. */
  isReadBack(id: number): boolean {
    const { votes, floors } = this.#ground;
    return votes.leases.ballot(id) <= floors.base;
  }

  /** How long no vote under the prefix has run out, among votes whose rows are gone. */
  quietUs({ name, nameStart, nameEnd }: QuorumMessage, step: QuorumStep): number {
    return this.#agoUs(this.#ground.changes.ranOutUnder(name, nameStart, nameEnd), step);
  }

  /** The row goes, and its lease was not given back. */
  ranOut(id: number, step: QuorumStep): void {
    const { names, votes, changes } = this.#ground;
    changes.ranOut(names.hashOf(id), names.toBytes(id), votes.endOf(id), step.monoUs);
  }

  #agoUs(since: number, { monoUs }: QuorumStep): number {
    const { changes, voting } = this.#ground;
    return changes.agoUs(Math.max(since, voting.clearSince), monoUs);
  }
}
