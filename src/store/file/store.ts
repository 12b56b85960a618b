/**
 * A store in a directory: `file:///path`. With compare-and-set where the file system can be trusted with exclusive
 * creation (`versions.ts`), otherwise as plain registers (`registers.ts`). The directory must be there: a directory that is
 * made on the fly would hide a mount that is missing.
 */
import { join } from 'node:path';
import { compareNames, type TenureError } from '../../kernel/index.ts';
import {
  checkAccess,
  checkList,
  checkSwap,
  type AccessOptions,
  type Capabilities,
  type Landing,
  type ListOptions,
  type SwapOutcome,
  type Store,
} from '../contract.ts';
import { conflicting, storeReplaced, unsupportedByStore } from '../failures.ts';
import { Gate } from '../gate.ts';
import { DurableFiles } from './disk.ts';
import { fileFailure } from './errno.ts';
import {
  bootId,
  checkIdentity,
  createIdentity,
  isOfThisMachine,
  readIdentity,
  UNKNOWN_DISK,
  type DirectoryIdentity,
  type DirectoryWishes,
} from './identity.ts';
import { Layout, stampOf } from './layout.ts';
import type { Place } from './place.ts';
import { FileRegisters } from './registers.ts';
import { VersionFiles } from './versions.ts';

export interface FileStoreOptions extends Partial<DirectoryWishes> {
  readonly path: string;
  /** How the store is called in logs and errors. */
  readonly url?: string;
  /** What becomes of a directory that is no store yet: it is made one where that can be done exclusively (`adopt`), always (`init`), or never. */
  readonly create?: 'adopt' | 'init' | 'never';
}

/** Files in `new` that are older than this were left behind. A wrong clock costs a writer another try, nothing else. */
const LEFTOVER_MS = 3_600_000;

export class FileStore implements Store {
  readonly url: string;
  readonly kind: string = 'file';
  readonly can: Capabilities;
  /** Synced, it loses nothing. Not synced, it loses writes only together with all processes that relied on them. */
  readonly mayForget: boolean = false;
  readonly #layout: Layout;
  readonly #disk: DurableFiles;
  readonly #identity: DirectoryIdentity;
  readonly #gate: Gate;
  readonly #keeping: VersionFiles | FileRegisters;
  readonly #epoch: string;

  private constructor(url: string, layout: Layout, disk: DurableFiles, identity: DirectoryIdentity, epoch: string) {
    const place: Place = { url, layout, disk, assure: async () => await this.#assure() };
    this.url = url;
    this.can = { swap: identity.keeping === 'versions', list: true, watch: false };
    this.#layout = layout;
    this.#disk = disk;
    this.#identity = identity;
    this.#gate = new Gate(url);
    this.#keeping = identity.keeping === 'versions' ? new VersionFiles(place) : new FileRegisters(place);
    this.#epoch = epoch;
  }

  static async open(options: FileStoreOptions, access?: AccessOptions): Promise<FileStore> {
    const { path, url = `file://${path}`, swap, sync, create = 'adopt' } = options;
    const layout = new Layout(path);
    const wishes: DirectoryWishes = { swap, sync };
    // A mount whose server is gone does not answer: this, too, has an end.
    return await new Gate(url).ask(access, async () => {
      try {
        const found = await readIdentity(url, layout);
        if (!found && create === 'never') throw conflicting(url, `nobody has set it up: run tenure store init ${url} once`);
        const identity = found ?? (await createIdentity(url, layout, wishes, create === 'init'));
        await checkIdentity(url, layout, identity, wishes);
        await sweep(layout);
        const disk = new DurableFiles({ isSynced: identity.isSynced, isOfThisMachine: await isOfThisMachine(path) });
        return new FileStore(url, layout, disk, identity, await epochOf(url, identity));
      } catch (error) {
        throw fileFailure(url, error);
      }
    });
  }

  get lastUnknown(): TenureError | null {
    return this.#gate.lastUnknown;
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    return await this.#gate.ask(options, async (call) => await this.#inWords(async () => await this.#keeping.read(key, call)));
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const copy = value?.slice() ?? null;
    return await this.#gate.change(options, async (call) => {
      await this.#inWords(async () => {
        await this.#assure();
        if (this.#keeping instanceof VersionFiles) await this.#keeping.change(key, undefined, copy, call);
        else await this.#keeping.write(key, copy, call);
      });
      return 'done';
    });
  }

  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    checkSwap(key, seen, next);
    const keeping = this.#keeping;
    if (!(keeping instanceof VersionFiles)) throw unsupportedByStore(this.url, 'compare and set');
    const [before, after] = [seen?.slice() ?? null, next?.slice() ?? null];
    return await this.#gate.change(
      options,
      async (call) => await this.#inWords(async () => await keeping.change(key, before, after, call)),
    );
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    const isWanted = (key: string): boolean => key.startsWith(prefix) && (after === null || compareNames(key, after) > 0);
    return await this.#gate.ask(options, async (call) =>
      this.#inWords(async () => {
        await this.#assure();
        const keys = await this.#keeping.keys(isWanted, call);
        return keys.sort(compareNames).slice(0, limit);
      }),
    );
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  async identity(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () =>
      this.#inWords(async () => {
        await this.#assure();
        return this.#identity.id;
      }),
    );
  }

  /** It cannot change while this process lives: only a start of the machine makes a new one. */
  async epoch(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () =>
      this.#inWords(async () => {
        await this.#assure();
        return this.#epoch;
      }),
    );
  }

  async close(): Promise<void> {
    this.#gate.close();
    if (this.#keeping instanceof VersionFiles) await this.#keeping.close();
  }

  /** Throws if the directory is no longer the store: a file missing in it may then exist in the store. A mount may have gone from over it. */
  async #assure(): Promise<void> {
    const found = await readIdentity(this.url, this.#layout, this.#disk);
    if (found?.id !== this.#identity.id) throw storeReplaced(this.url, found ? 'another store is in its place' : 'the directory is empty');
  }

  async #inWords<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      throw fileFailure(this.url, error);
    }
  }
}

/** A directory that is synced loses nothing. A directory that is not may lose anything when its machine stops. */
async function epochOf(url: string, { id, isSynced }: DirectoryIdentity): Promise<string> {
  return isSynced ? `file/${id}` : `file/${id}/${await bootId(url)}`;
}

/**
 * Deletes files that killed writers have left. A file in `new` is needed by no process but its writer, which tries again. It is
 * renamed before it is deleted: a writer that wakes up now finds it whole, or not at all, but never half of it.
 */
async function sweep(layout: Layout): Promise<void> {
  const disk = UNKNOWN_DISK;
  const names = (await disk.namesIn(layout.fresh)) ?? [];
  const old = names.filter((name) => Math.abs(Date.now() - (stampOf(name) ?? Date.now())) > LEFTOVER_MS);
  for (const name of old) {
    const grave = layout.unique();
    if (await disk.move(join(layout.fresh, name), grave)) await disk.discardTree(grave);
  }
}
