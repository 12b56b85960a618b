/**
 * Writes to an LMDB environment whose failures stay where they belong. For each write that fails the library rejects a second
 * promise, which is not handled and would end the process; and when the system refuses a write, for want of
 * room above all, it spoils the memory of the process. So it is asked to write only where there is room.
 */
import { statfsSync } from 'node:fs';

/** What a turn writes fits into a part of this. */
export const ROOM_BYTES: number = 16 * 1024 * 1024;

/** The free space for this process where the directory is. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** The outcome of a write: rejected only here. */
export async function written<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    const { commitError } = error as { commitError?: Promise<unknown> };
    throw commitError ? await commitError.catch((cause: unknown) => cause) : error;
  }
}
