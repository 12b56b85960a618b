/**
 * Columns of numbers, a row per id, in chunks that exist only while one of their rows is in use. `Rows` owns
 * the memory of one table and counts live rows; its columns only read and write. Within a chunk a row's
 * numbers lie side by side, because a decision reads most of them and each cache line fetched costs the same.
 */

/**
 * Chunks are as many rows as give this many bytes: the C library asks the system for so large a piece by itself and
 * gives it back whole, and there are so few that their headers stay in the processor's cache.
 */
const CHUNK_BYTES_MIN: number = 1 << 20;
/** The first chunk starts with this many rows and doubles: most tables in a simulation hold a handful. */
const FIRST_ROWS = 8;
/** What a table without rows may keep. */
const EMPTY_BYTES_MAX = 4096;

export class F64Column {
  readonly #chunks: readonly (Float64Array | undefined)[];
  readonly #rowBits: number;
  readonly #rowMask: number;
  readonly #stride: number;
  readonly #offset: number;

  constructor(chunks: readonly (Float64Array | undefined)[], rowBits: number, stride: number, offset: number) {
    this.#chunks = chunks;
    this.#rowBits = rowBits;
    this.#rowMask = (1 << rowBits) - 1;
    this.#stride = stride;
    this.#offset = offset;
  }

