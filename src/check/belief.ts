/**
 * Belief (P6): a learner does not believe in a lease after the next one was granted; of readers beside each other none is the next. A `believed` record is one look
 * at what a learner believes at that instant, by its own clocks. Over links that lose messages no engine can promise that
 * a release was heard of: where `releasesHeard` is false, a lease that was given back before its end is not judged.
 */
import { modesClash, type Json, type LeaseMode } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind } from './history.ts';
import { inOrder } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Grants {
  newest: number;
  mode: LeaseMode;
  /** Tokens granted before the newest; true where the lease was given back before its end, and learners need not have heard of it. */
  readonly past: Map<number, boolean>;
}

interface BeliefMemory {
  /** With the tokens of before that are judged. */
  readonly grants: readonly (readonly [resource: string, newest: number, mode: LeaseMode, judged: readonly number[]])[];
  readonly released: readonly string[];
}

export class BeliefReferee implements Referee {
  readonly property = 'belief' as const;
  /** A crash changes nothing: learners may outlive the holder. */
  readonly handles: readonly RecordKind[] = ['granted', 'ended', 'believed', 'crashed'];
  readonly #releasesHeard: boolean;
  readonly #grants = new Map<string, Grants>();
  /** Given back, by resource and token, where learners need not have heard of it. */
  readonly #released = new Set<string>();

  constructor(releasesHeard: boolean) {
    this.#releasesHeard = releasesHeard;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        const grants = this.#grants.get(record.resource);
        const { token, mode = 'exclusive' } = record;
        if (grants === undefined) {
          this.#grants.set(record.resource, { newest: token, mode, past: new Map() });
        } else if (grants.newest !== token && modesClash(mode, grants.mode)) {
          grants.past.set(grants.newest, this.#released.has(keyOf(record.resource, grants.newest)));
          grants.newest = token;
          grants.mode = mode;
        }
        return null;
      }
      case 'ended':
        if (record.reason === 'released' && !this.#releasesHeard) this.#released.add(keyOf(record.resource, record.token));
        return null;
      case 'believed': {
        const grants = this.#grants.get(record.resource);
        const wasReleased = grants?.past.get(record.token);
        if (grants === undefined || wasReleased === undefined || wasReleased) return null;
        const message =
          `${party(record)} believes at ${instant(record.at)} that ${quoted(record.resource)} is held with token ${record.token}, ` +
          `though it was granted with token ${grants.newest} since`;
        return { property: this.property, at: record.at, message };
      }
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(): Json {
    const grants = [...this.#grants].map(([resource, { newest, mode, past }]): BeliefMemory['grants'][number] => [
      resource,
      newest,
      mode,
      inOrder([...past].filter(([, wasReleased]) => !wasReleased).map(([token]) => token)),
    ]);
    return { grants: inOrder(grants), released: inOrder(this.#released) };
  }

  restore(memory: Json): void {
    const { grants, released } = memory as unknown as BeliefMemory;
    for (const [resource, newest, mode, judged] of grants)
      this.#grants.set(resource, { newest, mode, past: new Map(judged.map((token) => [token, false])) });
    for (const key of released) this.#released.add(key);
  }
}

function keyOf(resource: string, token: number): string {
  return `${token} ${resource}`;
}
