/**
 * Who believes to hold what. A hold ends when its holder's own clocks say so, and no record of the
 * resource may come before that is written down: so the ledger is settled before each record.
 */
import type { HoldDeadline } from './protocol.ts';

interface Hold {
  readonly process: number;
  readonly token: number;
  deadline: HoldDeadline;
}

export class HoldLedger {
  readonly #holds = new Map<string, Hold[]>();

  open(resource: string, process: number, token: number, deadline: HoldDeadline): void {
    const holds = this.#holds.get(resource);
    const hold = { process, token, deadline };
    if (holds) holds.push(hold);
    else this.#holds.set(resource, [hold]);
  }

  find(resource: string, process: number, token: number): Hold | undefined {
    return this.#holds.get(resource)?.find((hold) => hold.process === process && hold.token === token);
  }

  get resources(): string[] {
    return [...this.#holds.keys()];
  }

  /** Whoever has an open hold, past its deadline or not. */
  holdersOf(resource: string): number[] {
    return (this.#holds.get(resource) ?? []).map(({ process }) => process);
  }

  close(resource: string, process: number, token: number): boolean {
    const holds = this.#holds.get(resource);
    const index = holds ? holds.findIndex((hold) => hold.process === process && hold.token === token) : -1;
    if (!holds || index < 0) return false;
    holds.splice(index, 1);
    return true;
  }

  /** Closes what has passed and calls `expired` for each. */
  settle(
    resource: string,
    remainingUs: (process: number, deadline: HoldDeadline) => number,
    expired: (process: number, token: number) => void,
  ): void {
    const holds = this.#holds.get(resource);
    if (!holds || holds.length === 0) return;
    for (let i = holds.length - 1; i >= 0; i--) {
      const hold = holds[i] as Hold;
      if (remainingUs(hold.process, hold.deadline) > 0) continue;
      holds.splice(i, 1);
      expired(hold.process, hold.token);
    }
  }

  /** The process is gone and holds nothing any more. */
  closeAllOf(process: number): void {
    for (const [resource, holds] of this.#holds) {
      const kept = holds.filter((hold) => hold.process !== process);
      if (kept.length === 0) this.#holds.delete(resource);
      else this.#holds.set(resource, kept);
    }
  }
}
