/** Single steps on the file system that a store is made of: written whole before it is named, and synced if the store is. */
import { link, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { isErrno } from './errno.ts';

export class DurableFiles {
  /** Whether what was acknowledged survives a power cut. */
  readonly isSynced: boolean;

  constructor(isSynced: boolean) {
    this.isSynced = isSynced;
  }

  /** A new file with all of its content. Nobody knows its name yet. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const file = await open(path, 'wx', 0o666);
    try {
      await file.writeFile(bytes);
      if (this.isSynced) await file.datasync();
    } finally {
      await file.close();
    }
  }

  /** The content of a file; null if it is not there. */
  async content(path: string): Promise<Buffer | null> {
    return await contentOf(path);
  }

  /** What was linked, renamed or made in a directory survives once the directory is synced. */
  async syncDirectory(directory: string): Promise<void> {
    if (!this.isSynced) return;
    const file = await open(directory, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /**
   * Gives a file its second name, unless somebody has that name. A file server may carry a link out, lose the answer
   * and refuse the repetition: the number of the file's names tells the truth.
   */
  async name(path: string, as: string): Promise<boolean> {
    try {
      await link(path, as);
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return false;
      if ((await namesOf(path)) > 1) return true;
      if (isErrno(error, 'EEXIST')) return false;
      throw error;
    }
  }

  /** False if something is there already, or if what was to be moved is gone. */
  async move(path: string, to: string): Promise<boolean> {
    try {
      await rename(path, to);
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) return false;
      throw error;
    }
  }
}

/** How many names a file has. */
async function namesOf(path: string): Promise<number> {
  try {
    return (await stat(path)).nlink;
  } catch (error) {
    // Without the code of the system: this is no refusal of the link, it is not known what became of it.
    throw new Error(`a link cannot be looked at: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** The names in a directory; null if it is not there. */
export async function namesIn(directory: string): Promise<string[] | null> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** The content of a file; null if it is not there. */
export async function contentOf(path: string): Promise<Buffer | null> {
  try {
    const file = await open(path, 'r');
    try {
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** True if it is there now and was not before. */
export async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Leftovers cost room, nothing else: whoever cannot delete them goes on. True if it was there and is gone. */
export async function discard(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch {
    // Somebody else has done it, or may.
    return false;
  }
}

export async function discardTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    // As above.
  }
}

/** Only if nothing is in it. */
export async function discardEmpty(directory: string): Promise<void> {
  try {
    await rmdir(directory);
  } catch {
    // Something is in it again, or it is gone.
  }
}
