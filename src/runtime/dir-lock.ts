/**
 * One process at a time uses a data directory. The owner listens on a socket whose name stands in the database;
 * the next process knocks there. A killed process answers no more, a process that only stands still does.
 * Names are never used twice and are changed in a transaction, so two that find a dead owner cannot both win.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { TenureError } from '../kernel/index.ts';
import { written } from './lmdb-write.ts';

const OWNER = '_owner';
/** Longer names do not fit into the address of a socket on every system. */
const SOCKET_BYTES_MAX = 100;

/** Codes of a knock at the socket of an owner that is gone. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK']);

type Db = RootDatabase<Uint8Array, string>;

export class DirLock {
  readonly #server: Server;
  readonly #db: Db;
  readonly #name: string;

  private constructor(server: Server, db: Db, name: string) {
    this.#server = server;
    this.#db = db;
    this.#name = name;
  }

  static async take(db: Db, path: string): Promise<DirLock> {
    const before = ownerOf(db);
    if (before !== null && (await isAlive(addressOf(path, before)))) throw busy(path);
    const name = `owner-${randomBytes(6).toString('hex')}.sock`;
    const server = await listen(addressOf(path, name));
    const won = await written(
      db.transaction(() => {
        if (ownerOf(db) !== before) return false;
        void db.put(OWNER, Buffer.from(name));
        return true;
      }),
    );
    if (!won) {
      server.close();
      throw busy(path);
    }
    if (before !== null) rmSync(addressOf(path, before), { force: true });
    return new DirLock(server, db, name);
  }

  async release(): Promise<void> {
    try {
      await written(
        this.#db.transaction(() => {
          if (ownerOf(this.#db) === this.#name) void this.#db.remove(OWNER);
        }),
      );
    } catch {
      // The next process knocks in vain, and takes it.
    }
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function ownerOf(db: Db): string | null {
  const bytes = db.get(OWNER);
  return bytes === undefined ? null : Buffer.from(bytes).toString('utf8');
}

function addressOf(path: string, name: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\tenure-${name}`;
  const full = join(path, name);
  const near = relative(process.cwd(), full);
  const address = near.length < full.length ? near : full;
  if (Buffer.byteLength(address) > SOCKET_BYTES_MAX) {
    throw new TenureError(
      'TENURE_DATA_DIR',
      `the path of the data directory ${path} is too long; a socket in it has at most ${SOCKET_BYTES_MAX} bytes`,
      {
        path,
      },
    );
  }
  return address;
}

async function isAlive(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const answer = (alive: boolean) => (): void => {
      socket.destroy();
      resolve(alive);
    };
    socket.once('connect', answer(true));
    // Only an owner that is gone leaves nothing to connect to. An owner that stands still may have no room left for another connection.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => answer(!GONE.has(code ?? ''))());
  });
}

async function listen(address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(address, () => resolve(server));
    server.unref();
  });
}

export function busy(path: string): TenureError {
  return new TenureError('TENURE_DATA_DIR_BUSY', `another process uses the data directory ${path}: stop it first`, { path });
}