  /** 0 where there is no memory; otherwise the last value set, even if the row has ended since. */
  get(id: number): number {
    const chunk = this.#chunks[id >>> this.#rowBits];
    return chunk === undefined ? 0 : (chunk[(id & this.#rowMask) * this.#stride + this.#offset] ?? 0);
  }

  /** Of a row that has been entered; anywhere else it may do nothing. */
  set(id: number, value: number): void {
    const chunk = this.#chunks[id >>> this.#rowBits];
    if (chunk !== undefined) chunk[(id & this.#rowMask) * this.#stride + this.#offset] = value;
  }
}

export class U32Column {
  readonly #chunks: readonly (Uint32Array | undefined)[];
  readonly #rowBits: number;
  readonly #rowMask: number;
  readonly #stride: number;
  readonly #offset: number;

  constructor(chunks: readonly (Uint32Array | undefined)[], rowBits: number, stride: number, offset: number) {
    this.#chunks = chunks;
    this.#rowBits = rowBits;
    this.#rowMask = (1 << rowBits) - 1;
    this.#stride = stride;
    this.#offset = offset;
  }

  /** 0 where there is no memory; otherwise the last value set, even if the row has ended since. */
  get(id: number): number {
    const chunk = this.#chunks[id >>> this.#rowBits];
    return chunk === undefined ? 0 : (chunk[(id & this.#rowMask) * this.#stride + this.#offset] ?? 0);
  }

  /** Of a row that has been entered; anywhere else it may do nothing. */
  set(id: number, value: number): void {
    const chunk = this.#chunks[id >>> this.#rowBits];
    if (chunk !== undefined) chunk[(id & this.#rowMask) * this.#stride + this.#offset] = value;
  }
}

export class U16Column {
  readonly #chunks: readonly (Uint16Array | undefined)[];
  readonly #rowBits: number;
  readonly #rowMask: number;
  readonly #stride: number;
  readonly #offset: number;

  constructor(chunks: readonly (Uint16Array | undefined)[], rowBits: number, stride: number, offset: number) {
    this.#chunks = chunks;
    this.#rowBits = rowBits;
    this.#rowMask = (1 << rowBits) - 1;
    this.#stride = stride;
    this.#offset = offset;
  }

  /** 0 where there is no memory; otherwise the last value set, even if the row has ended since. */
  get(id: number): number {
    const chunk = this.#chunks[id >>> this.#rowBits];
    return chunk === undefined ? 0 : (chunk[(id & this.#rowMask) * this.#stride + this.#offset] ?? 0);
  }

  /** Of a row that has been entered; anywhere else it may do nothing. */
  set(id: number, value: number): void {
    const chunk = this.#chunks[id >>> this.#rowBits];
    if (chunk !== undefined) chunk[(id & this.#rowMask) * this.#stride + this.#offset] = value;
  }
}

export class U8Column {
  readonly #chunks: readonly (Uint8Array | undefined)[];
  readonly #rowBits: number;
  readonly #rowMask: number;
  readonly #stride: number;
  readonly #offset: number;

  constructor(chunks: readonly (Uint8Array | undefined)[], rowBits: number, stride: number, offset: number) {
    this.#chunks = chunks;
    this.#rowBits = rowBits;
    this.#rowMask = (1 << rowBits) - 1;
    this.#stride = stride;
    this.#offset = offset;
  }

  /** 0 where there is no memory; otherwise the last value set, even if the row has ended since. */
  get(id: number): number {
    const chunk = this.#chunks[id >>> this.#rowBits];
    return chunk === undefined ? 0 : (chunk[(id & this.#rowMask) * this.#stride + this.#offset] ?? 0);
  }

  /** Of a row that has been entered; anywhere else it may do nothing. */
  set(id: number, value: number): void {
    const chunk = this.#chunks[id >>> this.#rowBits];
    if (chunk !== undefined) chunk[(id & this.#rowMask) * this.#stride + this.#offset] = value;
  }
}

/** How many columns of each kind a table has. */
export type RowLayout = { readonly f64: number; readonly u32: number; readonly u16: number; readonly u8: number };

/**
 * The memory of one table's columns. A chunk is one buffer: first the rows, each its f64s and pairs of u32s;
 * then the odd u32 of each row, if there is one; then the u16s of each row, then its u8s. So nothing is lost to alignment.
 */
export class Rows {
  readonly #layout: RowLayout;
  readonly #rowBytes: number;
  readonly #rowBits: number;
  readonly #rowMask: number;
  readonly #wordsPerRow: number;
  readonly #buffers: (ArrayBuffer | undefined)[] = [];
  readonly #words: (Float64Array | undefined)[] = [];
  readonly #halves: (Uint32Array | undefined)[] = [];
  readonly #odd: (Uint32Array | undefined)[] = [];
  readonly #pairs: (Uint16Array | undefined)[] = [];
  readonly #octets: (Uint8Array | undefined)[] = [];
  /** Rows that there is memory for, by chunk, and those in use. */
  readonly #capacities: number[] = [];
  readonly #live: number[] = [];
  /** The chunk that emptied last keeps its memory, or a name that comes and goes would cost a buffer each time. */
  #idle = -1;
  #chunkLimit = 0;
  #bytes = 0;

  constructor(layout: RowLayout) {
    this.#layout = layout;
    this.#wordsPerRow = layout.f64 + (layout.u32 >>> 1);
    this.#rowBytes = 8 * layout.f64 + 4 * layout.u32 + 2 * layout.u16 + layout.u8;
    let rowBits = 10;
    while (this.#rowBytes << rowBits < CHUNK_BYTES_MIN) rowBits++;
    this.#rowBits = rowBits;
    this.#rowMask = (1 << rowBits) - 1;
  }

  f64(index: number): F64Column {
    return new F64Column(this.#words, this.#rowBits, this.#wordsPerRow, index);
  }

  u32(index: number): U32Column {
    const { f64, u32 } = this.#layout;
    if (index === u32 - 1 && (u32 & 1) === 1) return new U32Column(this.#odd, this.#rowBits, 1, 0);
    return new U32Column(this.#halves, this.#rowBits, this.#wordsPerRow * 2, f64 * 2 + index);
  }

  u16(index: number): U16Column {
    return new U16Column(this.#pairs, this.#rowBits, this.#layout.u16, index);
  }

  u8(index: number): U8Column {
    return new U8Column(this.#octets, this.#rowBits, this.#layout.u8, index);
  }

  /** The row comes into use. Its columns hold stale values: set every one. */
  enter(id: number): void {
    const chunk = id >>> this.#rowBits;
    const live = this.#live;
    if (chunk >= live.length) this.#extend(chunk);
    if ((id & this.#rowMask) >= (this.#capacities[chunk] as number)) this.#allocate(chunk, (id & this.#rowMask) + 1);
    live[chunk] = (live[chunk] as number) + 1;
    if (chunk >= this.#chunkLimit) this.#chunkLimit = chunk + 1;
  }

  /** The row goes out of use, and the chunk's memory with it if it was the last. */
  leave(id: number): void {
    const chunk = id >>> this.#rowBits;
    const left = (this.#live[chunk] as number) - 1;
    this.#live[chunk] = left;
    if (left === 0) this.#retire(chunk);
  }

  /** Every row in use has an id below this. */
  get idLimit(): number {
    return this.#chunkLimit * (this.#rowMask + 1);
  }

  get bytes(): number {
    return this.#bytes;
  }

  #extend(chunk: number): void {
    while (this.#live.length <= chunk) {
      this.#live.push(0);
      this.#capacities.push(0);
      this.#buffers.push(undefined);
      this.#words.push(undefined);
      this.#halves.push(undefined);
      this.#odd.push(undefined);
      this.#pairs.push(undefined);
      this.#octets.push(undefined);
    }
  }

  #allocate(chunk: number, rowsMin: number): void {
    if (chunk > 0) {
      const rows = this.#rowMask + 1;
      const idle = this.#idle;
      if (idle > 0 && idle !== chunk && this.#live[idle] === 0 && this.#buffers[idle] !== undefined) {
        const buffer = this.#buffers[idle];
        this.#free(idle);
        this.#idle = -1;
        this.#place(chunk, buffer, rows);
      } else this.#place(chunk, new ArrayBuffer(this.#rowBytes * rows), rows);
      return;
    }
    let capacity = Math.max(FIRST_ROWS, (this.#capacities[0] as number) * 2);
    while (capacity < rowsMin) capacity *= 2;
    const words = this.#words[0];
    const halves = this.#halves[0];
    const odd = this.#odd[0];
    const pairs = this.#pairs[0];
    const octets = this.#octets[0];
    this.#free(0);
    this.#place(0, new ArrayBuffer(this.#rowBytes * capacity), capacity);
    if (words !== undefined) (this.#words[0] as Float64Array).set(words);
    // The same bytes seen as other numbers, where a row has no f64 to be seen by.
    else if (halves !== undefined) (this.#halves[0] as Uint32Array).set(halves);
    if (odd !== undefined) (this.#odd[0] as Uint32Array).set(odd);
    if (pairs !== undefined) (this.#pairs[0] as Uint16Array).set(pairs);
    if (octets !== undefined) (this.#octets[0] as Uint8Array).set(octets);
  }

  #place(chunk: number, buffer: ArrayBuffer, rows: number): void {
    const { f64, u32, u16, u8 } = this.#layout;
    const rowEnd = rows * this.#wordsPerRow * 8;
    const oddEnd = rowEnd + (u32 & 1) * rows * 4;
    this.#buffers[chunk] = buffer;
    if (f64 > 0) this.#words[chunk] = new Float64Array(buffer, 0, rowEnd / 8);
    if (u32 > 1) this.#halves[chunk] = new Uint32Array(buffer, 0, rowEnd / 4);
    if ((u32 & 1) === 1) this.#odd[chunk] = new Uint32Array(buffer, rowEnd, rows);
    if (u16 > 0) this.#pairs[chunk] = new Uint16Array(buffer, oddEnd, rows * u16);
    if (u8 > 0) this.#octets[chunk] = new Uint8Array(buffer, oddEnd + rows * u16 * 2, rows * u8);
    this.#capacities[chunk] = rows;
    this.#bytes += buffer.byteLength;
  }

  #free(chunk: number): void {
    this.#bytes -= this.#buffers[chunk]?.byteLength ?? 0;
    this.#buffers[chunk] = undefined;
    this.#words[chunk] = undefined;
    this.#halves[chunk] = undefined;
    this.#odd[chunk] = undefined;
    this.#pairs[chunk] = undefined;
    this.#octets[chunk] = undefined;
    this.#capacities[chunk] = 0;
  }

  #retire(chunk: number): void {
    const idle = this.#idle;
    if (idle >= 0 && idle !== chunk && this.#live[idle] === 0) this.#free(idle);
    this.#idle = chunk;
    while (this.#chunkLimit > 0 && this.#live[this.#chunkLimit - 1] === 0) this.#chunkLimit--;
    if (this.#chunkLimit === 0 && this.#bytes > EMPTY_BYTES_MAX) this.#free(chunk);
  }
}
