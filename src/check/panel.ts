/**
 * A panel: several referees over one history. It shows each record to all of them and keeps the first
 * violations they report; further violations are only counted, so a run that breaks everything stays small.
 */
import { TenureError, type Json } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind } from './history.ts';
import type { Perspective } from './memory.ts';
import type { Referee, Violation } from './referee.ts';

const VIOLATIONS_KEPT = 100;

/** The world tells these of itself, and no promise is about them alone. */
const WORLDS_OWN: readonly RecordKind[] = ['crashed'];

export class Panel {
  readonly #referees: readonly Referee[];
  readonly #handled: ReadonlySet<RecordKind>;
  readonly #kept: number;
  readonly #violations: Violation[] = [];
  #count = 0;

  constructor(referees: readonly Referee[], violationsKept: number = VIOLATIONS_KEPT) {
    this.#referees = referees;
    this.#handled = new Set<RecordKind>([...WORLDS_OWN, ...referees.flatMap(({ handles }) => handles)]);
    this.#kept = violationsKept;
  }

  /** The first violations, in the order in which they were shown. */
  get violations(): readonly Violation[] {
    return this.#violations;
  }

  /** All violations, kept or not. */
  get violationCount(): number {
    return this.#count;
  }

  /** Whether the history is still without fault, this record included. Throws on a kind of record that no referee here handles: silence would look like consent. */
  observe(record: HistoryRecord): boolean {
    if (!this.#handled.has(record.kind)) {
      const { kind } = record;
      throw new TenureError('TENURE_BAD_ARGUMENT', `a record of kind '${kind}' was written, and no referee here handles it`, { kind });
    }
    for (const referee of this.#referees) {
      const violation = referee.observe(record);
      if (violation !== null) this.report(violation);
    }
    return this.#count === 0;
  }

  /** Ends the history and returns the violations kept. */
  finish(at: number): readonly Violation[] {
    for (const referee of this.#referees) {
      for (const violation of referee.finish(at)) this.report(violation);
    }
    return this.#violations;
  }

  /** What all referees remember. Violations are not part of it. */
  snapshot(seen: Perspective): Json {
    return this.#referees.map((referee) => referee.snapshot(seen));
  }

  /** Of a panel of the same referees, just built. */
  restore(memory: Json, now: number): void {
    const memories = memory as readonly Json[];
    for (const [index, referee] of this.#referees.entries()) referee.restore(memories[index] as Json, now);
  }

  /** Keeps a violation found by a referee, or by the caller (progress that did not come). */
  report(violation: Violation): void {
    this.#count++;
    if (this.#violations.length < this.#kept) this.#violations.push(violation);
  }
}
