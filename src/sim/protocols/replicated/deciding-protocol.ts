/** Consensus over ranked registers in the simulator (Figure 10): any process may believe to lead until the world heals, then one does. */
import { decodeName, encodeName } from '../../../kernel/index.ts';
import type { UnitsCommand, UnitsCore, UnitsEvent } from '../../../core/index.ts';
import { AgreementReferee, type Referee } from '../../../check/index.ts';
import type { Desk, User } from '../../protocol.ts';
import { UnitsKeeper } from './keeper.ts';
import { DECIDING_MUTANTS } from './mutants.ts';
import { UNITS_INTERESTS, unitsProtocol, type UnitsSim } from './register-protocol.ts';
import { UNITS_TERM_US, type UnitsScenario, type UnitsWorld } from './worlds.ts';

export const rankedConsensus: UnitsSim = {
  ...unitsProtocol(DECIDING_MUTANTS),
  name: 'ranked-consensus',
  summary: 'consensus on several units by a ranked register and a leader: one decided value, whoever believes to lead',
  sometimes: [
    { name: 'decision', description: 'a process learned a decision' },
    { name: 'decision-of-another', description: 'a process learned that the value of another was decided' },
    ...UNITS_INTERESTS,
  ],
  user: ({ config }: UnitsScenario, core: UnitsCore, desk: Desk<UnitsCommand>): User<UnitsEvent> => new DecidingUser(config, core, desk),
  referees: (): Referee[] => [new AgreementReferee()],
};

const NEXT = 0;
const LEAD = 1;
const OWE = 2;
/** Of a world. All nodes propose in the same instances, and more than once. */
const INSTANCES = 6;

class DecidingUser implements User<UnitsEvent> {
  readonly #config: UnitsWorld;
  readonly #desk: Desk<UnitsCommand>;
  readonly #keeper: UnitsKeeper;
  /** Operations, and what each is to decide. */
  readonly #underWay = new Map<number, number>();
  /** What this process has heard; the same again is nothing new. */
  readonly #heard = new Map<number, string>();
  #owed = 0;
  #ops = 0;

  constructor(config: UnitsWorld, core: UnitsCore, desk: Desk<UnitsCommand>) {
    this.#config = config;
    this.#desk = desk;
    this.#keeper = new UnitsKeeper(desk, core, () => ++this.#ops);
  }

  start(): void {
    this.#keeper.start();
    this.#desk.after(1 + this.#desk.choose(this.#config.pauseUsMax), NEXT);
    this.#desk.after(1 + this.#desk.choose(this.#config.pauseUsMax), LEAD);
  }

  unitRestored(unit: number): void {
    this.#keeper.open(unit);
  }

  timer(tag: number): void {
    if (this.#keeper.timer(tag)) return;
    const desk = this.#desk;
    if (desk.healed) {
      if (tag === OWE) this.#owed = this.#begin(INSTANCES);
      if (this.#keeper.isExcused) desk.done();
      desk.after(UNITS_TERM_US / 10, NEXT);
      return;
    }
    if (tag === LEAD) desk.command({ kind: 'lead', isLeader: desk.choose(2) === 0 });
    else if (this.#underWay.size < this.#config.atOnce) this.#begin(desk.choose(INSTANCES));
    desk.after(1 + desk.choose(this.#config.pauseUsMax), tag);
  }

  #begin(instance: number): number {
    const desk = this.#desk;
    const op = ++this.#ops;
    const value = `${desk.incarnation}.${op}`;
    this.#underWay.set(op, instance);
    desk.record({ kind: 'proposed', instance, value });
    desk.command({ kind: 'decide', op, name: `d${instance}`, value: encodeName(value) });
    return op;
  }

  event(event: UnitsEvent): void {
    if (this.#keeper.heard(event) || event.kind !== 'decided') return;
    const { op } = event;
    const instance = this.#underWay.get(op);
    if (instance === undefined) return;
    this.#underWay.delete(op);
    const desk = this.#desk;
    const value = decodeName(event.value, 0, event.value.length) ?? '';
    desk.sometimes(value === `${desk.incarnation}.${op}` ? 'decision' : 'decision-of-another');
    if (this.#heard.get(instance) !== value) desk.record({ kind: 'decided', instance, value });
    this.#heard.set(instance, value);
    if (op === this.#owed) desk.done();
  }

  healed(): void {
    const desk = this.#desk;
    desk.command({ kind: 'lead', isLeader: desk.node === 0 });
    desk.after(1 + desk.choose(this.#config.pauseUsMax), OWE);
  }

  waitingFor(): string {
    return 'a decision';
  }
}
