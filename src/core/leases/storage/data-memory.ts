/**
 * The newest data of each name that this process has stored or read. On plain registers a sync that hung may land over newer data: a process that knows
 * the newer data refuses the older (S9). Data that this process has not seen yet cannot be told apart.
 */
import type { Snapshot } from '../../contract.ts';
import type { SyncedData } from './contents.ts';

/** The token of the holder, and which of its syncs it was. */
type Age = Pick<SyncedData, 'token' | 'seq'>;

const KEPT_MAX = 1024;

export class DataMemory {
  /** The first was seen longest ago. */
  readonly #newest = new Map<string, Age>();

  /** False if newer data was seen before. */
  note(name: string, { token, seq }: Age): boolean {
    const known = this.#newest.get(name);
    const isStale = known !== undefined && (token < known.token || (token === known.token && seq < known.seq));
    if (isStale) return false;
    this.#newest.delete(name);
    this.#newest.set(name, { token, seq });
    if (this.#newest.size > KEPT_MAX) for (const oldest of [...this.#newest.keys()].slice(0, 1)) this.#newest.delete(oldest);
    return true;
  }

  knows(name: string): boolean {
    return this.#newest.has(name);
  }

  /** The store may have lost the newer data for good. */
  clear(): void {
    this.#newest.clear();
  }

  snapshot(): Snapshot {
    return [...this.#newest].map(([name, { token, seq }]) => [name, token, seq]);
  }

  restore(snapshot: Snapshot): void {
    this.#newest.clear();
    for (const [name, token, seq] of snapshot as readonly (readonly [string, number, number])[]) this.#newest.set(name, { token, seq });
  }
}
