/**
 * Turns what users and actors tell into a history, and shows it to the referees: the same in worlds and on stages. A hold is closed
 * when its holder's own clocks have passed, before anything else is written down of the resource.
 */
import { wallUs, type Json, type LeaseMode, type MonoUs, type WallUs } from '../kernel/index.ts';
import {
  inOrder,
  isOfQuestion,
  modeWords,
  Panel,
  whoSeen,
  type HistoryRecord,
  type Perspective,
  type Referee,
  type WhoMemory,
} from '../check/index.ts';
import { HoldLedger, type LedgerHold } from './holds.ts';
import type { DistributiveOmit, HoldDeadline } from './protocol.ts';

/** A report of the application on a node. A hold comes with its deadline; the remaining time is computed when the record is written. */
export type ApplicationReport =
  | {
      readonly kind: 'granted';
      readonly resource: string;
      readonly request: number;
      readonly token: number;
      readonly deadline: HoldDeadline;
      readonly mode?: LeaseMode | undefined;
    }
  | {
      readonly kind: 'renewed';
      readonly resource: string;
      readonly token: number;
      readonly deadline: HoldDeadline;
      readonly mode?: LeaseMode | undefined;
    }
  | { readonly kind: 'used'; readonly resource: string; readonly token: number }
  | { readonly kind: 'ended'; readonly resource: string; readonly token: number; readonly reason: 'released' | 'lost' }
  /** Progress that was owed is impossible or was undone. */
  | { readonly kind: 'missed'; readonly message: string }
  /** The core found one of its own invariants broken. It is stepped no more. */
  | { readonly kind: 'broke'; readonly message: string }
  | { readonly kind: 'record'; readonly record: DistributiveOmit<HistoryRecord, 'at' | 'node' | 'incarnation'> };

/** The part of a desk by which an application reports its acts to the history. */
export abstract class Teller {
  protected abstract report(told: ApplicationReport): void;

  requested(resource: string, request: number, mode?: LeaseMode): void {
    this.record({ kind: 'requested', resource, request, ...modeWords(mode) });
  }

  abandoned(resource: string, request: number): void {
    this.record({ kind: 'abandoned', resource, request });
  }

  granted(resource: string, request: number, token: number, deadline: HoldDeadline, mode?: LeaseMode): void {
    this.report({ kind: 'granted', resource, request, token, deadline, ...(mode && { mode }) });
  }

  /** With a mode, it is held in that one from here on. */
  renewed(resource: string, token: number, deadline: HoldDeadline, mode?: LeaseMode): void {
    this.report({ kind: 'renewed', resource, token, deadline, ...(mode && { mode }) });
  }

  used(resource: string, token: number): void {
    this.report({ kind: 'used', resource, token });
  }

  ended(resource: string, token: number, reason: 'released' | 'lost'): void {
    this.report({ kind: 'ended', resource, token, reason });
  }

  record(record: DistributiveOmit<HistoryRecord, 'at' | 'node' | 'incarnation'>): void {
    this.report({ kind: 'record', record });
  }

  failLiveness(message: string): void {
    this.report({ kind: 'missed', message });
  }
}

export interface ChronicleClocks {
  now(): number;
  monoOf(node: number): MonoUs;
  wallOf(node: number): WallUs;
  /**
   * Wall clocks may be set back: a hold that ended by the wall clock alone may be back before its holder looks. So until its holder says that it is
   * lost it is judged by the monotonic clock, which is stricter. Where machines sleep this may not be: there the wall clock alone ends a hold.
   */
  readonly wallsGoBack?: boolean;
}

/** Is shown each record as it is written. */
type Written = (record: HistoryRecord) => void;

interface ChronicleMemory {
  readonly panel: Json;
  readonly holds: readonly (readonly [resource: string, who: WhoMemory, token: number, mode: LeaseMode, monoUs: number, wallUs: number])[];
}

export class Chronicle {
  readonly panel: Panel;
  readonly #clocks: ChronicleClocks;
  readonly #ledger = new HoldLedger();
  readonly #written: Written;

  constructor(referees: readonly Referee[], clocks: ChronicleClocks, written: Written = () => undefined) {
    this.panel = new Panel(referees);
    this.#clocks = clocks;
    this.#written = written;
  }

