/**
 * A store in a bucket: `s3://bucket/space?endpoint=https://host`. An object is a register. Where the server keeps conditions on writes (`If-None-Match`, `If-Match`) it can compare and set;
 * a server that takes them and ignores them is found out when the store is opened, and used as plain registers. The driver sends nothing twice.
 *
 * A conditional write that is answered with neither success nor "precondition failed" is of unknown outcome. Then the object is read again: every value that Tenure swaps in is unique, so
 * if it is there the swap has won; if the object is neither it nor the value that was seen, the swap has lost, or was overtaken since.
 */
import { randomBytes } from 'node:crypto';
import { encodeName, TenureError } from '../../kernel/index.ts';
import {
  checkAccess,
  checkList,
  checkSwap,
  equalValues,
  type AccessOptions,
  type Capabilities,
  type Landing,
  type ListOptions,
  type Store,
  type SwapOutcome,
} from '../contract.ts';
import { conflicting, storeReplaced, unsupportedByStore } from '../failures.ts';
import { Gate, Unanswered, type Call } from '../gate.ts';
import { identityIn, newIdentity } from '../identity.ts';
import { Bucket, type BucketOptions, type Conditions, type FoundObject } from './bucket.ts';

export interface S3StoreOptions extends BucketOptions {
  /** What the keys of all objects begin with. */
  readonly space: string;
  /** Whether conditional writes are used: where they are kept, unless told otherwise. */
  readonly swap?: boolean;
  readonly create?: 'adopt' | 'init' | 'never';
}

/** Objects are looked at once more after a swap of unknown outcome. */
const RECONCILIATIONS = 3;

export class S3Store implements Store {
  readonly url: string;
  readonly kind: string = 's3';
  readonly #gate: Gate;
  readonly #bucket: Bucket;
  readonly #space: string;
  #can: Capabilities = { swap: false, list: true, watch: false };
  /** The bytes that say which store this is. */
  #identity: Buffer = Buffer.alloc(0);

  private constructor(bucket: Bucket, { url, space }: S3StoreOptions) {
    this.url = url;
    this.#gate = new Gate(url);
    this.#bucket = bucket;
    this.#space = space;
  }

