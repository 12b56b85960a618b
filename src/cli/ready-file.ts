/** The file that is there while a member votes. It never touches a file that no `tenure serve` made: the given path may be a mistake. */
import { closeSync, lstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { TenureError } from '../kernel/index.ts';

/** What a ready file says; the first form is from earlier versions. */
const OURS = /^(?:tenure serve )?\d+\n$/;
const BYTES_MAX = 64;

export class ReadyFile {
  readonly #path: string | undefined;
  readonly #text = `tenure serve ${process.pid}\n`;
  #isThere = false;

  /** Throws `TENURE_BAD_CONFIG` if another file is there, or none can be made. */
  constructor(path: string | undefined) {
    this.#path = path;
    if (path === undefined) return;
    // Better now than when no operator looks. A file that a killed process left behind would be believed.
    this.#clear(path);
    this.#make(path);
    rmSync(path);
  }

  write(): void {
    if (this.#path === undefined || this.#isThere) return;
    this.#make(this.#path);
    this.#isThere = true;
  }

  remove(): void {
    if (this.#path !== undefined && this.#isThere && textOf(this.#path) === this.#text) rmSync(this.#path, { force: true });
    this.#isThere = false;
  }

  #clear(path: string): void {
    const text = textOf(path);
    if (text === null) return;
    if (!OURS.test(text)) {
      throw new TenureError('TENURE_BAD_CONFIG', `--ready-file: ${path} is there already, and no tenure serve made it: name another file`, {
        path,
      });
    }
    rmSync(path);
  }

  /** Never over anything. */
  #make(path: string): void {
    try {
      const file = openSync(path, 'wx', 0o644);
      writeSync(file, this.#text);
      closeSync(file);
    } catch (error) {
      throw new TenureError('TENURE_BAD_CONFIG', `--ready-file: ${error instanceof Error ? error.message : String(error)}`, { path });
    }
  }
}

/** Null if nothing is there; anything but a small plain file is none of ours, whatever it says. */
function textOf(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  return found.isFile() && found.size <= BYTES_MAX ? readFileSync(path, 'utf8') : '';
}
