/**
 * Turns what actors tell into a history, and shows it to the referees: holds are closed when their
 * holder's own clocks have passed, before anything else is written down of the resource.
 */
import type { MonoUs, WallUs } from '../../kernel/index.ts';
import { Panel, type HistoryRecord, type Referee } from '../../check/index.ts';
import { HoldLedger } from '../holds.ts';
import type { HoldDeadline } from '../protocol.ts';
import type { Told } from './player.ts';

export interface ChronicleClocks {
  now(): number;
  monoOf(node: number): MonoUs;
  wallOf(node: number): WallUs;
}

export class Chronicle {
  readonly panel: Panel;
  readonly #clocks: ChronicleClocks;
  readonly #ledger = new HoldLedger();
  /** The node of each incarnation that was ever heard of. */
  readonly #nodes = new Map<number, number>();
  readonly #written: (record: HistoryRecord) => void;

  constructor(referees: readonly Referee[], clocks: ChronicleClocks, written: (record: HistoryRecord) => void = () => undefined) {
    this.panel = new Panel(referees);
    this.#clocks = clocks;
    this.#written = written;
  }

  tell(node: number, incarnation: number, told: Told): void {
    this.#nodes.set(incarnation, node);
    const who = { at: this.#clocks.now(), node, incarnation };
    if (told.kind === 'record') {
      this.#write({ ...who, ...told.record });
      return;
    }
    const { resource, token } = told;
    const hold = this.#ledger.find(resource, incarnation, token);
    switch (told.kind) {
      case 'granted':
        this.settle(resource);
        this.#write({
          ...who,
          kind: 'granted',
          resource,
          request: told.request,
          token,
          remainingUs: this.#remainingUs(node, told.deadline),
        });
        this.#ledger.open(resource, incarnation, token, told.deadline);
        return;
      case 'renewed':
        this.settle(resource);
        this.#write({ ...who, kind: 'renewed', resource, token, remainingUs: this.#remainingUs(node, told.deadline) });
        if (hold) hold.deadline = told.deadline;
        return;
      case 'used': {
        const remainingUs = hold ? this.#remainingUs(node, hold.deadline) : 0;
        this.settle(resource);
        this.#write({ ...who, kind: 'used', resource, token, remainingUs });
        return;
      }
      case 'ended':
        this.settle(resource);
        if (this.#ledger.close(resource, incarnation, token)) this.#write({ ...who, kind: 'ended', resource, token, reason: told.reason });
        return;
    }
  }

  crashed(node: number, incarnation: number): void {
    this.#ledger.closeAllOf(incarnation);
    this.#write({ at: this.#clocks.now(), node, incarnation, kind: 'crashed' });
  }

  /** Writes down the holds of a resource that ended by themselves. */
  settle(resource: string): void {
    this.#ledger.settle(
      resource,
      (incarnation, deadline) => this.#remainingUs(this.#nodes.get(incarnation) ?? 0, deadline),
      (incarnation, token) => {
        const node = this.#nodes.get(incarnation) ?? 0;
        this.#write({ at: this.#clocks.now(), node, incarnation, kind: 'ended', resource, token, reason: 'deadline' });
      },
    );
  }

  #remainingUs(node: number, deadline: HoldDeadline): number {
    return Math.min(deadline.monoUs - this.#clocks.monoOf(node), deadline.wallUs - this.#clocks.wallOf(node));
  }

  #write(record: HistoryRecord): void {
    this.#written(record);
    this.panel.observe(record);
  }
}
