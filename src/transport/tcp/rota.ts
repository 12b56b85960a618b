/**
 * Which connection's frames are worked on when. In one turn of the event loop a connection has its share of frames worked on; further
 * frames wait, unread, until every other connection has had its turn. So a connection that floods slows down itself and no other.
 */

/** Of all connections that have more to say than their share: a few milliseconds of work, and enough to make writes of a good size. */
const FRAMES_PER_TURN = 1024;
/** Of each of them at least, however many there are. */
const SHARE_MIN = 16;

/** A connection with frames left over. */
export interface Waiting {
  /** It may have the frames of another turn worked on. */
  goOn(): void;
}

export class Rota {
  /** Rises with every turn in which something was worked on. */
  turn = 0;
  /** How many frames of each connection are worked on in this turn. */
  share: number = FRAMES_PER_TURN;
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

  /** The connection goes on in the next turn, behind connections that waited before. */
  wait(connection: Waiting): void {
    this.#waiting.push(connection);
    this.begin();
  }

  readonly #end = (): void => {
    this.#isPlanned = false;
    this.turn++;
    const waiting = this.#waiting;
    this.share = Math.max(SHARE_MIN, Math.floor(FRAMES_PER_TURN / Math.max(1, waiting.length)));
    if (waiting.length === 0) return;
    this.#waiting = this.#served;
    this.#served = waiting;
    for (const connection of waiting) connection.goOn();
    waiting.length = 0;
    this.#servedAll();
  };
}
