/**
 * Belief (P6): a learner does not believe in a lease after the next one was granted. A `believed` record is one look
 * at what a learner believes at that instant, by its own clocks. Over links that lose messages nobody can promise that
 * a release was heard of: where `releasesHeard` is false, a lease that was given back before its end is not judged.
 */
import type { HistoryRecord } from './history.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Grants {
  newest: number;
  /** Tokens granted before the newest; true where the lease was given back before its end. */
  readonly past: Map<number, boolean>;
}

export class BeliefReferee implements Referee {
  readonly property = 'belief' as const;
  readonly #releasesHeard: boolean;
  readonly #grants = new Map<string, Grants>();
  /** Given back, by resource and token. */
  readonly #released = new Set<string>();

  constructor(releasesHeard: boolean) {
    this.#releasesHeard = releasesHeard;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        const grants = this.#grants.get(record.resource);
        if (grants === undefined) {
          this.#grants.set(record.resource, { newest: record.token, past: new Map() });
        } else if (grants.newest !== record.token) {
          grants.past.set(grants.newest, this.#released.has(keyOf(record.resource, grants.newest)));
          grants.newest = record.token;
        }
        return null;
      }
      case 'ended':
        if (record.reason === 'released') this.#released.add(keyOf(record.resource, record.token));
        return null;
      case 'believed': {
        const grants = this.#grants.get(record.resource);
        const wasReleased = grants?.past.get(record.token);
        if (grants === undefined || wasReleased === undefined || (wasReleased && !this.#releasesHeard)) return null;
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
}

function keyOf(resource: string, token: number): string {
  return `${token} ${resource}`;
}
