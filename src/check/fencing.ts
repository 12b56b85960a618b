/**
 * Fencing: the tokens of a resource are positive safe integers that rise strictly from grant to
 * grant, for ever, and a holder that acts carries the token it was granted. Among readers they need not rise: a
 * reader's is above the tokens of all writers before it, a writer's above all. The highest tokens of every
 * resource are kept for the whole run, because "for ever" ends with no hold.
 */
import type { Json } from '../kernel/index.ts';
import type { Granted, HistoryRecord, RecordKind, Renewed, Used } from './history.ts';
import { OpenHolds, type Hold } from './holds.ts';
import { inOrder, type Perspective } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface FencingMemory {
  readonly highest: readonly (readonly [resource: string, token: number])[];
  readonly written: readonly (readonly [resource: string, token: number])[];
  readonly holds: Json;
}

export class FencingReferee implements Referee {
  readonly property = 'fencing' as const;
  readonly handles: readonly RecordKind[] = ['granted', 'renewed', 'used', 'ended', 'crashed'];
  readonly #highest = new Map<string, number>();
  /** The highest of an exclusive grant. */
  readonly #written = new Map<string, number>();
  readonly #holds = new OpenHolds();

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted': {
        const violation = this.#judgeGrant(record);
        this.#holds.open(record);
        return violation;
      }
      case 'renewed':
      case 'used':
        return this.#judgeAct(record);
      case 'ended':
        this.#holds.close(record);
        return null;
      case 'crashed':
        this.#holds.closeAllOf(record);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    return { highest: inOrder(this.#highest), written: inOrder(this.#written), holds: this.#holds.snapshot(seen) };
  }

  restore(memory: Json): void {
    const { highest, written, holds } = memory as unknown as FencingMemory;
    for (const [resource, token] of highest) this.#highest.set(resource, token);
    for (const [resource, token] of written) this.#written.set(resource, token);
    this.#holds.restore(holds);
  }

  #judgeGrant(grant: Granted): Violation | null {
    const { token, resource, mode = 'exclusive' } = grant;
    if (!Number.isSafeInteger(token) || token <= 0) {
      return this.#violation(grant, `was granted token ${token}, which is not a positive safe integer`);
    }
    const highest = (mode === 'exclusive' ? this.#highest : this.#written).get(resource) ?? 0;
    if (token > highest) {
      this.#highest.set(resource, Math.max(token, this.#highest.get(resource) ?? 0));
      if (mode === 'exclusive') this.#written.set(resource, token);
      return null;
    }
    return this.#violation(
      grant,
      token === highest ? `was granted token ${token} a second time` : `was granted token ${token} after token ${highest}`,
    );
  }

  /**
   * The token must be one this incarnation holds. Without an open hold there is nothing to compare
   * with but the highest token: that such an act comes too late is for the deadline referee to say.
   */
  #judgeAct(act: Renewed | Used): Violation | null {
    let held = 0;
    let other: Hold | null = null;
    for (let hold = this.#holds.newest(act.resource) ?? null; hold !== null; hold = hold.next) {
      const own = hold.node === act.node && hold.incarnation === act.incarnation;
      if (hold.token === act.token) {
        if (own) return null;
        // Readers may have the same one: the own hold may be further down.
        other ??= hold;
      }
      if (own) held = hold.token;
    }
    if (other !== null) return this.#violation(act, `${act.kind} token ${act.token}, which was granted to ${party(other)}`);
    if (held !== 0) return this.#violation(act, `${act.kind} token ${act.token}, but holds token ${held}`);
    const highest = this.#highest.get(act.resource) ?? 0;
    if (act.token <= highest) return null;
    return this.#violation(act, `${act.kind} token ${act.token}, which was never granted`);
  }

  #violation(act: Granted | Renewed | Used, what: string): Violation {
    return {
      property: this.property,
      at: act.at,
      message: `${party(act)} ${what} (resource ${quoted(act.resource)}, at ${instant(act.at)})`,
    };
  }
}
