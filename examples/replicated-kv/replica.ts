/**
 * One replica of a key-value store: what was written, and the highest token it has seen. Whoever wants to write, or to
 * become the master, shows a token; a lower one than was seen before is refused. That, and not the lease, keeps out a
 * master that stood still and does not know that it is no longer the master.
 */
export interface Entry {
  readonly value: string;
  /** Of the master that wrote it, and its own count: entries of one key are ordered by these. */
  readonly token: number;
  readonly version: number;
}

export type Contents = Record<string, Entry>;

export class Replica {
  readonly #entries = new Map<string, Entry>();
  #fence = 0;

  /** A new master asks what there is. From here on no older one can write. Null if it is old itself. */
  fence(token: number): Contents | null {
    if (token < this.#fence) return null;
    this.#fence = token;
    return Object.fromEntries(this.#entries);
  }

  /** False for a master that is none any more. */
  write(key: string, entry: Entry, token: number): boolean {
    if (token < this.#fence) return false;
    this.#fence = token;
    const known = this.#entries.get(key);
    if (known === undefined || isNewer(entry, known)) this.#entries.set(key, entry);
    return true;
  }
}

export function isNewer(a: Entry, b: Entry): boolean {
  return a.token > b.token || (a.token === b.token && a.version > b.version);
}
