/**
 * How messages lie in batches, in the log and in frames: groups, one after another. A group is messages of one process, with numbers that follow one another. Its header says whose they are; leaders put groups
 * into batches, and members put batches into the log, without looking at the messages.
 *
 * A group: origin, since, base, first (safe integers of eight bytes), count, size of the messages (four bytes each), the publisher's name (a byte for its length). Then each message: its name (a byte for its
 * length), then its bytes (four bytes for their length). All numbers are little endian.
 */
import type { Incarnation } from '../../kernel/index.ts';
import type { Publication } from './contract.ts';

/**
 * When a process publishes and has nothing under way, it notes the end of the log as it knows it (`since`), and the number of its next message (`base`): all messages below `base` are in the log up to `since`, and none
 * from `base` on is. That is how a log that has dropped all messages of a process knows whether a group is new.
 */
export interface GroupHeader {
  readonly origin: Incarnation;
  readonly since: number;
  readonly base: number;
  /** The number of its first message, and how many there are. */
  readonly first: number;
  readonly count: number;
}

const EMPTY = new Uint8Array(0);
const NUMBERS_BYTES = 8 * 4 + 4 + 4 + 1;
const TWO_TO_32 = 4294967296;
const SAFE_HIGH_MAX = 0x1fffff;

/** How many bytes a message takes in a group. */
export function publicationBytes({ name, message }: Publication): number {
  return 1 + name.length + 4 + message.length;
}

export function groupBytes(header: Omit<GroupHeader, 'count'>, from: Uint8Array, messages: readonly Publication[]): Uint8Array {
  let size = 0;
  for (const message of messages) size += publicationBytes(message);
  const bytes = new Uint8Array(NUMBERS_BYTES + from.length + size);
  let at = writeHeader(bytes, { ...header, count: messages.length }, size, from);
  for (const { name, message } of messages) {
    bytes[at++] = name.length;
    bytes.set(name, at);
    at = writeU32(bytes, at + name.length, message.length);
    bytes.set(message, at);
    at += message.length;
  }
  return bytes;
}

/** Goes through groups, then through the messages of each. It allocates nothing, and stops at bytes that are no group. */
export class GroupCursor implements GroupHeader {
  origin: Incarnation = 0 as Incarnation;
  since = 0;
  base = 0;
  first = 0;
  count = 0;
  /** Where the group lies, and where its messages begin. */
  start = 0;
  end = 0;
  fromStart = 0;
  messagesStart = 0;
  /** Of the message that `nextMessage` found. */
  messageStart = 0;
  nameStart = 0;
  nameEnd = 0;
  bodyStart = 0;
  bodyEnd = 0;
  bytes: Uint8Array = EMPTY;
  #limit = 0;

  /** From here on it goes through these bytes. */
  open(bytes: Uint8Array, start = 0, end: number = bytes.length): this {
    this.bytes = bytes;
    this.end = start;
    this.#limit = end;
    return this;
  }

