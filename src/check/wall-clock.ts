/**
 * Histories by wall clocks, from several machines. Tokens order the grants of a resource exactly, without
 * any clock, so a token given twice is told with certainty. That two held at once is told only where it
 * cannot be the clocks: beyond the bound within which each of them is said to show the true time.
 */
import type { Json } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind } from './history.ts';
import { inOrder, whoSeen, type Perspective, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted, span } from './wording.ts';

interface WallHold {
  readonly node: number | string;
  readonly incarnation: number;
  readonly token: number;
  readonly from: number;
  /** By the holder's clock: its deadline, or when it stopped. */
  until: number;
  ended: boolean;
}

/** Instants count from the present. */
type WallHoldMemory = readonly [resource: string, who: WhoMemory, token: number, fromUs: number, untilUs: number, ended: boolean];

export class WallClockReferee implements Referee {
  readonly property = 'exclusion' as const;
  readonly handles: readonly RecordKind[] = ['granted', 'renewed', 'ended', 'crashed'];
  readonly #boundUs: number;
  readonly #holds = new Map<string, Map<number, WallHold>>();

  /** Each clock is at most this far from the true time. */
  constructor(clockBoundUs: number) {
    this.#boundUs = clockBoundUs;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        const { node, incarnation, resource, token, at, remainingUs } = record;
        const holds = this.#holdsOf(resource);
        const twin = holds.get(token);
        if (twin !== undefined) {
          return {
            property: 'fencing',
            at,
            message: `token ${token} of ${quoted(resource)} was given to ${party(twin)} and to ${party(record)}`,
          };
        }
        holds.set(token, { node, incarnation, token, from: at, until: at + remainingUs, ended: false });
        return null;
      }
      case 'renewed': {
        const hold = this.#holds.get(record.resource)?.get(record.token);
        // Earlier than it was, if the holder has given it back as of a later time.
        if (hold !== undefined && !hold.ended) hold.until = record.at + record.remainingUs;
        return null;
      }
      case 'ended': {
        const hold = this.#holds.get(record.resource)?.get(record.token);
        if (hold !== undefined) {
          hold.ended = true;
          hold.until = Math.min(hold.until, record.at);
        }
        return null;
      }
      case 'crashed':
        for (const holds of this.#holds.values()) {
          for (const hold of holds.values()) {
            if (hold.node !== record.node || hold.incarnation !== record.incarnation || hold.ended) continue;
            hold.ended = true;
            hold.until = Math.min(hold.until, record.at);
          }
        }
        return null;
      default:
        return null;
    }
  }

  /** A hold is judged at the end, however long it is over: nothing is forgotten. */
  snapshot(seen: Perspective): Json {
    const all: WallHoldMemory[] = [];
    for (const [resource, holds] of this.#holds) {
      for (const { token, from, until, ended, ...who } of holds.values())
        all.push([resource, whoSeen(who, seen), token, from - seen.now, until - seen.now, ended]);
    }
    return inOrder(all);
  }

  restore(memory: Json, now: number): void {
    for (const [resource, [node, incarnation], token, fromUs, untilUs, ended] of memory as readonly WallHoldMemory[])
      this.#holdsOf(resource).set(token, { node, incarnation, token, from: now + fromUs, until: now + untilUs, ended });
  }

  #holdsOf(resource: string): Map<number, WallHold> {
    let holds = this.#holds.get(resource);
    if (holds === undefined) this.#holds.set(resource, (holds = new Map()));
    return holds;
  }

  finish(): readonly Violation[] {
    const found: Violation[] = [];
    for (const [resource, holds] of this.#holds) {
      const byToken = [...holds.values()].sort((a, b) => a.token - b.token);
      let longest: WallHold | null = null;
      for (const hold of byToken) {
        // By tokens the other came first, so it must have been over: unless the clocks can explain what they show.
        const overlapUs: number = longest === null ? 0 : longest.until - hold.from - 2 * this.#boundUs;
        if (longest !== null && overlapUs > 0) {
          const message =
            `${party(hold)} was granted ${quoted(resource)} with token ${hold.token} at ${instant(hold.from)}, while ${party(longest)} held it with ` +
            `token ${longest.token} until ${instant(longest.until)}: ${span(overlapUs)} more than clocks within ${span(this.#boundUs)} can explain`;
          found.push({ property: this.property, at: hold.from, message });
        }
        if (longest === null || hold.until > longest.until) longest = hold;
      }
    }
    return found;
  }
}
