/**
 * The acceptor of interval leases: it keeps permissions, on its own disk before it says so, and answers LEASE and WITHDRAW. It is a part that a core
 * contains: it is handed requests and completions, and hands answers out as soon as the records behind them are stored. Whether it may answer at all, and
 * which generations of disks are known, is its owner's business.
 *
 * An open claim is an entry of its own, so that its retransmission is known and its withdrawal removes it alone. It is folded into the taken integers when its claimant
 * says that it is decided (`closed`), or when there are too many: then those of the process that was silent for longest. Should that process still be there, its
 * claim is refused because of its own folded integers, and is a gap.
 */
import type { Incarnation, NodeId } from '../../kernel/index.ts';
import type { Completion, Snapshot } from '../contract.ts';
import { shareOf } from '../leases/limits.ts';
import { INTERVAL_LIMITS, INTERVAL_PLACES_MIN, type IntervalLimits } from './config.ts';
import { PermissionLedger, type IntervalLedgerNews, type LedgerStep, type PermissionView, type WaitingAnswer } from './ledger.ts';
import type { AcceptorAnswer, CopiedPiece, CopyCursor, LeaseRequest, WithdrawRequest } from './messages.ts';
import { SpacePermissions } from './permissions.ts';
import type { PlaceRecord } from './records.ts';
import type { AcceptorRules } from './rules.ts';

export interface AcceptorOptions {
  readonly members: number;
  /** Refused requests are recorded as well. */
  readonly isLiteral: boolean;
  readonly limits?: IntervalLimits | undefined;
  readonly placesMin?: number | undefined;
}

/** Takes an answer of the acceptor that is stored, and may leave. */
export type AnswerLeaves<S> = (answer: WaitingAnswer, step: S) => void;

interface OpenClaim {
  readonly space: SpacePermissions;
  readonly counter: number;
  readonly from: number;
  readonly to: number;
  readonly place: number;
}

/** An acceptor's memory of one process. */
interface ClaimantMemory {
  /** Its incarnation. */
  readonly key: number;
  floor: number;
  /** Above the floor, rising. */
  withdrawn: number[];
  /** Where that is kept; 0 if nowhere. */
  place: number;
  readonly open: Map<number, OpenClaim>;
}

/** Of one process, above its closed claims. A process with more of them closes nothing. */
const WITHDRAWN_MAX = 512;
/** Every process may have this part of the open claims, however many others have left some behind: those are folded. */
const SHARES_MAX = 256;

export class IntervalAcceptor<S extends LedgerStep> implements PermissionView<S> {
  readonly ledger: PermissionLedger<S>;
  readonly #leaves: AnswerLeaves<S>;
  readonly #rules: AcceptorRules;
  readonly #isLiteral: boolean;
  readonly #limits: IntervalLimits;
  readonly #spaces = new Map<string, SpacePermissions>();
  /** The claimant that was silent for longest is first. */
  readonly #claimants = new Map<number, ClaimantMemory>();
  #open = 0;
  /** Processes that have open claims. */
  #openers = 0;
  #taken = 0;

  constructor({ members, isLiteral, limits, placesMin }: AcceptorOptions, rules: AcceptorRules, leaves: AnswerLeaves<S>) {
    this.#leaves = leaves;
    this.#rules = rules;
    this.#isLiteral = isLiteral;
    this.#limits = limits ?? INTERVAL_LIMITS;
    this.ledger = new PermissionLedger(this, members, placesMin ?? INTERVAL_PLACES_MIN, rules.replyAfterStore);
  }

  /** Open claims, and intervals that are taken. */
  get entries(): number {
    return this.#open + this.#taken;
  }

  get open(): number {
    return this.#open;
  }

  load(step: S): void {
    this.ledger.load(step);
  }

  completed(completion: Completion, step: S): IntervalLedgerNews {
    return this.ledger.completed(completion, step);
  }

  leave(answer: WaitingAnswer, step: S): void {
    this.#leaves(answer, step);
  }

  // ── LEASE ──────────────────────────────────────────────────────────────────────────────────────────

