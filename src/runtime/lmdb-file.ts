/**
 * A look at the file of an LMDB environment before it is opened: the library maps it into memory and takes the
 * process down with it if the file is cut short or is none of its own. Damage deeper inside is found by a
 * trial (`lmdb-trial.ts`), by the library itself, or by the hashes of the records.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const MAGIC = 0xbeefc0de;
const MAGIC_AT = 24;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const META_BYTES = 160;

/** What is wrong with the file; null if nothing is to be seen, or if there is none yet. */
export function damageOf(dir: string): string | null {
  let file: number;
  try {
    file = openSync(join(dir, 'data.mdb'), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const { size } = fstatSync(file);
    if (size === 0) return null;
    const meta = Buffer.alloc(META_BYTES);
    if (readSync(file, meta, 0, META_BYTES, 0) < META_BYTES || meta.readUInt32LE(MAGIC_AT) !== MAGIC) return 'data.mdb is no LMDB file';
    const pageBytes = meta.readUInt32LE(PAGE_SIZE_AT);
    const first = meta.readUInt32LE(LAST_PAGE_AT);
    if (readSync(file, meta, 0, META_BYTES, pageBytes) < META_BYTES || meta.readUInt32LE(MAGIC_AT) !== MAGIC) {
      return 'the second page of data.mdb is damaged';
    }
    const pages = 1 + Math.max(first, meta.readUInt32LE(LAST_PAGE_AT));
    return size < pages * pageBytes ? `data.mdb was cut short: ${size} bytes of ${pages * pageBytes}` : null;
  } finally {
    closeSync(file);
  }
}
