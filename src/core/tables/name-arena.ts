/**
 * The bytes of names, in slots of 8, 16, 24 … 256 bytes. A page has slots of one size; free slots are used
 * again, lowest page first, and a page without a name is given back. Nothing is ever moved from one page to
 * another, so there is no moment at which the process stops to tidy up.
 */
import { LowestSet } from './lowest-set.ts';

/** Slots are multiples of this many bytes. */
const UNIT = 8;
const UNIT_BITS = 17;
const PAGE_UNITS: number = 1 << UNIT_BITS;
/** An address is the page, the unit it begins at, and how many of the slot's last bytes are not the name's. */
const SPARE_BITS = 3;
const PAGE_SHIFT: number = UNIT_BITS + SPARE_BITS;
const PAGES_MAX: number = 1 << (32 - PAGE_SHIFT);
const FIRST_SLOTS = 4;
/** What an arena without names may keep. */
const EMPTY_BYTES_MAX = 4096;
const NO_SLOT = 0xffffff;

/** The address of nothing. */
export const NOWHERE = 0;

const NO_BYTES: Uint8Array = new Uint8Array(0);

class Page {
  /** In units. */
  readonly slotUnits: number;
  readonly slotsMax: number;
  used = 0;
  /** Slots from here on were never used. */
  fresh = 0;
  /** The first free slot below `fresh`; each free slot's first three bytes name the next. */
  free: number = NO_SLOT;

  constructor(slotUnits: number) {
    this.slotUnits = slotUnits;
    this.slotsMax = Math.floor(PAGE_UNITS / slotUnits);
  }
}

export class NameArena {
  /** By number; there is no page 0, so that address 0 is nowhere. Bytes and slot sizes stand apart: a look-up needs nothing else. */
  readonly #bytesOf: Uint8Array[] = [NO_BYTES];
  readonly #unitsOf: number[] = [0];
  readonly #pages: (Page | undefined)[] = [undefined];
  /** By slot size in units: the pages with room, and how many pages there are. */
  readonly #room: (LowestSet | undefined)[] = [];
  readonly #pageCounts: number[] = [];
  readonly #freeNumbers: LowestSet = new LowestSet();
  /** The page that emptied last is kept, or a name that comes and goes would cost a page each time. */
  #idle = 0;
  #used = 0;
  #bytes = 0;

  /** Copies the name in and answers with its address, a uint32. */
  put(bytes: Uint8Array, start: number, end: number): number {
    const units = (end - start + UNIT - 1) >>> 3;
    const slotBytes = units * UNIT;
    const room = this.#roomFor(units);
    let number = room.lowest;
    if (number < 0) number = this.#addPage(units, room);
    const page = this.#pages[number] as Page;
    let target = this.#bytesOf[number] as Uint8Array;
    let slot = page.free;
    if (slot === NO_SLOT) {
      slot = page.fresh++;
      if (page.fresh * slotBytes > target.length) target = this.#growPage(number, page);
    } else {
      const at = slot * slotBytes;
      page.free = (target[at] as number) | ((target[at + 1] as number) << 8) | ((target[at + 2] as number) << 16);
    }
    this.#used++;
    if (++page.used === page.slotsMax) room.delete(number);
    for (let from = start, to = slot * slotBytes; from < end; from++, to++) target[to] = bytes[from] as number;
    return ((number << PAGE_SHIFT) | ((slot * units) << SPARE_BITS) | (slotBytes - (end - start))) >>> 0;
  }

  /** The name at this address is gone; its bytes may be written over. */
  free(address: number): void {
    const number = address >>> PAGE_SHIFT;
    const page = this.#pages[number] as Page;
    this.#used--;
    if (page.used-- === page.slotsMax) this.#roomFor(page.slotUnits).add(number);
    if (page.used === 0) {
      page.fresh = 0;
      page.free = NO_SLOT;
      this.#retire(number);
      return;
    }
    const bytes = this.#bytesOf[number] as Uint8Array;
    const start = this.startOf(address);
    bytes[start] = page.free & 0xff;
    bytes[start + 1] = (page.free >>> 8) & 0xff;
    bytes[start + 2] = page.free >>> 16;
    page.free = start / (page.slotUnits * UNIT);
  }

  /** The page an address is in. Another `put` may replace it. */
  pageOf(address: number): Uint8Array {
    return this.#bytesOf[address >>> PAGE_SHIFT] as Uint8Array;
  }

  /** Where in its page the name begins. */
  startOf(address: number): number {
    return ((address >>> SPARE_BITS) & (PAGE_UNITS - 1)) * UNIT;
  }

  lengthOf(address: number): number {
    return (this.#unitsOf[address >>> PAGE_SHIFT] as number) * UNIT - (address & (UNIT - 1));
  }

  get bytes(): number {
    return this.#bytes;
  }

  #roomFor(units: number): LowestSet {
    let room = this.#room[units];
    if (room === undefined) {
      while (this.#room.length <= units) {
        this.#room.push(undefined);
        this.#pageCounts.push(0);
      }
      room = new LowestSet();
      this.#room[units] = room;
    }
    return room;
  }

  #addPage(units: number, room: LowestSet): number {
    let number = this.#freeNumbers.lowest;
    if (number < 0) {
      number = this.#pages.length;
      if (number >= PAGES_MAX) throw new RangeError('the names of this table take more than 4 GiB');
      this.#pages.push(undefined);
      this.#bytesOf.push(NO_BYTES);
      this.#unitsOf.push(0);
    } else this.#freeNumbers.delete(number);
    const page = new Page(units);
    const count = this.#pageCounts[units] as number;
    this.#pageCounts[units] = count + 1;
    const bytes = new Uint8Array((count === 0 ? FIRST_SLOTS : page.slotsMax) * units * UNIT);
    this.#pages[number] = page;
    this.#bytesOf[number] = bytes;
    this.#unitsOf[number] = units;
    this.#bytes += bytes.length;
    room.add(number);
    return number;
  }

  #growPage(number: number, page: Page): Uint8Array {
    const old = this.#bytesOf[number] as Uint8Array;
    const bytes = new Uint8Array(Math.min(old.length * 2, page.slotsMax * page.slotUnits * UNIT));
    bytes.set(old);
    this.#bytesOf[number] = bytes;
    this.#bytes += bytes.length - old.length;
    return bytes;
  }

  #retire(number: number): void {
    if (this.#idle !== number) this.#release(this.#idle);
    this.#idle = number;
    if (this.#used === 0 && this.#bytes > EMPTY_BYTES_MAX) this.#release(number);
  }

  #release(number: number): void {
    const page = this.#pages[number];
    if (page === undefined || page.used > 0) return;
    this.#roomFor(page.slotUnits).delete(number);
    this.#bytes -= (this.#bytesOf[number] as Uint8Array).length;
    this.#pages[number] = undefined;
    this.#bytesOf[number] = NO_BYTES;
    this.#pageCounts[page.slotUnits] = (this.#pageCounts[page.slotUnits] as number) - 1;
    this.#freeNumbers.add(number);
  }
}
