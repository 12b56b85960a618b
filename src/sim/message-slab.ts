/**
 * Where encoded messages wait while they are under way: one growing block of bytes cut into cells of a
 * few sizes, reused as messages arrive. A duplicate shares its original's cell.
 */
import { invariant } from '../kernel/index.ts';
import { ByteReader, ByteWriter, type Codec } from '../wire/index.ts';

const SMALLEST_CELL = 64;

export class MessageSlab<Message> {
  readonly #codec: Codec<Message>;
  readonly #writer = new ByteWriter(1024);
  readonly #reader = new ByteReader();
  #bytes = new Uint8Array(64 * 1024);
  #used = 0;
  readonly #freeCells: number[][] = [];
  readonly #freeMessages: number[] = [];
  // Of message i: where its cell begins, the length of the message, the size class of the cell, the deliveries to come, its sender, and when it was sent.
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];
  readonly #classes: number[] = [];
  readonly #deliveries: number[] = [];
  readonly #senders: number[] = [];
  readonly #sentAt: number[] = [];

  constructor(codec: Codec<Message>) {
    this.#codec = codec;
  }

  /** Keeps a copy of the message for this many deliveries and says by which number it is known. */
  put(sender: number, sentAtUs: number, message: Message, deliveries: number): number {
    const writer = this.#writer;
    writer.reset();
    this.#codec.encode(message, writer);
    const length = writer.length;
    let sizeClass = 0;
    while (SMALLEST_CELL << sizeClass < length) sizeClass++;
    const start = this.#freeCells[sizeClass]?.pop() ?? this.#newCell(SMALLEST_CELL << sizeClass);
    const bytes = this.#bytes;
    const source = writer.bytes;
    for (let i = 0; i < length; i++) bytes[start + i] = source[i] as number;
    const index = this.#freeMessages.pop() ?? this.#starts.length;
    this.#starts[index] = start;
    this.#lengths[index] = length;
    this.#classes[index] = sizeClass;
    this.#deliveries[index] = deliveries;
    this.#senders[index] = sender;
    this.#sentAt[index] = sentAtUs;
    return index;
  }

  senderOf(index: number): number {
    return this.#senders[index] as number;
  }

  /** The true instant at which it was sent. */
  sentAt(index: number): number {
    return this.#sentAt[index] as number;
  }

  /** The message, decoded; the record is good until the next call. */
  read(index: number): Message {
    const start = this.#starts[index] as number;
    this.#reader.reset(this.#bytes, start, start + (this.#lengths[index] as number));
    const message = this.#codec.decode(this.#reader);
    invariant(message !== null, 'a message of the simulated network does not survive its own codec');
    return message;
  }

  /** One delivery is over, made or lost. */
  drop(index: number): void {
    const left = (this.#deliveries[index] as number) - 1;
    this.#deliveries[index] = left;
    if (left > 0) return;
    const sizeClass = this.#classes[index] as number;
    (this.#freeCells[sizeClass] ??= []).push(this.#starts[index] as number);
    this.#freeMessages.push(index);
  }

  #newCell(size: number): number {
    const start = this.#used;
    this.#used += size;
    if (this.#used > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#used, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    return start;
  }
}
