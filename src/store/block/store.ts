/**
 * Registers at fixed places of one file or device: `block:///dev/disk/by-id/…`, as sanlock has them. A sector is a register; it is written as a whole or not at
 * all. Plain registers: no conditional write, no list. It is made by `tenure store init`, and by nothing else.
 */
import { TenureError } from '../../kernel/index.ts';
import { checkAccess, checkSwap, type AccessOptions, type Capabilities, type Landing, type Store } from '../contract.ts';
import { conflicting, storeReplaced, unfit, unsupportedByStore } from '../failures.ts';
import { Gate, type Call } from '../gate.ts';
import { identityIn, newIdentity } from '../identity.ts';
import {
  BLOCK_VALUE_BYTES_MAX,
  decodeLayout,
  decodeSector,
  encodeLayout,
  encodeSector,
  IDENTITY_SECTOR,
  isBlank,
  LAYOUT_SECTOR,
  recordIn,
  SECTORS_MIN,
  sectorOf,
} from './layout.ts';
import { SECTOR_BYTES, Sectors } from './sectors.ts';

export interface BlockStoreOptions {
  readonly path: string;
  /** How the store is called in logs and errors. */
  readonly url: string;
  /** How long a file is made, in bytes. A device is as long as it is. */
  readonly bytes?: number;
  /** Past the caches of this machine: on, unless it is for the processes of one machine only. */
  readonly direct?: boolean;
  readonly create?: 'adopt' | 'init' | 'never';
}

/** Room for a quarter of a million registers; a file of it has holes, and takes only the room of written sectors. */
const FILE_BYTES = 1024 * 1024 * 1024;
/** A sector that another process writes at this moment may be read in parts, where the device does not write it at once. */
const READS = 4;

export class BlockStore implements Store {
  readonly url: string;
  readonly kind: string = 'block';
  readonly can: Capabilities = { swap: false, list: false, watch: false };
  readonly valueBytesMax: number = BLOCK_VALUE_BYTES_MAX;
  readonly mayForget = false;
  readonly probesMayMeet = true;
  readonly #gate: Gate;
  readonly #sectors: Sectors;
  #count = 0;
  /** The bytes that say which store this is. */
  #identity: Buffer = Buffer.alloc(0);
  /** Accesses that perhaps no caller waits for any more, and that still use the file. */
  readonly #underWay = new Set<Promise<unknown>>();

  private constructor(sectors: Sectors, url: string) {
    this.url = url;
    this.#gate = new Gate(url);
    this.#sectors = sectors;
  }

