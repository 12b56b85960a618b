/**
 * Data under leases (S9): a read gives no older data than were stored, or read, before the read began; older are data of a holder with a lower token.
 * Where the store can compare and set this holds for every process. On plain registers a late sync may put older data over newer, and
 * only a process that knows the newer refuses the older: there it is judged for each process by itself.
 */
import type { Json } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

/** Highest tokens by resource, and by the number of a read under way the lowest token that it may find. */
interface Knowledge {
  readonly highest: Map<string, number>;
  readonly reads: Map<number, number>;
}

interface DataMemory {
  readonly all: readonly (readonly [resource: string, token: number])[];
  readonly each: readonly (readonly [
    who: WhoMemory,
    highest: readonly (readonly [string, number])[],
    reads: readonly (readonly [number, number])[],
  ])[];
}

export class DataReferee implements Referee {
  readonly property = 'data' as const;
  readonly handles: readonly RecordKind[] = ['synced', 'fetching', 'fetched', 'crashed'];
  readonly #scope: 'everybody' | 'each';
  readonly #all = new Map<string, number>();
  readonly #each = new PerIncarnation<Knowledge>();

  constructor(scope: 'everybody' | 'each') {
    this.#scope = scope;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'synced':
        this.#learn(record, record.resource, record.token);
        return null;
      case 'fetching': {
        const known = this.#scope === 'each' ? this.#of(record).highest : this.#all;
        this.#of(record).reads.set(record.query, known.get(record.resource) ?? 0);
        return null;
      }
      case 'fetched': {
        const { query, resource, token = 0, at } = record;
        const least = this.#of(record).reads.get(query) ?? 0;
        this.#of(record).reads.delete(query);
        if (token >= least) {
          this.#learn(record, resource, token);
          return null;
        }
        const found = token === 0 ? 'nothing' : `data of token ${token}`;
        const message = `${party(record)} read ${found} of ${quoted(resource)} at ${instant(at)}, though data of token ${least} was known before`;
        return { property: this.property, at, message };
      }
      case 'crashed':
        this.#each.take(record);
        return null;
      default:
        return null;
    }
  }

  finish(): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const each = [...this.#each.entries()].map(([who, { highest, reads }]): DataMemory['each'][number] => [
      whoSeen(who, seen),
      inOrder(highest),
      inOrder(reads),
    ]);
    return { all: inOrder(this.#all), each: inOrder(each as unknown as Json[]) };
  }

  restore(memory: Json): void {
    const { all, each } = memory as unknown as DataMemory;
    for (const [resource, token] of all) this.#all.set(resource, token);
    for (const [[node, incarnation], highest, reads] of each)
      this.#each.set({ node, incarnation }, { highest: new Map(highest), reads: new Map(reads) });
  }

  #learn(who: Who, resource: string, token: number): void {
    for (const known of [this.#all, this.#of(who).highest]) known.set(resource, Math.max(token, known.get(resource) ?? 0));
  }

  #of(who: Who): Knowledge {
    let known = this.#each.get(who);
    if (known === undefined) this.#each.set(who, (known = { highest: new Map(), reads: new Map() }));
    return known;
  }
}
