/** Secrets and data that others on this machine can read or change: told, because operators do not look at modes until it is too late. */
import { statSync } from 'node:fs';

const BY_OTHERS = 0o007;
const WRITTEN_BY_GROUP = 0o020;

/** What is wrong with the mode of a file or a folder, with what to do; null if nothing is, or if it cannot be told. */
export function looseMode(path: string): string | null {
  if (process.platform === 'win32') return null;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & (BY_OTHERS | WRITTEN_BY_GROUP)) === 0) return null;
  const mode = (found.mode & 0o777).toString(8);
  const wanted = found.isDirectory() ? '700' : '600';
  return `${path} is open to other users of this machine (mode ${mode}): chmod ${wanted} ${path}`;
}