  lease(from: NodeId, request: LeaseRequest, step: S): void {
    if (this.ledger.isFull) return;
    const claimant = this.#claimantOf(from, request.incarnation, step);
    this.#close(claimant, request.closed, step);
    const known = this.#knownAs(claimant, request);
    if (known && this.#rules.keyedByIncarnation && !(known.from === request.from && known.to === request.to)) return;
    if (known && this.#rules.sameRequestAgain) {
      this.#answer(from, ack(request), step, (number) => this.ledger.awaitPlace(known.place, number));
      return;
    }
    if (this.#rules.withdrawnIsIgnored && claimant.withdrawn.includes(request.counter)) return;
    const { floor } = claimant;
    const isOver = this.#rules.withdrawnIsIgnored && this.#rules.keyedByIncarnation && request.counter <= floor;
    if (isOver || this.#isBeyondLimits(claimant, request.space)) {
      this.#answer(from, nack(request, 'limit', [0, 0], -1), step);
      return;
    }
    this.#judge(from, claimant, request, step);
  }

  #judge(from: NodeId, claimant: ClaimantMemory, request: LeaseRequest, step: S): void {
    const { incarnation, counter, to } = request;
    const space = this.#spaceOf(request.space);
    const overlap = space.overlap(request.from, to, this.#rules.overlapByEnds);
    if (overlap === null) {
      this.#answer(from, ack(request), step, (number) => {
        const record = { kind: 'open', space: space.name, incarnation, counter, from: request.from, to } as const;
        const place = this.ledger.put({ ...record, incarnation: claimant.key as Incarnation }, number, step);
        this.#opened(claimant, { space, counter, from: request.from, to, place });
      });
      this.#foldTheSilent(claimant, step);
      return;
    }
    const answer = nack(request, 'overlap', overlap, space.nextFree(request.from, to - request.from + 1));
    this.#answer(from, answer, step, (number) => {
      // Line 10 of Figure 2: a requested interval is permitted to no other process.
      if (this.#isLiteral) this.#take(space, request.from, to, 0, number, step);
    });
  }

  #opened(claimant: ClaimantMemory, claim: OpenClaim): void {
    if (claimant.open.size === 0) this.#openers++;
    claimant.open.set(claim.counter, claim);
    claim.space.open++;
    claim.space.isDoubled ||= claim.space.occupied.overlaps(claim.from, claim.to);
    claim.space.occupied.add(claim.from, claim.to);
    this.#open++;
  }

  /** Whatever became of it, it is not open any more. */
  #closed(claimant: ClaimantMemory, counter: number, space: SpacePermissions): void {
    claimant.open.delete(counter);
    if (claimant.open.size === 0) this.#openers--;
    space.open--;
    this.#open--;
  }

  /** The open claim that this request made before. */
  #knownAs({ open }: ClaimantMemory, { counter, space, from, to }: LeaseRequest): OpenClaim | null {
    if (this.#rules.keyedByClaim) return open.get(counter) ?? null;
    for (const claimant of this.#claimants.values())
      for (const one of claimant.open.values()) if (one.space.name === space && one.from === from && one.to === to) return one;
    return null;
  }

  #isBeyondLimits(claimant: ClaimantMemory, space: string): boolean {
    const { open, spaces, entries } = this.#limits;
    if (this.entries >= entries || (this.#spaces.size >= spaces && !this.#spaces.has(space))) return true;
    return claimant.open.size > 0 && claimant.open.size >= shareOf(open, Math.min(this.#openers, SHARES_MAX));
  }

  // ── WITHDRAW ───────────────────────────────────────────────────────────────────────────────────────

  withdraw(from: NodeId, request: WithdrawRequest, step: S): void {
    if (this.ledger.isFull) return;
    const claimant = this.#claimantOf(from, request.incarnation, step);
    this.#close(claimant, request.closed, step);
    const { incarnation, counter } = request;
    this.#answer(from, { kind: 'withdrawn', incarnation, counter }, step, (number) => {
      for (const [owner, open] of this.#withdrawnBy(claimant, request)) {
        this.#removed(owner, open);
        this.ledger.clear(open.place, number, step);
        this.#forgetIfEmpty(open.space);
      }
      this.#noteWithdrawn(claimant, counter, number, step);
    });
  }

  #withdrawnBy(claimant: ClaimantMemory, { counter, space, from, to }: WithdrawRequest): [ClaimantMemory, OpenClaim][] {
    const open = claimant.open.get(counter);
    if (this.#rules.withdrawsThatClaim) return open ? [[claimant, open]] : [];
    return [...this.#claimants.values()].flatMap((owner) =>
      [...owner.open.values()]
        .filter((one) => one.space.name === space && one.from <= to && from <= one.to)
        .map((one): [ClaimantMemory, OpenClaim] => [owner, one]),
    );
  }

  #removed(owner: ClaimantMemory, { counter, space, from, to }: OpenClaim): void {
    this.#closed(owner, counter, space);
    space.free(from, to);
    if (!space.isDoubled) return;
    for (const { open } of this.#claimants.values())
      for (const other of open.values())
        if (other.space === space && other.from <= to && from <= other.to) space.occupied.add(other.from, other.to);
  }

  /** A late copy of its LEASE must not make it an open claim again, which no process would withdraw: this is stored, too. */
  #noteWithdrawn(claimant: ClaimantMemory, counter: number, number: number, step: S): void {
    const { withdrawn } = claimant;
    if (counter <= claimant.floor) return;
    if (withdrawn.includes(counter)) {
      // A restart may still be removing the permission that was kept for it.
      this.ledger.awaitAll(number);
      return;
    }
    withdrawn.push(counter);
    withdrawn.sort((a, b) => a - b);
    if (withdrawn.length > WITHDRAWN_MAX) this.#close(claimant, withdrawn[0] as number, step);
    const record = claimantRecord(claimant);
    if (claimant.place > 0) this.ledger.replace(claimant.place, record, number, step);
    else claimant.place = this.ledger.put(record, number, step);
  }

  // ── Folding ────────────────────────────────────────────────────────────────────────────────────────

  /** Its claims up to this one are decided: claims that are still open were granted. */
  #close(claimant: ClaimantMemory, closed: number, step: S): void {
    if (closed <= claimant.floor) return;
    claimant.floor = closed;
    for (const open of claimant.open.values()) if (open.counter <= closed) this.#fold(claimant, open, step);
    claimant.withdrawn = claimant.withdrawn.filter((counter) => counter > closed);
  }

  #fold(claimant: ClaimantMemory, { counter, space, from, to, place }: OpenClaim, step: S): void {
    this.#closed(claimant, counter, space);
    this.#take(space, from, to, place, null, step);
  }

  /** There are too many open claims: the claims of the process that was silent for longest are taken for good. */
  #foldTheSilent(except: ClaimantMemory, step: S): void {
    if (this.#open <= this.#limits.open) return;
    for (const claimant of this.#claimants.values()) {
      if (claimant === except || claimant.open.size === 0) continue;
      for (const open of claimant.open.values()) this.#fold(claimant, open, step);
      return;
    }
  }

  /** These integers are taken. `own` is the place of a record that says the same of them; 0 if there is none. */
  #take(space: SpacePermissions, from: number, to: number, own: number, number: number | null, step: S): void {
    const touched = space.taken.touching(from, to);
    const [first] = touched;
    space.taken.add(from, to);
    space.occupied.add(from, to);
    this.#taken += 1 - touched.length;
    if (first === undefined) {
      const record: PlaceRecord = { kind: 'taken', space: space.name, from, to };
      if (own > 0) this.ledger.restate(own, record);
      space.places.set(from, own > 0 ? own : this.ledger.put(record, number, step));
      return;
    }
    const [start, end] = [Math.min(first[0], from), Math.max((touched.at(-1) ?? first)[1], to)];
    const kept = touched.map(([piece]) => space.places.get(piece) as number);
    const [holder = 0, ...others] = kept;
    for (const [piece] of touched) space.places.delete(piece);
    space.places.set(start, holder);
    if (start !== first[0] || end !== first[1]) {
      this.ledger.replace(holder, { kind: 'taken', space: space.name, from: start, to: end }, number, step);
    } else if (number !== null) {
      this.ledger.awaitPlace(holder, number);
    }
    for (const place of own > 0 ? [...others, own] : others) this.ledger.freeAfter(place, holder, step);
  }

  // ── Claimants and spaces ───────────────────────────────────────────────────────────────────────────

  #claimantOf(from: NodeId, incarnation: Incarnation, step: S): ClaimantMemory {
    const key = this.#rules.keyedByIncarnation ? incarnation : from + 1;
    const known = this.#claimants.get(key);
    const claimant = known ?? newClaimant(key);
    // It was heard of last.
    this.#claimants.delete(key);
    this.#claimants.set(key, claimant);
    if (!known && this.#claimants.size > this.#limits.claimants) this.#forgetTheSilent(claimant, step);
    return claimant;
  }

  /** Should a LEASE that it withdrew come after all that, its integers are a gap. */
  #forgetTheSilent(except: ClaimantMemory, step: S): void {
    for (const claimant of this.#claimants.values()) {
      if (claimant === except || claimant.open.size > 0) continue;
      this.#claimants.delete(claimant.key);
      if (claimant.place > 0) this.ledger.clear(claimant.place, null, step);
      return;
    }
  }

  #spaceOf(name: string): SpacePermissions {
    const known = this.#spaces.get(name);
    if (known) return known;
    const space = new SpacePermissions(name);
    this.#spaces.set(name, space);
    return space;
  }

  #forgetIfEmpty(space: SpacePermissions): void {
    if (space.isEmpty) this.#spaces.delete(space.name);
  }

  #answer(to: NodeId, message: AcceptorAnswer, step: S, prepare: (number: number) => void = () => undefined): void {
    this.ledger.answer({ to, message }, step, prepare);
  }

  // ── Copies ─────────────────────────────────────────────────────────────────────────────────────────

  /** The permissions from the cursor on, at most so many pieces, and where the rest begins. */
  page({ space: first, from }: CopyCursor, piecesMax: number): { readonly pieces: CopiedPiece[]; readonly next: CopyCursor | null } {
    const pieces: CopiedPiece[] = [];
    for (const name of [...this.#spaces.keys()].sort()) {
      if (name < first) continue;
      const start = name === first ? from : 0;
      for (const piece of this.#piecesOf(name, start)) {
        if (pieces.length >= piecesMax) return { pieces, next: { space: name, from: Math.max(start, piece.from) } };
        pieces.push(piece);
      }
    }
    return { pieces, next: null };
  }

  /** In order of where they begin. */
  #piecesOf(name: string, start: number): CopiedPiece[] {
    const space = this.#spaceOf(name);
    const nobody = 0 as Incarnation;
    const pieces: CopiedPiece[] = [];
    for (const [from, to] of space.taken.endingFrom(start)) pieces.push({ space: name, from, to, incarnation: nobody, counter: 0 });
    for (const { key, open } of this.#claimants.values())
      for (const { space: of, counter, from, to } of open.values())
        if (of === space && to >= start) pieces.push({ space: name, from, to, incarnation: key as Incarnation, counter });
    return disjoint(pieces.sort((a, b) => a.from - b.from));
  }

  /** Copied integers are taken here for good; only a mutant takes others' open claims for open. */
  adopt({ space: name, from, to, incarnation, counter }: CopiedPiece, isTaken: boolean, step: S): void {
    const space = this.#spaceOf(name);
    if (isTaken || counter === 0) {
      this.#take(space, from, to, 0, null, step);
      return;
    }
    const claimant = this.#claimantOf(0 as NodeId, incarnation, step);
    if (claimant.open.has(counter)) return;
    const place = this.ledger.put({ kind: 'open', space: name, incarnation, counter, from, to }, null, step);
    this.#opened(claimant, { space, counter, from, to, place });
  }

  // ── Reading back ───────────────────────────────────────────────────────────────────────────────────

  /** Larger intervals first: integers in them are not kept twice. */
  foundAll(records: readonly (readonly [place: number, record: PlaceRecord])[], step: S): void {
    const taken = records.flatMap(([place, record]) => (record.kind === 'taken' ? [{ place, ...record }] : []));
    taken.sort((a, b) => a.from - b.from || b.to - a.to || a.place - b.place);
    for (const { place, space, from, to } of taken) this.#take(this.#spaceOf(space), from, to, place, null, step);
    for (const [place, record] of records) {
      if (record.kind !== 'claimant') continue;
      const { incarnation: key, floor, withdrawn } = record;
      const known = this.#claimants.get(key);
      if (known) this.#foundAgain(known, place, record, step);
      else this.#claimants.set(key, { key, floor, withdrawn: [...withdrawn], place, open: new Map() });
    }
    for (const [place, record] of records) if (record.kind === 'open') this.#foundOpen(place, record, step);
  }

  /** One of the two was about to be cleared, or never known to a restart before. Both are true. */
  #foundAgain(known: ClaimantMemory, place: number, { floor, withdrawn }: Extract<PlaceRecord, { kind: 'claimant' }>, step: S): void {
    known.floor = Math.max(known.floor, floor);
    known.withdrawn = [...new Set([...known.withdrawn, ...withdrawn])].filter((counter) => counter > known.floor).sort((a, b) => a - b);
    this.ledger.replace(known.place, claimantRecord(known), null, step);
    this.ledger.freeAfter(place, known.place, step);
  }

  #foundOpen(place: number, { space: name, incarnation, counter, from, to }: Extract<PlaceRecord, { kind: 'open' }>, step: S): void {
    const claimant = this.#claimants.get(incarnation) ?? newClaimant(incarnation);
    this.#claimants.set(incarnation, claimant);
    const space = this.#spaceOf(name);
    if (space.taken.covers(from, to)) this.#take(space, from, to, place, null, step);
    else if (claimant.withdrawn.includes(counter)) this.ledger.clear(place, null, step);
    else this.#opened(claimant, { space, counter, from, to, place });
    this.#forgetIfEmpty(space);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    const spaces = [...this.#spaces.values()].map(({ name, taken, places }) => {
      const pieces = [...taken].map(([from, to]) => [from, to, places.get(from) ?? 0] as const);
      return [name, pieces] as const;
    });
    const claimants = [...this.#claimants.values()].map(({ key, floor, withdrawn, place, open }) => {
      const claims = [...open.values()].map(({ space, counter, from, to, place: at }) => [space.name, counter, from, to, at] as const);
      return [key, floor, [...withdrawn], place, claims.sort((a, b) => a[1] - b[1])] as const;
    });
    return { spaces: spaces.sort((a, b) => (a[0] < b[0] ? -1 : 1)), claimants, ledger: this.ledger.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    const { spaces, claimants, ledger } = snapshot as unknown as AcceptorSnapshot;
    this.ledger.restore(ledger);
    for (const [name, pieces] of spaces) {
      const space = this.#spaceOf(name);
      for (const [from, to, place] of pieces) {
        space.taken.add(from, to);
        space.occupied.add(from, to);
        space.places.set(from, place);
        this.#taken++;
      }
    }
    for (const [key, floor, withdrawn, place, claims] of claimants) {
      const claimant: ClaimantMemory = { key, floor, withdrawn: [...withdrawn], place, open: new Map() };
      this.#claimants.set(key, claimant);
      for (const [name, counter, from, to, at] of claims)
        this.#opened(claimant, { space: this.#spaceOf(name), counter, from, to, place: at });
    }
  }
}

