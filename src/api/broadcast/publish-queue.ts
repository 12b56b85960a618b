/**
 * The messages of this process on their way into the log. The messages of one turn of the event loop are given to the core together. The core takes so many bytes at a time; the others wait
 * here, in order, and their callers with them: that is how publishers are slowed down to what the members can do.
 */
import type { Publication } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import type { BroadcastObserver } from '../observing/broadcast-observer.ts';
import { onAbort } from '../signals.ts';
import { messageTooLarge, tooManyWait, uncertain } from './failures.ts';

export interface PublishQueueGround {
  /** Gives these to the core. Throws TENURE_LIMIT if it has no room for them. */
  readonly give: (messages: readonly Publication[]) => void;
  /** So many bytes the core takes now. */
  readonly room: () => number;
  /** No message is larger. */
  readonly messageBytesMax: number;
  readonly nowUs: () => number;
  readonly observer: Pick<BroadcastObserver, 'given' | 'published' | 'uncertain'>;
}

interface Waiting extends Publication {
  readonly bytes: number;
  readonly askedUs: number;
  readonly resolve: (position: number) => void;
  readonly reject: (error: unknown) => void;
  calm: () => void;
  /** `off`: its caller has given it up before the core had it. */
  place: 'here' | 'core' | 'off';
}

/** As messages lie in a batch: their lengths take so much. */
const HEADER_BYTES = 5;
/** The bytes that may wait here, beside those the core has. */
export const PUBLISH_WAITING_BYTES_MAX: number = 64 * 1024 * 1024;
/** So much is given to the core at once: it travels together. */
const TOGETHER_BYTES = 128 * 1024;

export class PublishQueue {
  readonly #ground: PublishQueueGround;
  #queue: Waiting[] = [];
  /** Where the queue begins: entries before it are gone. */
  #head = 0;
  #queueBytes = 0;
  /** Messages that the core has, by their numbers. */
  readonly #given = new Map<number, Waiting>();
  #nextNumber = 1;
  #isPlanned = false;

  constructor(ground: PublishQueueGround) {
    this.#ground = ground;
  }

  get isEmpty(): boolean {
    return this.#given.size === 0 && this.#isQueueEmpty;
  }

  /** Its position, once it is decided. Rejects at once where it can. */
  publish(name: Uint8Array, message: Uint8Array, signal: AbortSignal | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      const { messageBytesMax } = this.#ground;
      signal?.throwIfAborted();
      const bytes = HEADER_BYTES + name.length + message.length;
      if (message.length > messageBytesMax) throw messageTooLarge(message.length, messageBytesMax);
      if (this.#queueBytes + bytes > PUBLISH_WAITING_BYTES_MAX) throw tooManyWait(PUBLISH_WAITING_BYTES_MAX);
      const waiting: Waiting = { name, message, bytes, askedUs: this.#ground.nowUs(), resolve, reject, calm: () => {}, place: 'here' };
      if (signal) waiting.calm = onAbort(signal, (reason) => this.#abandon(waiting, reason));
      this.#queue.push(waiting);
      this.#queueBytes += bytes;
      this.#plan();
    });
  }

  /** The core has room again. */
  flush(): void {
    while (!this.#isQueueEmpty && this.#giveSome());
  }

  published(first: number, last: number, position: number): void {
    const { nowUs, observer } = this.#ground;
    const now = nowUs();
    for (let number = first; number <= last; number++) {
      const waiting = this.#take(number);
      if (waiting === undefined) continue;
      observer.published(number, position + number - first, now - waiting.askedUs);
      waiting.resolve(position + number - first);
    }
    if (!this.#isQueueEmpty) this.#plan();
  }

  uncertain(first: number, last: number): void {
    this.#ground.observer.uncertain(last - first + 1);
    for (let number = first; number <= last; number++) this.#take(number)?.reject(uncertain());
  }

  fail(error: unknown): void {
    const queue = this.#queue.slice(this.#head);
    this.#queue = [];
    this.#head = 0;
    this.#queueBytes = 0;
    for (const number of this.#given.keys()) this.#take(number)?.reject(error);
    for (const waiting of queue) {
      waiting.calm();
      waiting.reject(error);
    }
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.flush();
    });
  }

  get #isQueueEmpty(): boolean {
    return this.#head === this.#queue.length;
  }

  /** As much as travels together and the core has room for. False if that is nothing. */
  #giveSome(): boolean {
    const room = this.#ground.room();
    const messages: Waiting[] = [];
    let bytes = 0;
    let end = this.#head;
    for (; end < this.#queue.length; end++) {
      const waiting = this.#queue[end] as Waiting;
      if (waiting.place === 'off') continue;
      // A message that is larger than others together travels alone, and a core without anything under way takes any.
      const isFirst = messages.length === 0 && (waiting.bytes <= room || this.#given.size === 0);
      if (!isFirst && bytes + waiting.bytes > Math.min(TOGETHER_BYTES, room)) break;
      bytes += waiting.bytes;
      messages.push(waiting);
    }
    if (messages.length > 0 && !this.#isTaken(messages)) return false;
    const isMoved = end > this.#head;
    this.#head = end;
    this.#queueBytes -= bytes;
    if (this.#head > this.#queue.length / 2) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return isMoved;
  }

  #isTaken(messages: readonly Waiting[]): boolean {
    const first = this.#nextNumber;
    // The core may answer within the command.
    for (const waiting of messages) {
      waiting.place = 'core';
      this.#ground.observer.given(this.#nextNumber);
      this.#given.set(this.#nextNumber, waiting);
      this.#nextNumber++;
    }
    try {
      this.#ground.give(messages);
    } catch (error) {
      if (!(error instanceof TenureError) || error.code !== 'TENURE_LIMIT') throw error;
      for (let number = first; number < this.#nextNumber; number++) this.#given.delete(number);
      for (const waiting of messages) waiting.place = 'here';
      this.#nextNumber = first;
      return false;
    }
    return true;
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#given.get(number);
    if (waiting === undefined) return undefined;
    this.#given.delete(number);
    waiting.calm();
    return waiting;
  }

  /** The caller waits no more. What the core has may still be delivered. */
  #abandon(waiting: Waiting, reason: unknown): void {
    if (waiting.place === 'here') {
      waiting.place = 'off';
      this.#queueBytes -= waiting.bytes;
    }
    waiting.reject(reason);
  }
}
