/**
 * Which of a holder's rows are in bundles, and at which voters: a bit for each voter of the name, up to eight. A bit is set by a vote for the lease
 * as it is now, with the last ballot that was sent for it, and by nothing else.
 */
import { VoterSet, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { RoundsView } from './bundle-parts.ts';
import type { QuorumStep } from './config.ts';
import type { HeldRows } from './held-rows.ts';
import { CHANGING, GATED, KEEP, LEAVING, RENEWING, type HoldAgenda } from './hold-agenda.ts';
import type { HoldKeys } from './hold-keys.ts';
import { BUNDLE, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';

/** Voters of a name that can be noted; the others renew each lease by itself. */
const VOTERS_MAX = 8;
/** Rows of two holders are told apart by the last bit of what voters are told. */
const SIDES = 2;

interface BundledGround {
  readonly out: QuorumOutbox;
  readonly keys: HoldKeys;
  readonly rows: HeldRows;
  readonly agenda: HoldAgenda;
  readonly rounds: RoundsView;
}

export class BundledRows {
  readonly #ground: BundledGround;
  readonly #side: number;
  readonly #some = new VoterSet();

  constructor(ground: BundledGround, side: number) {
    this.#ground = ground;
    this.#side = side;
  }

  /** Where the row of a lease may be, as a vote says it; -1 if it is of the other holder. */
  idOf(row: number): number {
    return row % SIDES === this.#side ? Math.floor(row / SIDES) : -1;
  }

  holds(lease: number, name: Uint8Array): boolean {
    return this.#ground.rows.find(lease, name) >= 0;
  }

  leaseOf(id: number): number {
    return this.#ground.rows.table.lease(id);
  }

  canJoin(id: number): boolean {
    const { rows, keys, rounds, out } = this.#ground;
    if (!rounds.isOn || !rows.is(id, KEEP) || rows.is(id, LEAVING)) return false;
    return !(rows.is(id, GATED) && out.rules.bulkAsksGate) && keys.quarantineUsOf(id) === 0;
  }

  /** A renewal is about to be sent: it asks for a place in a bundle, or its voters take it out of its bundle. */
  mark(message: QuorumMessage, id: number, termUs: number): void {
    if (termUs === this.#ground.rows.termUs(id) && this.canJoin(id)) {
      message.flags |= BUNDLE;
      message.row = id * SIDES + this.#side;
    } else this.leave(id);
  }

  /** A vote that is in a bundle. A vote for an earlier ballot says nothing: its voter may have taken the row out since. */
  joined(from: NodeId, message: QuorumMessage): void {
    const { rows, rounds } = this.#ground;
    const id = this.idOf(message.row);
    const { table } = rows;
    if (id < 0 || !table.has(id) || table.lease(id) !== message.lease || table.ballot(id) !== message.ballot) return;
    const bit = this.#ground.out.isSingle(from) ? 0 : this.#bitOf(from, id);
    if (bit === 0 || !this.canJoin(id) || rows.is(id, CHANGING)) return;
    const share = rounds.shareFor(table.termMs(id), from, message.bundle);
    if (share === null || (table.bundled(id) & bit) !== 0) return;
    if (table.bundled(id) === 0) rounds.count(table.termMs(id), 1);
    table.setBundled(id, table.bundled(id) | bit);
    share.digest.add(table.lease(id), table.token(id), this.#ground.keys.modeOf(id));
  }

  /** No voter renews it in bulk any more. */
  leave(id: number): void {
    const { table } = this.#ground.rows;
    if (table.bundled(id) === 0) return;
    const voters = this.#ground.rows.voters(id);
    for (let place = 0; place < VOTERS_MAX && place < voters.length; place++) this.#takeOut(id, 1 << place, voters[place] as NodeId);
    this.lookAgain(id);
  }

  /** The voter does not have it in its bundle, or has none. */
  leaveAt(id: number, voter: NodeId): void {
    const bit = this.#bitOf(voter, id);
    if ((this.#ground.rows.table.bundled(id) & bit) === 0) return;
    this.#takeOut(id, bit, voter);
    // The row may be in no agenda: it waits for a round that may not be enough for it any more.
    this.lookAgain(id);
  }

  #takeOut(id: number, bit: number, voter: NodeId): void {
    const { rows, rounds, keys } = this.#ground;
    const { table } = rows;
    if ((table.bundled(id) & bit) === 0) return;
    const termMs = table.termMs(id);
    table.setBundled(id, table.bundled(id) & ~bit);
    const share = rounds.shareOf(termMs, voter);
    share?.digest.take(table.lease(id), table.token(id), keys.modeOf(id));
    share?.taken.add(table.lease(id), table.token(id), keys.modeOf(id));
    if (table.bundled(id) === 0) rounds.count(termMs, -1);
  }

  /** The voters have changed: notes on the earlier voters mean nothing. */
  forgetAll(): void {
    const { rows, keys } = this.#ground;
    for (let id = 0; id < keys.names.idLimit; id++) {
      if (!rows.table.has(id) || rows.table.bundled(id) === 0) continue;
      rows.table.setBundled(id, 0);
      this.lookAgain(id);
    }
  }

  /** All rows of a term that any voter has in a bundle. */
  each(termMs: number, visit: (id: number) => void): void {
    for (let id = 0; id < this.idLimit; id++) if (this.isOf(termMs, id)) visit(id);
  }

  get idLimit(): number {
    return this.#ground.rows.table.count === 0 ? 0 : this.#ground.keys.names.idLimit;
  }

  isOf(termMs: number, id: number): boolean {
    const { table } = this.#ground.rows;
    return table.has(id) && table.termMs(id) === termMs && (table.bundled(id) !== 0 || !this.#ground.out.rules.bulkByLease);
  }

  /** Whether a round can be expected to renew it. Where its bundles are silent, and enough others are not, it is renewed by itself. */
  serves(id: number): boolean {
    const { rows, rounds, out } = this.#ground;
    const { table } = rows;
    if (table.bundled(id) === 0 || !this.canJoin(id) || rows.termUs(id) > out.timing.maxTermUs) return false;
    if (!this.isQuorum(id, null)) return false;
    const last = rounds.lastOf(table.termMs(id));
    if (last === null || this.isQuorum(id, last.answered)) return true;
    if (rounds.isTiredOf(table.termMs(id))) return false;
    this.#some.clear();
    for (const voter of rows.voters(id)) if (last.heard.has(voter)) this.#some.add(voter);
    return !out.electorate.isQuorum(this.#some, rows.placement(id));
  }

  /** Whether the row's bundles are at a quorum of its voters; with `among`, whether these voters alone make that quorum. */
  isQuorum(id: number, among: VoterSet | null): boolean {
    const { rows, out } = this.#ground;
    const { electorate, rules } = out;
    const bits = rules.bulkByLease ? rows.table.bundled(id) : 0xff;
    const voters = rows.voters(id);
    const some = this.#some;
    some.clear();
    let count = 0;
    for (let place = 0; place < VOTERS_MAX && place < voters.length; place++) {
      const voter = voters[place] as NodeId;
      if ((bits & (1 << place)) === 0 || (among !== null && !among.has(voter))) continue;
      count++;
      // Every lease is asked in every round: where a count says it, no set is made.
      if (!electorate.isPlain) some.add(voter);
    }
    return electorate.isPlain ? count >= electorate.quorumFor(0) : electorate.isQuorum(some, rows.placement(id));
  }

  lastsUntil(id: number, endUs: number): boolean {
    return this.#ground.rows.table.deadlineMono(id) >= endUs;
  }

  /** Whether a round renews it, if enough voters say so. */
  mayExtend(id: number): boolean {
    const { rows, out } = this.#ground;
    const { rules } = out;
    const flags = rows.table.flags(id);
    const isLeft = (flags & LEAVING) !== 0 && !rules.bulkSkipsLeaving;
    const isKept = (flags & KEEP) !== 0 || isLeft;
    return isKept && (flags & CHANGING) === 0 && ((flags & GATED) === 0 || !rules.bulkAsksGate);
  }

  /** When the row is to be renewed again. */
  dueAt(id: number): MonoUs {
    return this.#ground.agenda.shownAt(id);
  }

  /** It would last longer if the round that was to last until then had renewed it. */
  isBehind(id: number, endUs: number): boolean {
    return this.#ground.rows.is(id, KEEP) && !this.lastsUntil(id, endUs);
  }

  /** A round was not enough for the row, or may not be: the agenda shows it when it is due. */
  lookAgain(id: number): void {
    const { rows, agenda } = this.#ground;
    if (!rows.is(id, RENEWING | CHANGING)) agenda.schedule(id);
  }

  /** Voters that were heard of and do not have it in a bundle. */
  missing(id: number, heard: VoterSet): readonly NodeId[] {
    const { rows, out } = this.#ground;
    if (rows.is(id, RENEWING | CHANGING) || !this.canJoin(id) || rows.termUs(id) > out.timing.maxTermUs) return [];
    const bits = rows.table.bundled(id);
    return rows.voters(id).filter((voter, place) => place < VOTERS_MAX && (bits & (1 << place)) === 0 && heard.has(voter));
  }

  #bitOf(voter: NodeId, id: number): number {
    const place = this.#ground.rows.voters(id).indexOf(voter);
    return place < 0 || place >= VOTERS_MAX ? 0 : 1 << place;
  }

  due(id: number, step: QuorumStep): void {
    this.#ground.rounds.want(this.#ground.rows.table.termMs(id), step);
  }
}
