/** Going through a table now and then for ended rows, a slice at a time, so that no step takes long: round once in the longest term. */
import { monoAfter, NEVER, spanUs, type MonoUs } from '../../../kernel/index.ts';

/** How many rows one slice has. */
const ROWS = 4096;

export class Sweep {
  /** When the next slice is due; NEVER while there is nothing to sweep. */
  at: MonoUs = NEVER;
  /** Where it begins. */
  from = 0;
  readonly #roundUs: number;

  constructor(roundUs: number) {
    this.#roundUs = roundUs;
  }

  /** Shows the rows of the slice that is due. */
  go(rows: number, visit: (row: number) => void): void {
    const end = Math.min(this.from + ROWS, rows);
    for (let row = this.from; row < end; row++) visit(row);
    this.from = end >= rows ? 0 : end;
    this.at = NEVER;
  }

  /** Plans the next slice, unless one is planned. */
  plan(rows: number, mono: MonoUs): void {
    if (this.at !== NEVER) return;
    this.at = monoAfter(mono, spanUs(Math.max(1000, Math.floor(this.#roundUs / Math.max(1, Math.ceil(rows / ROWS))))));
  }
}
