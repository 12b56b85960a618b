/**
 * Progress that is owed on a stage where all goes well. If a node asks for a lease all the while, some node must be granted that lease or hold it
 * in the end; if all holders give their leases back, the asking node itself must be granted it. The script says for how long all goes well. A node
 * that is refused and asks again counts as asking all the while.
 */
import type { HistoryRecord, Requested } from '../../check/index.ts';
import { formatSpan, type Ways } from './actions.ts';

export class Owed {
  readonly #open = new Map<string, Requested>();
  /** Requests that were open when all began to go well, and leases granted since. */
  #waiting = new Set<Requested>();
  readonly #granted = new Set<string>();
  #ways: Ways = {};
  /** Requests that were refused and will be made again. */
  #resting: Requested[] = [];

  observe(record: HistoryRecord): void {
    switch (record.kind) {
      case 'requested':
        this.#open.set(keyOf(record, record.request), this.#rested(record) ?? record);
        return;
      case 'granted':
        this.#granted.add(record.resource);
        this.#open.delete(keyOf(record, record.request));
        return;
      case 'abandoned': {
        const asked = this.#open.get(keyOf(record, record.request));
        if (asked && this.#ways.askAgainUs !== undefined) this.#resting.push(asked);
        this.#open.delete(keyOf(record, record.request));
        return;
      }
      case 'crashed':
        for (const [key, { incarnation }] of this.#open) if (incarnation === record.incarnation) this.#open.delete(key);
        return;
      default:
        return;
    }
  }

  begin(ways: Ways): void {
    this.#waiting = new Set(this.#open.values());
    this.#granted.clear();
    this.#ways = ways;
    this.#resting = [];
  }

  /** The complaints at the end: for each lease the first request that should have been granted. */
  end(spanUs: number, isHeld: (resource: string) => boolean): string[] {
    const stillAsking = new Set([...this.#open.values(), ...this.#resting]);
    const isFair = this.#ways.giveBackUs !== undefined;
    const missing = new Map<string, Requested>();
    for (const asked of this.#waiting) {
      const { resource } = asked;
      if (!stillAsking.has(asked) || missing.has(resource)) continue;
      if (!isFair && (this.#granted.has(resource) || isHeld(resource))) continue;
      missing.set(resource, asked);
    }
    this.#ways = {};
    return [...missing.values()].map(({ node, incarnation, resource, at }) => {
      const who = this.#granted.has(resource) ? 'others were granted it, but it never was' : 'nobody was granted it';
      return `node ${node}#${incarnation} asks for "${resource}" since ${formatSpan(at)}; all went well for ${formatSpan(spanUs)}, and ${who}`;
    });
  }

  /** A repeated request stands for the refused request. */
  #rested({ incarnation, resource }: Requested): Requested | null {
    const at = this.#resting.findIndex((one) => one.incarnation === incarnation && one.resource === resource);
    return at < 0 ? null : (this.#resting.splice(at, 1)[0] as Requested);
  }
}

function keyOf({ incarnation }: HistoryRecord, request: number): string {
  return `${incarnation} ${request}`;
}
