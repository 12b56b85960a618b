/**
 * Registers over several units of storage, of which a minority may be dead, hang, be wiped or be under a new epoch: replicated registers, which are
 * atomic (ALGORITHMS 8.3), ranked registers (Definition 2 of Chockler & Malkhi, 8.5), and consensus by Figure 10 of the same paper. One core per process.
 */
import { NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { Boot, Completion, Core, Snapshot } from '../../contract.ts';
import { earliest } from '../../nested.ts';
import { asSnapshot, fromSnapshot } from '../../state-snapshot.ts';
import type { RegisterContent, Stamp } from './contents.ts';
import { beginDecision, continueDecision, resumeDecision, type Deciding } from './deciding.ts';
import type { UnitsCommand, UnitsEvent, UnitsStep } from './dialogue.ts';
import { nameOfPlace, placeOf, placesOf } from './keys.ts';
import { afterPhase, firstTask, type Operation, type Outcome, type Wish } from './operations.ts';
import { beginParts, dropPhase, newPhase, partEnded, phaseWakeAt, type PhaseGround } from './quorum-phase.ts';
import { beginRepair, continueRepair, repairTaskEnded, resumeRepair, type Repair } from './repairing.ts';
import { ALL_UNITS_RULES, type UnitsRules } from './rules.ts';
import { UnitTasks, type TaskWish, type UnitsConfig, type UnitStanding, type UnitTask } from './unit-tasks.ts';
import type { VentureGround } from './ventures.ts';

type Venture = Deciding | Repair;

/** The owner of tasks that serve no operation: they ask which unit it is. */
const NOBODY = 0;
/** The identity of units that need none. */
const ANY_IDENTITY = 0;

export class UnitsCore implements Core<never, UnitsCommand, UnitsEvent>, VentureGround {
  readonly boot: Boot;
  readonly config: UnitsConfig;
  readonly rules: UnitsRules;
  readonly tasks: UnitTasks<UnitsStep>;
  /** Whether this process leads. */
  leads = false;
  readonly #identities: (number | null)[];
  readonly #ground: PhaseGround<UnitsStep>;
  /** When each unit may be asked again which it is; NEVER while it is being asked. */
  #identifyAtUs: MonoUs[];
  #operations = new Map<number, Operation>();
  #ventures = new Map<number, Venture>();
  #number = 0;
  /** Looks at the units: which of them have not answered. */
  #looks: { readonly op: number; left: number[] }[] = [];

  constructor(config: UnitsConfig, boot: Boot, rules: UnitsRules = ALL_UNITS_RULES) {
    this.boot = boot;
    this.config = config;
    this.rules = rules;
    this.tasks = new UnitTasks(config, boot, rules, { ended: (task, isDone, step) => this.#taskEnded(task, isDone, step) });
    const needsIdentities = config.members !== null;
    this.#identities = config.units.map(() => (needsIdentities ? null : ANY_IDENTITY));
    this.#identifyAtUs = config.units.map(() => 0 as MonoUs);
    this.#ground = {
      tasks: this.tasks,
      identities: this.#identities,
      retryUs: config.retryUs,
      rules,
      checks: rules.identityReadAgain && needsIdentities,
      changed: (unit, step) => this.lost(unit, step),
    };
  }

  /** How each unit stands, by the last news of it. */
  get standings(): readonly UnitStanding[] {
    return this.config.members === null ? this.config.units.map(() => 'whole') : this.tasks.standings;
  }

  start(): void {}
  receive(): void {}
  admits(): boolean {
    return false;
  }

  command(command: UnitsCommand, step: UnitsStep): void {
    switch (command.kind) {
      case 'lead':
        this.leads = command.isLeader;
        return;
      case 'epoch':
        this.tasks.epochs[command.unit] = command.epoch.slice();
        return this.lost(command.unit, step);
      case 'abandon':
        return this.#abandon(command.op);
      case 'look':
        return this.#look(command.op, step);
      case 'decide':
        this.#venture(beginDecision(++this.#number, command), step);
        return;
      case 'repair':
        this.#venture(beginRepair(++this.#number, command), step);
        return;
      default:
        this.#begin({ op: command.op }, this.#wishOf(command), step);
    }
  }

  #wishOf(command: Exclude<UnitsCommand, { kind: 'lead' | 'epoch' | 'abandon' | 'look' | 'decide' | 'repair' }>): Wish {
    switch (command.kind) {
      case 'read':
        return { kind: 'read', at: placeOf('value', command.name) };
      case 'resolve':
        return { kind: 'read', at: { place: command.place, name: null } };
      case 'write':
        return { kind: 'write', at: placeOf('value', command.name), value: command.value?.slice() ?? null };
      case 'list': {
        const { short, hashed } = placesOf(command.prefix);
        return { kind: 'places', prefixes: [short, hashed] };
      }
      case 'rank-read':
        return { kind: 'rank-read', at: placeOf('ranked', command.name), rank: this.rankOf(command.count) };
      default: {
        const rank = this.rankOf(command.count);
        return { kind: 'rank-write', at: placeOf('ranked', command.name), rank, value: command.value.slice() };
      }
    }
  }

  /** A rank of this process. Its ventures have ranks of their own: two of them may propose different values for the same register. */
  rankOf(count: number, venture = 0): Stamp {
    const { incarnation, self } = this.boot;
    if (!this.rules.freshRanks) return { count, incarnation: self as number as typeof incarnation, op: 0 };
    return { count, incarnation, op: venture };
  }

  // ── Operations ─────────────────────────────────────────────────────────────────────────────────────

  /** A part of a venture. Its number. */
  begin(venture: number, wish: Wish, step: UnitsStep): number {
    const number = this.#number + 1;
    this.#begin({ venture }, wish, step);
    return number;
  }

  #begin(whose: Operation['for'], wish: Wish, step: UnitsStep): void {
    const number = ++this.#number;
    const without = 'without' in wish ? wish.without : undefined;
    const phase = newPhase(number, firstTask(wish), this.#ground, without === undefined ? {} : { without });
    const operation: Operation = { number, for: whose, wish, putting: null, phase };
    this.#operations.set(number, operation);
    if ('op' in whose && (wish.kind === 'rank-read' || wish.kind === 'rank-write')) step.emit({ kind: 'leaving', op: whose.op });
    beginParts(phase, this.#ground, step);
    this.#identify(step);
    this.#progress(number, step);
  }

  #progress(number: number, step: UnitsStep): void {
    const operation = this.#operations.get(number);
    if (operation === undefined) return;
    const next = afterPhase(operation, this.boot.incarnation, this.rules.writesBack);
    if (next === null) return;
    dropPhase(operation.phase, this.#ground);
    if (next.kind !== 'put') {
      this.#operations.delete(number);
      return this.#finish(operation, next, step);
    }
    const { content } = next;
    operation.putting = content;
    const place = operation.wish.kind === 'read' || operation.wish.kind === 'write' ? operation.wish.at.place : '';
    const task: TaskWish = { kind: 'join', place, content, guard: null, thenGets: false };
    operation.phase = newPhase(number, task, this.#ground, { isWrite: true });
    if (operation.wish.kind === 'write' && 'op' in operation.for) step.emit({ kind: 'leaving', op: operation.for.op });
    beginParts(operation.phase, this.#ground, step);
    this.#progress(number, step);
  }

  #finish({ for: whose, wish, number }: Operation, outcome: Outcome, step: UnitsStep): void {
    if ('venture' in whose) {
      const venture = this.#ventures.get(whose.venture);
      if (venture !== undefined) this.#goOn(venture, number, outcome, step);
      return;
    }
    const { op } = whose;
    switch (outcome.kind) {
      case 'done':
        step.emit(wish.kind === 'rank-write' ? { kind: 'committed', op } : { kind: 'written', op });
        return;
      case 'refused':
        step.emit({ kind: 'aborted', op, above: outcome.above });
        return;
      case 'places': {
        const names = outcome.places.map(nameOfPlace).filter((name) => name !== null);
        step.emit({ kind: 'listed', op, names, places: outcome.places.filter((place) => nameOfPlace(place) === null) });
        return;
      }
      case 'content':
        return this.#tellContent(op, wish, outcome.content, step);
    }
  }

  #tellContent(op: number, wish: Wish, content: RegisterContent | null, step: UnitsStep): void {
    if (wish.kind === 'rank-read') {
      const { rank, value } = content?.kind === 'ranked' ? content : { rank: null, value: null };
      step.emit({ kind: 'rank-found', op, rank, value });
    } else {
      step.emit({ kind: 'found', op, value: content?.value ?? null, name: content?.name ?? null });
    }
  }

  // ── Ventures: several operations after each other ──────────────────────────────────────────────────

  #venture(venture: Venture, step: UnitsStep): void {
    this.#ventures.set(venture.number, venture);
    this.#resume(venture, step);
  }

  #resume(venture: Venture, step: UnitsStep): void {
    if (venture.kind === 'decide') resumeDecision(venture, this, step);
    else resumeRepair(venture, this, step);
  }

  #goOn(venture: Venture, part: number, outcome: Outcome, step: UnitsStep): void {
    if (venture.kind === 'decide') continueDecision(venture, outcome, this, step);
    else continueRepair(venture, part, outcome, this, step);
  }

  /** The venture has come to its end. */
  ended(number: number, event: UnitsEvent, step: UnitsStep): void {
    this.#ventures.delete(number);
    this.#dropOf((whose) => 'venture' in whose && whose.venture === number);
    step.emit(event);
  }

  #abandon(op: number): void {
    for (const [number, venture] of this.#ventures) {
      if (venture.op !== op) continue;
      this.#ventures.delete(number);
      this.#dropOf((whose) => 'venture' in whose && whose.venture === number);
    }
    this.#dropOf((whose) => 'op' in whose && whose.op === op);
  }

  #dropOf(isMeant: (whose: Operation['for']) => boolean): void {
    for (const [number, operation] of this.#operations) {
      if (!isMeant(operation.for)) continue;
      dropPhase(operation.phase, this.#ground);
      this.#operations.delete(number);
    }
  }

  // ── Units ──────────────────────────────────────────────────────────────────────────────────────────

  completed(completion: Completion, step: UnitsStep): void {
    this.tasks.completed(completion, step);
    this.#identify(step);
  }

  #taskEnded(task: UnitTask, isDone: boolean, step: UnitsStep): void {
    if (task.owner === NOBODY) return this.#identified(task, isDone, step);
    const operation = this.#operations.get(task.owner);
    if (operation !== undefined) {
      partEnded(operation.phase, task, isDone, this.#ground, step);
      return this.#progress(task.owner, step);
    }
    const venture = this.#ventures.get(task.owner);
    if (venture?.kind === 'repair') repairTaskEnded(venture, task, isDone, this, step);
  }

  /** The unit's identity has changed, as far as is known. */
  lost(unit: number, step: UnitsStep): void {
    if (this.config.members === null) return;
    this.#identities[unit] = null;
    if (this.#identifyAtUs[unit] !== NEVER) this.#identifyAtUs[unit] = step.monoUs;
    this.tasks.forget(unit, step);
  }

  #look(op: number, step: UnitsStep): void {
    const units = [...this.config.units.keys()];
    this.#looks.push({ op, left: units });
    for (const unit of units) this.#askIdentity(unit, step);
  }

  #askIdentity(unit: number, step: UnitsStep): void {
    if (this.#identifyAtUs[unit] === NEVER) return;
    this.#identifyAtUs[unit] = NEVER;
    this.tasks.begin(NOBODY, unit, { kind: 'identify' }, step);
  }

  /** Asks units which they are, where a task waits to know. */
  #identify(step: UnitsStep): void {
    for (const [unit, identity] of this.#identities.entries()) {
      if (identity !== null || (this.#identifyAtUs[unit] ?? NEVER) > step.monoUs || !this.#isWanted(unit)) continue;
      this.#askIdentity(unit, step);
    }
  }

  #seen(unit: number, step: UnitsStep): void {
    for (const look of this.#looks) {
      look.left = look.left.filter((other) => other !== unit);
      if (look.left.length === 0) step.emit({ kind: 'looked', op: look.op });
    }
    this.#looks = this.#looks.filter(({ left }) => left.length > 0);
  }

  #isWanted(unit: number): boolean {
    for (const { phase } of this.#operations.values()) if (phase.parts[unit]?.state === 'waiting') return true;
    return false;
  }

  #identified({ unit, identity }: UnitTask, isDone: boolean, step: UnitsStep): void {
    const standing = this.tasks.standings[unit] ?? 'silent';
    this.#identifyAtUs[unit] = (step.monoUs + this.config.retryUs) as MonoUs;
    step.emit({ kind: 'standing', unit, standing });
    this.#seen(unit, step);
    if (!isDone || identity === null || this.#identities[unit] === identity) return;
    if (this.#identities[unit] !== null) this.lost(unit, step);
    this.#identities[unit] = identity;
    for (const [number, { phase }] of this.#operations) {
      beginParts(phase, this.#ground, step);
      this.#progress(number, step);
    }
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  wake(step: UnitsStep): void {
    this.tasks.wake(step);
    for (const [number, { phase }] of this.#operations) {
      if (phaseWakeAt(phase) > step.monoUs) continue;
      beginParts(phase, this.#ground, step);
      this.#progress(number, step);
    }
    for (const venture of this.#ventures.values()) {
      if (venture.restUntilUs > step.monoUs) continue;
      venture.restUntilUs = NEVER;
      this.#resume(venture, step);
    }
    this.#identify(step);
  }

  get wakeAt(): MonoUs {
    let first = this.tasks.wakeAt;
    for (const { phase } of this.#operations.values()) first = earliest(first, phaseWakeAt(phase));
    for (const { restUntilUs } of this.#ventures.values()) first = earliest(first, restUntilUs);
    for (const [unit, identity] of this.#identities.entries()) {
      if (identity === null && this.#isWanted(unit)) first = earliest(first, this.#identifyAtUs[unit] ?? NEVER);
    }
    return first;
  }

  snapshot(): Snapshot {
    return asSnapshot({
      leads: this.leads,
      number: this.#number,
      looks: this.#looks,
      identities: this.#identities,
      identifyAtUs: this.#identifyAtUs,
      operations: this.#operations,
      ventures: this.#ventures,
      tasks: this.tasks.snapshot(),
    });
  }

  restore(snapshot: Snapshot): void {
    const state = fromSnapshot(snapshot) as {
      readonly leads: boolean;
      readonly number: number;
      readonly looks: { readonly op: number; left: number[] }[];
      readonly identities: (number | null)[];
      readonly identifyAtUs: MonoUs[];
      readonly operations: Map<number, Operation>;
      readonly ventures: Map<number, Venture>;
      readonly tasks: Snapshot;
    };
    this.leads = state.leads;
    this.#number = state.number;
    this.#looks = state.looks;
    this.#identities.splice(0, Infinity, ...state.identities);
    this.#identifyAtUs = state.identifyAtUs;
    this.#operations = state.operations;
    this.#ventures = state.ventures;
    this.tasks.restore(state.tasks);
  }
}