  static async open(options: S3StoreOptions, access?: AccessOptions): Promise<S3Store> {
    const store = new S3Store(await Bucket.open(options), options);
    try {
      if (options.swap !== false) await store.#learn(access);
      await store.#setUp(options.create ?? 'adopt', access);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get can(): Capabilities {
    return this.#can;
  }

  get lastUnknown(): TenureError | null {
    return this.#gate.lastUnknown;
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    return await this.#gate.ask(options, async (call) => {
      const [found] = await Promise.all([this.#get(call, key), this.#checkIdentity(call)]);
      return found && Uint8Array.from(found.value);
    });
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const copy = value && Uint8Array.from(value);
    return await this.#gate.change(options, async (call) => {
      await this.#checkIdentity(call);
      call.leave();
      await this.#bucket.put(call, this.#keyOf(key), copy, {});
      return 'done';
    });
  }

  /** To erase on a condition is not possible everywhere, so an erased key gets an object that says so, and counts as nothing. */
  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    checkSwap(key, seen, next);
    if (!this.#can.swap) throw unsupportedByStore(this.url, 'compare and set');
    const [before, after] = [seen && Uint8Array.from(seen), next && Uint8Array.from(next)];
    return await this.#gate.change(options, async (call) => await this.#swap(call, key, before, after));
  }

  async #swap(call: Call, key: string, seen: Uint8Array | null, next: Uint8Array | null): Promise<SwapOutcome> {
    const [found] = await Promise.all([this.#look(call, key), this.#checkIdentity(call)]);
    if (!equalValues(valueOf(found), seen)) return 'lost';
    const body = next ?? erased();
    const conditions: Conditions = found === null ? { ifNone: true } : { ifMatch: found.tag };
    call.leave();
    const outcome = await this.#bucket.put(call, this.#keyOf(key), body, conditions);
    if (outcome === 'done') return 'won';
    if (outcome === 'refused') {
      call.returned();
      return 'lost';
    }
    return await this.#reconcile(call, key, body, found);
  }

  /** A race that was lost may be answered with an error of the server. The object's content tells, unless it is unchanged: then the write may come yet. */
  async #reconcile(call: Call, key: string, body: Uint8Array, before: FoundObject | null): Promise<SwapOutcome> {
    for (let looks = 0; looks < RECONCILIATIONS; looks++) {
      const found = await this.#look(call, key);
      if (found !== null && equalValues(found.value, body)) return 'won';
      if (found?.tag !== before?.tag) {
        call.returned();
        return 'lost';
      }
    }
    throw new Unanswered(
      new TenureError('TENURE_STORE_UNREACHABLE', `the store ${this.url} did not say what became of a write`, { url: this.url }),
    );
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    return await this.#gate.ask(options, async (call) => {
      await this.#checkIdentity(call);
      const from = `${this.#space}/registers/`;
      const keys = await this.#bucket.list(call, from + pathOf(prefix), after === null ? null : from + pathOf(after), limit);
      return keys.map((key) => nameOf(key.slice(from.length)));
    });
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  async identity(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async (call) => {
      await this.#checkIdentity(call);
      return identityIn(this.#identity);
    });
  }

  /** What a bucket has acknowledged it keeps. */
  async epoch(options?: AccessOptions): Promise<string> {
    return `s3/${await this.identity(options)}`;
  }

  async close(): Promise<void> {
    if (this.#gate.close()) this.#bucket.close();
  }

  /** Whether conditions are kept: a second creation, and an update of a deleted object, must be refused. */
  async #learn(access?: AccessOptions): Promise<void> {
    const key = `${this.#space}/probe/${randomBytes(12).toString('hex')}`;
    const isKept = await this.#gate.ask(access, async (call) => {
      const put = async (conditions: Conditions): Promise<string> => await this.#bucket.put(call, key, randomBytes(24), conditions);
      try {
        if ((await put({ ifNone: true })) !== 'done' || (await put({ ifNone: true })) === 'done') return false;
        const found = await this.#bucket.get(call, key);
        if (found === null || (await put({ ifMatch: found.tag })) !== 'done') return false;
        return (await put({ ifMatch: found.tag })) !== 'done';
      } finally {
        await this.#bucket.put(call, key, null, {}).catch(() => undefined);
      }
    });
    this.#can = { ...this.#can, swap: isKept };
  }

  async #setUp(create: 'adopt' | 'init' | 'never', access?: AccessOptions): Promise<void> {
    const key = `${this.#space}/identity`;
    const found = await this.#gate.ask(access, async (call) => {
      const there = await this.#bucket.get(call, key);
      // Without conditions two could create it at once: that needs the explicit act.
      if (there !== null || create === 'never' || (create === 'adopt' && !this.#can.swap)) return there;
      await this.#bucket.put(call, key, newIdentity(), this.#can.swap ? { ifNone: true } : {});
      return await this.#bucket.get(call, key);
    });
    if (found === null) throw conflicting(this.url, `nobody has set it up: run tenure store init ${this.url} once`);
    this.#identity = Buffer.from(found.value);
    identityIn(this.#identity);
  }

  async #get(call: Call, key: string): Promise<FoundObject | null> {
    const found = await this.#look(call, key);
    return found !== null && isErased(found.value) ? null : found;
  }

  /** Includes objects of erased keys. */
  async #look(call: Call, key: string): Promise<FoundObject | null> {
    return await this.#bucket.get(call, this.#keyOf(key));
  }

  async #checkIdentity(call: Call): Promise<void> {
    const found = await this.#bucket.get(call, `${this.#space}/identity`);
    if (found !== null && this.#identity.equals(found.value)) return;
    throw storeReplaced(this.url, 'it was emptied, or another is in its place');
  }

  #keyOf(key: string): string {
    encodeName(key);
    return `${this.#space}/registers/${pathOf(key)}`;
  }
}

/** Begins with what no name and no record begins with; the rest makes it unique. */
const ERASED = Buffer.from('\0tenure erased\0');

function erased(): Uint8Array {
  return Buffer.concat([ERASED, randomBytes(12)]);
}

function isErased(value: Uint8Array): boolean {
  return value.length === ERASED.length + 12 && ERASED.equals(value.subarray(0, ERASED.length));
}

function valueOf(found: FoundObject | null): Uint8Array | null {
  return found === null || isErased(found.value) ? null : found.value;
}

/** Keys in a bucket are compared by their bytes. Hex keeps that order, has no slash that a server could take for a folder, and no dots. */
function pathOf(name: string): string {
  return Buffer.from(name).toString('hex');
}

function nameOf(path: string): string {
  return Buffer.from(path, 'hex').toString('utf8');
}
