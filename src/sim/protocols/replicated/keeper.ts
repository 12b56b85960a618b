/** What every user of registers over several units does besides its work: it opens units in their epochs, and repairs units that lost their content. */
import { quorumOf } from '../../../kernel/index.ts';
import type { UnitsCommand, UnitsCore, UnitsEvent, UnitStanding } from '../../../core/index.ts';
import type { Desk, Sometime } from '../../protocol.ts';
import { epochBytes, UNITS_TERM_US } from './worlds.ts';

export const REPAIR_INTERESTS: readonly Sometime[] = [
  { name: 'unit-without-mark', description: 'a process found that a unit had lost its mark' },
  { name: 'unit-in-another-epoch', description: 'a process found that a unit may have lost writes' },
  { name: 'unit-in-repair', description: 'a process found that a unit was marked and not named yet' },
  { name: 'unit-repaired', description: 'a unit was repaired' },
  { name: 'repair-in-vain', description: 'a repair came to nothing' },
];

const OF_STANDINGS: Partial<Record<UnitStanding, string>> = {
  unmarked: 'unit-without-mark',
  epoch: 'unit-in-another-epoch',
  unfinished: 'unit-in-repair',
};

/** Timers from here on are of units. */
const KEEPER_TAGS = 1_000_000;

export class UnitsKeeper {
  readonly #desk: Desk<UnitsCommand>;
  readonly #core: UnitsCore;
  readonly #nextOp: () => number;
  readonly #repairs = new Map<number, number>();
  readonly #planned = new Set<number>();
  #identities = 0;

  constructor(desk: Desk<UnitsCommand>, core: UnitsCore, nextOp: () => number) {
    this.#desk = desk;
    this.#core = core;
    this.#nextOp = nextOp;
  }

  start(): void {
    for (const unit of this.#core.config.units.keys()) this.open(unit);
  }

  open(unit: number): void {
    const desk = this.#desk;
    desk.openUnit?.(unit);
    desk.command({ kind: 'epoch', unit, epoch: epochBytes(desk.epochOf?.(unit) ?? 0) });
  }

  /** True if the event was about units. */
  heard(event: UnitsEvent): boolean {
    const desk = this.#desk;
    if (event.kind === 'standing') {
      const named = OF_STANDINGS[event.standing];
      if (named === undefined) return true;
      desk.sometimes(named);
      this.#plan(event.unit, event.standing === 'unfinished' ? UNITS_TERM_US : UNITS_TERM_US / 50);
      return true;
    }
    if (event.kind !== 'repaired' && event.kind !== 'not-repaired') return false;
    desk.sometimes(event.kind === 'repaired' ? 'unit-repaired' : 'repair-in-vain');
    for (const [unit, op] of this.#repairs) if (op === event.op) this.#repairs.delete(unit);
    return true;
  }

  /** True if the timer was about a unit. */
  timer(tag: number): boolean {
    const unit = tag - KEEPER_TAGS;
    if (unit < 0) return false;
    this.#planned.delete(unit);
    const standing = this.#core.standings[unit];
    if (standing === 'whole' || standing === 'silent' || this.#repairs.has(unit)) return true;
    const op = this.#nextOp();
    this.#repairs.set(unit, op);
    // Never used before: incarnations are not.
    const identity = this.#desk.incarnation * 10_000 + ++this.#identities;
    this.#desk.command({ kind: 'repair', op, unit, identity });
    return true;
  }

  /** So many units lost their content that written values can no longer be told: nothing is owed. */
  get isExcused(): boolean {
    const { standings } = this.#core;
    const whole = standings.filter((standing) => standing === 'whole' || standing === 'silent').length;
    return whole < quorumOf(standings.length);
  }

  #plan(unit: number, aboutUs: number): void {
    if (this.#planned.has(unit)) return;
    this.#planned.add(unit);
    // Not all at once: the last mark counts.
    this.#desk.after(1 + this.#desk.choose(aboutUs * (1 + 2 * this.#desk.node)), KEEPER_TAGS + unit);
  }
}
