/**
 * A unit that lost its content, or may have, is made whole again while the others are in use: it is marked with an identity that no process has seen, gets the
 * content that a quorum of the others has of every register, and is named. Writes meanwhile count at the others; a process that counted the unit before sees
 * the new mark.
 */
import { NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { RegisterContent } from './contents.ts';
import type { UnitsStep } from './dialogue.ts';
import { MARK_KEY, WHOLE_KEY } from './keys.ts';
import { encodeMark, encodeWhole } from './marks.ts';
import type { Outcome } from './operations.ts';
import type { TaskWish, UnitTask } from './unit-tasks.ts';
import type { VentureGround } from './ventures.ts';

export interface Repair {
  readonly kind: 'repair';
  readonly number: number;
  /** The caller's. */
  readonly op: number;
  readonly unit: number;
  readonly identity: number;
  stage: 'marking' | 'copying' | 'naming' | 'looking';
  /** Registers that are still to be copied; null before they were listed. */
  left: string[] | null;
  copied: number;
  /** Operations that gather a register, and which. */
  readonly gathering: Map<number, string>;
  /** Tasks that put a register at the unit, and what they put. */
  readonly putting: Map<number, { readonly place: string; readonly content: RegisterContent }>;
  /** Contents that could not be put at the unit: they are tried again after a rest. */
  readonly failed: { readonly place: string; readonly content: RegisterContent }[];
  restUntilUs: MonoUs;
}

/** So many registers are copied at once. */
const AT_ONCE = 16;

export function beginRepair(
  number: number,
  { op, unit, identity }: { readonly op: number; readonly unit: number; readonly identity: number },
): Repair {
  const begun = { stage: 'marking', left: null, copied: 0, restUntilUs: NEVER } as const;
  return { kind: 'repair', number, op, unit, identity, ...begun, gathering: new Map(), putting: new Map(), failed: [] };
}

/** At its beginning, and after a rest. */
export function resumeRepair(repair: Repair, core: VentureGround, step: UnitsStep): void {
  const { stage, number, unit } = repair;
  if (stage === 'copying') {
    for (const { place, content } of repair.failed.splice(0)) put(repair, place, content, core, step);
    return;
  }
  core.lost(unit, step);
  if (core.rules.marksBeforeCopy) core.tasks.begin(number, unit, markOf(repair, core), step);
  else list(repair, core, step);
}

function markOf({ identity, unit }: Repair, core: VentureGround): TaskWish {
  const { members } = core.config;
  const epoch = core.tasks.epochs[unit] ?? new Uint8Array(0);
  return { kind: 'put', key: MARK_KEY, bytes: encodeMark({ identity, slot: unit, epoch, members: members ?? new Uint8Array(0) }) };
}

function list(repair: Repair, core: VentureGround, step: UnitsStep): void {
  repair.stage = 'copying';
  core.begin(repair.number, { kind: 'places', prefixes: [''], without: repair.unit }, step);
}

/** A task at the unit itself ended. */
export function repairTaskEnded(repair: Repair, task: UnitTask, isDone: boolean, core: VentureGround, step: UnitsStep): void {
  const { number, unit, identity, op } = repair;
  if (repair.stage === 'copying') {
    const done = repair.putting.get(task.number);
    if (done === undefined) return;
    repair.putting.delete(task.number);
    if (isDone) repair.copied++;
    else {
      repair.failed.push(done);
      repair.restUntilUs = (step.monoUs + core.config.retryUs) as MonoUs;
    }
    return copyNext(repair, core, step);
  }
  // An access that was not answered may land at any time: never use this identity again.
  if (!isDone) return core.ended(number, { kind: 'not-repaired', op }, step);
  switch (repair.stage) {
    case 'marking':
      return list(repair, core, step);
    case 'naming':
      if (task.wish.kind === 'put' && task.wish.key === MARK_KEY) return name(repair, core, step);
      repair.stage = 'looking';
      core.tasks.begin(number, unit, { kind: 'identify' }, step);
      return;
    case 'looking':
      core.ended(
        number,
        task.identity === identity ? { kind: 'repaired', op, registers: repair.copied } : { kind: 'not-repaired', op },
        step,
      );
  }
}

/** An operation at the other units ended. */
export function continueRepair(repair: Repair, part: number, outcome: Outcome, core: VentureGround, step: UnitsStep): void {
  if (outcome.kind === 'places') repair.left = [...outcome.places];
  const place = repair.gathering.get(part);
  repair.gathering.delete(part);
  if (place !== undefined && outcome.kind === 'content') {
    if (outcome.content === null) repair.copied++;
    else put(repair, place, outcome.content, core, step);
  }
  copyNext(repair, core, step);
}

function copyNext(repair: Repair, core: VentureGround, step: UnitsStep): void {
  const { number, unit, left, gathering, putting, failed } = repair;
  if (repair.stage !== 'copying' || left === null) return;
  while (left.length > 0 && gathering.size + putting.size + failed.length < AT_ONCE) {
    const place = left.pop() as string;
    // Its answer comes later: nothing is there to end it at once.
    gathering.set(core.begin(number, { kind: 'gather', place, without: unit }, step), place);
  }
  if (left.length + gathering.size + putting.size + failed.length > 0) return;
  repair.stage = 'naming';
  if (core.rules.marksBeforeCopy) name(repair, core, step);
  else core.tasks.begin(number, unit, markOf(repair, core), step);
}

function put(repair: Repair, place: string, content: RegisterContent, core: VentureGround, step: UnitsStep): void {
  const { tasks } = core;
  repair.putting.set(tasks.nextNumber, { place, content });
  tasks.begin(repair.number, repair.unit, { kind: 'join', place, content, guard: null, thenGets: false }, step);
}

function name({ number, unit, identity }: Repair, core: VentureGround, step: UnitsStep): void {
  core.tasks.begin(number, unit, { kind: 'put', key: WHOLE_KEY, bytes: encodeWhole(identity) }, step);
}
