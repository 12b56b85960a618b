/**
 * The epochs of shared units (rule 23). A unit that may have lost acknowledged writes is in another epoch from there on, and refuses the accesses of
 * processes that have not opened it since. A process that has waited long enough under an epoch notes so, for processes that open the unit later.
 */
import type { UnitId } from '../core/index.ts';

export class UnitEpochs {
  readonly #current = new Map<UnitId, number>();
  /** By unit, the last epoch that a process has waited out. The first epoch has nothing to wait for. */
  readonly #waitedOut = new Map<UnitId, number>();
  /** By unit and process, the epoch that it has opened. */
  readonly #opened = new Map<string, number>();

  /** The unit has another from here on. */
  renew(unit: UnitId): void {
    this.#current.set(unit, this.#of(unit) + 1);
  }

  /** Whether any process has waited out the epoch that this process is in from here on. */
  open(process: number, unit: UnitId): boolean {
    const epoch = this.#of(unit);
    this.#opened.set(keyOf(process, unit), epoch);
    return (this.#waitedOut.get(unit) ?? 0) === epoch;
  }

  /** It has waited since it opened the unit. */
  noteWaitedOut(process: number, unit: UnitId): void {
    this.#waitedOut.set(unit, this.openedBy(process, unit));
  }

  /** Whether the unit is in another epoch than the process has opened. */
  refuses(process: number, unit: UnitId): boolean {
    return this.openedBy(process, unit) !== this.#of(unit);
  }

  /** The epoch that the process has opened. */
  openedBy(process: number, unit: UnitId): number {
    return this.#opened.get(keyOf(process, unit)) ?? 0;
  }

  #of(unit: UnitId): number {
    return this.#current.get(unit) ?? 0;
  }
}

function keyOf(process: number, unit: UnitId): string {
  return `${process} ${unit}`;
}
