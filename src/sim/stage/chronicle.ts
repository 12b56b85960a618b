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

/** Is shown each record as it is written; a grant or renewal with its deadline. */
type Written = (record: HistoryRecord, deadline: HoldDeadline | null) => void;

export class Chronicle {
  readonly panel: Panel;
  readonly #clocks: ChronicleClocks;
  readonly #ledger = new HoldLedger();
  /** The node of each incarnation that was ever heard of. */
  readonly #nodes = new Map<number, number>();
  readonly #written: Written;

  constructor(referees: readonly Referee[], clocks: ChronicleClocks, written: Written = () => undefined) {
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
    if (told.kind === 'missed') {
      this.missed(`node ${node}#${incarnation} ${told.message}`);
      return;
    }
    if (told.kind === 'broke') {
      const message = `node ${node}#${incarnation} ${told.message}`;
      this.panel.report({ property: 'invariant', at: this.#clocks.now(), message });
      return;
    }
    const { resource, token } = told;
    const hold = this.#ledger.find(resource, incarnation, token);
    switch (told.kind) {
      case 'granted':
      case 'renewed': {
        const { deadline } = told;
        const remainingUs = this.#remainingUs(node, deadline);
        this.settle(resource);
        if (told.kind === 'granted') {
          this.#write({ ...who, kind: 'granted', resource, request: told.request, token, remainingUs }, deadline);
          this.#ledger.open(resource, incarnation, token, deadline);
        } else {
          this.#write({ ...who, kind: 'renewed', resource, token, remainingUs }, deadline);
          if (hold) hold.deadline = deadline;
        }
        return;
      }
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

  /** Progress that was owed did not come. */
  missed(message: string): void {
    this.panel.report({ property: 'liveness', at: this.#clocks.now(), message });
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

  /** The nodes that hold a resource by their own clocks, at this instant. */
  holdersOf(resource: string): number[] {
    this.settle(resource);
    return this.#ledger.holdersOf(resource).map((incarnation) => this.#nodes.get(incarnation) ?? 0);
  }

  #remainingUs(node: number, deadline: HoldDeadline): number {
    return Math.min(deadline.monoUs - this.#clocks.monoOf(node), deadline.wallUs - this.#clocks.wallOf(node));
  }

  #write(record: HistoryRecord, deadline: HoldDeadline | null = null): void {
    this.#written(record, deadline);
    this.panel.observe(record);
  }
}
