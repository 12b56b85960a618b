/**
 * The names of resources, each known inside by a small integer: what a node remembers about a name stands in
 * other tables at the name's id. A name lives while one of up to eight roles uses it; then its id, its place in
 * the index and its bytes are used again. Looking up and interning allocate nothing but room for more.
 */
import { equalBytes, HASH_MAX, hashName, invariant, keyedHash, NAME_BYTES_MAX, NO_KEY, type HashKey } from '../../kernel/index.ts';
import { Rows, type U32Column, type U8Column } from './columns.ts';
import { LowestSet } from './lowest-set.ts';
import { NameArena, NOWHERE } from './name-arena.ts';
import { IDS_MAX, idOf, isLikely, homeOf, NameIndex } from './name-index.ts';

/** The roles of the tables here, as bits; the other bits, up to 128, are free for others. */
export const LEASE_ROLE = 1;
export const HOLD_ROLE = 2;
export const LEARN_ROLE = 4;

/** A whole number of bytes `start` to `end`, of which a table uses 31 bits. */
export type NameHash = (bytes: Uint8Array, start: number, end: number) => number;

/**
 * `intern` a name, then `retain` its id in a role; `drop` the role when done. A name that was interned but never
 * retained stays until a caller retains and drops it, or calls `drop(id, 0)`.
 */
export class NameTable {
  /** For other tables of the same owner whose keys strangers choose. */
  readonly key: HashKey;
  /** Another function than the keyed one: tests bring hashes that collide. */
  readonly #ownHash: NameHash | null;
  readonly #rows: Rows = new Rows({ f64: 0, u32: 2, u16: 0, u8: 1 });
  readonly #hashes: U32Column = this.#rows.u32(0);
  readonly #addresses: U32Column = this.#rows.u32(1);
  readonly #roles: U8Column = this.#rows.u8(0);
  readonly #index: NameIndex = new NameIndex(this.#hashes);
  readonly #arena: NameArena = new NameArena();
  /** Free ids below `#fresh`; from there on all are. The lowest is taken first, so that high chunks empty. */
  readonly #freeIds: LowestSet = new LowestSet();
  #fresh = 0;
  #size = 0;

  /** A table open to strangers has a secret key, or they can choose names that collide. */
  constructor(hash: HashKey | NameHash = NO_KEY) {
    this.key = typeof hash === 'function' ? NO_KEY : hash;
    this.#ownHash = typeof hash === 'function' ? hash : null;
  }

  /** A name's hash by this table's function: it means nothing to any other table or process. */
  hash(bytes: Uint8Array, start: number, end: number): number {
    return this.#ownHash === null ? keyedHash(this.key, bytes, start, end) : this.#ownHash(bytes, start, end) & HASH_MAX;
  }

