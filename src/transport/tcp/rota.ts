/**
 * Whose frames are worked on when. In one turn of the event loop a connection has so many of its frames worked on; what it has sent
 * beyond that waits, unread, until every other connection has had its turn. So one that floods slows down itself and nobody else.
 */

/** A few tenths of a millisecond of work. */
export const FRAMES_PER_TURN = 64;

/** A connection with frames left over. */
export interface Waiting {
  /** It may have the frames of another turn worked on. */
  goOn(): void;
}

export class Rota {
  /** Rises with every turn in which something was worked on. */
  turn = 0;
  #waiting: Waiting[] = [];
  #served: Waiting[] = [];
  #isPlanned = false;
  readonly #servedAll: () => void;

  /** `servedAll` is called when all that waited had their turn. */
  constructor(servedAll: () => void) {
    this.#servedAll = servedAll;
  }

  /** Frames are worked on: this turn is to end. */
  begin(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // After all that has come in by now, from every connection.
    setImmediate(this.#end);
  }

  /** The connection goes on in the next turn, behind those that waited before. */
  wait(connection: Waiting): void {
    this.#waiting.push(connection);
    this.begin();
  }

  readonly #end = (): void => {
    this.#isPlanned = false;
    this.turn++;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = this.#served;
    this.#served = waiting;
    for (const connection of waiting) connection.goOn();
    waiting.length = 0;
    this.#servedAll();
  };
}
