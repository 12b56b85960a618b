/**
 * When each hold needs something: its renewal, or its end. Long terms are in a calendar, which is coarse and costs nothing to change; short
 * terms are in a heap, exactly. Stale entries stay in both: the caller checks whether an entry is still due.
 */
import { monoUs, type MonoUs } from '../../../kernel/index.ts';
import { Calendar, DueHeap, type HoldTable, type NameTable } from '../../tables/index.ts';
import { renewAfterUs } from '../timing.ts';

/** Flags of a hold. It is renewed by itself. */
export const KEEP = 1;
/** A renewal is under way. */
export const RENEWING = 2;
/** Its name has a watcher. */
export const IS_WATCHED = 4;
/** Its holder is asked before each renewal. */
export const GATED = 8;
/** It has a limit of its own. */
export const LIMITED = 16;
/** It is given back as of its deadline. */
export const LEAVING = 32;
/** Its votes are being asked for another mode: nothing else is asked of them meanwhile. */
export const CHANGING = 64;
/** Its holder was told of a waiter since it was last renewed in bulk. */
export const WAS_WANTED = 128;

/** The calendar is this part of the longest term fine. */
const CALENDAR_PARTS = 256;
/** Terms of fewer widths than this are too short for the calendar: early by its width would be much too early. */
const CALENDAR_WIDTHS_MIN = 12;
/** How many holds one wake looks at, so that a burst of renewals does not stop the process. */
const VISITS_PER_WAKE = 10_000;

export class HoldAgenda {
  readonly #holds: HoldTable;
  readonly #names: NameTable;
  readonly #calendar: Calendar;
  /** Of holds with short terms: when to look at each, exactly. */
  readonly #soon = new DueHeap();

  constructor(holds: HoldTable, names: NameTable, maxTermUs: number) {
    this.#holds = holds;
    this.#names = names;
    this.#calendar = new Calendar(Math.max(1, Math.floor(maxTermUs / CALENDAR_PARTS)));
  }

  get nextAt(): number {
    return Math.min(this.#soon.nextAt, this.#calendar.nextDueUs);
  }

  /** Shows holds that may be due; not all of them at once. */
  take(now: MonoUs, visit: (id: number) => void): void {
    this.#calendar.take(now, visit, VISITS_PER_WAKE);
    for (let left = VISITS_PER_WAKE; left > 0 && this.#soon.nextAt <= now; left--) visit(this.#soon.take(now));
  }

  isDue(id: number, now: MonoUs): boolean {
    return this.#isShort(id) ? this.#dueAt(id) <= now : this.#calendar.hasBegun(this.#calendarDueAt(id), now);
  }

  schedule(id: number): void {
    if (!this.#isShort(id)) return this.#calendar.schedule(id, this.#calendarDueAt(id));
    this.#soon.push(monoUs(this.#dueAt(id)), id);
    if (this.#soon.isOvergrown(this.#holds.count, this.#names.idLimit)) this.#sweep();
  }

  /** When a hold would be shown, if it were scheduled. */
  shownAt(id: number): MonoUs {
    const { widthUs } = this.#calendar;
    return monoUs(this.#isShort(id) ? this.#dueAt(id) : Math.floor(this.#calendarDueAt(id) / widthUs) * widthUs);
  }

  #sweep(): void {
    this.#soon.clear();
    for (let id = 0; id < this.#names.idLimit; id++) {
      const isDue = this.#holds.has(id) && (this.#holds.flags(id) & RENEWING) === 0 && this.#isShort(id);
      if (isDue) this.#soon.push(monoUs(this.#dueAt(id)), id);
    }
  }

  #dueAt(id: number): number {
    const holds = this.#holds;
    if ((holds.flags(id) & KEEP) === 0) return holds.deadlineMono(id);
    const termUs = holds.termMs(id) * 1000;
    return holds.deadlineMono(id) - termUs + renewAfterUs(termUs);
  }

  /** An end that its holder has set itself is kept exactly, too. */
  #isShort(id: number): boolean {
    const flags = this.#holds.flags(id);
    if ((flags & LEAVING) !== 0 || (flags & (LIMITED | KEEP)) === LIMITED) return true;
    return this.#holds.termMs(id) * 1000 < CALENDAR_WIDTHS_MIN * this.#calendar.widthUs;
  }

  /** The calendar may be early by its width: good for a renewal; an end must have come. */
  #calendarDueAt(id: number): number {
    return this.#dueAt(id) + ((this.#holds.flags(id) & KEEP) === 0 ? this.#calendar.widthUs : 0);
  }
}
