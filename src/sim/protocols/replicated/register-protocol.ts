/** Replicated registers in the simulator: users read and write while units fail, hang, are wiped, repaired and set back. Atomicity is judged. */
import { decodeName, encodeName, type Chooser } from '../../../kernel/index.ts';
import { UnitsCore, type Boot, type UnitsCommand, type UnitsEvent } from '../../../core/index.ts';
import { RegularityReferee, type Referee } from '../../../check/index.ts';
import { registerCodec } from '../../../wire/index.ts';
import { DAMAGE_INTERESTS, EPOCH_INTERESTS, PROCESS_INTERESTS, STORAGE_INTERESTS } from '../../interest.ts';
import type { Desk, SimProtocol, Sometime, User } from '../../protocol.ts';
import { REPAIR_INTERESTS, UnitsKeeper } from './keeper.ts';
import { REPLICATED_MUTANTS, unitsRules, type UnitsMutant } from './mutants.ts';
import { drawUnitsWorld, furnishedUnits, UNITS_TERM_US, type UnitsScenario, type UnitsShape, type UnitsWorld } from './worlds.ts';

export type UnitsSim = SimProtocol<never, UnitsCommand, UnitsEvent, UnitsWorld, UnitsCore>;

/** What befalls units and processes here. Units are atomic, so nothing is stale. */
export const UNITS_INTERESTS: readonly Sometime[] = [
  ...REPAIR_INTERESTS,
  ...PROCESS_INTERESTS,
  ...STORAGE_INTERESTS.filter(({ name }) => name !== 'stale-read' && name !== 'early-read'),
  ...DAMAGE_INTERESTS.filter(({ name }) => name === 'wiped-unit'),
  ...EPOCH_INTERESTS,
  { name: 'lost-swap', description: 'a swap found another record than it had seen' },
];

const SHAPES: readonly UnitsShape[] = ['hung', 'hung-restarts', 'wiped', 'wiped-often', 'restored', 'twins', 'even'];

/** What all protocols over several units have alike. */
export function unitsProtocol(
  mutants: readonly UnitsMutant[],
): Pick<
  UnitsSim,
  'mutants' | 'codec' | 'plan' | 'furnish' | 'core' | 'isVote' | 'describeMessage' | 'describeCommand' | 'describeEvent' | 'nodeName'
> {
  const mutantOf = (name: string | null): UnitsMutant | undefined => mutants.find((mutant) => mutant.name === name);
  return {
    mutants,
    codec: registerCodec,
    plan(chooser: Chooser, name: string | null): UnitsScenario {
      const mutant = mutantOf(name);
      const drawn = SHAPES[chooser.below(2 * SHAPES.length)] ?? 'any';
      return drawUnitsWorld(chooser, mutant ? (mutant.shape ?? 'any') : drawn, mutant?.kind ?? null);
    },
    furnish: furnishedUnits,
    core: ({ config }: UnitsScenario, boot: Boot, mutant: string | null): UnitsCore =>
      new UnitsCore(config.units, boot, unitsRules(mutantOf(mutant))),
    isVote: (): boolean => false,
    describeMessage: (): string => '',
    describeCommand: describeUnitsCommand,
    describeEvent: (event: UnitsEvent): string =>
      `${event.kind}${'op' in event ? ` (operation ${event.op})` : ` of unit ${event.unit}: ${event.standing}`}`,
    nodeName: (_scenario: UnitsScenario, node: number): string => `c${node}`,
  };
}

function describeUnitsCommand(command: UnitsCommand): string {
  switch (command.kind) {
    case 'lead':
      return command.isLeader ? 'lead' : 'do not lead';
    case 'epoch':
      return `epoch ${command.epoch.join('.')} of unit ${command.unit}`;
    case 'repair':
      return `repair unit ${command.unit} as ${command.identity} (operation ${command.op})`;
    default:
      return `${command.kind}${'name' in command ? ` ${command.name}` : ''} (operation ${command.op})`;
  }
}

export const replicatedRegister: UnitsSim = {
  ...unitsProtocol(REPLICATED_MUTANTS),
  name: 'replicated-register',
  summary: 'an atomic register out of several units, of which a minority is dead, hangs, is wiped or set back',
  sometimes: [
    { name: 'read', description: 'a read was answered' },
    { name: 'write', description: 'a write was answered' },
    { name: 'read-of-nothing', description: 'a read found that nothing was ever written' },
    ...UNITS_INTERESTS,
  ],
  user: ({ config }: UnitsScenario, core: UnitsCore, desk: Desk<UnitsCommand>): User<UnitsEvent> => new ReplicatedUser(config, core, desk),
  referees: (): Referee[] => [new RegularityReferee({ isAtomic: true })],
};

/** The timer of the next operation; any other tag is the operation that is given up. */
const NEXT = 0;

class ReplicatedUser implements User<UnitsEvent> {
  readonly #config: UnitsWorld;
  readonly #desk: Desk<UnitsCommand>;
  readonly #keeper: UnitsKeeper;
  readonly #names = new Map<number, string>();
  readonly #awaited = new Set<number>();
  #ops = 0;
  readonly #owed = new Set<number>();

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
    if (tag !== NEXT) {
      // Where too many units are gone there is no answer, and the user goes on without it.
      if (this.#awaited.delete(tag)) this.#nextLater();
      return;
    }
    const op = this.#begin(this.#desk.choose(2) === 0 ? 'read' : 'write');
    this.#awaited.add(op);
    this.#desk.after(UNITS_TERM_US / 2, op);
  }

  event(event: UnitsEvent): void {
    if (this.#keeper.heard(event) || !('op' in event)) return;
    const { op } = event;
    const register = this.#names.get(op);
    if (register === undefined || event.kind === 'leaving') return;
    this.#names.delete(op);
    const desk = this.#desk;
    if (event.kind === 'found') {
      const value = event.value && decodeName(event.value, 0, event.value.length);
      desk.sometimes(value === null ? 'read-of-nothing' : 'read');
      desk.record({ kind: 'responded', register, op, value });
    } else if (event.kind === 'written') {
      desk.sometimes('write');
      desk.record({ kind: 'responded', register, op });
    }
    if (!desk.healed && this.#awaited.delete(op)) this.#nextLater();
    if (this.#owed.delete(op) && this.#owed.size === 0) desk.done();
  }

  healed(): void {
    this.#owed.add(this.#begin('write')).add(this.#begin('read'));
    this.#desk.after(UNITS_TERM_US / 10, NEXT);
  }

  waitingFor(): string {
    return `${this.#owed.size} operations`;
  }

  #begin(kind: 'read' | 'write'): number {
    const desk = this.#desk;
    const name = `k${desk.choose(this.#config.names)}`;
    const op = ++this.#ops;
    this.#names.set(op, name);
    if (kind === 'read') {
      desk.record({ kind: 'invoked', register: name, op, action: 'read' });
      desk.command({ kind, op, name });
    } else {
      const value = `${desk.incarnation}.${op}`;
      desk.record({ kind: 'invoked', register: name, op, action: 'write', value });
      desk.command({ kind, op, name, value: encodeName(value) });
    }
    return op;
  }

  #nextLater(): void {
    this.#desk.after(this.#desk.choose(this.#config.pauseUsMax), NEXT);
  }
}