  static async open(options: BlockStoreOptions, access?: AccessOptions): Promise<BlockStore> {
    const { path, url, direct: isDirect = true, create = 'adopt', bytes } = options;
    const store = new BlockStore(await Sectors.open({ path, url, isDirect }, create === 'init'), url);
    try {
      await store.#gate.ask(access, async () => await store.#setUp(path, create, bytes));
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get lastUnknown(): TenureError | null {
    return this.#gate.lastUnknown;
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    return await this.#gate.ask(options, async () => {
      const [value] = await Promise.all([this.#get(key), this.#checkIdentity()]);
      return value;
    });
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    if (value !== null && value.length > BLOCK_VALUE_BYTES_MAX) {
      const message = `the value of ${key} has ${value.length} bytes; ${BLOCK_VALUE_BYTES_MAX} are the limit of ${this.url}`;
      throw new TenureError('TENURE_BAD_ARGUMENT', message, { bytes: value.length, bytesMax: BLOCK_VALUE_BYTES_MAX });
    }
    // The caller may use its bytes again.
    const copy = value && Uint8Array.from(value);
    return await this.#gate.change(options, async (call) => await this.#put(call, key, copy));
  }

  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null): Promise<never> {
    checkSwap(key, seen, next);
    throw unsupportedByStore(this.url, 'compare and set');
  }

  async list(): Promise<never> {
    throw unsupportedByStore(this.url, 'list its keys');
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  async identity(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () => {
      await this.#checkIdentity();
      return identityIn(this.#identity);
    });
  }

  /** Every answered write is on the device: nothing is forgotten. */
  async epoch(options?: AccessOptions): Promise<string> {
    return `block/${await this.identity(options)}`;
  }

  async close(): Promise<void> {
    if (!this.#gate.close()) return;
    // A file that is closed under a write could be another one when the write comes to it. `close` does not wait for accesses that hang.
    const ended = Promise.allSettled(this.#underWay).then(async () => await this.#sectors.close());
    if (this.#underWay.size === 0) await ended;
  }

  async #setUp(path: string, create: 'adopt' | 'init' | 'never', bytes: number | undefined): Promise<void> {
    if (create === 'init') await this.#makeRoom(path, bytes);
    let first = await this.#do(this.#sectors.read(IDENTITY_SECTOR));
    if (isBlank(first) && create === 'init') {
      // A process that finds the identity finds the layout.
      await this.#do(this.#sectors.write(LAYOUT_SECTOR, encodeLayout(await this.#sectors.count(path))));
      await this.#do(this.#sectors.write(IDENTITY_SECTOR, newIdentity()));
      first = await this.#do(this.#sectors.read(IDENTITY_SECTOR));
    }
    if (isBlank(first)) throw conflicting(this.url, `nobody has set it up: run tenure store init ${this.url} once`);
    this.#identity = recordIn(first);
    identityIn(this.#identity);
    await this.#measure(path);
  }

  /** Places follow from how many sectors there were when the store was made. */
  async #measure(path: string): Promise<void> {
    const made = decodeLayout(await this.#do(this.#sectors.read(LAYOUT_SECTOR)), this.url);
    if (made === null)
      throw conflicting(this.url, 'it does not say how many sectors it has: it was made by an earlier version; make it anew');
    const there = await this.#sectors.count(path);
    if (made < SECTORS_MIN) throw unfit(this.url, `it has ${made} sectors of ${SECTOR_BYTES} bytes, and needs ${SECTORS_MIN}`);
    if (there < made) throw unfit(this.url, `it was made with ${made} sectors of ${SECTOR_BYTES} bytes, and ${there} are left`);
    this.#count = made;
  }

  /** A file that is there already, and a device, are as long as they are. */
  async #makeRoom(path: string, bytes: number | undefined): Promise<void> {
    const wanted = Math.floor((bytes ?? FILE_BYTES) / SECTOR_BYTES);
    if ((await this.#sectors.count(path)) === 0) await this.#sectors.extend(wanted);
    const count = await this.#sectors.count(path);
    if (bytes !== undefined && count !== wanted) throw conflicting(this.url, `it has ${count} sectors, not ${wanted}, and keeps them`);
  }

  async #get(key: string): Promise<Uint8Array | null> {
    const sector = sectorOf(key, this.#count);
    for (let reads = 1; ; reads++) {
      try {
        return decodeSector(key, await this.#do(this.#sectors.read(sector)), sector, this.url);
      } catch (error) {
        if (!(error instanceof TenureError) || error.code !== 'TENURE_STORE_CORRUPT' || reads === READS) throw error;
      }
    }
  }

  /** A sector with another key is left as it is. */
  async #put(call: Call, key: string, value: Uint8Array | null): Promise<'done'> {
    const sector = sectorOf(key, this.#count);
    await Promise.all([this.#get(key), this.#checkIdentity()]);
    call.leave();
    await this.#do(this.#sectors.write(sector, value === null ? new Uint8Array(0) : encodeSector(key, value, sector)));
    return 'done';
  }

  async #checkIdentity(): Promise<void> {
    const bytes = await this.#do(this.#sectors.read(IDENTITY_SECTOR));
    if (bytes.subarray(0, this.#identity.length).equals(this.#identity)) return;
    throw storeReplaced(this.url, 'it was made anew, or something else was written over it');
  }

  async #do<Answer>(working: Promise<Answer>): Promise<Answer> {
    this.#underWay.add(working);
    try {
      return await working;
    } finally {
      this.#underWay.delete(working);
    }
  }
}
