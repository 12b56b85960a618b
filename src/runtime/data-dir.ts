/**
 * A member's data directory: an LMDB environment with its cell and member, the incarnation of its last start, and
 * the cores' records, each service in a part of its own. Writes of one turn, of all services together, are one transaction,
 * flushed before any caller is told. `lmdb` is an optional package and loaded here, when a directory is opened.
 */
import { chmodSync, mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type * as Lmdb from 'lmdb';
import { invariant, TenureError, type Incarnation } from '../kernel/index.ts';
import { busy, DirLock } from './dir-lock.ts';
import type { Disk, DiskAnswer, DiskSection } from './disk.ts';
import { damageOf } from './lmdb-file.ts';
import { trialOf } from './lmdb-trial.ts';
import { freeBytes, ROOM_BYTES, written } from './lmdb-write.ts';

export interface DataDirOptions {
  readonly path: string;
  readonly cell: string;
  readonly member: string;
  /** Of this start, and of no other. */
  readonly incarnation: Incarnation;
  /** The services beside leases that have a part of it. */
  readonly sections?: readonly string[];
  /** How much room there is; tests bring a disk that is full. */
  readonly freeBytes?: (path: string) => number;
}

const FORMAT = 1;
const IDENTITY = '_identity';
const INCARNATION = '_incarnation';
/** Everything that leases write is under this, as it was before there were other services. */
const LEASES = 'core/';
/** What another service writes is under this, its name and a slash. */
const SERVICES = 'service/';
/** Followed by the name of a service: it has a part of this directory. */
const SECTION = '_section/';
const INSTALL = 'npm install lmdb';
/** Copies of fewer bytes share a buffer, and the library asks for the address of a buffer once: that costs less than a buffer for each. */
const COPIED_BELOW_BYTES = 4096;
const MEGABYTE = 1024 * 1024;
/** Other users of the machine may neither read nor change the votes of members. */
const DIR_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * A transaction begins at the end of a turn, however much the turn writes: by default the library begins one with the sixth write, and
 * the rest of the turn waits for another flush. Its own batches of a turn are off: each has a promise that rejects unhandled.
 */
const TURN_BY_TURN = { overlappingSync: false, eventTurnBatching: false, txnStartThreshold: 2 ** 30 };

interface Identity {
  readonly format: number;
  readonly cell: string;
  readonly member: string;
}

/** Directories that this process has open: a second handle would share the first one's environment, and close it. */
const openHere = new Set<string>();

/** As a disk, the directory is the part that leases have. */
export class DataDir implements Disk {
  /** Whether an earlier life of this member has left something. */
  readonly isKept: boolean;
  readonly #sections: ReadonlyMap<string, boolean>;
  readonly #db: Lmdb.RootDatabase<Uint8Array, string>;
  readonly #lock: DirLock;
  readonly #path: string;
  readonly #freeBytes: (path: string) => number;
  #closing: Promise<void> | null = null;
  #isRoomKnown = false;

  private constructor(db: Lmdb.RootDatabase<Uint8Array, string>, lock: DirLock, path: string, past: Past, free: (path: string) => number) {
    this.#path = path;
    this.#freeBytes = free;
    this.#db = db;
    this.#lock = lock;
    this.isKept = past.isKept;
    this.#sections = past.sections;
  }

  static async open(options: DataDirOptions): Promise<DataDir> {
    const { path, freeBytes: free = freeBytes } = options;
    const lmdb = await loadLmdb();
    const full = makeDir(path);
    if (openHere.has(full)) throw busy(full);
    openHere.add(full);
    let db: Lmdb.RootDatabase<Uint8Array, string> | null = null;
    let lock: DirLock | null = null;
    try {
      const damage = damageOf(full);
      if (damage !== null) throw corrupt(full, damage);
      if (free(full) < ROOM_BYTES) throw noRoom(full);
      const bad = await trialOf(full);
      if (bad !== null) throw bad.isLate ? unusable(full, bad.why) : corrupt(full, bad.why);
      db = lmdb.open<Uint8Array, string>({ path: full, encoding: 'binary', noSubdir: false, ...TURN_BY_TURN });
      for (const file of ['data.mdb', 'lock.mdb']) chmodSync(join(full, file), FILE_MODE);
      lock = await DirLock.take(db, full);
      return new DataDir(db, lock, full, await beBorn(db, full, options), free);
    } catch (error) {
      await lock?.release();
      await db?.close();
      openHere.delete(full);
      throw error instanceof TenureError ? error : unusable(full, error);
    }
  }

  /** The part of a service that was named when the directory was opened. */
  section(name: string): DiskSection {
    const isKept = this.#sections.get(name);
    invariant(isKept !== undefined, `the data directory was opened without a part for ${name}`);
    const prefix = `${SERVICES}${name}/`;
    const disk: Disk = {
      read: (key, done) => this.#read(prefix + key, done),
      write: (key, value, done) => this.#write(prefix + key, value, done),
      erase: (key, done) => this.#erase(prefix + key, done),
    };
    return { disk, isKept };
  }

  read(key: string, done: DiskAnswer): void {
    this.#read(LEASES + key, done);
  }

  write(key: string, value: Uint8Array, done: DiskAnswer): void {
    this.#write(LEASES + key, value, done);
  }

  erase(key: string, done: DiskAnswer): void {
    this.#erase(LEASES + key, done);
  }

  #read(key: string, done: DiskAnswer): void {
    let value: Uint8Array | null = null;
    let ok = true;
    if (this.#closing) return;
    try {
      value = this.#db.get(key) ?? null;
    } catch {
      ok = false;
    }
    setImmediate(done, ok, value);
  }

  #write(key: string, value: Uint8Array, done: DiskAnswer): void {
    const kept = value.length < COPIED_BELOW_BYTES ? Buffer.from(value) : value;
    this.#change(() => this.#db.put(key, kept), done);
  }

  #erase(key: string, done: DiskAnswer): void {
    this.#change(() => this.#db.remove(key), done);
  }

  /** An erasure needs room, too: pages are written anew. */
  #change(begin: () => Promise<boolean>, done: DiskAnswer): void {
    let writing: Promise<boolean>;
    if (this.#closing) return;
    try {
      if (!this.#hasRoom()) throw new Error('no room');
      writing = begin();
    } catch {
      setImmediate(done, false, null);
      return;
    }
    void tellWhenWritten(writing, done);
  }

  /** Asked once a turn: {@link ROOM_BYTES} is for all that a turn writes, and asking costs as much as a write. */
  #hasRoom(): boolean {
    if (this.#isRoomKnown) return true;
    if (this.#freeBytes(this.#path) < ROOM_BYTES) return false;
    this.#isRoomKnown = true;
    setImmediate(() => (this.#isRoomKnown = false));
    return true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.#lock.release();
    } finally {
      await this.#db.close();
      openHere.delete(this.#path);
    }
  }
}

function makeDir(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: DIR_MODE });
    return realpathSync(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** What earlier lives have left in a directory. */
interface Past {
  readonly isKept: boolean;
  /** Which services have a part of it now: whether each had one before. */
  readonly sections: ReadonlyMap<string, boolean>;
}

/** Writes down the incarnation of this start, and which services have a part, before either is used. */
async function beBorn(
  db: Lmdb.RootDatabase<Uint8Array, string>,
  path: string,
  { cell, member, incarnation: born, sections: names = [] }: DataDirOptions,
): Promise<Past> {
  const found = textAt(db, IDENTITY);
  const identity = found === null ? null : readIdentity(path, found);
  if (identity && (identity.cell !== cell || identity.member !== member)) throw foreign(path, identity, cell, member);
  if (textAt(db, INCARNATION) === String(born)) throw corrupt(path, 'this very start is in it already');
  const sections = new Map(names.map((name) => [name, textAt(db, SECTION + name) !== null]));
  await written(
    db.transaction(() => {
      void db.put(IDENTITY, Buffer.from(JSON.stringify({ format: FORMAT, cell, member } satisfies Identity)));
      void db.put(INCARNATION, Buffer.from(String(born)));
      for (const [name, isKept] of sections) if (!isKept) void db.put(SECTION + name, Buffer.from(String(born)));
    }),
  );
  return { isKept: identity !== null, sections };
}

async function tellWhenWritten(writing: Promise<boolean>, done: DiskAnswer): Promise<void> {
  let ok = true;
  try {
    await written(writing);
  } catch {
    ok = false;
  }
  done(ok, null);
}

async function loadLmdb(): Promise<typeof Lmdb> {
  try {
    return await import('lmdb');
  } catch (error) {
    const failure = new TenureError('TENURE_MISSING_PACKAGE', `dataDir needs the package lmdb: ${INSTALL}`, { package: 'lmdb' });
    failure.cause = error;
    throw failure;
  }
}

function textAt(db: Lmdb.RootDatabase<Uint8Array, string>, key: string): string | null {
  const bytes = db.get(key);
  return bytes === undefined ? null : Buffer.from(bytes).toString('utf8');
}

function readIdentity(path: string, text: string): Identity {
  let identity: Partial<Identity>;
  try {
    identity = JSON.parse(text) as Partial<Identity>;
  } catch {
    throw corrupt(path, 'whom it belongs to cannot be read');
  }
  const { format, cell, member } = identity;
  if (typeof format !== 'number' || typeof cell !== 'string' || typeof member !== 'string') {
    throw corrupt(path, 'whom it belongs to cannot be read');
  }
  if (format !== FORMAT) {
    throw new TenureError('TENURE_DATA_DIR', `${path} has format ${format}, and this version reads ${FORMAT}: upgrade this member`, {
      path,
      format,
    });
  }
  return { format, cell, member };
}

function foreign(path: string, identity: Identity, cell: string, member: string): TenureError {
  return new TenureError(
    'TENURE_DATA_DIR_FOREIGN',
    `${path} belongs to member ${identity.member} of cell ${identity.cell}, not to ${member} of ${cell}: give each member a directory of its own`,
    { path, cell: identity.cell, member: identity.member },
  );
}

function corrupt(path: string, why: string): TenureError {
  return new TenureError('TENURE_DATA_DIR', `${path} is damaged: ${why}. Delete it; the member then starts as one without a past`, {
    path,
  });
}

/** That may pass: the operator makes room. */
function noRoom(path: string): TenureError {
  return new TenureError(
    'TENURE_DATA_DIR',
    `the data directory ${path} cannot be used: less than ${ROOM_BYTES / MEGABYTE} MB are free on its disk. Make room, and start again`,
    { path, mayPass: true },
  );
}

function unusable(path: string, error: unknown): TenureError {
  const why = error instanceof Error ? error.message : String(error);
  const mayPass = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
  const failure = new TenureError('TENURE_DATA_DIR', `the data directory ${path} cannot be used: ${why}`, {
    path,
    ...(mayPass ? { mayPass } : {}),
  });
  failure.cause = error;
  return failure;
}
