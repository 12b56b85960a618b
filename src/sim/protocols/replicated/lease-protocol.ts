/** Plain Δ-leases on a replicated register in the simulator: the worlds, users and referees of leases on storage, over units that fail, hang, are wiped and set back. */
import type { Chooser } from '../../../kernel/index.ts';
import { DeltaLeaseCore, UnitsCore, type Boot, type StorageCommand, type UnitsCommand, type UnitsConfig } from '../../../core/index.ts';
import {
  AnswerReferee,
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  RequestReferee,
  Unjudged,
  type Referee,
} from '../../../check/index.ts';
import { registerCodec } from '../../../wire/index.ts';
import { LeaseInterest } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, User } from '../../protocol.ts';
import { storageInterests } from '../storage-leases/interests.ts';
import { deltaRules } from '../storage-leases/mutants.ts';
import { planStorageWorld, STORAGE_VARIANTS, type StorageVariant, type StorageWorld } from '../storage-leases/protocol.ts';
import { StorageUser } from '../storage-leases/user.ts';
import { UnitsKeeper } from './keeper.ts';
import { LEASE_MUTANTS, unitsRules } from './mutants.ts';
import { UNITS_INTERESTS, unitsProtocol } from './register-protocol.ts';
import { StackedLeaseCore, type StackedCommand, type StackedEvent } from './stacked-core.ts';
import { drawUnits, furnishedUnits, UNITS_TERM_US } from './worlds.ts';

interface StackedWorld extends StorageWorld {
  readonly units: UnitsConfig;
}

type StackedScenario = Scenario<StackedWorld>;
export type ReplicatedLeaseSim = SimProtocol<never, StackedCommand, StackedEvent, StackedWorld, StackedLeaseCore>;

const PLAIN = STORAGE_VARIANTS[0] as StorageVariant;
/** A process here has few requests under way: that a try finds another of its own is left to the other worlds of leases. */
const INTERESTS = storageInterests('plain', []).filter(({ name }) => name !== 'refused-queued');
/** One operation is up to this many accesses after each other, and one of them may be tried again. */
const ACCESSES = 16;

export const deltaLeaseReplicated: ReplicatedLeaseSim = {
  name: 'delta-lease-replicated',
  summary: 'Δ-leases on a register out of several units, of which a minority is dead, hangs, is wiped or set back',
  mutants: LEASE_MUTANTS,
  sometimes: [...INTERESTS, ...UNITS_INTERESTS.filter(({ name }) => !INTERESTS.some((other) => other.name === name))],
  codec: registerCodec,

  plan(chooser: Chooser, name: string | null): StackedScenario {
    const mutant = LEASE_MUTANTS.find((one) => one.name === name);
    const isLossy = mutant ? mutant.shape === 'wiped' : chooser.below(2) === 0;
    const world = smallOf(planStorageWorld({ ...PLAIN, shapes: ['late', 'asleep', 'drifting'] }, chooser, null));
    const { storageUsMin, storageUsSpread } = world.faults;
    const faults = {
      ...world.faults,
      // Every operation that is not late ends within δ.
      storageUsMin: Math.max(1, Math.floor(storageUsMin / ACCESSES)),
      storageUsSpread: Math.max(1, Math.floor(storageUsSpread / ACCESSES)),
      weakReads: false,
      ...(isLossy ? { wipeEveryUs: UNITS_TERM_US / (mutant ? 10 : 2) + chooser.below(UNITS_TERM_US * (mutant ? 1 : 4)) } : {}),
      ...(isLossy && chooser.below(2) === 0 ? { restoreEveryUs: UNITS_TERM_US + chooser.below(UNITS_TERM_US * 4) } : {}),
    };
    const patienceUs = Math.max(1000, Math.ceil(world.config.timing.deltaUs / 4));
    const units = drawUnits(chooser, mutant?.kind ?? null, { patienceUs, retryUs: patienceUs });
    // Where units are lost, so many may be lost at once that nothing is granted any more.
    const habits = { ...world.config.habits, keepsLast: world.config.habits.keepsLast && !isLossy };
    return { ...world, units: units.units.length, faults, config: { ...world.config, habits, units } };
  },
  furnish: furnishedUnits,

  core({ config }: StackedScenario, boot: Boot, name: string | null): StackedLeaseCore {
    const rules = unitsRules(LEASE_MUTANTS.find((mutant) => mutant.name === name));
    const leases = new DeltaLeaseCore({ unit: 0, timing: config.timing, renewal: 'eventual-nd' }, boot, deltaRules(undefined, false));
    return new StackedLeaseCore(leases, new UnitsCore(config.units, boot, rules), config.timing.patienceUs);
  },

  user: ({ config }: StackedScenario, core: StackedLeaseCore, desk: Desk<StackedCommand>): User<StackedEvent> =>
    new StackedUser(config, core, desk),

  referees: ({ config }: StackedScenario, sometimes: (name: string) => void): Referee[] => [
    new ExclusionReferee(),
    ...(config.isFenced ? [new FencingReferee()] : []),
    new DeadlineReferee(),
    new RequestReferee(),
    new AnswerReferee(),
    new Unjudged(['invoked', 'responded'], 'what a holder says of itself travels with its renewals'),
    new LeaseInterest(sometimes),
  ],

  isVote: (): boolean => false,
  describeMessage: (): string => '',
  describeCommand: (command: StackedCommand): string =>
    command.for === 'units' ? unitsProtocol([]).describeCommand(command.command) : command.command.kind,
  describeEvent: (event: StackedEvent): string => (event.of === 'units' ? unitsProtocol([]).describeEvent(event.event) : event.event.kind),
  nodeName: (_scenario: StackedScenario, node: number): string => `c${node}`,
};

