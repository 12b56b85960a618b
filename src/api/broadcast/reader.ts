/**
 * One reader of a log: where it is, the page it has, and the next one, which is asked for while this one is read. It asks its core: a member's, which looks into its own log, or a
 * client's, which asks a member. A reader that does not read asks for nothing.
 */
import type { BroadcastCommand, BroadcastEvent, LogEntry } from '../../core/index.ts';
import { onAbort } from '../signals.ts';

type Page = Extract<BroadcastEvent, { kind: 'page' }>;

export interface ReaderGround<Made> {
  readonly number: number;
  /** All names if it is null. */
  readonly name: Uint8Array | null;
  readonly ask: (command: BroadcastCommand) => void;
  /** What its caller gets of an entry, whose bytes are the log's: they are copied here if they are kept. */
  readonly made: (entry: LogEntry, epoch: number) => Made;
  /** The messages are of another epoch than those before: positions do not mean the same. Null where that does not matter. */
  readonly epochGone: ((epoch: number, now: number) => Error) | null;
}

/** Why the next page cannot be had: it is kept no more, and this is the first position that is. */
export interface Gone {
  readonly first: number;
}

const PAGE_BYTES = 256 * 1024;

export class LogReader<Made> {
  readonly #ground: ReaderGround<Made>;
  #after: number;
  #isAsked = false;
  /** The answer that has come and is not read yet: a page, or why there is none. */
  #came: readonly Made[] | Gone | null = null;
  /** Of the messages it has read; null if there are none. */
  #epoch: number | null;
  #over: { readonly error: unknown } | null = null;
  #wake: (() => void) | null = null;

  /** It begins with the first message after this position, which is of this epoch, if that is known. */
  constructor(ground: ReaderGround<Made>, after: number, epoch: number | null) {
    this.#ground = ground;
    this.#after = after;
    this.#epoch = epoch;
  }

  get number(): number {
    return this.#ground.number;
  }

  /** Messages in order, at least one; or that they are gone. */
  async page(signal: AbortSignal | undefined): Promise<readonly Made[] | Gone> {
    for (;;) {
      signal?.throwIfAborted();
      if (this.#over) throw this.#over.error;
      const came = this.#came;
      if (came !== null) {
        this.#came = null;
        if (!('first' in came)) this.#ask();
        return came;
      }
      this.#ask();
      // A member's own core answers within the question.
      if (this.#isWaiting) await this.#news(signal);
    }
  }

  /** Goes on after another position than the last it was told of, whatever the epoch. */
  moveTo(after: number): void {
    this.#epoch = null;
    this.#after = after;
    this.#came = null;
  }

  /** The messages after this position are not there any more; others may be. */
  moveBack(last: number): void {
    if (this.#after <= last) return;
    this.moveTo(last);
    if (!this.#isAsked) return;
    this.#isAsked = false;
    this.#ask();
  }

  heard({ entries, upTo, epoch }: Page): void {
    const { made, epochGone } = this.#ground;
    this.#isAsked = false;
    if (epochGone && this.#epoch !== null && this.#epoch !== epoch) return this.end(epochGone(this.#epoch, epoch));
    this.#epoch = epoch;
    this.#after = upTo;
    if (entries.length === 0) return this.#ask();
    this.#came = entries.map((entry) => made(entry, epoch));
    this.#wake?.();
  }

  gone(first: number): void {
    this.#isAsked = false;
    this.#came = { first };
    this.#wake?.();
  }

  /** Nothing is read from here on. */
  end(error: unknown): void {
    if (this.#over) return;
    this.#over = { error };
    this.#came = null;
    if (this.#isAsked) this.#ground.ask({ kind: 'forget', reader: this.#ground.number });
    this.#wake?.();
  }

  get #isWaiting(): boolean {
    return this.#came === null && this.#over === null;
  }

  #ask(): void {
    if (this.#isAsked || this.#over) return;
    const { number: reader, name, ask } = this.#ground;
    this.#isAsked = true;
    ask({ kind: 'read', reader, after: this.#after, name, bytesMax: PAGE_BYTES });
  }

  #news(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const calm = onAbort(signal, (reason) => {
        this.#wake = null;
        reject(reason);
      });
      this.#wake = () => {
        this.#wake = null;
        calm();
        resolve();
      };
    });
  }
}
