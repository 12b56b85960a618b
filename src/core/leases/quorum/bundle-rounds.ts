/**
 * Rounds of renewal in bulk, of all that this node holds for one term: one message to each voter, and each answer is a vote for every lease that the
 * voter has in the bundle. A round begins when a lease of it is due, and the leases it renews last from its start. Leases that are not in enough bundles
 * are renewed by themselves, and brought into the bundles that they lack, a few at a time.
 */
import { invariant, monoAfter, monoUs, NEVER, spanUs, VoterSet, type MonoUs, type NodeId, type WallUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { voterSet } from '../snapshots.ts';
import { renewAfterUs, renewalPatienceUs } from '../timing.ts';
import { BundleDigest, type BundleDigestSnapshot } from './bundle-digest.ts';
import type { BulkHolder, BulkRound, BundleShare, RoundEnd, RoundsView } from './bundle-parts.ts';
import { BundleRepair } from './bundle-repair.ts';
import type { QuorumStep } from './config.ts';
import { NO_BUNDLE, RENEW, RENEWED, UNFOLDED, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';

interface Group {
  readonly termMs: number;
  /** Leases that are in a bundle anywhere. */
  leases: number;
  readonly shares: BundleShare[];
  round: number;
  startMono: MonoUs;
  startWall: WallUs;
  asked: number;
  readonly answered: VoterSet;
  readonly heard: VoterSet;
  isOpen: boolean;
  /** All its leases last as long as this round can make them, and none has joined since. */
  isDone: boolean;
  until: MonoUs;
  /** A lease of it is due. */
  isWanted: boolean;
  /** When the leases that the last round renewed are due: all at once, so that none of them needs an entry of its own in an agenda. */
  dueAt: MonoUs;
  restUntil: MonoUs;
  /** Rounds in a row in which most were not heard of. */
  failures: number;
  /** The voters that answered the last round, and the voters that were heard of. */
  last: RoundEnd | null;
  joinAt: MonoUs;
  /** Where joining goes on: rows of one holder, then of the other. */
  joinFrom: number;
}

interface GroupSnapshot extends Omit<Group, 'shares' | 'answered' | 'heard' | 'last'> {
  readonly shares: readonly (readonly [NodeId, number, BundleDigestSnapshot, BundleDigestSnapshot, number])[];
  readonly answered: number[];
  readonly heard: number[];
  readonly last: readonly [number[], number[]] | null;
}

/** Rounds in a row that find a difference before it is looked at: messages that are under way make some. */
const MISSES_MAX = 3;
/** A round waits for so much of the term: a round that fails too early renews every lease by itself, and makes a busy machine busier. */
const PATIENCE_PARTS = 12;
/** So many rounds that most did not answer are followed by renewals of each lease by itself. They fit the first two thirds of a term; earlier, a busy machine would only become busier. */
const FAILURES_MAX = 4;
/** Leases that are brought into bundles at a time, and rows that are looked at for them. */
const JOINS_AT_ONCE = 128;
const ROWS_AT_ONCE = 4096;

export class BundleRounds implements RoundsView {
  readonly isOn: boolean;
  readonly #out: QuorumOutbox;
  readonly #repair: BundleRepair;
  readonly #holders: () => readonly BulkHolder[];
  /** In the order of their terms. */
  #groups: Group[] = [];
  #rounds = 0;
  /** Renewals of leases in bulk, in this life; bundles that were looked at. */
  renewed = 0;
  repaired = 0;

  constructor(out: QuorumOutbox, isOn: boolean, holders: () => readonly BulkHolder[]) {
    this.#out = out;
    this.isOn = isOn;
    this.#holders = holders;
    this.#repair = new BundleRepair(out, holders);
  }

  get wakeAt(): MonoUs {
    let at: number = NEVER;
    for (const { isOpen, until, isWanted, restUntil, dueAt, joinAt } of this.#groups)
      at = Math.min(at, joinAt, isOpen ? until : Math.min(dueAt, isWanted ? restUntil : NEVER));
    return monoUs(at);
  }

  // ── What rows ask ──────────────────────────────────────────────────────────────────────────────────

  shareOf(termMs: number, voter: NodeId): BundleShare | undefined {
    return this.#of(termMs)?.shares.find((share) => share.voter === voter);
  }

  /** A vote is in this bundle. A higher number than the known one names a later bundle, which has none of the earlier bundle's votes; null for a lower number. */
  shareFor(termMs: number, voter: NodeId, number: number): BundleShare | null {
    const group = this.#of(termMs) ?? this.#open(termMs);
    group.isDone = false;
    // The voter votes, whatever it did in the last round: its bundle is worth another round.
    group.last?.answered.add(voter);
    group.last?.heard.add(voter);
    let share = group.shares.find((one) => one.voter === voter);
    if (!share) group.shares.push((share = { voter, number, digest: new BundleDigest(), taken: new BundleDigest(), misses: 0 }));
    if (share.number === number) return share;
    if (number < share.number) return null;
    // The vote is about to join: the group stays, also if its leases were in the earlier bundle alone.
    group.leases++;
    if (this.#out.rules.bulkByNumber) this.#clear(group, share);
    group.leases--;
    share.number = number;
    return share;
  }

  count(termMs: number, leases: 1 | -1): void {
    const group = this.#of(termMs);
    invariant(group !== undefined || leases < 0, 'a lease joined a bundle of a term that has none');
    if (!group) return;
    group.leases += leases;
    if (group.leases === 0 && !group.isOpen) this.#groups = this.#groups.filter((one) => one !== group);
  }

  lastOf(termMs: number): RoundEnd | null {
    return this.#of(termMs)?.last ?? null;
  }

  /** Rounds fail for now; renewals of single leases may succeed. */
  isTiredOf(termMs: number): boolean {
    return (this.#of(termMs)?.failures ?? 0) >= FAILURES_MAX;
  }

  /** A lease of the term is due. */
  want(termMs: number, step: QuorumStep): void {
    const group = this.#of(termMs);
    // Leases that an open round does not renew are looked at when it is over.
    if (!group || group.isOpen) return;
    group.isWanted = true;
    if (step.monoUs >= group.restUntil) this.#begin(group, step);
  }

  #of(termMs: number): Group | undefined {
    return this.#groups.find((group) => group.termMs === termMs);
  }

  #open(termMs: number): Group {
    const group: Group = {
      termMs,
      leases: 0,
      shares: [],
      round: 0,
      startMono: monoUs(0),
      startWall: 0 as WallUs,
      asked: 0,
      answered: new VoterSet(),
      heard: new VoterSet(),
      isOpen: false,
      isDone: false,
      until: NEVER,
      isWanted: false,
      dueAt: NEVER,
      restUntil: monoUs(0),
      failures: 0,
      last: null,
      joinAt: NEVER,
      joinFrom: 0,
    };
    this.#groups.push(group);
    this.#groups.sort((a, b) => a.termMs - b.termMs);
    return group;
  }

  // ── Rounds ─────────────────────────────────────────────────────────────────────────────────────────

  #begin(group: Group, step: QuorumStep): void {
    const { timing, electorate } = this.#out;
    const termUs = this.#termUs(group);
    group.round = ++this.#rounds;
    group.startMono = step.monoUs;
    group.startWall = step.wallUs;
    group.answered.clear();
    group.heard.clear();
    group.isOpen = true;
    group.isDone = false;
    group.isWanted = false;
    group.dueAt = NEVER;
    group.until = monoAfter(step.monoUs, spanUs(Math.max(renewalPatienceUs(timing, termUs), Math.floor(termUs / PATIENCE_PARTS))));
    group.asked = 0;
    for (const voter of electorate.members) {
      if (this.#out.isSingle(voter)) continue;
      group.asked++;
      this.#ask(group, voter, step);
    }
  }

  /** A voter where it has no bundle is asked, too: it says that it has none, and so that it votes. */
  #ask(group: Group, voter: NodeId, step: QuorumStep): void {
    const share = group.shares.find((one) => one.voter === voter);
    const message = this.#out.composeBulk(RENEW);
    message.bundle = share?.number ?? 0;
    message.page = group.round;
    message.termUs = this.#termUs(group);
    share?.taken.clear();
    this.#out.inView(message);
    step.send(voter, message);
  }

  #termUs({ termMs }: Group): number {
    return this.#out.rules.bulkAsLongAsVotes ? termMs * 1000 : this.#out.timing.maxTermUs;
  }

  receive(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (message.kind === UNFOLDED) {
      const group = this.#groups.find(({ shares }) => shares.some((one) => one.voter === from && one.number === message.bundle));
      const share = group?.shares.find(({ voter }) => voter === from);
      if (group && share) this.#repair.unfolded(group.termMs, share, message, step);
      return;
    }
    const group = this.#groups.find(({ round }) => round === message.page);
    if (!group?.isOpen || group.round === 0) return;
    if (step.monoUs >= group.until) {
      this.#finish(group, step);
      return;
    }
    const share = group.shares.find(({ voter }) => voter === from);
    const isThis = (share?.number ?? 0) === message.bundle || !this.#out.rules.bulkByNumber;
    if (!isThis) return;
    group.heard.add(from);
    if (message.kind === RENEWED && share) this.#renewed(group, share, share.digest.isWith(share.taken, message), step);
    else if (message.kind === NO_BUNDLE && share) this.#lack(group, share);
    if (group.heard.size >= group.asked) this.#finish(group, step);
  }

  /** A voter that is in another view was heard of, and renews nothing. */
  refused(from: NodeId, step: QuorumStep): void {
    for (const group of this.#groups.slice()) {
      if (!group.isOpen) continue;
      group.heard.add(from);
      if (group.heard.size >= group.asked) this.#finish(group, step);
    }
  }

  #renewed(group: Group, share: BundleShare, isSame: boolean, step: QuorumStep): void {
    group.answered.add(share.voter);
    share.misses = isSame ? 0 : share.misses + 1;
    if (share.misses >= MISSES_MAX && this.#out.rules.bulkRepairs) {
      share.misses = 0;
      this.#repair.begin(share, step);
      this.repaired++;
    }
    if (!group.isDone) this.#extend(group, step);
  }

  /** Every lease that enough voters have renewed by now. It looks at all of them, so not where no answer can be enough, nor twice for the same. */
  #extend(group: Group, step: QuorumStep): void {
    const { electorate } = this.#out;
    const { startMono, startWall, answered } = group;
    if (electorate.isPlain && !electorate.isQuorum(answered, 0)) return;
    const round: BulkRound = { startMono, startWall, answered, termUs: this.#termUs(group) };
    const endUs = startMono + round.termUs;
    group.isDone = true;
    for (const { bundled, renewals } of this.#holders()) {
      bundled.each(group.termMs, (id) => {
        if (bundled.lastsUntil(id, endUs)) return;
        if (bundled.mayExtend(id) && bundled.isQuorum(id, answered)) {
          // All that a round renews is due at the same time.
          if (renewals.extendInBulk(id, round, step) && group.dueAt === NEVER) group.dueAt = bundled.dueAt(id);
          this.renewed++;
        }
        group.isDone &&= bundled.lastsUntil(id, endUs);
      });
    }
  }

  /** The voter has no such bundle: nothing is in it. */
  #lack(group: Group, share: BundleShare): void {
    if (this.#out.rules.bulkByNumber) this.#clear(group, share);
    share.number = 0;
  }

  #clear(group: Group, share: BundleShare): void {
    share.misses = 0;
    this.#repair.end(share);
    for (const { bundled } of this.#holders()) bundled.each(group.termMs, (id) => bundled.leaveAt(id, share.voter));
    share.digest.clear();
    share.taken.clear();
  }

  /** All voters that were asked have answered, or the time is over. Leases that were not renewed are looked at again: by another round, or by themselves. */
  #finish(group: Group, step: QuorumStep): void {
    group.isOpen = false;
    group.last = { answered: voterSet(group.answered.toArray()), heard: voterSet(group.heard.toArray()) };
    group.failures = group.heard.size * 2 > group.asked ? 0 : group.failures + 1;
    group.restUntil = monoAfter(step.monoUs, this.#out.timing.retryUs);
    if (group.leases === 0) {
      this.#groups = this.#groups.filter((one) => one !== group);
      return;
    }
    if (group.isDone && this.#isEverywhere(group)) return;
    let isLacking = false;
    const endUs = group.startMono + this.#termUs(group);
    for (const holder of this.#holders()) {
      holder.bundled.each(group.termMs, (id) => {
        if (holder.bundled.isBehind(id, endUs)) holder.bundled.lookAgain(id);
        isLacking ||= holder.bundled.missing(id, group.heard).length > 0;
      });
    }
    if (!isLacking || group.joinAt !== NEVER) return;
    group.joinFrom = 0;
    this.#planJoins(group, step);
  }

  /** All that were heard of have all of its leases: told by how many there are, where all have the same voters. */
  #isEverywhere({ shares, heard, leases }: Group): boolean {
    const hasAll = (voter: number): boolean => shares.some((share) => share.voter === voter && share.digest.count === leases);
    return this.#out.electorate.isPlain && heard.toArray().every(hasAll);
  }

  // ── Joining ────────────────────────────────────────────────────────────────────────────────────────

  /** So that all of them are asked for once in the time between two rounds. */
  #planJoins(group: Group, step: QuorumStep): void {
    const slices = Math.ceil(group.leases / JOINS_AT_ONCE);
    group.joinAt = monoAfter(step.monoUs, spanUs(Math.max(1000, Math.floor(renewAfterUs(group.termMs * 1000) / (slices + 1)))));
  }

  #join(group: Group, step: QuorumStep): void {
    group.joinAt = NEVER;
    const heard = group.last?.heard;
    if (!heard) return;
    let before = 0;
    let [joins, rows] = [JOINS_AT_ONCE, ROWS_AT_ONCE];
    for (const holder of this.#holders()) {
      const { idLimit } = holder.bundled;
      for (; group.joinFrom < before + idLimit && joins > 0 && rows > 0; group.joinFrom++, rows--) {
        const id = group.joinFrom - before;
        if (!holder.bundled.isOf(group.termMs, id)) continue;
        const voters = holder.bundled.missing(id, heard);
        if (voters.length === 0) continue;
        holder.renewals.join(id, voters, step);
        joins--;
      }
      before += idLimit;
    }
    if (group.joinFrom < before) this.#planJoins(group, step);
  }

  wake(step: QuorumStep): void {
    for (const group of this.#groups.slice()) {
      if (group.isOpen && step.monoUs >= group.until) this.#finish(group, step);
      if (!group.isOpen && step.monoUs >= group.dueAt) {
        group.dueAt = NEVER;
        group.isWanted = true;
      }
      if (!group.isOpen && group.isWanted && step.monoUs >= group.restUntil) this.#begin(group, step);
      if (step.monoUs >= group.joinAt) this.#join(group, step);
    }
  }

  // ── Voters ─────────────────────────────────────────────────────────────────────────────────────────

  /** The voter has begun another life, which has other bundles. */
  uncount(voter: NodeId): void {
    for (const group of this.#groups.slice()) {
      group.answered.delete(voter);
      const share = group.shares.find((one) => one.voter === voter);
      if (share) this.#lack(group, share);
    }
  }

  /** Other voters, or other quorums: all begins anew. */
  viewChanged(): void {
    this.#groups = [];
    this.#repair.clear();
    for (const { bundled } of this.#holders()) bundled.forgetAll();
  }

  /** Null before the first round. */
  snapshot(): Snapshot {
    if (this.#groups.length + this.#rounds + this.renewed + this.repaired === 0) return null;
    const groups = this.#groups.map(({ shares, answered, heard, last, ...rest }) => ({
      ...rest,
      shares: shares.map(({ voter, number, digest, taken, misses }) => [voter, number, digest.snapshot(), taken.snapshot(), misses]),
      answered: answered.toArray(),
      heard: heard.toArray(),
      last: last === null ? null : [last.answered.toArray(), last.heard.toArray()],
    }));
    return { groups, rounds: [this.#rounds, this.renewed, this.repaired], repair: this.#repair.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    if (snapshot === null) return;
    const told = snapshot as unknown as { groups: readonly GroupSnapshot[]; rounds: [number, number, number]; repair: Snapshot };
    [this.#rounds, this.renewed, this.repaired] = told.rounds;
    this.#groups = told.groups.map(({ shares, answered, heard, last, ...rest }) => ({
      ...rest,
      shares: shares.map(([voter, number, digest, taken, misses]) => {
        const share = { voter, number, digest: new BundleDigest(), taken: new BundleDigest(), misses };
        share.digest.restore(digest);
        share.taken.restore(taken);
        return share;
      }),
      answered: voterSet(answered),
      heard: voterSet(heard),
      last: last === null ? null : { answered: voterSet(last[0]), heard: voterSet(last[1]) },
    }));
    this.#repair.restore(told.repair);
  }
}
