/**
 * How messages lie in a stream: a length of four bytes, little endian, then that many bytes, the first of
 * which is the frame's kind. Here are writing frames, finding them again in whatever pieces the network
 * delivers, and the small frames that keep a connection honest. What a message means is its codec's business.
 */
import { TenureError } from '../kernel/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

/** A message of the lease service; messages of other services have kinds of their own (`services.ts`). */
export const MESSAGE = 1;
export const PING = 2;
export const PONG = 3;
export const GOODBYE = 4;
export const HELLO = 16;
export const CHALLENGE = 17;
export const PROOF = 18;
export const WELCOME = 19;
export const REFUSAL = 20;

const HEADER_BYTES = 4;

/** The size of a frame at most, its kind included, unless the caller says otherwise. */
export const FRAME_BYTES_MAX: number = 1024 * 1024;
/** The same before the other side has proved its identity. */
export const HANDSHAKE_BYTES_MAX: number = 16 * 1024;

/** A splitter lets a buffer go that grew beyond this for one large frame, or beyond what a frame may have: growing it again for each frame of a stream of batches would cost more than reading them. */
const KEPT_BYTES_MAX = 256 * 1024;

/** Why a side ends a connection. A number not listed here is read as `closing`. */
export const FAREWELLS = {
  closing: 1,
  /** The same incarnation has opened a newer connection. */
  replaced: 2,
  /** Another incarnation has come under the same member id. */
  duplicate: 3,
  /** Both sides had dialled; the other connection stays. */
  redundant: 4,
  badFrame: 5,
  silent: 6,
  /** The peer sent bytes that are no message, or a message that it may not send. */
  forged: 7,
} as const;

export type Farewell = keyof typeof FAREWELLS;

/** Opens a frame and says where it starts, for `endFrame`. */
export function beginFrame(out: ByteWriter, kind: number): number {
  const start = out.length;
  out.u32(0);
  out.u8(kind);
  return start;
}

/**
 * Closes the frame that starts at `start`. A frame larger than `bytesMax` is taken back, so that the stream stays
 * whole, and `TENURE_FRAME_TOO_LARGE` thrown at its writer.
 */
export function endFrame(out: ByteWriter, start: number, bytesMax: number = FRAME_BYTES_MAX): void {
  const length = out.length - start - HEADER_BYTES;
  if (length > bytesMax) {
    out.length = start;
    throw tooLarge(length, bytesMax);
  }
  const bytes = out.bytes;
  bytes[start] = length & 0xff;
  bytes[start + 1] = (length >>> 8) & 0xff;
  bytes[start + 2] = (length >>> 16) & 0xff;
  bytes[start + 3] = length >>> 24;
}

export interface FrameSink {
  /** Bytes `start` to `end` are the frame's body, valid during the call. False: no more frames are wanted. */
  frame(kind: number, bytes: Uint8Array, start: number, end: number): boolean;
}

/**
 * Finds the frames in a stream. A frame that lies within one chunk is handed on where it lies; only a frame that
 * is cut by a chunk's end is put together in a buffer of the splitter's, which grows with the bytes that have
 * come and never by what a header claims.
 */
export class FrameSplitter {
  /** May be changed between frames, also by the sink. */
  bytesMax: number;
  /** How far into the chunk the last `push` came: to its end, unless the sink wanted no more. */
  at = 0;
  #held: Uint8Array = new Uint8Array(256);
  #heldLength = 0;

  constructor(bytesMax: number = FRAME_BYTES_MAX) {
    this.bytesMax = bytesMax;
  }

