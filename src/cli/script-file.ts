/** Where a command leaves a script: a file that is written as told or refused by name, never with a stack trace. */
import { accessSync, constants, existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { TenureError } from '../kernel/index.ts';

/** Before minutes are spent on a script that could not be written. */
export function checkWritable(file: string): void {
  orCannotWrite(file, () => {
    if (file === '') throw new Error('it has no name');
    if (!existsSync(file)) accessSync(dirname(file), constants.W_OK);
    else if (statSync(file).isDirectory()) throw new Error('it is a directory');
    else accessSync(file, constants.W_OK);
  });
}

export function writeScriptFile(file: string, text: string): void {
  orCannotWrite(file, () => writeFileSync(file, text));
}

/** What to say of the file that a script was written to, or was not. */
export function toldOfFile(file: string, hasScript: boolean): string {
  const name = /^[\w./+@:-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
  return hasScript ? `written to ${name}; run it again with: tenure script ${name}` : `nothing was written to ${name}: there is no script`;
}

export function orCannotWrite(file: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `cannot write '${file}': ${error instanceof Error ? error.message : String(error)}`);
  }
}
