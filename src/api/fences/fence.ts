/**
 * What a resource keeps to refuse holders that come too late, where a name has readers and writers: two numbers. The highest token that wrote, and
 * the highest seen at all. Readers that hold together pass in any order; a writer passes only if no higher token was there.
 */
import { TenureError } from '../../kernel/index.ts';

export interface FenceMarks {
  /** The highest token that wrote. */
  readonly wrote: number;
  /** The highest token that read or wrote. */
  readonly seen: number;
}

export class Fence {
  #wrote: number;
  #seen: number;

  /** With the marks that were kept, where the resource outlives this process. */
  constructor({ wrote, seen }: FenceMarks = { wrote: 0, seen: 0 }) {
    checkToken(wrote, 0);
    checkToken(seen, 0);
    this.#wrote = wrote;
    this.#seen = Math.max(wrote, seen);
  }

  /** To be kept with the resource, in one step with the write. */
  get marks(): FenceMarks {
    return { wrote: this.#wrote, seen: this.#seen };
  }

  /** Whether the holder of this token may write now; from here on it has. */
  write(token: number): boolean {
    checkToken(token, 1);
    if (token < this.#seen) return false;
    this.#wrote = this.#seen = token;
    return true;
  }

  /** Whether the holder of this token may read now; from here on it has. */
  read(token: number): boolean {
    checkToken(token, 1);
    if (token < this.#wrote) return false;
    this.#seen = Math.max(this.#seen, token);
    return true;
  }
}

function checkToken(token: number, least: number): void {
  if (Number.isSafeInteger(token) && token >= least) return;
  throw new TenureError('TENURE_BAD_ARGUMENT', `a token is a positive safe integer, not ${String(token)}`);
}
