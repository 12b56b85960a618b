/**
 * The open holds: which processes believe to hold which resource. A hold ends when its holder's own clocks say so, and no record of the
 * resource may come before that is written down: so holds that have passed are closed before each record.
 */
import type { LeaseMode } from '../kernel/index.ts';
import type { HoldDeadline } from './protocol.ts';

export interface LedgerHold {
  readonly node: number;
  readonly incarnation: number;
  readonly token: number;
  /** Shared, or else exclusive. */
  mode?: LeaseMode | undefined;
  deadline: HoldDeadline;
}

const NONE: readonly LedgerHold[] = [];

export class HoldLedger {
  readonly #holds = new Map<string, LedgerHold[]>();

  open(resource: string, hold: LedgerHold): void {
    const holds = this.#holds.get(resource);
    if (holds) holds.push(hold);
    else this.#holds.set(resource, [hold]);
  }

  find(resource: string, incarnation: number, token: number): LedgerHold | undefined {
    return this.#holds.get(resource)?.find((hold) => hold.incarnation === incarnation && hold.token === token);
  }

  /** The nodes that have an open hold, past its deadline or not. */
  holdersOf(resource: string): number[] {
    return (this.#holds.get(resource) ?? NONE).map(({ node }) => node);
  }

  close(resource: string, incarnation: number, token: number): boolean {
    const holds = this.#holds.get(resource);
    const index = holds ? holds.findIndex((hold) => hold.incarnation === incarnation && hold.token === token) : -1;
    if (!holds || index < 0) return false;
    holds.splice(index, 1);
    return true;
  }

  /** Closes the holds that have passed, and returns them, newest first. */
  closePassed(resource: string, hasPassed: (hold: LedgerHold) => boolean): readonly LedgerHold[] {
    const holds = this.#holds.get(resource) ?? NONE;
    if (!holds.some(hasPassed)) return NONE;
    const passed = holds.filter(hasPassed);
    this.#holds.set(
      resource,
      holds.filter((hold) => !passed.includes(hold)),
    );
    return passed.reverse();
  }

  /** Every open hold with its resource. */
  *entries(): Generator<[resource: string, hold: LedgerHold]> {
    for (const [resource, holds] of this.#holds) for (const hold of holds) yield [resource, hold];
  }

  /** The process is gone and holds nothing any more. */
  closeAllOf(incarnation: number): void {
    for (const [resource, holds] of this.#holds) {
      const kept = holds.filter((hold) => hold.incarnation !== incarnation);
      if (kept.length === 0) this.#holds.delete(resource);
      else this.#holds.set(resource, kept);
    }
  }
}
