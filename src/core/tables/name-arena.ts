/**
 * The bytes of names, in slots of 8, 16, 24 … 256 bytes. A page has slots of one size; free slots are used
 * again, lowest page first, and a page without a name is given back. Nothing is ever moved from one page to
 * another, so there is no moment at which the process stops to tidy up.
 */
import { LowestSet } from './lowest-set.ts';

/** Slots are multiples of this, and so are addresses. */
const UNIT = 8;
const UNIT_BITS = 13;
const PAGE_UNITS: number = 1 << UNIT_BITS;
const FIRST_SLOTS = 4;
const SIZES = 32;
const PAGES_MAX: number = 1 << (32 - UNIT_BITS);
const NO_SLOT = 0xffff;

class Page {
  bytes: Uint8Array;
  /** In units. */
  readonly slotUnits: number;
  readonly slotsMax: number;
  used = 0;
  /** Slots from here on were never used. */
  fresh = 0;
  /** The first free slot below `fresh`; each free slot's first two bytes name the next. */
  free: number = NO_SLOT;

  constructor(slotUnits: number, slots: number) {
    this.slotUnits = slotUnits;
    this.slotsMax = Math.floor(PAGE_UNITS / slotUnits);
    this.bytes = new Uint8Array(Math.min(slots, this.slotsMax) * slotUnits * UNIT);
  }
}

export class NameArena {
  readonly #pages: (Page | undefined)[] = [];
  /** By slot size in units, less one: the pages with room, and how many pages there are. */
  readonly #room: (LowestSet | undefined)[] = [];
  readonly #pageCounts: number[] = [];
  readonly #freeNumbers: LowestSet = new LowestSet();
  /** The page that emptied last is kept, or a name that comes and goes would cost a page each time. */
  #idle = -1;
  #bytes = 0;

  /** Copies the name in and answers with its address, a uint32. */
  put(bytes: Uint8Array, start: number, end: number): number {
    const units = (end - start + UNIT - 1) >>> 3;
    const room = this.#roomFor(units);
    let number = room.lowest;
    if (number < 0) number = this.#addPage(units, room);
    const page = this.#pages[number] as Page;
    const slotBytes = units * UNIT;
    let slot = page.free;
    if (slot === NO_SLOT) {
      slot = page.fresh++;
      if (page.fresh * slotBytes > page.bytes.length) this.#growPage(page);
    } else {
      const at = slot * slotBytes;
      page.free = (page.bytes[at] as number) | ((page.bytes[at + 1] as number) << 8);
    }
    if (++page.used === page.slotsMax) room.delete(number);
    const target = page.bytes;
    for (let from = start, to = slot * slotBytes; from < end; from++, to++) target[to] = bytes[from] as number;
    return ((number << UNIT_BITS) | (slot * units)) >>> 0;
  }

  /** The name at this address is gone; its bytes may be written over. */
  free(address: number): void {
    const number = address >>> UNIT_BITS;
    const page = this.#pages[number] as Page;
    const offset = address & (PAGE_UNITS - 1);
    if (page.used-- === page.slotsMax) this.#roomFor(page.slotUnits).add(number);
    if (page.used === 0) {
      page.fresh = 0;
      page.free = NO_SLOT;
      this.#retire(number);
      return;
    }
    page.bytes[offset * UNIT] = page.free & 0xff;
    page.bytes[offset * UNIT + 1] = page.free >>> 8;
    page.free = offset / page.slotUnits;
  }

  /** The page an address is in. Another `put` may replace it. */
  pageOf(address: number): Uint8Array {
    return (this.#pages[address >>> UNIT_BITS] as Page).bytes;
  }

  /** Where in its page the name begins. */
  startOf(address: number): number {
    return (address & (PAGE_UNITS - 1)) * UNIT;
  }

  get bytes(): number {
    return this.#bytes;
  }

  #roomFor(units: number): LowestSet {
    let room = this.#room[units - 1];
    if (room === undefined) {
      while (this.#room.length < SIZES && this.#room.length < units) {
        this.#room.push(undefined);
        this.#pageCounts.push(0);
      }
      room = new LowestSet();
      this.#room[units - 1] = room;
    }
    return room;
  }

  #addPage(units: number, room: LowestSet): number {
    let number = this.#freeNumbers.lowest;
    if (number < 0) {
      number = this.#pages.length;
      if (number >= PAGES_MAX) throw new RangeError('the arena of names is full');
      this.#pages.push(undefined);
    } else this.#freeNumbers.delete(number);
    const pageCount = this.#pageCounts[units - 1] as number;
    const page = new Page(units, pageCount === 0 ? FIRST_SLOTS : PAGE_UNITS);
    this.#pageCounts[units - 1] = pageCount + 1;
    this.#pages[number] = page;
    this.#bytes += page.bytes.length;
    room.add(number);
    return number;
  }

  #growPage(page: Page): void {
    const old = page.bytes;
    const slotBytes = page.slotUnits * UNIT;
    const bytes = new Uint8Array(Math.min(old.length * 2, page.slotsMax * slotBytes));
    bytes.set(old);
    page.bytes = bytes;
    this.#bytes += bytes.length - old.length;
  }

  #retire(number: number): void {
    const idle = this.#idle;
    this.#idle = number;
    if (idle < 0 || idle === number) return;
    const page = this.#pages[idle];
    if (page === undefined || page.used > 0) return;
    this.#roomFor(page.slotUnits).delete(idle);
    this.#pages[idle] = undefined;
    this.#pageCounts[page.slotUnits - 1] = (this.#pageCounts[page.slotUnits - 1] as number) - 1;
    this.#bytes -= page.bytes.length;
    this.#freeNumbers.add(idle);
  }
}
