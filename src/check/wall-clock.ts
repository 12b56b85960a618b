/**
 * Histories by wall clocks, from several machines. Tokens order the grants of a resource exactly, except the grants of readers among each
 * other, without any clock, so a token given twice is told with certainty. That two processes held at once is told only where it cannot be
 * the clocks: beyond the bound within which each of them is said to show the true time.
 */
import { modesClash, type Json, type LeaseMode } from '../kernel/index.ts';
import type { Ended, HistoryRecord, RecordKind, Renewed } from './history.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted, span } from './wording.ts';

interface WallHold {
  readonly node: number | string;
  readonly incarnation: number;
  readonly token: number;
  readonly mode: LeaseMode;
  readonly from: number;
  /** By the holder's clock: its deadline, or when it stopped. */
  until: number;
  ended: boolean;
}

/** Instants count from the present. */
type WallHoldMemory = readonly [
  resource: string,
  who: WhoMemory,
  token: number,
  mode: LeaseMode,
  fromUs: number,
  untilUs: number,
  ended: boolean,
];

export class WallClockReferee implements Referee {
  readonly property = 'exclusion' as const;
  readonly handles: readonly RecordKind[] = ['granted', 'renewed', 'ended', 'crashed'];
  readonly #boundUs: number;
  /** By resource and token. Of one token there are several holds only where readers have it. */
  readonly #holds = new Map<string, Map<number, WallHold[]>>();

  /** Each clock is at most this far from the true time. */
  constructor(clockBoundUs: number) {
    this.#boundUs = clockBoundUs;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        const { node, incarnation, resource, token, at, remainingUs, mode = 'exclusive' } = record;
        const holds = this.#holdsOf(resource, token);
        const twin = holds.find((one) => modesClash(mode, one.mode));
        if (twin !== undefined) {
          return {
            property: 'fencing',
            at,
            message: `token ${token} of ${quoted(resource)} was given to ${party(twin)} and to ${party(record)}`,
          };
        }
        holds.push({ node, incarnation, token, mode, from: at, until: at + remainingUs, ended: false });
        return null;
      }
      case 'renewed': {
        const hold = this.#openHold(record);
        // Earlier than it was, if the holder has given it back as of a later time.
        if (hold !== undefined) hold.until = record.at + record.remainingUs;
        return null;
      }
      case 'ended': {
        const hold = this.#openHold(record);
        if (hold !== undefined) end(hold, record.at);
        return null;
      }
      case 'crashed':
        for (const hold of this.#all()) if (isHoldOf(hold, record)) end(hold, record.at);
        return null;
      default:
        return null;
    }
  }

  /** A hold is judged at the end, however long it is over: nothing is forgotten. */
  snapshot(seen: Perspective): Json {
    const all: WallHoldMemory[] = [];
    for (const [resource, byToken] of this.#holds) {
      for (const { token, mode, from, until, ended, ...who } of [...byToken.values()].flat())
        all.push([resource, whoSeen(who, seen), token, mode, from - seen.now, until - seen.now, ended]);
    }
    return inOrder(all);
  }

  restore(memory: Json, now: number): void {
    for (const [resource, [node, incarnation], token, mode, fromUs, untilUs, ended] of memory as readonly WallHoldMemory[])
      this.#holdsOf(resource, token).push({ node, incarnation, token, mode, from: now + fromUs, until: now + untilUs, ended });
  }

  #holdsOf(resource: string, token: number): WallHold[] {
    let byToken = this.#holds.get(resource);
    if (byToken === undefined) this.#holds.set(resource, (byToken = new Map()));
    let holds = byToken.get(token);
    if (holds === undefined) byToken.set(token, (holds = []));
    return holds;
  }

  /** Of several readers of one process with one token, the reader that ends first: the order in which they came is not remembered. */
  #openHold(act: Renewed | Ended): WallHold | undefined {
    const holds = this.#holds.get(act.resource)?.get(act.token) ?? [];
    const open = holds.filter((hold) => !hold.ended && isHoldOf(hold, act));
    return open.sort((one, other) => one.until - other.until || one.from - other.from)[0];
  }

  *#all(): Generator<WallHold> {
    for (const byToken of this.#holds.values()) for (const holds of byToken.values()) yield* holds;
  }

  finish(): readonly Violation[] {
    const found: Violation[] = [];
    for (const [resource, holds] of this.#holds) {
      const byToken = [...holds.values()].flat().sort((a, b) => a.token - b.token);
      let longestOfAll: WallHold | null = null;
      let longestWriter: WallHold | null = null;
      for (const hold of byToken) {
        const longest: WallHold | null = hold.mode === 'shared' ? longestWriter : longestOfAll;
        // By tokens the other came first, so it must have been over: unless the clocks can explain what they show.
        const overlapUs: number = longest === null ? 0 : longest.until - hold.from - 2 * this.#boundUs;
        if (longest !== null && overlapUs > 0) {
          const message =
            `${party(hold)} was granted ${quoted(resource)} with token ${hold.token} at ${instant(hold.from)}, while ${party(longest)} held it with ` +
            `token ${longest.token} until ${instant(longest.until)}: ${span(overlapUs)} more than clocks within ${span(this.#boundUs)} can explain`;
          found.push({ property: this.property, at: hold.from, message });
        }
        if (longestOfAll === null || hold.until > longestOfAll.until) longestOfAll = hold;
        if (hold.mode === 'exclusive' && (longestWriter === null || hold.until > longestWriter.until)) longestWriter = hold;
      }
    }
    return found;
  }
}

function isHoldOf(hold: WallHold, { node, incarnation }: Who): boolean {
  return hold.node === node && hold.incarnation === incarnation;
}

function end(hold: WallHold, at: number): void {
  if (hold.ended) return;
  hold.ended = true;
  hold.until = Math.min(hold.until, at);
}
