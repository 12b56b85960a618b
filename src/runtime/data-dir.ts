/**
 * A member's data directory: an LMDB environment with who it belongs to, the incarnation of its last start, and
 * what the core writes. Writes of one turn are one transaction, flushed before anyone is told. `lmdb` is an
 * optional package and loaded here, when a directory is opened.
 */
import { mkdirSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type * as Lmdb from 'lmdb';
import { incarnation, TenureError, type Incarnation } from '../kernel/index.ts';
import { busy, DirLock } from './dir-lock.ts';
import type { Disk, DiskAnswer } from './disk.ts';
import { damageOf } from './lmdb-file.ts';

export interface DataDirOptions {
  readonly path: string;
  readonly cell: string;
  readonly member: string;
  /** For the first start: random, so that no two members begin alike. */
  readonly firstIncarnation: Incarnation;
}

const FORMAT = 1;
const IDENTITY = '_identity';
const INCARNATION = '_incarnation';
/** Everything the core writes is under this. */
const CORE = 'core/';
const INSTALL = 'npm install lmdb';

interface Identity {
  readonly format: number;
  readonly cell: string;
  readonly member: string;
}

/** Directories that this process has open: a second handle would share the first one's environment, and close it. */
const openHere = new Set<string>();

export class DataDir implements Disk {
  /** Above that of every earlier start from this directory, whatever the clocks say. */
  readonly incarnation: Incarnation;
  /** Whether an earlier life of this member has left something. */
  readonly isKept: boolean;
  readonly #db: Lmdb.RootDatabase<Uint8Array, string>;
  readonly #lock: DirLock;
  readonly #path: string;
  #closing: Promise<void> | null = null;

  private constructor(db: Lmdb.RootDatabase<Uint8Array, string>, lock: DirLock, path: string, born: Incarnation, isKept: boolean) {
    this.#path = path;
    this.#db = db;
    this.#lock = lock;
    this.incarnation = born;
    this.isKept = isKept;
  }

  static async open({ path, cell, member, firstIncarnation }: DataDirOptions): Promise<DataDir> {
    const lmdb = await loadLmdb();
    const full = makeDir(path);
    if (openHere.has(full)) throw busy(full);
    openHere.add(full);
    let db: Lmdb.RootDatabase<Uint8Array, string> | null = null;
    let lock: DirLock | null = null;
    try {
      const damage = damageOf(full);
      if (damage !== null) throw corrupt(full, damage);
      db = lmdb.open<Uint8Array, string>({ path: full, encoding: 'binary', overlappingSync: false, noSubdir: false });
      lock = await DirLock.take(db, full);
      const [born, isKept] = await beBorn(db, full, cell, member, firstIncarnation);
      return new DataDir(db, lock, full, born, isKept);
    } catch (error) {
      await lock?.release();
      await db?.close();
      openHere.delete(full);
      throw error instanceof TenureError ? error : unusable(full, error);
    }
  }

  read(key: string, done: DiskAnswer): void {
    let value: Uint8Array | null = null;
    let ok = true;
    if (this.#closing) return;
    try {
      value = this.#db.get(CORE + key) ?? null;
    } catch {
      ok = false;
    }
    setImmediate(done, ok, value);
  }

  write(key: string, value: Uint8Array, done: DiskAnswer): void {
    let written: Promise<boolean>;
    if (this.#closing) return;
    try {
      written = this.#db.put(CORE + key, Buffer.from(value));
    } catch {
      setImmediate(done, false, null);
      return;
    }
    void tellWhenWritten(written, done);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#lock.release();
    await this.#db.close();
    openHere.delete(this.#path);
  }
}

function makeDir(path: string): string {
  try {
    mkdirSync(path, { recursive: true });
    return realpathSync(path);
  } catch (error) {
    throw unusable(resolve(path), error);
  }
}

/** The incarnation of this start, written down before it is used; and whether there was one before. */
async function beBorn(
  db: Lmdb.RootDatabase<Uint8Array, string>,
  path: string,
  cell: string,
  member: string,
  first: Incarnation,
): Promise<[Incarnation, boolean]> {
  const found = textAt(db, IDENTITY);
  const identity = found === null ? null : readIdentity(path, found);
  if (identity && (identity.cell !== cell || identity.member !== member)) throw foreign(path, identity, cell, member);
  const last = Number(textAt(db, INCARNATION) ?? 0);
  if (!Number.isSafeInteger(last)) throw corrupt(path, 'its last incarnation is no number');
  // Strictly above the last one; for the rest as random as the first.
  const born = incarnation(last === 0 ? first : last + 1 + (first % 65_536));
  await db.transaction(() => {
    void db.put(IDENTITY, Buffer.from(JSON.stringify({ format: FORMAT, cell, member } satisfies Identity)));
    void db.put(INCARNATION, Buffer.from(String(born)));
  });
  return [born, identity !== null];
}

async function tellWhenWritten(written: Promise<boolean>, done: DiskAnswer): Promise<void> {
  let ok = true;
  try {
    await written;
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

function unusable(path: string, error: unknown): TenureError {
  const why = error instanceof Error ? error.message : String(error);
  const failure = new TenureError('TENURE_DATA_DIR', `the data directory ${path} cannot be used: ${why}`, { path });
  failure.cause = error;
  return failure;
}