  report(node: number, incarnation: number, told: ApplicationReport): void {
    const at = this.#clocks.now();
    if (told.kind === 'record') {
      // A hold that has ended by its holder's own clocks is over for questions, too.
      if (isOfQuestion(told.record.kind)) this.closeAllPassed();
      // The record was made to be told: completed in place, since a copy costs more than all referees together.
      this.#write(Object.assign(told.record, { at, node, incarnation }));
      return;
    }
    if (told.kind === 'missed') {
      this.missed(`node ${node}#${incarnation} ${told.message}`);
      return;
    }
    if (told.kind === 'broke') {
      this.panel.report({ property: 'invariant', at, message: `node ${node}#${incarnation} ${told.message}` });
      return;
    }
    const { resource, token } = told;
    const hold = this.#ledger.find(resource, incarnation, token);
    this.closePassed(resource);
    switch (told.kind) {
      case 'granted': {
        const { request, deadline, mode } = told;
        const remainingUs = this.#remainingUs(node, deadline);
        this.#write({ at, node, incarnation, kind: 'granted', resource, request, token, remainingUs, ...modeWords(mode) });
        this.#ledger.open(resource, { node, incarnation, token, deadline, mode });
        return;
      }
      case 'renewed': {
        const { deadline } = told;
        const remainingUs = this.#remainingUs(node, deadline);
        if (hold && told.mode !== undefined) hold.mode = told.mode;
        this.#write({ at, node, incarnation, kind: 'renewed', resource, token, remainingUs, ...modeWords(hold?.mode) });
        if (hold) hold.deadline = deadline;
        return;
      }
      case 'used': {
        const remainingUs = hold ? this.#remainingUs(node, hold.deadline) : 0;
        this.#write({ at, node, incarnation, kind: 'used', resource, token, remainingUs, ...modeWords(hold?.mode) });
        return;
      }
      case 'ended':
        if (this.#ledger.close(resource, incarnation, token))
          this.#write({ at, node, incarnation, kind: 'ended', resource, token, reason: told.reason });
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
  closePassed(resource: string): void {
    const at = this.#clocks.now();
    for (const { node, incarnation, token } of this.#ledger.closePassed(resource, (hold) => this.#hasPassed(hold))) {
      this.#write({ at, node, incarnation, kind: 'ended', resource, token, reason: 'deadline' });
    }
  }

  closeAllPassed(): void {
    for (const resource of new Set([...this.#ledger.entries()].map(([one]) => one))) this.closePassed(resource);
  }

  /** The memory of the referees, and the open holds with their deadlines: everything by which later reports are judged. */
  snapshot(seen: Perspective): Json {
    const holds = [...this.#ledger.entries()].map(
      ([resource, { node, incarnation, token, mode, deadline }]): ChronicleMemory['holds'][number] => [
        resource,
        whoSeen({ node, incarnation }, seen),
        token,
        mode ?? 'exclusive',
        deadline.monoUs,
        deadline.wallUs,
      ],
    );
    return { panel: this.panel.snapshot(seen), holds: inOrder(holds) };
  }

  /** Of a chronicle that was just built for the same referees. */
  restore(memory: Json): void {
    const { panel, holds } = memory as unknown as ChronicleMemory;
    this.panel.restore(panel, this.#clocks.now());
    for (const [resource, [node, incarnation], token, mode, monoUs, wall] of holds) {
      const deadline = { monoUs: monoUs as MonoUs, wallUs: wall as WallUs };
      this.#ledger.open(resource, { node: Number(node), incarnation, token, mode, deadline });
    }
  }

  /** The nodes that hold a resource by their own clocks, at this instant. */
  holdersOf(resource: string): number[] {
    this.closePassed(resource);
    return this.#ledger.holdersOf(resource);
  }

  #hasPassed({ node, deadline }: LedgerHold): boolean {
    const { wallsGoBack = false } = this.#clocks;
    return this.#remainingUs(node, wallsGoBack ? { ...deadline, wallUs: wallUs(Infinity) } : deadline) <= 0;
  }

  /** How long a holder may still act, by its own clocks. */
  #remainingUs(node: number, deadline: HoldDeadline): number {
    return Math.min(deadline.monoUs - this.#clocks.monoOf(node), deadline.wallUs - this.#clocks.wallOf(node));
  }

  #write(record: HistoryRecord): void {
    this.#written(record);
    this.panel.observe(record);
  }
}
