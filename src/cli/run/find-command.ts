/**
 * Looks for a command as a shell does, before it is started: a shell's own message about a missing command would be
 * neither JSON nor in our words.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../exit-codes.ts';

/** Why a command cannot be run, with the exit code of a shell; null if nothing speaks against it. */
export function whyNotFound(word: string, path: string | undefined): { readonly code: number; readonly why: string } | null {
  const missing = { code: EXIT.notFound, why: `${word}: no such command` };
  if (word === '') return missing;
  if (word.includes('/')) return obstacleAt(word, word);
  // Where to look without a PATH is the shell's own affair.
  if (path === undefined) return null;
  let nearest: ReturnType<typeof obstacleAt> = missing;
  for (const folder of path.split(':')) {
    const obstacle = obstacleAt(word, join(folder === '' ? '.' : folder, word));
    if (obstacle === null) return null;
    if (obstacle.code === EXIT.cannotRun) nearest = obstacle;
  }
  return nearest;
}

function obstacleAt(word: string, file: string): { readonly code: number; readonly why: string } | null {
  try {
    if (statSync(file).isDirectory()) return { code: EXIT.cannotRun, why: `${word}: it is a folder` };
    accessSync(file, constants.X_OK);
    return null;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { code: EXIT.notFound, why: `${word}: no such command` };
    return { code: EXIT.cannotRun, why: `${word}: ${code === 'EACCES' ? 'this user may not run it (EACCES)' : message}` };
  }
}
