/**
 * What a member keeps on its own disk, and where: a head, how high its ballots went, and a place for each vote. The answer to
 * a proposal waits in the write queue until all that it says is on the disk.
 *
 * How high ballots went is written ahead, in blocks: most ballots are below the written one. A
 * renewal is written only if it makes the vote longer or says something else of its holder: a vote that is read back is honoured anew in full.
 * Another try of the same holder is written: the release of the try before may come late, and must not fit the vote that is read back.
 */
import { BALLOT_TIME_MAX, invariant, NO_BALLOT, type BallotTime, type Incarnation, type NodeId } from '../../../kernel/index.ts';
import { OWN_DISK, type Completion, type Snapshot } from '../../contract.ts';
import { LowestSet } from '../../tables/index.ts';
import { WriteQueue, type Places } from '../../write-queue.ts';
import { PLACES_MIN, type QuorumConfig, type QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import {
  decodeFloor,
  decodeHead,
  decodeVote,
  encodeFloor,
  encodeHead,
  encodeVote,
  type Head,
  type VoteRecord,
  HEAD_KEY,
} from './records.ts';
import type { QuorumRules } from './rules.ts';
import { decodeView, type View } from '../views.ts';

/** The answer to a proposal that was voted for. */
export type HeldAnswer = {
  readonly to: NodeId;
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ballot: BallotTime;
  readonly flags: number;
  /** What its asker knew of lives. */
  readonly print: number;
  /** The bundle that the vote is in, and what its asker knows the lease by. */
  readonly bundle: number;
  readonly row: number;
};

/** What the ledger asks its acceptor. */
export interface LedgerView {
  voteOf(id: number): Omit<VoteRecord, 'since' | 'spanUs'>;
  /** A vote of an earlier life; the number of its name, or -1 if a later vote for that name is there. */
  restoreVote(vote: VoteRecord, step: QuorumStep): number;
  /** False if the floor is beyond belief. */
  restoreFloor(floor: BallotTime, step: QuorumStep): boolean;
  sendVote(answer: HeldAnswer, step: QuorumStep): void;
  restoreView(view: View, step: QuorumStep): void;
  /** This view is on the disk. */
  viewKept(bytes: readonly number[]): void;
}

/** What a proposal changed of the vote: it is another, or for another try of its holder or says something else of it, or neither; or it is a copy of the proposal that has the vote. */
export type VoteChange = 'new' | 'says' | 'again' | null;

/** `ahead`: the stored floor is further ahead of the wall clock than is believed. */
export type LedgerNews = 'loaded' | 'settled' | 'failed' | 'ahead' | null;

const HEAD = 0;
const FLOOR = 1;
const FIRST_VOTE = 2;
/** Beyond this, proposals are left unanswered: their proposers try again. */
const ANSWERS_MAX = 65_536;
/**
 * How far ahead of the wall clock floors are written, as a part of the silence: one write for so much time. A member that restarts begins at its
 * floor, a member that lost its disk only at its wall clock after its silence: wall clocks must agree better by this much. It does not grow with each
 * restart.
 */
const FLOOR_AHEAD = 0.1;
const FLOOR_FAR_AHEAD = 10;
const NO_BYTES = new Uint8Array(0);

export class Ledger implements Places<HeldAnswer, QuorumStep> {
  readonly #view: LedgerView;
  readonly #rules: QuorumRules;
  readonly #keepsVotes: boolean;
  readonly #placesMin: number;
  #silenceUs: number;
  readonly #life: Incarnation;
  #head: Head;
  #floor: BallotTime = NO_BALLOT;
  readonly #queue: WriteQueue<HeldAnswer, QuorumStep>;
  /** Places of votes by the number of their name, and back; how long each is honoured. */
  readonly #places = new Map<number, number>();
  readonly #names = new Map<number, number>();
  readonly #spans = new Map<number, number>();
  readonly #free = new LowestSet();
  #placesUsed = 0;
  /** Reads that are not answered yet. */
  #reads = 0;
  #owedUs: number;

  constructor(view: LedgerView, { keeps, timing, placesMin }: QuorumConfig, life: Incarnation, rules: QuorumRules) {
    const { silenceUs } = timing;
    this.#view = view;
    this.#rules = rules;
    this.#queue = new WriteQueue(OWN_DISK, this, rules.replyAfterItsWrite);
    this.#keepsVotes = keeps === 'votes';
    this.#placesMin = placesMin ?? PLACES_MIN;
    this.#silenceUs = silenceUs;
    this.#life = life;
    this.#owedUs = silenceUs;
    this.#head = { silenceUs, keepsVotes: this.#keepsVotes, since: life, places: 0, settled: false, life: 0, view: [] };
  }

  /** How long this member has to be silent before it votes; 0 if it remembers all votes. */
  get owedUs(): number {
    return this.#owedUs;
  }

  /** It has voted in an earlier life, or may have. */
  get hasLived(): boolean {
    return this.#hasLived;
  }
  #hasLived = false;

  /** The number of the last life that is known here. */
  get keptLife(): number {
    return this.#head.life;
  }

  get restored(): number {
    return this.#restored;
  }
  #restored = 0;

  get isFull(): boolean {
    return this.#queue.size >= ANSWERS_MAX;
  }

  load(step: QuorumStep): void {
    this.#reads = 2;
    this.#read(HEAD, step);
    this.#read(FLOOR, step);
  }

  /** The silence is over: from when this is written on, the member may vote. */
  endSilence(life: number, step: QuorumStep): void {
    invariant(this.#reads === 0, 'a member would vote before its disk was read');
    // Votes that were read back may have been given for longer terms than there are now.
    const owesMore = this.#restored > 0;
    const longestUs = owesMore ? Math.max(this.#head.silenceUs, this.#silenceUs) : this.#silenceUs;
    this.#head = { ...this.#head, silenceUs: longestUs, settled: true, life: Math.max(life, this.#head.life) };
    this.#queue.write(HEAD, null, step);
  }

  completed({ op, ok, value }: Completion, step: QuorumStep): LedgerNews {
    if (!ok) return 'failed';
    if (op < 0) return this.#found(~op, value, step);
    const isWritten = this.#queue.written(op, step);
    if (op === HEAD && isWritten) this.#view.viewKept(this.#head.view);
    return op === HEAD && isWritten && this.#head.settled ? 'settled' : null;
  }

  /** Another view, and how long a silence it may call for. */
  keepView(bytes: Uint8Array, silenceUs: number, step: QuorumStep): void {
    this.#silenceUs = silenceUs;
    this.#head = { ...this.#head, silenceUs: Math.max(silenceUs, this.#head.silenceUs), view: [...bytes] };
    this.#queue.write(HEAD, null, step);
  }

  /** A vote was given; true if its answer may leave at once. */
  keep(id: number, spanUs: number, change: VoteChange, to: NodeId, message: QuorumMessage, flags: number, step: QuorumStep): boolean {
    const { owner, lease, ballot, print, row, bundle } = message;
    const number = this.#queue.enter({ to, owner, lease, ballot, flags, print, bundle, row });
    const rises = ballot > this.#floor;
    if (rises) this.#floor = this.#floorAbove(ballot, step);
    invariant(this.#floor >= ballot, 'a vote is kept above the floor that is written');
    this.#await(FLOOR, number, rises, step);
    if (this.#keepsVotes) {
      const place = this.#placeOf(id);
      const grows = place >= this.#head.places;
      if (grows) this.#head = { ...this.#head, places: Math.max(this.#placesMin, 2 * this.#head.places) };
      invariant(place < this.#head.places, 'a vote is kept where no restart looks');
      if (this.#rules.replyAfterHead) this.#await(HEAD, number, grows, step);
      else if (grows) this.#queue.write(HEAD, null, step);
      const keptUs = change === 'new' ? 0 : (this.#spans.get(id) ?? 0);
      const changes = change === 'new' || change === 'says' || spanUs > keptUs;
      // A renewal for a shorter term does not end its holder's lease sooner.
      if (changes) this.#spans.set(id, this.#rules.keptAsLong ? Math.max(spanUs, keptUs) : spanUs);
      this.#await(FIRST_VOTE + place, number, changes, step);
    }
    return this.#queue.dismiss(number);
  }

  #floorAbove(ballot: BallotTime, { wallUs }: QuorumStep): BallotTime {
    const aheadUs = Math.ceil(this.#silenceUs * (this.#rules.floorNearClock ? FLOOR_AHEAD : FLOOR_FAR_AHEAD));
    const from = this.#rules.floorNearClock ? Math.min(ballot, wallUs) : ballot;
    return Math.min(Math.max(ballot, from + aheadUs), BALLOT_TIME_MAX) as BallotTime;
  }

  /**
   * A vote changes its number, and keeps its place: writes take effect in any order, so of two places the old one could be empty before the new one has
   * the vote, and a restart in between would know of neither.
   */
  renumber(from: number, to: number): void {
    const place = this.#places.get(from);
    if (place === undefined) return;
    invariant(!this.#places.has(to), 'a vote is given the number of another');
    this.#spans.set(to, this.#spans.get(from) ?? 0);
    this.#places.set(to, place);
    this.#names.set(place, to);
    this.#places.delete(from);
    this.#spans.delete(from);
  }

  /** The vote for this name is over. No answer waits for this: a vote that comes back by mistake only takes longer to end. */
  drop(id: number, step: QuorumStep): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    this.#spans.delete(id);
    this.#names.delete(place);
    this.#free.add(place);
    this.#queue.write(FIRST_VOTE + place, null, step);
  }

  // ── Reading back ───────────────────────────────────────────────────────────────────────────────────

  /** Numbered apart from writes: the end of a vote may have to be written while others are still being read. */
  #read(op: number, step: QuorumStep): void {
    step.read(OWN_DISK, this.keyOf(op), ~op);
  }

  #found(op: number, value: Uint8Array | null, step: QuorumStep): LedgerNews {
    this.#reads--;
    if (op === HEAD) {
      const head = value === null ? null : decodeHead(value);
      if (value !== null && head === null) return 'failed';
      const view = head === null || head.view.length === 0 ? null : decodeView(Uint8Array.from(head.view), 0, head.view.length);
      if (head && head.view.length > 0 && view === null) return 'failed';
      if (view) this.#view.restoreView(view, step);
      if (head) this.#takeOver(head, step);
    } else if (op === FLOOR) {
      const floor = value === null ? NO_BALLOT : decodeFloor(value);
      if (floor === null) return 'failed';
      if (!this.#view.restoreFloor(floor, step)) return 'ahead';
      this.#floor = floor;
    } else if (!this.#foundVote(op - FIRST_VOTE, value, step)) {
      return 'failed';
    }
    return this.#reads === 0 ? 'loaded' : null;
  }

  #takeOver(head: Head, step: QuorumStep): void {
    this.#hasLived = head.settled;
    if (this.#keepsVotes && head.keepsVotes && head.settled) {
      this.#owedUs = 0;
      this.#head = head;
      this.#reads += head.places;
      for (let place = 0; place < head.places; place++) this.#read(FIRST_VOTE + place, step);
      return;
    }
    // Until the silence is over, the head on the disk stays as it was: a life cut short owes it still.
    this.#owedUs = Math.max(head.silenceUs, this.#silenceUs);
    this.#head = {
      silenceUs: this.#owedUs,
      keepsVotes: this.#keepsVotes,
      since: this.#life,
      places: 0,
      settled: false,
      life: head.life,
      view: head.view,
    };
  }

  #foundVote(place: number, value: Uint8Array | null, step: QuorumStep): boolean {
    this.#placesUsed = Math.max(this.#placesUsed, place + 1);
    this.#free.add(place);
    if (value === null || value.length === 0) return true;
    const vote = decodeVote(value);
    if (vote === null) return false;
    if (vote.since !== this.#head.since) return true;
    const id = this.#view.restoreVote(vote, step);
    if (id < 0) return true;
    const before = this.#places.get(id);
    if (before !== undefined) {
      this.#names.delete(before);
      this.#free.add(before);
    } else {
      this.#restored++;
    }
    this.#free.delete(place);
    this.#places.set(id, place);
    this.#names.set(place, id);
    this.#spans.set(id, vote.spanUs);
    return true;
  }

  // ── Writing ────────────────────────────────────────────────────────────────────────────────────────

  #placeOf(id: number): number {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    const freed = this.#free.lowest;
    const place = freed < 0 ? this.#placesUsed++ : freed;
    if (freed >= 0) this.#free.delete(freed);
    this.#places.set(id, place);
    this.#names.set(place, id);
    return place;
  }

  /** The answer waits for this place, if it changes now or is still being written. */
  #await(place: number, number: number, changes: boolean, step: QuorumStep): void {
    if (changes) this.#queue.write(place, number, step);
    else this.#queue.await(place, number);
  }

  // ── For the write queue ────────────────────────────────────────────────────────────────────────────

  keyOf(place: number): string {
    return place === HEAD ? HEAD_KEY : place === FLOOR ? 'floor' : `vote/${place - FIRST_VOTE}`;
  }

  bytesOf(place: number): Uint8Array {
    if (place === HEAD) return encodeHead(this.#head);
    if (place === FLOOR) return encodeFloor(this.#floor);
    const id = this.#names.get(place - FIRST_VOTE);
    if (id === undefined) return NO_BYTES;
    return encodeVote({ ...this.#view.voteOf(id), since: this.#head.since, spanUs: this.#spans.get(id) ?? 0 });
  }

  leave(answer: HeldAnswer, step: QuorumStep): void {
    this.#view.sendVote(answer, step);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  /** `textOf` and `idOf` turn numbers of names into their text and back. */
  snapshot(textOf: (id: number) => string): Snapshot {
    const places = [...this.#places].map(([id, place]) => [place, textOf(id), this.#spans.get(id) ?? 0] as const);
    return {
      head: { ...this.#head },
      floor: this.#floor,
      queue: this.#queue.snapshot(),
      places: places.sort(byFirst),
      numbers: [this.#placesUsed, this.#reads, this.#owedUs, this.#restored],
      hasLived: this.#hasLived,
      silenceUs: this.#silenceUs,
    };
  }

  restore(snapshot: Snapshot, idOf: (text: string) => number): void {
    const told = snapshot as unknown as LedgerSnapshot;
    this.#head = told.head;
    this.#floor = told.floor;
    this.#queue.restore(told.queue);
    [this.#placesUsed, this.#reads, this.#owedUs, this.#restored] = told.numbers;
    this.#hasLived = told.hasLived;
    this.#silenceUs = told.silenceUs;
    for (let place = 0; place < this.#placesUsed; place++) this.#free.add(place);
    for (const [place, text, spanUs] of told.places) {
      const id = idOf(text);
      this.#free.delete(place);
      this.#places.set(id, place);
      this.#names.set(place, id);
      this.#spans.set(id, spanUs);
    }
  }
}

interface LedgerSnapshot {
  readonly head: Head;
  readonly floor: BallotTime;
  readonly queue: Snapshot;
  readonly places: readonly (readonly [number, string, number])[];
  readonly numbers: readonly [number, number, number, number];
  readonly hasLived: boolean;
  readonly silenceUs: number;
}

function byFirst(a: readonly [number, ...unknown[]], b: readonly [number, ...unknown[]]): number {
  return a[0] - b[0];
}
