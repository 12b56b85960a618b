/**
 * One regular register, as the simulated world and the stage have it. The order in which changes take effect is the one order that
 * all reads agree on. A weak read may find any change that is not followed, in that order, by one that was answered before the read began. A
 * plain write under way has no place in the order yet, so it may be found, and not found, and found again. A conditional write is found only once
 * it has won: one that loses was never there.
 */

/** A place in the order of all beginnings, effects and answers: instants are too coarse, much happens in the same microsecond. */
export type OrderPlace = number;
export const NOT_YET: OrderPlace = Infinity;

/** What a write, a swap, an erasure or damage does to a record. */
export interface RegisterChange {
  /** Null: nothing is there from here on. */
  readonly value: Uint8Array | null;
  /** When it took effect. */
  place: OrderPlace;
  /** When it was answered. One that is said to have failed never is: it stays concurrent with all that follows. */
  ended: OrderPlace;
}

/** A read under way. */
export interface Reading {
  readonly began: OrderPlace;
}

/** What a read may find: these changes, in the order in which they began, and perhaps that nothing was ever written. */
export interface Findable {
  readonly changes: readonly RegisterChange[];
  readonly orNothing: boolean;
}

export class RegularRegister {
  /** The last change that took effect, and the one before it. */
  newest: RegisterChange | null = null;
  #before: RegisterChange | null = null;
  /** Changes that a read may still find, in the order in which they began. */
  readonly #changes: RegisterChange[] = [];
  /** Oldest first. */
  readonly #readings = new Set<Reading>();
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

  /** A change that never will take effect here. */
  withdraw(change: RegisterChange): void {
    const at = this.#changes.indexOf(change);
    if (at >= 0) this.#changes.splice(at, 1);
  }

  /** A change that nobody waits for: it is over as soon as it is there. */
  land(value: Uint8Array | null, place: OrderPlace): void {
    const change = { value, place, ended: place };
    this.begin(change);
    this.takeEffect(change, place);
    this.tidy();
  }

  /** The newest change is undone, and cannot be undone twice. */
  forgetNewest(place: OrderPlace): void {
    this.land(this.#before?.value ?? null, place);
    this.#before = this.newest;
  }

  beginRead(reading: Reading): void {
    if (this.#isWeak) this.#readings.add(reading);
  }

  endRead(reading: Reading): void {
    this.#readings.delete(reading);
  }

  findable({ began }: Reading): Findable {
    const oldest = newestEndedBefore(this.#changes, began);
    // Before any change was answered, "never written" is an answer too.
    return { changes: this.#changes.filter(({ place }) => place >= oldest), orNothing: oldest === 0 };
  }

  /** Drops changes that no read may find any more, neither one under way nor one to come. */
  tidy(): void {
    const changes = this.#changes;
    if (changes.length < 2) return;
    let horizon: OrderPlace = NOT_YET;
    for (const { began } of this.#readings) {
      horizon = began;
      break;
    }
    const oldest = newestEndedBefore(changes, horizon);
    let kept = 0;
    for (const change of changes) if (change.place >= oldest) changes[kept++] = change;
    changes.length = kept;
  }
}

/** The place of the last change, in the order of effects, of those answered before; 0 if there is none. */
function newestEndedBefore(changes: readonly RegisterChange[], before: OrderPlace): OrderPlace {
  let newest = 0;
  for (const { ended, place } of changes) if (ended < before && place > newest) newest = place;
  return newest;
}
