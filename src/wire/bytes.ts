/**
 * A writer and a reader of bytes, for codecs. Both are reused from message to message and allocate
 * nothing. A reader that runs past its end does not throw: it turns `failed`, and reads zeros, so a
 * decoder checks once, at the end.
 */
const EMPTY = new Uint8Array(0);

/** From so many bytes on `set` is faster than a loop. */
const COPIED_AT_ONCE = 256;
/** A product is exact as the quotient is, and several times cheaper. */
const TWO_TO_MINUS_32: number = 1 / 4294967296;

export class ByteWriter {
  bytes: Uint8Array;
  length = 0;
  #view: DataView;

  constructor(capacity = 256) {
    this.bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.bytes.buffer);
  }

  reset(): void {
    this.length = 0;
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  u8(value: number): void {
    const at = this.length;
    if (at >= this.bytes.length) this.reserve(1);
    this.bytes[at] = value;
    this.length = at + 1;
  }

  u16(value: number): void {
    this.reserve(2);
    this.#view.setUint16(this.length, value, true);
    this.length += 2;
  }

  u32(value: number): void {
    this.reserve(4);
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  /** Writes over four bytes written before, for a length that is known only now. */
  patchU32(at: number, value: number): void {
    this.#view.setUint32(at, value, true);
  }

  readU32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  /** A safe integer, in eight bytes. */
  u53(value: number): void {
    const at = this.length;
    if (at + 8 > this.bytes.length) this.reserve(8);
    const view = this.#view;
    view.setUint32(at, value >>> 0, true);
    view.setUint32(at + 4, (value * TWO_TO_MINUS_32) >>> 0, true);
    this.length = at + 8;
  }

  /** Bytes `start` to `end` of `source`. */
  raw(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    const target = this.bytes;
    let at = this.length;
    if (end - start > COPIED_AT_ONCE) {
      target.set(source.subarray(start, end), at);
      this.length = at + end - start;
      return;
    }
    // Names are short: a loop beats `set` with a subarray, and allocates nothing.
    for (let i = start; i < end; i++) target[at++] = source[i] as number;
    this.length = at;
  }
}

export class ByteReader {
  bytes: Uint8Array = EMPTY;
  at = 0;
  end = 0;
  failed = false;
  #view: DataView = new DataView(EMPTY.buffer);

  reset(bytes: Uint8Array, start: number, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.at = start;
    this.end = end;
    this.failed = false;
  }

  /** Steps over `count` bytes and says where they begin; where there are too few, the read has failed. */
  skip(count: number): number {
    const start = this.at;
    if (start + count > this.end) this.#fail();
    else this.at = start + count;
    return start;
  }

  // Each is written out: a message is a dozen of these reads.

  u8(): number {
    const start = this.at;
    if (start + 1 > this.end) return this.#fail();
    this.at = start + 1;
    return this.bytes[start] as number;
  }

  u16(): number {
    const start = this.at;
    if (start + 2 > this.end) return this.#fail();
    this.at = start + 2;
    return this.#view.getUint16(start, true);
  }

  u32(): number {
    const start = this.at;
    if (start + 4 > this.end) return this.#fail();
    this.at = start + 4;
    return this.#view.getUint32(start, true);
  }

  u53(): number {
    const start = this.at;
    if (start + 8 > this.end) return this.#fail();
    const high = this.#view.getUint32(start + 4, true);
    if (high > 0x1fffff) return this.#fail();
    this.at = start + 8;
    return high * 4294967296 + this.#view.getUint32(start, true);
  }

  /** Nothing is left to be read from here on. */
  #fail(): number {
    this.failed = true;
    this.at = this.end;
    return 0;
  }
}
