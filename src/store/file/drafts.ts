/**
 * Files in which versions are written before they get their names. Where nothing is synced, making a file costs more than all the rest of a change, so a file is
 * written again once no version is this file any more. A draft keeps the name under which it was made; as a version it has a second name.
 *
 * A draft is free if this process has taken its second name away. If another process took it away, this process does not know; then it is asked in this order:
 * the file has one name, and then, its own name is there. Only this process adds names, so its own was the only one when they were counted. A sweeper that takes
 * the own name away in between cannot make a version look like a draft.
 */
import type { OpenFile } from './calls.ts';
import type { DurableFiles } from './disk.ts';
import { isErrno } from './errno.ts';
import type { Layout } from './layout.ts';

export interface Draft {
  readonly path: string;
  /** Null if it is not used again. */
  readonly file: OpenFile | null;
  /** The number of the file; null if it is not known, or does not fit into a number. */
  readonly ino: number | null;
  length: number;
  /** Its second name; null if it has none, undefined if that is not known. */
  version: string | null | undefined;
}

/** So many are kept by a process: of each key it is busy with, one is the newest version and one is to be the next. */
const KEPT_MAX = 8;
/** Longer drafts are not kept: a caller that erases a value wants its room back. */
const KEPT_BYTES_MAX = 4096;

export class Drafts {
  readonly #layout: Layout;
  readonly #disk: DurableFiles;
  /** Drafts that nothing is written to. The first was used longest ago. */
  readonly #kept: Draft[] = [];
  #isClosed = false;

  constructor(layout: Layout, disk: DurableFiles) {
    this.#layout = layout;
    this.#disk = disk;
  }

  /** A file with all of this content, under a name that no other process uses. */
  async write(bytes: Uint8Array): Promise<Draft> {
    const draft = this.#disk.isSynced ? this.#once() : ((await this.#free()) ?? (await this.#made()));
    try {
      if (draft.file === null) await this.#disk.put(draft.path, bytes);
      else await this.#fill(draft.file, bytes, draft.length);
      draft.length = bytes.length;
      // Until the caller says otherwise: it is about to get another name.
      draft.version = undefined;
      return draft;
    } catch (error) {
      await this.#drop(draft);
      throw error;
    }
  }

  /** A draft that is not used again. */
  #once(): Draft {
    return { path: this.#layout.unique(), file: null, ino: null, length: 0, version: undefined };
  }

  async #made(): Promise<Draft> {
    const path = this.#layout.unique();
    const file = await this.#disk.calls.open(path, 'wx');
    const { ino } = await this.#disk.calls.statOpen(file);
    return { path, file, ino: Number.isSafeInteger(ino) ? ino : null, length: 0, version: undefined };
  }

  /** The draft is written. It may be a version by now. */
  async done(draft: Draft): Promise<void> {
    if (draft.file !== null && draft.length <= KEPT_BYTES_MAX && !this.#isClosed) this.#kept.push(draft);
    else await this.#drop(draft);
    const oldest = this.#kept.length > KEPT_MAX ? this.#kept.shift() : undefined;
    if (oldest) await this.#drop(oldest);
  }

  /** This process has taken the name of a version away. */
  freed(version: string): void {
    for (const draft of this.#kept) if (draft.version === version) draft.version = null;
  }

  /** Whether a version is still there that this process has made: the very file, not another of its name. False, too, if that is not known. */
  async isNamed(version: string): Promise<boolean> {
    const at = this.#kept.findIndex((draft) => draft.version === version);
    const [draft] = at < 0 ? [] : this.#kept.splice(at, 1);
    if (!draft) return false;
    try {
      // It is not among the kept drafts, so it is not closed meanwhile; and as long as it is open, no other file has its number.
      return draft.ino !== null && (await this.#disk.calls.stat(version)).ino === draft.ino;
    } finally {
      await this.done(draft);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#kept.splice(0).map(async (draft) => await this.#drop(draft)));
  }

  /** A draft that is no version any more. */
  async #free(): Promise<Draft | null> {
    const at = this.#kept.findIndex(({ version }) => version === null);
    if (at >= 0) return this.#kept.splice(at, 1)[0] ?? null;
    const looked: Draft[] = [];
    try {
      for (let draft = this.#kept.shift(); draft; draft = this.#kept.shift()) {
        const state = await this.#stateOf(draft);
        if (state === 'free') return draft;
        if (state === 'version') looked.push(draft);
        else await this.#drop(draft);
      }
      return null;
    } finally {
      this.#kept.push(...looked);
    }
  }

  async #drop({ path, file }: Draft): Promise<void> {
    const { calls } = this.#disk;
    await Promise.all([this.#disk.discard(path), file === null ? undefined : calls.close(file).catch(() => undefined)]);
  }

  async #stateOf({ path, file }: Draft): Promise<'free' | 'version' | 'gone'> {
    if (file === null) return 'gone';
    const { calls } = this.#disk;
    try {
      const { nlink, ino } = await calls.statOpen(file);
      if (nlink > 1) return 'version';
      return nlink === 1 && (await calls.stat(path)).ino === ino ? 'free' : 'gone';
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return 'gone';
      throw error;
    }
  }

  /** `before` is how long it was. */
  async #fill(file: OpenFile, bytes: Uint8Array, before: number): Promise<void> {
    await this.#disk.calls.write(file, bytes);
    if (before > bytes.length) await this.#disk.calls.truncate(file, bytes.length);
  }
}