  /** The name's id, or -1. A caller that has the name's hash by this table's function may pass it. */
  find(bytes: Uint8Array, start: number, end: number, hash: number = this.hash(bytes, start, end)): number {
    const slots = this.#index.slotsFor(hash);
    if (slots === undefined) return -1;
    const { length } = slots;
    for (let at = homeOf(hash, length); ;) {
      const entry = slots[at] as number;
      if (entry === 0) return -1;
      if (isLikely(entry, hash)) {
        const id = idOf(entry);
        if (this.#hashes.get(id) === hash && this.equals(id, bytes, start, end)) return id;
      }
      if (++at === length) at = 0;
    }
  }

  /** How many entries a look-up passes before it finds the name, or that it is not there: few, or the hash is poor. */
  probes(bytes: Uint8Array, start: number, end: number): number {
    const hash = this.hash(bytes, start, end);
    const slots = this.#index.slotsFor(hash);
    if (slots === undefined) return 0;
    const id = this.find(bytes, start, end, hash);
    let passed = 0;
    for (let at = homeOf(hash, slots.length); slots[at] !== 0 && idOf(slots[at] as number) !== id; at = (at + 1) % slots.length) passed++;
    return passed;
  }

  /** The name's id; a name that is new has no role yet. Ids are taken again, lowest first, once their name is gone. */
  intern(bytes: Uint8Array, start: number, end: number, hash: number = this.hash(bytes, start, end)): number {
    const known = this.find(bytes, start, end, hash);
    if (known >= 0) return known;
    const length = end - start;
    if (!(length >= 1 && length <= NAME_BYTES_MAX)) throw new RangeError(`a name has 1 to ${NAME_BYTES_MAX} bytes, not ${length}`);
    let id = this.#freeIds.lowest;
    if (id >= 0) this.#freeIds.delete(id);
    else {
      id = this.#fresh;
      if (id >= IDS_MAX) throw new RangeError(`a table of names holds no more than ${IDS_MAX}`);
      this.#fresh++;
    }
    this.#rows.enter(id);
    this.#hashes.set(id, hash);
    this.#addresses.set(id, this.#arena.put(bytes, start, end));
    this.#roles.set(id, 0);
    this.#index.insert(hash, id);
    this.#size++;
    return id;
  }

  /** The role uses the name from now on; saying so twice changes nothing. */
  retain(id: number, role: number): void {
    invariant(id >= 0 && id < this.#fresh && this.#addresses.get(id) !== NOWHERE, 'an id is used that is of no name');
    this.#roles.set(id, this.#roles.get(id) | role);
  }

  /** The role uses the name no longer. True if no other does either: then the name is gone and the id means nothing. */
  drop(id: number, role: number): boolean {
    const roles = this.#roles.get(id) & ~role;
    this.#roles.set(id, roles);
    if (roles !== 0 || this.#addresses.get(id) === NOWHERE) return false;
    this.#free(id);
    return true;
  }

  /** Any id may be asked about, of a name or not. */
  isUsed(id: number, role: number): boolean {
    return (this.#roles.get(id) & role) !== 0;
  }

  hashOf(id: number): number {
    return this.#hashes.get(id);
  }

  /** The hash that places the name in a cell, the same everywhere; `hashOf` is this table's own. */
  placementOf(id: number): number {
    const start = this.startOf(id);
    return hashName(this.pageOf(id), start, start + this.lengthOf(id));
  }

  /** 0 if the id is of no name. */
  lengthOf(id: number): number {
    const address = this.#addresses.get(id);
    return address === NOWHERE ? 0 : this.#arena.lengthOf(address);
  }

  /** The bytes the name lies in, from `startOf(id)` on. Good until the next `intern`. */
  pageOf(id: number): Uint8Array {
    return this.#arena.pageOf(this.#addresses.get(id));
  }

  startOf(id: number): number {
    return this.#arena.startOf(this.#addresses.get(id));
  }

  toBytes(id: number): Uint8Array {
    const start = this.startOf(id);
    return this.pageOf(id).slice(start, start + this.lengthOf(id));
  }

  equals(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const address = this.#addresses.get(id);
    const own = this.#arena.startOf(address);
    return equalBytes(this.#arena.pageOf(address), own, own + this.#arena.lengthOf(address), bytes, start, end);
  }

  get size(): number {
    return this.#size;
  }

  /** Every id is below this; it falls again when the names with the highest ids are gone. */
  get idLimit(): number {
    return Math.min(this.#fresh, this.#rows.idLimit);
  }

  /** Memory of names, their rows and their index. */
  get bytes(): number {
    return this.#rows.bytes + this.#arena.bytes + this.#index.bytes + this.#freeIds.bytes;
  }

  #free(id: number): void {
    this.#index.remove(this.#hashes.get(id), id);
    this.#arena.free(this.#addresses.get(id));
    this.#addresses.set(id, NOWHERE);
    this.#rows.leave(id);
    if (--this.#size === 0) {
      this.#fresh = 0;
      this.#freeIds.clear();
    } else if (id === this.#fresh - 1) this.#fresh = id;
    else this.#freeIds.add(id);
  }
}
