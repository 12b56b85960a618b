/**
 * One regular register, as the simulated world, the stage and the explorer have it. The order in which changes take effect is the order that
 * all reads agree on. A weak read may find any change that is not followed, in that order, by a change that was answered before the read began. A
 * plain write under way has no place in the order yet, so it may be found, and not found, and found again. A conditional write is found only once
 * it has won: a conditional write that loses was never there.
 */

/** A place in the order of all effects: instants are too coarse, much happens in the same microsecond. Places count from 1. */
export type OrderPlace = number;
export const NOT_YET: OrderPlace = Infinity;

/** What a write, a swap, an erasure or damage does to a record. */
export interface RegisterChange {
  /** Null: nothing is there from here on. */
  readonly value: Uint8Array | null;
  /** When it took effect. */
  place: OrderPlace;
  /** No access wrote this: one byte of a record was inverted. */
  readonly isCorrupt?: boolean;
}

/** What a read may find: these changes, in the order in which they began, and perhaps that nothing was ever written. */
export interface Findable {
  readonly changes: readonly RegisterChange[];
  readonly orNothing: boolean;
}

/** A record as text, so that it is plain data; in a list where no access wrote it. */
type RecordText = string | readonly [corrupt: string] | null;

/** Everything about a register that can still make a difference, as plain data. Its places count from 1 in `effects`. */
export interface RegisterMemory {
  /** The changes that took effect and may still be found, in the order of their effects. */
  readonly effects: readonly RecordText[];
  /** The place of the last change that was answered; 0 if none was. */
  readonly floor: OrderPlace;
  /** The record before the newest change, where records may be forgotten. */
  readonly before?: RecordText;
}

export class RegularRegister {
  /** The last change that took effect, and the change before it. */
  newest: RegisterChange | null = null;
  #before: RegisterChange | null = null;
  /** The place of the last change, in the order of effects, that was answered; 0 if none was. No read that begins now finds an older one. */
  #floor: OrderPlace = 0;
  /** Changes that a read may still find, in the order in which they began. */
  readonly #changes: RegisterChange[] = [];
  /** Reads and lists under way, with the floor at which each began. */
  readonly #readers = new Map<object, OrderPlace>();
  readonly #isWeak: boolean;

  /** Reads of a register that is not weak find the newest change: it keeps no others. */
  constructor(isWeak: boolean) {
    this.#isWeak = isWeak;
  }

  get value(): Uint8Array | null {
    return this.newest?.value ?? null;
  }

  /** From here on it may be found. */
  begin(change: RegisterChange): void {
    if (this.#isWeak) this.#changes.push(change);
  }

  takeEffect(change: RegisterChange, place: OrderPlace): void {
    change.place = place;
    this.#before = this.newest;
    this.newest = change;
  }

  /** A change that is said to have failed is never answered: it stays concurrent with all that follows. Lost and misdirected changes have no place. */
  answered({ place }: RegisterChange): void {
    if (place !== NOT_YET && place > this.#floor) this.#floor = place;
  }

  /** A change that never will take effect here. */
  withdraw(change: RegisterChange): void {
    const at = this.#changes.indexOf(change);
    if (at >= 0) this.#changes.splice(at, 1);
  }

  /** A change that no process waits for: it is over as soon as it is there. */
  land(value: Uint8Array | null, place: OrderPlace, isCorrupt = false): void {
    const change = isCorrupt ? { value, place, isCorrupt } : { value, place };
    this.begin(change);
    this.takeEffect(change, place);
    this.answered(change);
    this.tidy();
  }

  /** The newest change is undone, and cannot be undone twice. */
  forgetNewest(place: OrderPlace): void {
    this.land(this.#before?.value ?? null, place, this.#before?.isCorrupt);
    this.#before = this.newest;
  }

  beginRead(reader: object, floor: OrderPlace = this.#floor): void {
    if (this.#isWeak) this.#readers.set(reader, floor);
  }

  endRead(reader: object): void {
    this.#readers.delete(reader);
  }

  /** A list that began before this register was there may miss everything in it. */
  floorOf(reader: object): OrderPlace {
    return this.#readers.get(reader) ?? 0;
  }

  findable(reader: object): Findable {
    const oldest = this.floorOf(reader);
    // Before any change was answered, "never written" is an answer too.
    return { changes: this.#changes.filter(({ place }) => place >= oldest), orNothing: oldest === 0 };
  }

  /** Drops changes that no read may find any more, neither one under way nor one to come. */
  tidy(): void {
    const changes = this.#changes;
    if (changes.length < 2) return;
    const oldest = Math.min(this.#floor, ...this.#readers.values());
    let kept = 0;
    for (const change of changes) if (change.place >= oldest) changes[kept++] = change;
    changes.length = kept;
  }

  // ── As plain data ──────────────────────────────────────────────────────────────────────────────────

  /** A change that has not taken effect is remembered with its access. `forgets`: the newest change may be undone. */
  snapshot(forgets: boolean): RegisterMemory {
    const memory = { effects: this.#effects(forgets).map(textOf), floor: this.rankOf(this.#floor, forgets) };
    return forgets ? { ...memory, before: this.#before && textOf(this.#before) } : memory;
  }

  /** The number of a place in a snapshot; 0 if that has no such place. */
  rankOf(place: OrderPlace, forgets: boolean): OrderPlace {
    return this.#isWeak ? this.#effects(forgets).findIndex((change) => change.place === place) + 1 : 0;
  }

  /** Of a register that was just built. */
  restore({ effects, floor, before }: RegisterMemory): void {
    effects.forEach((text, i) => {
      const change = changeOf(text, i + 1);
      this.begin(change);
      this.takeEffect(change, change.place);
    });
    this.#floor = floor;
    if (before !== undefined) this.#before = changeOf(before, 0);
  }

  changeAt(rank: OrderPlace): RegisterChange | null {
    return this.#changes.find(({ place }) => place === rank) ?? null;
  }

  #effects(forgets: boolean): RegisterChange[] {
    const oldest = Math.min(this.#floor, ...this.#readers.values());
    const placed = this.#isWeak ? this.#changes.filter(({ place }) => place !== NOT_YET && place >= oldest) : [];
    const effects = this.#isWeak ? placed.sort((a, b) => a.place - b.place) : this.newest ? [this.newest] : [];
    // A record that every process knows to be erased is as good as a record that never was.
    const isErased = !forgets && effects[0]?.value === null && (!this.#isWeak || oldest > 0);
    return isErased ? effects.slice(1) : effects;
  }
}

function textOf({ value, isCorrupt }: RegisterChange): RecordText {
  const text = bytesAsText(value);
  return isCorrupt === true && text !== null ? [text] : text;
}

function changeOf(text: RecordText, place: OrderPlace): RegisterChange {
  const isCorrupt = Array.isArray(text);
  const value = textAsBytes(isCorrupt ? (text[0] as string) : (text as string | null));
  return isCorrupt ? { value, place, isCorrupt } : { value, place };
}

export function bytesAsText(bytes: Uint8Array | null): string | null {
  return bytes && String.fromCharCode(...bytes);
}

function textAsBytes(text: string | null): Uint8Array | null {
  return text === null ? null : Uint8Array.from(text, (character) => character.charCodeAt(0));
}