interface AcceptorSnapshot {
  readonly spaces: readonly (readonly [string, readonly (readonly [number, number, number])[]])[];
  readonly claimants: readonly (readonly [
    number,
    number,
    readonly number[],
    number,
    readonly (readonly [string, number, number, number, number])[],
  ])[];
  readonly ledger: Snapshot;
}

function newClaimant(key: number): ClaimantMemory {
  return { key, floor: 0, withdrawn: [], place: 0, open: new Map() };
}

function claimantRecord({ key, floor, withdrawn }: ClaimantMemory): PlaceRecord {
  return { kind: 'claimant', incarnation: key as Incarnation, floor, withdrawn: [...withdrawn] };
}

/** A restart may find two pieces that overlap. A member that copies them takes them for good, so they may be one. */
function disjoint(sorted: readonly CopiedPiece[]): CopiedPiece[] {
  const pieces: CopiedPiece[] = [];
  for (const piece of sorted) {
    const last = pieces.at(-1);
    if (!last || last.to < piece.from) pieces.push(piece);
    else pieces[pieces.length - 1] = { ...last, to: Math.max(last.to, piece.to), incarnation: 0 as Incarnation, counter: 0 };
  }
  return pieces;
}

function ack({ incarnation, counter }: LeaseRequest): AcceptorAnswer {
  return { kind: 'ack', incarnation, counter };
}

function nack(
  { incarnation, counter }: LeaseRequest,
  why: 'overlap' | 'limit',
  [overlapFrom, overlapTo]: readonly [number, number],
  next: number,
): AcceptorAnswer {
  return { kind: 'nack', incarnation, counter, why, overlapFrom, overlapTo, next };
}
