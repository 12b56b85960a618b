/** Which waiters of a line may go: first come, first served among all modes. Readers in a row go together, and no reader passes a waiting writer. */
import { EXCLUSIVE, type WantedMode } from './modes.ts';

/** How a name is taken at one acceptor by live votes of others. */
export interface Taken {
  readonly hasWriter: boolean;
  readonly hasReaders: boolean;
  readonly hasSlots: boolean;
  /** How many of the first so many slots are free. */
  freeSlots(slots: number): number;
}

/** Waiters that may go already and have not gone yet: a waiter behind them must fit beside them. */
export class Books {
  #writers = 0;
  #readers = 0;
  #slots = 0;

  fits({ mode, slots }: WantedMode, taken: Taken): boolean {
    if (taken.hasWriter || this.#writers > 0) return false;
    if (slots > 0) return !taken.hasReaders && this.#readers === 0 && taken.freeSlots(slots) > this.#slots;
    if (taken.hasSlots || this.#slots > 0) return false;
    return mode !== EXCLUSIVE || (!taken.hasReaders && this.#readers === 0);
  }

  enter({ mode, slots }: WantedMode): void {
    if (slots > 0) this.#slots++;
    else if (mode === EXCLUSIVE) this.#writers++;
    else this.#readers++;
  }
}
