/**
 * A file that refuses holders that come too late, for any number of processes, each of which may be killed at any time. Contents and marks are one
 * file for each version, in a folder; a version becomes the next by a hard link that only one process can make. Nothing is locked, so nothing is
 * left locked. The file system must have hard links; over NFS they are atomic as well.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TenureError } from '../../kernel/index.ts';
import { Fence, type FenceMarks } from './fence.ts';

interface Version extends FenceMarks {
  readonly number: number;
  readonly contents: Uint8Array | null;
}

const VERSION = /^v-(\d{1,15})$/;
/** Older versions may still be being read. */
const VERSIONS_KEPT = 8;
const NOTHING: Version = { number: 0, wrote: 0, seen: 0, contents: null };
const LINE_END = 10;

export class FencedFile {
  readonly #folder: string;

  /** `folder` is made when it is first written to. It belongs to this file alone. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Replaces the contents, whole or not at all. False if the token comes too late: a holder with a higher token was there. */
  async write(token: number, contents: Uint8Array | string): Promise<boolean> {
    const bytes = typeof contents === 'string' ? Buffer.from(contents) : contents;
    return (
      (await this.#advance(
        (fence) => fence.write(token),
        () => bytes,
      )) !== null
    );
  }

  /** The contents, null if there are none yet. Throws `TENURE_LEASE_LOST` if the token comes too late: a holder with a higher token has written. */
  async read(token: number): Promise<Uint8Array | null> {
    const version = await this.#advance(
      (fence) => fence.read(token),
      ({ contents }) => contents,
    );
    if (version === null) throw new TenureError('TENURE_LEASE_LOST', `somebody with a higher token than ${token} has written`, { token });
    return version.contents;
  }

  async marks(): Promise<FenceMarks> {
    const { wrote, seen } = await this.#newest();
    return { wrote, seen };
  }

  /** Makes the next version, unless the fence refuses or nothing changes. Begins again if another process was faster. */
  async #advance(admits: (fence: Fence) => boolean, next: (version: Version) => Uint8Array | null): Promise<Version | null> {
    await mkdir(this.#folder, { recursive: true });
    for (;;) {
      const version = await this.#newest();
      const fence = new Fence(version);
      if (!admits(fence)) return null;
      const { marks } = fence;
      const contents = next(version);
      if (marks.wrote === version.wrote && marks.seen === version.seen && contents === version.contents) return version;
      const made: Version = { ...marks, contents, number: version.number + 1 };
      if (await this.#make(made)) return made;
    }
  }

  async #newest(): Promise<Version> {
    for (;;) {
      const number = await this.#newestNumber();
      if (number === 0) return NOTHING;
      const bytes = await readFile(this.#path(number)).catch(ifMissing);
      // The version was cleared away: there are newer versions by now.
      if (bytes !== null) return { number, ...decode(bytes, this.#path(number)) };
    }
  }

  async #newestNumber(): Promise<number> {
    const names = (await readdir(this.#folder).catch(ifMissing)) ?? [];
    return Math.max(0, ...names.map((name) => Number(VERSION.exec(name)?.[1] ?? 0)));
  }

  /** False if another has made it. */
  async #make(version: Version): Promise<boolean> {
    const draft = join(this.#folder, `draft-${randomUUID()}`);
    const file = await open(draft, 'wx');
    try {
      await file.writeFile(encode(version));
      await file.sync();
    } finally {
      await file.close();
    }
    try {
      await link(draft, this.#path(version.number));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
    // A process that stood still may have made a version that was there and cleared away: no process looks at it, and it does not count.
    if ((await this.#newestNumber()) >= version.number + VERSIONS_KEPT) return false;
    await rm(this.#path(version.number - VERSIONS_KEPT), { force: true });
    return true;
  }

  #path(number: number): string {
    return join(this.#folder, `v-${number}`);
  }
}

function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** A line with the marks, then the contents. */
function encode({ wrote, seen, contents }: Version): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ wrote, seen, isEmpty: contents === null })}\n`), contents ?? Buffer.alloc(0)]);
}

function decode(bytes: Buffer, path: string): Omit<Version, 'number'> {
  const end = bytes.indexOf(LINE_END);
  try {
    const { wrote, seen, isEmpty } = JSON.parse(bytes.subarray(0, end).toString()) as FenceMarks & { isEmpty: boolean };
    return { ...new Fence({ wrote, seen }).marks, contents: isEmpty ? null : Uint8Array.from(bytes.subarray(end + 1)) };
  } catch {
    throw new TenureError('TENURE_STORE_CORRUPT', `${path} is no version of a fenced file`, { path });
  }
}
