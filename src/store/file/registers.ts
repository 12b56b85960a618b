/**
 * Plain registers on a directory: a write renames a file with a name of its own over the register. That is whole or
 * not at all, and cannot land twice, because the name is gone after the first time. Reads open the register by its
 * one name, which file servers answer afresh (close-to-open); nothing here trusts a listing or an exclusive creation.
 */
import { join } from 'node:path';
import { storeUnreachable } from '../failures.ts';
import { Unanswered, type Call } from '../gate.ts';
import { afterTheFact, isErrno } from './errno.ts';
import { fileNameOf, isHashed, keyOfFileName } from './layout.ts';
import type { Place } from './place.ts';
import { decodeVersion, encodeVersion, nextVersion } from './version-file.ts';

export class FileRegisters {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  async read(key: string): Promise<Uint8Array | null> {
    const bytes = await this.#place.disk.content(this.#place.layout.of(key));
    if (bytes !== null) return decodeVersion(fileNameOf(key), bytes).value;
    await this.#place.assure();
    return null;
  }

  async write(key: string, value: Uint8Array | null, call: Call): Promise<'done'> {
    const register = this.#place.layout.of(key);
    if (value === null) {
      call.leave();
      await this.#landing(async () => await this.#unlinkIfThere(register));
      return 'done';
    }
    const draft = this.#place.layout.unique();
    try {
      await this.#place.disk.put(draft, encodeVersion(fileNameOf(key), nextVersion(key, null, value)));
      call.leave();
      await this.#landing(() => this.#place.disk.calls.rename(draft, register));
      return 'done';
    } finally {
      await this.#place.disk.discard(draft);
    }
  }

  async keys(wanted: (key: string) => boolean, call: Call): Promise<string[]> {
    const keys: string[] = [];
    for (const fileName of (await this.#place.disk.namesIn(this.#place.layout.keys)) ?? []) {
      call.goOn();
      const key = isHashed(fileName) ? await this.#keyInside(fileName) : keyOfFileName(fileName);
      if (key !== null && wanted(key)) keys.push(key);
    }
    return keys;
  }

  async #keyInside(fileName: string): Promise<string | null> {
    const bytes = await this.#place.disk.content(join(this.#place.layout.keys, fileName));
    return bytes === null ? null : decodeVersion(fileName, bytes).key;
  }

  async #landing(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      // The draft is gone: a file server repeats a finished call, or another process has swept it away.
      if (isErrno(error, 'ENOENT')) throw new Unanswered(storeUnreachable(this.#place.url, error));
      throw afterTheFact(this.#place.url, error);
    }
    try {
      await this.#place.disk.syncDirectory(this.#place.layout.keys);
    } catch (error) {
      throw new Unanswered(storeUnreachable(this.#place.url, error));
    }
  }

  /** Gone is gone, also if a file server has done it twice. */
  async #unlinkIfThere(path: string): Promise<void> {
    try {
      await this.#place.disk.calls.unlink(path);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }
}
