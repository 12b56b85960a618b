/**
 * One phase of an operation: the same task at every unit, until a quorum of them has done it. What a unit answered counts only if it is the same unit
 * still once the last of the answers that are counted has come: its identity is read once more after that (rule 26). A unit that failed, changed or hangs
 * is tried again after a rest, as long as the phase lasts.
 */
import { NEVER, quorumOf, type MonoUs } from '../../../kernel/index.ts';
import type { Step } from '../../contract.ts';
import { merged, type RegisterContent } from './contents.ts';
import type { UnitsRules } from './rules.ts';
import type { TaskWish, UnitTask, UnitTasks } from './unit-tasks.ts';

/** `waiting`: for the identity of its unit. `answered`: not checked since the last answer. */
type PartState = 'out' | 'waiting' | 'resting' | 'working' | 'answered' | 'checking' | 'confirmed';

interface PhasePart {
  state: PartState;
  /** Of the unit when this part began. */
  identity: number;
  /** The task that it waits for. */
  task: number;
  restUntilUs: MonoUs;
  found: RegisterContent | null;
  isRefused: boolean;
  places: readonly string[];
}

export interface PhaseState {
  readonly owner: number;
  readonly wish: TaskWish;
  /** How many units must have done it. */
  readonly needed: number;
  readonly parts: PhasePart[];
}

type AnyStep = Step<never, unknown>;

/** What a phase knows of the units. */
export interface PhaseGround<AStep extends AnyStep> {
  readonly tasks: UnitTasks<AStep>;
  /** The identities of whole units, as known now; null for the others. */
  readonly identities: readonly (number | null)[];
  readonly retryUs: number;
  readonly rules: UnitsRules;
  /** Identities are read once more. */
  readonly checks: boolean;
  /** The unit's identity has changed. */
  changed(unit: number, step: AStep): void;
}

export function newPhase<AStep extends AnyStep>(
  owner: number,
  wish: TaskWish,
  { identities, rules }: PhaseGround<AStep>,
  { without = -1, isWrite = false }: { readonly without?: number; readonly isWrite?: boolean } = {},
): PhaseState {
  const quorum = quorumOf(identities.length);
  const blank = { identity: 0, task: 0, restUntilUs: NEVER, found: null, isRefused: false, places: [] };
  const parts = identities.map((_, unit): PhasePart => ({ ...blank, state: unit === without ? 'out' : 'waiting' }));
  return { owner, wish, needed: isWrite && !rules.quorumWrites ? Math.max(1, quorum - 1) : quorum, parts };
}

/** The parts that can begin do. Some may end before this returns. */
export function beginParts<AStep extends AnyStep>(phase: PhaseState, ground: PhaseGround<AStep>, step: AStep): void {
  for (const [unit, part] of phase.parts.entries()) {
    const identity = ground.identities[unit] ?? null;
    const isDue = part.state === 'waiting' || (part.state === 'resting' && part.restUntilUs <= step.monoUs);
    if (isDue && identity === null) part.state = 'waiting';
    if (!isDue || identity === null) continue;
    Object.assign(part, { state: 'working', identity, task: ground.tasks.nextNumber, restUntilUs: NEVER, found: null, isRefused: false });
    ground.tasks.begin(phase.owner, unit, phase.wish, step);
  }
}

/** A task of this phase ended. */
export function partEnded<AStep extends AnyStep>(
  phase: PhaseState,
  task: UnitTask,
  isDone: boolean,
  ground: PhaseGround<AStep>,
  step: AStep,
): void {
  const part = phase.parts[task.unit];
  if (part === undefined || part.task !== task.number) return;
  part.task = 0;
  if (!isDone) {
    part.state = 'resting';
    part.restUntilUs = (step.monoUs + ground.retryUs) as MonoUs;
  } else if (part.state === 'working') {
    part.state = 'answered';
    part.found = task.found;
    part.isRefused = task.isRefused;
    part.places = task.places;
  } else if (task.identity === part.identity) {
    part.state = 'confirmed';
  } else {
    part.state = 'waiting';
    ground.changed(task.unit, step);
  }
  advance(phase, ground, step);
}

/** Reads identities again where enough have answered; a round of reading ends when too few are left in it. */
function advance<AStep extends AnyStep>(phase: PhaseState, ground: PhaseGround<AStep>, step: AStep): void {
  const { parts, needed } = phase;
  const inRound = parts.filter(({ state }) => state === 'checking' || state === 'confirmed').length;
  const answered = inRound + countOf(phase, 'answered');
  if (inRound >= needed || answered < needed) return;
  for (const [unit, part] of parts.entries()) {
    if (part.state !== 'answered' && part.state !== 'checking' && part.state !== 'confirmed') continue;
    if (!ground.checks) {
      part.state = 'confirmed';
      continue;
    }
    ground.tasks.drop(part.task);
    part.state = 'checking';
    part.task = ground.tasks.nextNumber;
    ground.tasks.begin(phase.owner, unit, { kind: 'check' }, step);
  }
}

/** Whether enough units have done it, with identities unchanged. */
export function isQuorate(phase: PhaseState): boolean {
  return countOf(phase, 'confirmed') >= phase.needed;
}

export function isRefusedAnywhere({ parts }: PhaseState): boolean {
  return parts.some(({ state, isRefused }) => isRefused && (state === 'answered' || state === 'checking' || state === 'confirmed'));
}

/** What the units that count have found, as one. */
export function foundBy({ parts }: PhaseState): RegisterContent | null {
  let found: RegisterContent | null = null;
  for (const part of parts) {
    if (part.state === 'confirmed' && part.found !== null) found = merged(found, part.found);
  }
  return found;
}

export function dropPhase<AStep extends AnyStep>({ parts }: PhaseState, { tasks }: PhaseGround<AStep>): void {
  for (const { task } of parts) tasks.drop(task);
}

export function phaseWakeAt({ parts }: PhaseState): MonoUs {
  let first: MonoUs = NEVER;
  for (const { state, restUntilUs } of parts) if (state === 'resting' && restUntilUs < first) first = restUntilUs;
  return first;
}

function countOf({ parts }: PhaseState, state: PartState): number {
  return parts.filter((part) => part.state === state).length;
}