/** An operation is a dozen accesses: fewer users for a shorter time show the same. */
function smallOf(world: Scenario<StorageWorld>): Scenario<StorageWorld> {
  const { config } = world;
  const resources = config.habits.resources.slice(0, 1);
  const nodes = Math.min(world.nodes, 3);
  return {
    ...world,
    nodes,
    safetyUs: Math.ceil(world.safetyUs / 4),
    config: { ...config, habits: { ...config.habits, resources }, handles: Array.from({ length: nodes }, () => 1) },
  };
}

/** The user of leases, and beside it the keeper of units. Timers of units have odd tags. */
class StackedUser implements User<StackedEvent> {
  readonly #leases: StorageUser;
  readonly #keeper: UnitsKeeper;
  readonly #desk: Desk<StackedCommand>;
  #ops = 0;

  constructor({ habits, handles }: StackedWorld, core: StackedLeaseCore, desk: Desk<StackedCommand>) {
    this.#desk = desk;
    const leaseDesk = deskFor(desk, (command: StorageCommand): StackedCommand => ({ for: 'leases', command }), 0);
    // The store has one epoch: units that lost something do not count.
    const leaseSeat = new Proxy(leaseDesk, {
      get: (target, name, self): unknown => (name === 'openUnit' ? undefined : Reflect.get(target, name, self)),
    });
    this.#leases = new StorageUser(habits, handles[desk.node] ?? 0, core, leaseSeat);
    const unitsDesk = deskFor(desk, (command: UnitsCommand): StackedCommand => ({ for: 'units', command }), 1);
    this.#keeper = new UnitsKeeper(unitsDesk, core.units, () => ++this.#ops);
  }

  start(): void {
    this.#keeper.start();
    this.#leases.start();
  }

  unitRestored(unit: number): void {
    this.#keeper.open(unit);
  }

  event({ of, event }: StackedEvent): void {
    if (of === 'leases') this.#leases.event(event);
    else this.#keeper.heard(event);
  }

  timer(tag: number): void {
    if (tag === EXCUSE) return this.#excuse();
    if (tag % 2 === 0) this.#leases.timer(tag / 2);
    else this.#keeper.timer((tag - 1) / 2);
  }

  healed(): void {
    this.#leases.healed();
    this.#excuse();
  }

  waitingFor(): string {
    return this.#leases.waitingFor();
  }

  #excuse(): void {
    if (!this.#desk.healed) return;
    if (this.#keeper.isExcused) this.#desk.done();
    this.#desk.after(UNITS_TERM_US, EXCUSE);
  }
}

const EXCUSE = -2;

/** The same desk for a part of the user: its commands go to a part of the core, its timers have tags of their own. */
function deskFor<Command>(desk: Desk<StackedCommand>, wrap: (command: Command) => StackedCommand, odd: number): Desk<Command> {
  return new Proxy(desk as unknown as Desk<Command>, {
    get(target, name): unknown {
      if (name === 'command') return (command: Command): void => desk.command(wrap(command));
      if (name === 'after') return (spanUs: number, tag: number): void => desk.after(spanUs, 2 * tag + odd);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
