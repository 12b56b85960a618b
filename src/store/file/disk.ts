/** Single steps on the file system that a store is made of: written whole before it is named, and synced if the store is. */
import { FileCalls } from './calls.ts';
import { isErrno } from './errno.ts';

export interface DiskTraits {
  /** Whether acknowledged writes survive a power cut. */
  readonly isSynced: boolean;
  /** Whether no other machine is behind the file system. */
  readonly isOfThisMachine: boolean;
}

/** What became of a file that is to go: taken away by this call, gone before, or still there. */
export type Discarded = 'taken' | 'absent' | 'left';

export class DurableFiles {
  readonly isSynced: boolean;
  readonly calls: FileCalls;

  constructor({ isSynced, isOfThisMachine }: DiskTraits) {
    this.isSynced = isSynced;
    this.calls = new FileCalls(isOfThisMachine);
  }

  /** A new file with all of its content. No other process knows its name yet. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.calls.open(path, 'wx');
    try {
      await this.calls.write(file, bytes);
      if (this.isSynced) await this.calls.dataSync(file);
    } finally {
      await this.calls.close(file);
    }
  }

  /** The content of a file; null if it is not there. */
  async content(path: string): Promise<Buffer | null> {
    try {
      return await this.calls.readFile(path);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return null;
      throw error;
    }
  }

  /** The names in a directory; null if it is not there. */
  async namesIn(directory: string): Promise<string[] | null> {
    try {
      return await this.calls.readdir(directory);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return null;
      throw error;
    }
  }

  /** Links, renamed files and new files of a directory survive once the directory is synced. */
  async syncDirectory(directory: string): Promise<void> {
    if (!this.isSynced) return;
    const file = await this.calls.open(directory, 'r');
    try {
      await this.calls.sync(file);
    } finally {
      await this.calls.close(file);
    }
  }

  /**
   * Gives a file its second name, unless another file has that name. A file server may carry a link out, lose the answer
   * and refuse the repetition: the number of the file's names tells the truth.
   */
  async name(path: string, as: string): Promise<boolean> {
    try {
      await this.calls.link(path, as);
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return false;
      if ((await this.#namesOf(path)) > 1) return true;
      if (isErrno(error, 'EEXIST')) return false;
      throw error;
    }
  }

  /** How many names a file has. */
  async #namesOf(path: string): Promise<number> {
    try {
      return (await this.calls.stat(path)).nlink;
    } catch (error) {
      // Without the code of the system: this is no refusal of the link, it is not known what became of it.
      throw new Error(`a link cannot be looked at: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }

  /** False if something is there already, or if the source is gone. */
  async move(path: string, to: string): Promise<boolean> {
    try {
      await this.calls.rename(path, to);
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) return false;
      throw error;
    }
  }

  /** True if it is there now and was not before. */
  async makeDirectory(path: string): Promise<boolean> {
    try {
      await this.calls.mkdir(path);
      return true;
    } catch (error) {
      if (isErrno(error, 'EEXIST')) return false;
      throw error;
    }
  }

  /** Leftovers cost room, nothing else: a process that cannot delete them goes on. */
  async discard(path: string): Promise<Discarded> {
    try {
      await this.calls.unlink(path);
      return 'taken';
    } catch (error) {
      return isErrno(error, 'ENOENT') ? 'absent' : 'left';
    }
  }

  async discardTree(path: string): Promise<void> {
    try {
      await this.calls.removeTree(path);
    } catch {
      // Another process has done it, or may.
    }
  }

  /** Only if nothing is in it. */
  async discardEmpty(directory: string): Promise<void> {
    try {
      await this.calls.rmdir(directory);
    } catch {
      // Something is in it again, or it is gone.
    }
  }
}