  /** The next group. False if there is none, or the next bytes are none. */
  nextGroup(): boolean {
    const { bytes, end: start } = this;
    if (this.#limit - start < NUMBERS_BYTES) return false;
    const fromLength = bytes[start + NUMBERS_BYTES - 1] as number;
    const messagesStart = start + NUMBERS_BYTES + fromLength;
    const end = messagesStart + readU32(bytes, start + 36);
    if (end > this.#limit) return false;
    this.origin = readU53(bytes, start) as Incarnation;
    this.since = readU53(bytes, start + 8);
    this.base = readU53(bytes, start + 16);
    this.first = readU53(bytes, start + 24);
    this.count = readU32(bytes, start + 32);
    this.start = start;
    this.end = end;
    this.fromStart = start + NUMBERS_BYTES;
    this.messagesStart = messagesStart;
    this.bodyEnd = messagesStart;
    return true;
  }

  /** The next message of this group. False if there is none, or the next bytes are none. */
  nextMessage(): boolean {
    const { bytes, bodyEnd: start, end } = this;
    if (end - start < 5) return false;
    const nameEnd = start + 1 + (bytes[start] as number);
    if (nameEnd + 4 > end) return false;
    const bodyEnd = nameEnd + 4 + readU32(bytes, nameEnd);
    if (bodyEnd > end) return false;
    this.messageStart = start;
    this.nameStart = start + 1;
    this.nameEnd = nameEnd;
    this.bodyStart = nameEnd + 4;
    this.bodyEnd = bodyEnd;
    return true;
  }

  get from(): Uint8Array {
    return this.bytes.subarray(this.fromStart, this.messagesStart);
  }

  /** The number of the last message. */
  get last(): number {
    return this.first + this.count - 1;
  }

  hasName(name: Uint8Array): boolean {
    const { bytes, nameStart, nameEnd } = this;
    if (name.length !== nameEnd - nameStart) return false;
    for (let i = 0; i < name.length; i++) if (bytes[nameStart + i] !== name[i]) return false;
    return true;
  }

  /** A group of its own of so many messages of this one, the first of them with the number `first`; they lie from `start` to `end`. */
  slice(first: number, count: number, start: number, end: number): Uint8Array {
    const { origin, since, base, bytes, from } = this;
    const slice = new Uint8Array(NUMBERS_BYTES + from.length + end - start);
    const at = writeHeader(slice, { origin, since, base, first, count }, end - start, from);
    slice.set(bytes.subarray(start, end), at);
    return slice;
  }

  /** This group without its messages below this number. */
  sliceFrom(first: number): Uint8Array {
    this.bodyEnd = this.messagesStart;
    for (let number = this.first; number < first; number++) this.nextMessage();
    return this.slice(first, this.last - first + 1, this.bodyEnd, this.end);
  }
}

/** Whether these bytes are one group, with as many messages as it says, none larger than allowed. */
export function isGroup(bytes: Uint8Array, messageBytesMax: number): boolean {
  const cursor = new GroupCursor().open(bytes);
  if (!cursor.nextGroup() || cursor.end !== bytes.length || cursor.count === 0 || cursor.first < cursor.base || cursor.base < 1)
    return false;
  if (!isSafe(bytes, 0) || !isSafe(bytes, 8) || !isSafe(bytes, 16) || !isSafe(bytes, 24) || !Number.isSafeInteger(cursor.last))
    return false;
  let messages = 0;
  while (cursor.nextMessage()) {
    messages++;
    if (cursor.bodyEnd - cursor.bodyStart > messageBytesMax) return false;
  }
  return messages === cursor.count && cursor.bodyEnd === bytes.length;
}

function writeHeader(bytes: Uint8Array, { origin, since, base, first, count }: GroupHeader, size: number, from: Uint8Array): number {
  writeU53(bytes, 0, origin);
  writeU53(bytes, 8, since);
  writeU53(bytes, 16, base);
  writeU53(bytes, 24, first);
  writeU32(bytes, 32, count);
  writeU32(bytes, 36, size);
  bytes[40] = from.length;
  bytes.set(from, NUMBERS_BYTES);
  return NUMBERS_BYTES + from.length;
}

function writeU32(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value & 0xff;
  bytes[at + 1] = (value >>> 8) & 0xff;
  bytes[at + 2] = (value >>> 16) & 0xff;
  bytes[at + 3] = value >>> 24;
  return at + 4;
}

function writeU53(bytes: Uint8Array, at: number, value: number): void {
  writeU32(bytes, at, value >>> 0);
  writeU32(bytes, at + 4, Math.floor(value / TWO_TO_32));
}

function readU32(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
  return (low | ((bytes[at + 3] as number) << 24)) >>> 0;
}

function readU53(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at + 4) * TWO_TO_32 + readU32(bytes, at);
}

function isSafe(bytes: Uint8Array, at: number): boolean {
  return readU32(bytes, at + 4) <= SAFE_HIGH_MAX;
}
