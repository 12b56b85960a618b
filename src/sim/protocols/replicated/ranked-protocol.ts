/** Ranked registers in the simulator: users read and write under ranks of their own, while units fail, hang, are wiped and repaired. Properties 4 to 6 are judged. */
import { decodeName, encodeName } from '../../../kernel/index.ts';
import type { UnitsCommand, UnitsCore, UnitsEvent } from '../../../core/index.ts';
import { RankedReferee, type Referee } from '../../../check/index.ts';
import type { Desk, User } from '../../protocol.ts';
import { UnitsKeeper } from './keeper.ts';
import { RANKED_MUTANTS } from './mutants.ts';
import { UNITS_INTERESTS, unitsProtocol, type UnitsSim } from './register-protocol.ts';
import { UNITS_TERM_US, type UnitsScenario, type UnitsWorld } from './worlds.ts';

export const rankedRegister: UnitsSim = {
  ...unitsProtocol(RANKED_MUTANTS),
  name: 'ranked-register',
  summary: 'a ranked register out of several units: a write of a lower rank than a read is seen by it, or aborts',
  sometimes: [
    { name: 'rank-read', description: 'a read found a value and its rank' },
    { name: 'rank-read-of-nothing', description: 'a read found that nothing was written' },
    { name: 'commit', description: 'a write committed' },
    { name: 'abort', description: 'a write met a higher rank' },
    ...UNITS_INTERESTS,
  ],
  user: ({ config }: UnitsScenario, core: UnitsCore, desk: Desk<UnitsCommand>): User<UnitsEvent> => new RankedUser(config, core, desk),
  referees: (): Referee[] => [new RankedReferee()],
};

const NEXT = 0;
const NAME = 'k';

class RankedUser implements User<UnitsEvent> {
  readonly #config: UnitsWorld;
  readonly #desk: Desk<UnitsCommand>;
  readonly #keeper: UnitsKeeper;
  readonly #underWay = new Set<number>();
  readonly #owed = new Set<number>();
  /** The rank that was read under, and not written under. */
  #readUnder = 0;
  /** The highest count that was seen or used. */
  #count = 0;
  #ops = 0;

  constructor(config: UnitsWorld, core: UnitsCore, desk: Desk<UnitsCommand>) {
    this.#config = config;
    this.#desk = desk;
    this.#keeper = new UnitsKeeper(desk, core, () => ++this.#ops);
  }

  start(): void {
    this.#keeper.start();
    for (let i = 0; i < this.#config.atOnce; i++) this.#nextLater();
  }

  unitRestored(unit: number): void {
    this.#keeper.open(unit);
  }

  timer(tag: number): void {
    if (this.#keeper.timer(tag)) return;
    if (this.#desk.healed) {
      if (this.#keeper.isExcused) this.#desk.done();
      else this.#desk.after(UNITS_TERM_US / 10, NEXT);
      return;
    }
    this.#nextLater();
    if (this.#underWay.size < this.#config.atOnce) this.#begin(this.#desk.choose(2) === 0 ? 'rank-read' : 'rank-write');
  }

  /** A write follows the read of the same rank, or has a rank of its own. */
  #begin(kind: 'rank-read' | 'rank-write'): number {
    const desk = this.#desk;
    const op = ++this.#ops;
    const isFresh = kind === 'rank-read' || this.#readUnder === 0;
    if (isFresh) this.#count += 1 + desk.choose(3);
    const count = isFresh ? this.#count : this.#readUnder;
    this.#readUnder = kind === 'rank-read' ? count : 0;
    this.#underWay.add(op);
    if (kind === 'rank-read') {
      desk.record({ kind: 'asked', register: NAME, op, action: 'read', ballot: count });
      desk.command({ kind, op, name: NAME, count });
    } else {
      const value = `${desk.incarnation}.${op}`;
      desk.record({ kind: 'asked', register: NAME, op, action: 'write', ballot: count, value });
      desk.command({ kind, op, name: NAME, count, value: encodeName(value) });
    }
    return op;
  }

  event(event: UnitsEvent): void {
    if (this.#keeper.heard(event) || !('op' in event) || event.kind === 'leaving') return;
    const { op } = event;
    if (!this.#underWay.delete(op)) return;
    const desk = this.#desk;
    if (event.kind === 'rank-found') {
      const value = event.value && decodeName(event.value, 0, event.value.length);
      desk.sometimes(value === null ? 'rank-read-of-nothing' : 'rank-read');
      desk.record({ kind: 'committed', register: NAME, op, value });
      this.#count = Math.max(this.#count, event.rank?.count ?? 0);
    } else if (event.kind === 'committed') {
      desk.sometimes('commit');
      desk.record({ kind: 'committed', register: NAME, op });
    } else if (event.kind === 'aborted') {
      desk.sometimes('abort');
      desk.record({ kind: 'aborted', register: NAME, op });
      this.#count = Math.max(this.#count, event.above.count);
    }
    if (this.#owed.delete(op) && this.#owed.size === 0) desk.done();
  }

  healed(): void {
    this.#owed.add(this.#begin('rank-read')).add(this.#begin('rank-write'));
    this.#desk.after(UNITS_TERM_US / 10, NEXT);
  }

  waitingFor(): string {
    return `${this.#owed.size} operations`;
  }

  #nextLater(): void {
    this.#desk.after(1 + this.#desk.choose(this.#config.pauseUsMax), NEXT);
  }
}
