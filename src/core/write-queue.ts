/**
 * Answers that wait for writes. A core keeps its state in numbered places of one unit. An answer that depends on the contents of some of
 * these places leaves in the step that learns that their writes are done. For each place one write at a time is under way, because writes
 * may take effect in any order; changes made meanwhile are written next, together. What the places hold is for the core to say. A
 * core whose write fails leaves the queue alone from then on: the content of the unit is unknown, so none of the answers may leave.
 */
import { invariant } from '../kernel/index.ts';
import type { Snapshot, Step, UnitId } from './contract.ts';

type WriteStep = Pick<Step<never, never>, 'write'>;

/** What the queue asks its core. */
export interface Places<Answer, S extends WriteStep> {
  keyOf(place: number): string;
  /** What the place is to hold, as of now. */
  bytesOf(place: number): Uint8Array;
  /** All writes that the answer waited for are done. */
  leave(answer: Answer, step: S): void;
}

/** A place that is being written. Answers are known by number. */
interface Writing {
  /** It has changed since the write began. */
  again: boolean;
  /** Answers that wait for the write under way, and for the next. */
  now: number[];
  next: number[];
}

interface Waiting<Answer> {
  readonly answer: Answer;
  /** How many writes it still waits for. */
  left: number;
}

export class WriteQueue<Answer extends { readonly [key: string]: Snapshot }, S extends WriteStep> {
  readonly #unit: UnitId;
  readonly #places: Places<Answer, S>;
  /** False in a mutant: then an answer waits for the write under way, though the next write has its content. */
  readonly #afterItsWrite: boolean;
  readonly #writings = new Map<number, Writing>();
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #nextNumber = 1;

  constructor(unit: UnitId, places: Places<Answer, S>, afterItsWrite: boolean) {
    this.#unit = unit;
    this.#places = places;
    this.#afterItsWrite = afterItsWrite;
  }

  /** How many answers wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** An answer that is to wait; its number. `dismiss` says whether it waits for anything. */
  enter(answer: Answer): number {
    const number = this.#nextNumber++;
    this.#waiting.set(number, { answer, left: 0 });
    return number;
  }

  /** True if the answer waits for nothing and may leave at once: the queue forgets it. */
  dismiss(number: number): boolean {
    if (this.#waitingOf(number).left > 0) return false;
    this.#waiting.delete(number);
    return true;
  }

  /** The answer depends on this place as it is: it waits if the place is being written. */
  await(place: number, number: number): void {
    const writing = this.#writings.get(place);
    if (writing) this.#hold(writing.again ? writing.next : writing.now, number);
  }

  /** The place has changed. An answer that depends on that waits for the write. */
  write(place: number, number: number | null, step: S): void {
    const writing = this.#writings.get(place);
    if (writing) {
      writing.again = true;
      if (number !== null) this.#hold(this.#afterItsWrite ? writing.next : writing.now, number);
      return;
    }
    const begun: Writing = { again: false, now: [], next: [] };
    this.#writings.set(place, begun);
    if (number !== null) this.#hold(begun.now, number);
    this.#begin(place, step);
  }

  /** The write of this place is done. True if the unit now holds what the place does; else the next write has begun. */
  written(place: number, step: S): boolean {
    const writing = this.#writings.get(place);
    invariant(writing !== undefined, 'a write was answered that is not under way');
    const { now, again, next } = writing;
    if (again) {
      writing.again = false;
      writing.now = next;
      writing.next = [];
      this.#begin(place, step);
    } else {
      this.#writings.delete(place);
    }
    for (const number of now) {
      const waiting = this.#waitingOf(number);
      invariant(waiting.left > 0, 'an answer left before its writes were done');
      if (--waiting.left > 0) continue;
      this.#waiting.delete(number);
      this.#places.leave(waiting.answer, step);
    }
    return !again;
  }

  #begin(place: number, step: S): void {
    step.write(this.#unit, this.#places.keyOf(place), this.#places.bytesOf(place), place);
  }

  #hold(list: number[], number: number): void {
    this.#waitingOf(number).left++;
    list.push(number);
  }

  #waitingOf(number: number): Waiting<Answer> {
    const waiting = this.#waiting.get(number);
    invariant(waiting !== undefined, 'an answer that has left waits for a write');
    return waiting;
  }

  snapshot(): Snapshot {
    return {
      writings: [...this.#writings].map(([place, { again, now, next }]) => [place, again, [...now], [...next]] as const).sort(byFirst),
      waiting: [...this.#waiting].map(([number, { answer, left }]) => [number, { ...answer }, left] as const).sort(byFirst),
      nextNumber: this.#nextNumber,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as QueueSnapshot<Answer>;
    for (const [place, again, now, next] of told.writings) this.#writings.set(place, { again, now: [...now], next: [...next] });
    for (const [number, answer, left] of told.waiting) this.#waiting.set(number, { answer, left });
    this.#nextNumber = told.nextNumber;
  }
}

interface QueueSnapshot<Answer> {
  readonly writings: readonly (readonly [number, boolean, readonly number[], readonly number[]])[];
  readonly waiting: readonly (readonly [number, Answer, number])[];
  readonly nextNumber: number;
}

function byFirst(a: readonly [number, ...unknown[]], b: readonly [number, ...unknown[]]): number {
  return a[0] - b[0];
}
