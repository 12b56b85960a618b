/**
 * A trial of an LMDB file by another process, before this one opens it. The library maps the file and trusts its contents: some kinds of
 * damage end the process in a signal, and no check of a few pages finds them all. So a child opens a copy, reads all of it, writes and
 * removes every record, so that every page was touched. If the child dies of that, only the child does.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A larger one is not copied: it is read where it is, and nothing is written. */
const COPIED_BYTES_MAX = 64 * 1024 * 1024;
/** A trial that takes longer has met damage that leads in a circle, or a machine that is far too busy: the outcome is unknown. */
const TRIAL_MS = 30_000;
const DAMAGED = 3;

/** What the child runs. It prints why the file is damaged, or dies. */
const PROGRAM = `
const [lmdb, path, mayWrite] = process.argv.slice(1);
try {
  const db = require(lmdb).open({ path, encoding: 'binary', noSubdir: false, readOnly: mayWrite === 'false' });
  const keys = [];
  for (const { key, value } of db.getRange()) { keys.push(key); value.at(-1); }
  if (mayWrite === 'true') {
    for (let i = 0; i < 16; i++) db.putSync('_trial/' + i, Buffer.alloc(500 * i));
    db.transactionSync(() => { for (const key of keys) db.removeSync(key); });
    for (let i = 0; i < 16; i++) db.removeSync('_trial/' + i);
  }
  process.exit(0);
} catch (error) {
  process.stdout.write(String(error && error.message));
  process.exit(${DAMAGED});
}
`;

/** How a trial came out badly. */
export interface BadTrial {
  readonly why: string;
  /** It did not end in time: that may be the machine, and no damage. */
  readonly isLate: boolean;
}

/** What is wrong with the file; null if nothing is to be seen, if there is none yet, or if no child can be started. */
export async function trialOf(dir: string): Promise<BadTrial | null> {
  const bytes = statSync(join(dir, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return null;
  const copy = bytes <= COPIED_BYTES_MAX ? copied(dir) : null;
  try {
    return await tried(copy ?? dir, copy !== null);
  } finally {
    if (copy !== null) rmSync(copy, { recursive: true, force: true });
  }
}

/** Null if there is no room for one. */
function copied(dir: string): string | null {
  const copy = mkdtempSync(join(dir, 'trial-'));
  try {
    copyFileSync(join(dir, 'data.mdb'), join(copy, 'data.mdb'));
    return copy;
  } catch {
    rmSync(copy, { recursive: true, force: true });
    return null;
  }
}

function tried(path: string, mayWrite: boolean): Promise<BadTrial | null> {
  const lmdb = createRequire(import.meta.url).resolve('lmdb');
  const child = spawn(process.execPath, ['-e', PROGRAM, '--', lmdb, path, String(mayWrite)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: TRIAL_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve({ why: `a process that read data.mdb had not finished after ${TRIAL_MS / 1000} s`, isLate: true });
      else if (signal !== null) resolve({ why: `a process that read data.mdb was ended by ${signal}`, isLate: false });
      else resolve(code === DAMAGED ? { why: `data.mdb cannot be read: ${said}`, isLate: false } : null);
    });
  });
}