  /**
   * Bytes of the chunk from `start` on. The error after which nothing in the stream can be understood any more, or null. After a
   * sink that wanted no more, the same chunk may be pushed again, from `at` on.
   */
  push(chunk: Uint8Array, sink: FrameSink, start = 0): TenureError | null {
    const end = chunk.length;
    let at = start;
    this.at = end;
    if (this.#heldLength > 0) {
      if (this.#heldLength < HEADER_BYTES) {
        at = this.#hold(chunk, at, Math.min(end, at + HEADER_BYTES - this.#heldLength));
        if (this.#heldLength < HEADER_BYTES) return null;
      }
      const length = lengthAt(this.#held, 0);
      const error = this.#judge(length);
      if (error) return error;
      const total = HEADER_BYTES + length;
      at = this.#hold(chunk, at, Math.min(end, at + total - this.#heldLength));
      if (this.#heldLength < total) return null;
      const held = this.#held;
      this.#heldLength = 0;
      if (held.length > Math.min(KEPT_BYTES_MAX, this.bytesMax)) this.#held = new Uint8Array(256);
      if (!sink.frame(held[HEADER_BYTES] as number, held, HEADER_BYTES + 1, total)) {
        this.at = at;
        return null;
      }
    }
    while (end - at >= HEADER_BYTES) {
      const length = lengthAt(chunk, at);
      const error = this.#judge(length);
      if (error) return error;
      const body = at + HEADER_BYTES;
      if (end - body < length) break;
      at = body + length;
      if (!sink.frame(chunk[body] as number, chunk, body + 1, at)) {
        this.at = at;
        return null;
      }
    }
    this.#hold(chunk, at, end);
    return null;
  }

  #judge(length: number): TenureError | null {
    if (length > this.bytesMax) return tooLarge(length, this.bytesMax);
    return length === 0
      ? new TenureError('TENURE_BAD_FRAME', 'a frame without a kind came in: the other side does not speak this protocol')
      : null;
  }

  /** Keeps bytes `start` to `end` and answers with `end`. */
  #hold(chunk: Uint8Array, start: number, end: number): number {
    if (start >= end) return end;
    const needed = this.#heldLength + end - start;
    if (needed > this.#held.length) {
      const grown = new Uint8Array(Math.max(needed, this.#held.length * 2));
      grown.set(this.#held.subarray(0, this.#heldLength));
      this.#held = grown;
    }
    this.#held.set(chunk.subarray(start, end), this.#heldLength);
    this.#heldLength = needed;
    return end;
  }
}

/** `sentUs` is on the sender's monotonic clock; it comes back in the pong and means nothing to other processes. */
export function writePing(out: ByteWriter, sentUs: number): void {
  const start = beginFrame(out, PING);
  out.u53(sentUs);
  endFrame(out, start);
}

export function writePong(out: ByteWriter, { sentUs, receivedWallUs, answeredWallUs, answeredMonoUs }: Pong): void {
  const start = beginFrame(out, PONG);
  out.u53(sentUs);
  out.u53(receivedWallUs);
  out.u53(answeredWallUs);
  out.u53(answeredMonoUs);
  endFrame(out, start);
}

export interface Pong {
  readonly sentUs: number;
  /** On the answering side's wall clock. */
  readonly receivedWallUs: number;
  readonly answeredWallUs: number;
  /** On its monotonic clock: two of them, from one process, tell how fast that clock runs. */
  readonly answeredMonoUs: number;
}

/** What a pong says, or null if the bytes are none. */
export function readPong(input: ByteReader): Pong | null {
  const pong = { sentUs: input.u53(), receivedWallUs: input.u53(), answeredWallUs: input.u53(), answeredMonoUs: input.u53() };
  return input.failed ? null : pong;
}

export function writeGoodbye(out: ByteWriter, why: Farewell): void {
  const start = beginFrame(out, GOODBYE);
  out.u8(FAREWELLS[why]);
  endFrame(out, start);
}

export function readGoodbye(input: ByteReader): Farewell {
  const code = input.u8();
  for (const [why, number] of Object.entries(FAREWELLS)) if (number === code) return why as Farewell;
  return 'closing';
}

function lengthAt(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
  return (low | ((bytes[at + 3] as number) << 24)) >>> 0;
}

function tooLarge(length: number, bytesMax: number): TenureError {
  return new TenureError(
    'TENURE_FRAME_TOO_LARGE',
    `a frame of ${length} bytes, and ${bytesMax} are the limit: send less at once, or find out who else speaks on this port`,
    { bytes: length, bytesMax },
  );
}
