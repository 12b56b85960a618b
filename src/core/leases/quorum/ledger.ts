/**
 * What a member keeps on its own disk, and the answers that wait for it. An answer that depends on a write
 * leaves in the step that learns that the write is done. One write at a time is under way for each place of
 * the disk, since writes may take effect in any order; what changes meanwhile is written next, together.
 *
 * How high ballots went is written ahead, in blocks: most votes find their ballot below what is written. A
 * renewal is written only if it makes the vote longer or says something else of its holder: a vote that is read back is honoured anew in full.
 * Another try of the same holder is written: the release of the one before may come late, and must not fit what is read back.
 */
import { BALLOT_TIME_MAX, NO_BALLOT, type BallotTime, type Incarnation, type NodeId } from '../../../kernel/index.ts';
import { OWN_DISK, type Completion, type Snapshot } from '../../contract.ts';
import { LowestSet } from '../../tables/index.ts';
import { PLACES_MIN, type QuorumConfig, type QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import { decodeFloor, decodeHead, decodeVote, encodeFloor, encodeHead, encodeVote, type Head, type VoteRecord } from './records.ts';
import type { QuorumRules } from './rules.ts';

/** A vote whose answer waits. */
export interface HeldAnswer {
  readonly to: NodeId;
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ballot: BallotTime;
  readonly flags: number;
  /** What its asker knew of lives. */
  readonly print: number;
  /** How many writes it still waits for. */
  left: number;
}

/** What the ledger asks its acceptor. */
export interface LedgerView {
  voteOf(id: number): Omit<VoteRecord, 'since' | 'spanUs'>;
  /** A vote of an earlier life; the number of its name, or -1 if a later vote for that name is there. */
  restoreVote(vote: VoteRecord, step: QuorumStep): number;
  /** False if the floor is beyond belief. */
  restoreFloor(floor: BallotTime, step: QuorumStep): boolean;
  sendVote(answer: HeldAnswer, step: QuorumStep): void;
}

/** A place of the disk that is being written. Answers are known by number. */
interface Writing {
  /** It has changed since the write began. */
  again: boolean;
  /** Answers that wait for the write under way, and for the next. */
  now: number[];
  next: number[];
}

/** What a proposal changed of the vote: it is another, or for another try of its holder or says something else of it, or neither. */
export type VoteChange = 'new' | 'says' | null;

/** `ahead`: what it kept is further ahead of the wall clock than is believed. */
export type LedgerNews = 'loaded' | 'settled' | 'failed' | 'ahead' | null;

const HEAD = 0;
const FLOOR = 1;
const FIRST_VOTE = 2;
/** Beyond this, proposals are left unanswered: whoever made them tries again. */
const ANSWERS_MAX = 65_536;
/**
 * How far ahead of the wall clock floors are written, as a part of the silence: one write for so much time. Who restarts begins there, and who has
 * lost its disk only at its wall clock when its silence is over, so this is what wall clocks must agree better by. It does not grow with each restart.
 */
const FLOOR_AHEAD = 0.1;
const FLOOR_FAR_AHEAD = 10;
const NO_BYTES = new Uint8Array(0);

export class Ledger {
  readonly #view: LedgerView;
  readonly #rules: QuorumRules;
  readonly #keepsVotes: boolean;
  readonly #placesMin: number;
  readonly #silenceUs: number;
  readonly #life: Incarnation;
  #head: Head;
  #floor: BallotTime = NO_BALLOT;
  readonly #writings = new Map<number, Writing>();
  readonly #answers = new Map<number, HeldAnswer>();
  #nextAnswer = 1;
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
    this.#keepsVotes = keeps === 'votes';
    this.#placesMin = placesMin ?? PLACES_MIN;
    this.#silenceUs = silenceUs;
    this.#life = life;
    this.#owedUs = silenceUs;
    this.#head = { silenceUs, keepsVotes: this.#keepsVotes, since: life, places: 0, settled: false, life: 0 };
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
    return this.#answers.size >= ANSWERS_MAX;
  }

  load(step: QuorumStep): void {
    this.#reads = 2;
    this.#read(HEAD, step);
    this.#read(FLOOR, step);
  }

  /** The silence is over: from when this is written on, the member may vote. */
  settle(life: number, step: QuorumStep): void {
    // Votes that were read back may have been given for longer terms than there are now.
    const owesMore = this.#restored > 0;
    const longestUs = owesMore ? Math.max(this.#head.silenceUs, this.#silenceUs) : this.#silenceUs;
    this.#head = { ...this.#head, silenceUs: longestUs, settled: true, life: Math.max(life, this.#head.life) };
    this.#write(HEAD, null, step);
  }

  completed({ op, ok, value }: Completion, step: QuorumStep): LedgerNews {
    if (!ok) return 'failed';
    return op < 0 ? this.#found(~op, value, step) : this.#written(op, step);
  }

  /** A vote was given; true if its answer may leave at once. */
  keep(id: number, spanUs: number, change: VoteChange, to: NodeId, message: QuorumMessage, flags: number, step: QuorumStep): boolean {
    const number = this.#nextAnswer++;
    const answer: HeldAnswer = {
      to,
      owner: message.owner,
      lease: message.lease,
      ballot: message.ballot,
      flags,
      print: message.print,
      left: 0,
    };
    this.#answers.set(number, answer);
    const rises = message.ballot > this.#floor;
    if (rises) this.#floor = this.#floorAbove(message.ballot, step);
    this.#await(FLOOR, number, rises, step);
    if (this.#keepsVotes) {
      const place = this.#placeOf(id);
      const grows = place >= this.#head.places;
      if (grows) this.#head = { ...this.#head, places: Math.max(this.#placesMin, 2 * this.#head.places) };
      if (this.#rules.replyAfterHead) this.#await(HEAD, number, grows, step);
      else if (grows) this.#write(HEAD, null, step);
      const keptUs = change === 'new' ? 0 : (this.#spans.get(id) ?? 0);
      const changes = change !== null || spanUs > keptUs;
      // A renewal for a shorter term does not end its holder's lease sooner.
      if (changes) this.#spans.set(id, this.#rules.keptAsLong ? Math.max(spanUs, keptUs) : spanUs);
      this.#await(FIRST_VOTE + place, number, changes, step);
    }
    if (answer.left > 0) return false;
    this.#answers.delete(number);
    return true;
  }

  #floorAbove(ballot: BallotTime, { wallUs }: QuorumStep): BallotTime {
    const aheadUs = Math.ceil(this.#silenceUs * (this.#rules.floorNearClock ? FLOOR_AHEAD : FLOOR_FAR_AHEAD));
    const from = this.#rules.floorNearClock ? Math.min(ballot, wallUs) : ballot;
    return Math.min(Math.max(ballot, from + aheadUs), BALLOT_TIME_MAX) as BallotTime;
  }

  /** The vote for this name is over. Nobody waits for this: a vote that comes back by mistake only takes longer to end. */
  drop(id: number, step: QuorumStep): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    this.#spans.delete(id);
    this.#names.delete(place);
    this.#free.add(place);
    this.#write(FIRST_VOTE + place, null, step);
  }

  // ── Reading back ───────────────────────────────────────────────────────────────────────────────────

  /** Numbered apart from writes: the end of a vote may have to be written while others are still being read. */
  #read(op: number, step: QuorumStep): void {
    step.read(OWN_DISK, keyOf(op), ~op);
  }

  #found(op: number, value: Uint8Array | null, step: QuorumStep): LedgerNews {
    this.#reads--;
    if (op === HEAD) {
      const head = value === null ? null : decodeHead(value);
      if (value !== null && head === null) return 'failed';
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
    // Until the silence is over, the disk says what it said before: a life cut short owes it still.
    this.#owedUs = Math.max(head.silenceUs, this.#silenceUs);
    this.#head = { silenceUs: this.#owedUs, keepsVotes: this.#keepsVotes, since: this.#life, places: 0, settled: false, life: head.life };
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

  /** The answer waits for what is in this place, if it changes now or is still being written. */
  #await(op: number, number: number, changes: boolean, step: QuorumStep): void {
    if (changes) this.#write(op, number, step);
    else {
      const writing = this.#writings.get(op);
      if (writing) this.#hold(writing.again ? writing.next : writing.now, number);
    }
  }

  #write(op: number, number: number | null, step: QuorumStep): void {
    const writing = this.#writings.get(op);
    if (writing) {
      writing.again = true;
      if (number !== null) this.#hold(this.#rules.replyAfterItsWrite ? writing.next : writing.now, number);
      return;
    }
    const begun: Writing = { again: false, now: [], next: [] };
    this.#writings.set(op, begun);
    if (number !== null) this.#hold(begun.now, number);
    step.write(OWN_DISK, keyOf(op), this.#bytesOf(op), op);
  }

  #hold(list: number[], number: number): void {
    (this.#answers.get(number) as HeldAnswer).left++;
    list.push(number);
  }

  #bytesOf(op: number): Uint8Array {
    if (op === HEAD) return encodeHead(this.#head);
    if (op === FLOOR) return encodeFloor(this.#floor);
    const id = this.#names.get(op - FIRST_VOTE);
    if (id === undefined) return NO_BYTES;
    return encodeVote({ ...this.#view.voteOf(id), since: this.#head.since, spanUs: this.#spans.get(id) ?? 0 });
  }

  #written(op: number, step: QuorumStep): LedgerNews {
    const writing = this.#writings.get(op);
    if (!writing) return null;
    const { now, again, next } = writing;
    if (again) {
      writing.again = false;
      writing.now = next;
      writing.next = [];
      step.write(OWN_DISK, keyOf(op), this.#bytesOf(op), op);
    } else {
      this.#writings.delete(op);
    }
    for (const number of now) {
      const answer = this.#answers.get(number);
      if (!answer || --answer.left > 0) continue;
      this.#answers.delete(number);
      this.#view.sendVote(answer, step);
    }
    return op === HEAD && !again && this.#head.settled ? 'settled' : null;
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  /** `textOf` and `idOf` turn numbers of names into their text and back. */
  snapshot(textOf: (id: number) => string): Snapshot {
    const places = [...this.#places].map(([id, place]) => [place, textOf(id), this.#spans.get(id) ?? 0] as const);
    return {
      head: { ...this.#head },
      floor: this.#floor,
      writings: [...this.#writings].map(([op, { again, now, next }]) => [op, again, [...now], [...next]] as const).sort(byFirst),
      answers: [...this.#answers].map(([number, answer]) => [number, { ...answer }] as const).sort(byFirst),
      places: places.sort(byFirst),
      numbers: [this.#nextAnswer, this.#placesUsed, this.#reads, this.#owedUs, this.#restored],
      hasLived: this.#hasLived,
    };
  }

  restore(snapshot: Snapshot, idOf: (text: string) => number): void {
    const told = snapshot as unknown as LedgerSnapshot;
    this.#head = told.head;
    this.#floor = told.floor;
    for (const [op, again, now, next] of told.writings) this.#writings.set(op, { again, now: [...now], next: [...next] });
    for (const [number, answer] of told.answers) this.#answers.set(number, { ...answer });
    [this.#nextAnswer, this.#placesUsed, this.#reads, this.#owedUs, this.#restored] = told.numbers;
    this.#hasLived = told.hasLived;
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
  readonly writings: readonly (readonly [number, boolean, readonly number[], readonly number[]])[];
  readonly answers: readonly (readonly [number, HeldAnswer])[];
  readonly places: readonly (readonly [number, string, number])[];
  readonly numbers: readonly [number, number, number, number, number];
  readonly hasLived: boolean;
}

function keyOf(op: number): string {
  return op === HEAD ? 'head' : op === FLOOR ? 'floor' : `vote/${op - FIRST_VOTE}`;
}

function byFirst(a: readonly [number, ...unknown[]], b: readonly [number, ...unknown[]]): number {
  return a[0] - b[0];
}
