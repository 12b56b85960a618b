/**
 * The sectors of one file or device, read and written past every cache (`O_DIRECT`, `O_DSYNC`): other machines see every write, and no read is old.
 * The kernel wants buffers at aligned addresses, which Node does not offer: a place inside a larger buffer is found by trying.
 */
import { constants } from 'node:fs';
import { open, readFile, realpath, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { denied, full, storeUnreachable, unfit } from '../failures.ts';
import { Unanswered } from '../gate.ts';

export const SECTOR_BYTES = 4096;
/** Addresses that are tried: no kernel asks for more than a sector, and none for less than this. */
const ALIGNMENT_STEP = 8;
const KERNEL_SECTOR_BYTES = 512;
/** Accesses at once. */
const BUFFERS = 32;

export interface SectorOptions {
  readonly path: string;
  readonly url: string;
  /** Past the caches of this machine. Without it, the store is for the processes of one machine. */
  readonly isDirect: boolean;
}

export class Sectors {
  readonly #handle: FileHandle;
  readonly #url: string;
  /** Memory does not move: an aligned buffer stays aligned. */
  readonly #slab: Buffer = Buffer.allocUnsafeSlow((BUFFERS + 1) * SECTOR_BYTES);
  readonly #free: number[] = Array.from({ length: BUFFERS }, (_, index) => index);
  readonly #waiting: ((index: number) => void)[] = [];
  /** Where the first aligned address of the slab is. */
  #from = 0;

  private constructor(handle: FileHandle, { url }: SectorOptions) {
    this.#handle = handle;
    this.#url = url;
  }

  /** `creates`: the file is made if there is none. */
  static async open(options: SectorOptions, creates: boolean): Promise<Sectors> {
    const { path, url, isDirect } = options;
    const flags = constants.O_RDWR | constants.O_DSYNC | (isDirect ? (constants.O_DIRECT ?? 0) : 0) | (creates ? constants.O_CREAT : 0);
    if (isDirect && constants.O_DIRECT === undefined)
      throw unfit(url, 'this system cannot write past its caches: use direct=off on one machine');
    try {
      return new Sectors(await open(path, flags, 0o600), options);
    } catch (error) {
      if (isDirect && codeOf(error) === 'EINVAL')
        throw unfit(
          url,
          `the file system of ${path} cannot be written past the caches of this machine (O_DIRECT): use direct=off on one machine`,
        );
      throw sectorFailure(url, error, false);
    }
  }

  /** How many sectors there are. */
  async count(path: string): Promise<number> {
    const stat = await this.#handle.stat();
    if (!stat.isBlockDevice()) return Math.floor(stat.size / SECTOR_BYTES);
    const size = await readFile(`/sys/class/block/${basename(await realpath(path))}/size`, 'utf8');
    return Math.floor((Number(size) * KERNEL_SECTOR_BYTES) / SECTOR_BYTES);
  }

  /** Makes a file so long; a device is as long as it is. */
  async extend(count: number): Promise<void> {
    const stat = await this.#handle.stat();
    if (!stat.isFile()) return;
    try {
      await this.#handle.truncate(count * SECTOR_BYTES);
    } catch (error) {
      throw sectorFailure(this.#url, error, false);
    }
  }

  async read(sector: number): Promise<Buffer> {
    return await this.#with(false, async (buffer) => {
      const { bytesRead } = await this.#handle.read(buffer, 0, SECTOR_BYTES, sector * SECTOR_BYTES);
      // Past the end of a file there is nothing.
      return Buffer.concat([buffer.subarray(0, bytesRead)], SECTOR_BYTES);
    });
  }

  /** Whatever fails may have been written, or not. */
  async write(sector: number, content: Uint8Array): Promise<void> {
    await this.#with(true, async (buffer) => {
      buffer.fill(0);
      buffer.set(content);
      const { bytesWritten } = await this.#handle.write(buffer, 0, SECTOR_BYTES, sector * SECTOR_BYTES);
      if (bytesWritten !== SECTOR_BYTES) throw new Error(`only ${bytesWritten} of ${SECTOR_BYTES} bytes were written`);
    });
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** An access that the kernel refuses for the address of its buffer alone is answered with EINVAL and has not happened: the next address is tried. */
  async #with<Answer>(changes: boolean, access: (buffer: Buffer) => Promise<Answer>): Promise<Answer> {
    const index = this.#free.pop() ?? (await new Promise<number>((resolve) => this.#waiting.push(resolve)));
    try {
      for (let from = this.#from; ; from = this.#from) {
        const at = from + index * SECTOR_BYTES;
        try {
          return await access(this.#slab.subarray(at, at + SECTOR_BYTES));
        } catch (error) {
          if (codeOf(error) !== 'EINVAL' || from + ALIGNMENT_STEP >= SECTOR_BYTES) throw error;
          this.#from = Math.max(this.#from, from + ALIGNMENT_STEP);
        }
      }
    } catch (error) {
      throw sectorFailure(this.#url, error, changes);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(index);
      else this.#free.push(index);
    }
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code;
}

function sectorFailure(url: string, error: unknown, mayHaveHappened: boolean): Error {
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return denied(url, error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return full(url, error);
  const failure = storeUnreachable(url, error);
  return mayHaveHappened ? new Unanswered(failure) : failure;
}
