/** Votes as a member's disk has them: the record of each vote, and the vote made from a record that is read back. */
import type { BallotTime } from '../../../kernel/index.ts';
import type { NameTable } from '../../tables/index.ts';
import type { Horizon } from '../horizon.ts';
import { internText, textOf } from '../snapshots.ts';
import type { QuorumStep } from './config.ts';
import type { Floors } from './floors.ts';
import type { LedgerView } from './ledger.ts';
import type { ModedVotes } from './moded-votes.ts';
import { EXCLUSIVE } from './modes.ts';
import type { VoteRecord } from './records.ts';
import type { QuorumRules } from './rules.ts';
import type { Votes } from './votes.ts';

interface KeptGround {
  readonly names: NameTable;
  readonly votes: Votes;
  readonly moded: ModedVotes;
  readonly floors: Floors;
  readonly horizon: Horizon;
  readonly rules: QuorumRules;
}

/** Before the number of a vote that is not exclusive; no name begins with it. */
const NUMBERED = '\0';

export class KeptVotes implements Pick<LedgerView, 'voteOf' | 'restoreVote' | 'restoreFloor'> {
  readonly #ground: KeptGround;

  constructor(ground: KeptGround) {
    this.#ground = ground;
  }

  voteOf(number: number): Omit<VoteRecord, 'since' | 'spanUs'> {
    const { votes, moded, names } = this.#ground;
    const row = moded.side.numbered(number);
    if (row === undefined) return votes.record(number);
    const { owner, lease, ballot, token, meta, mode } = row;
    return { owner, lease, ballot, token, meta, mode, name: names.toBytes(row.id) };
  }

  /** No clock tells how much of it is over: it is honoured in full, from now on. Of votes for one name that clash, the later counts. */
  restoreVote(vote: VoteRecord, step: QuorumStep): number {
    const { names, votes, moded, rules } = this.#ground;
    const { name, spanUs } = vote;
    const expiresAt = step.monoUs + (rules.restoredInFull ? spanUs : Math.floor(spanUs / 2));
    const mode = moded.makeRoom(names.find(name, 0, name.length), vote, step);
    if (mode === null) return -1;
    if (mode === EXCLUSIVE) return votes.take(vote, expiresAt, rules.laterVoteCounts);
    const { owner, lease, ballot, token, meta } = vote;
    return moded.side.add(names.intern(name, 0, name.length), { owner, lease, mode, ballot, token, expiresAt, meta }).number;
  }

  restoreFloor(floor: BallotTime, step: QuorumStep): boolean {
    const { horizon, floors, rules } = this.#ground;
    if (horizon.isBeyond(floor, step)) return false;
    if (!rules.floorKept) return true;
    horizon.observe(floor, step);
    floors.raiseAll(floor);
    return true;
  }

  /**
   * A restarted acceptor has forgotten how high it went. By the end of its silence its wall clock has
   * passed every ballot of before, unless it lags by more than the silence (rule 18).
   */
  setFloors(step: QuorumStep): void {
    const { horizon, floors, rules } = this.#ground;
    if (!rules.tokenAboveFloor) return;
    // A proposer that is refused for a low ballot must be told which ballot to go above.
    horizon.observe(horizon.own(step), step);
    floors.raiseAll(horizon.highest);
  }

  /** In snapshots exclusive votes go by their name, and others by their number. */
  textOf(number: number): string {
    const { moded, names } = this.#ground;
    return moded.side.numbered(number) ? NUMBERED + String(number) : textOf(names.toBytes(number));
  }

  numberIn(text: string): number {
    return text.startsWith(NUMBERED) ? Number(text.slice(1)) : internText(this.#ground.names, text);
  }
}
