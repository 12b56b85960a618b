/**
 * What is owed on a stage where all goes well: whoever asks for a lease all the while sees it granted to somebody, unless
 * somebody holds it in the end. How long that may take is up to whoever says for how long all goes well.
 */
import type { HistoryRecord, Requested } from '../../check/index.ts';

export class Owed {
  readonly #open = new Map<string, Requested>();
  /** Those that were open when all began to go well, and what was granted since. */
  #waiting = new Map<string, Requested>();
  readonly #granted = new Set<string>();

  observe(record: HistoryRecord): void {
    switch (record.kind) {
      case 'requested':
        this.#open.set(keyOf(record, record.request), record);
        return;
      case 'granted':
        this.#granted.add(record.resource);
        this.#open.delete(keyOf(record, record.request));
        return;
      case 'abandoned':
        this.#open.delete(keyOf(record, record.request));
        return;
      case 'crashed':
        for (const [key, { incarnation }] of this.#open) if (incarnation === record.incarnation) this.#open.delete(key);
        return;
      default:
        return;
    }
  }

  begin(): void {
    this.#waiting = new Map(this.#open);
    this.#granted.clear();
  }

  /** The first request for each lease that was granted to nobody. */
  missing(isHeld: (resource: string) => boolean): Requested[] {
    const missing = new Map<string, Requested>();
    for (const [key, asked] of this.#waiting) {
      const { resource } = asked;
      if (!this.#open.has(key) || this.#granted.has(resource) || missing.has(resource) || isHeld(resource)) continue;
      missing.set(resource, asked);
    }
    return [...missing.values()];
  }
}

function keyOf({ incarnation }: HistoryRecord, request: number): string {
  return `${incarnation} ${request}`;
}
