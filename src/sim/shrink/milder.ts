/** Fault plans with one kind of fault less: what the reduction of a world tries first. */
import { noFaults, type FaultPlan } from '../faults.ts';

/** The kinds of faults, each with the fields that make it; a kind is there when one of the fields is not as in a calm world. */
const KINDS: readonly (readonly [string, readonly (keyof FaultPlan)[]])[] = [
  ['machines that were up before', ['uptimeUsMax']],
  ['cut links', ['cutEveryUs', 'cutUsMax', 'oneWayPpm', 'flapPpm']],
  ['power failures', ['powerEveryUs', 'powerNodes']],
  ['crashes', ['crashEveryUs', 'powerEveryUs', 'twinPpm', 'midStepPpm', 'afterVotePpm', 'lastWordsLatePpm', 'wallSetAtBootPpm']],
  ['twins', ['twinPpm']],
  ['members that live on', ['outliveEveryUs', 'outlivedNodes', 'outlivedAmongMembers']],
  ['crashes in the middle of a step', ['midStepPpm']],
  ['crashes after a vote', ['afterVotePpm', 'lastWordsLatePpm']],
  ['sleeping machines', ['sleepEveryUs', 'sleepUsMax']],
  ['stalls', ['stallEveryUs', 'stallUsMax']],
  ['a wall clock that sways', ['wallSwayEveryUs', 'wallSwayUs']],
  ['wall clocks that are set', ['wallStepEveryUs', 'wallSetAtBootPpm', 'wallStepUsMax', 'wallStepsBack']],
  ['clock rates that change', ['rateChangeEveryUs']],
  ['wrong clock rates', ['ratePpmMax', 'rateChangeEveryUs']],
  ['wall clocks that differ', ['offsetUsMax']],
  ['late timers', ['timerLateUsMax']],
  ['losses', ['lossPpm']],
  ['duplicates', ['duplicatePpm']],
  ['late messages', ['latePpm']],
  ['slow messages', ['tailPpm']],
  ['units that fail', ['unitFailEveryUs', 'unitFailUsMax']],
  ['lost answers of storage', ['lostAnswerPpm']],
  ['late accesses to storage', ['lateAccessPpm']],
  ['weak reads', ['weakReads', 'weakReadsHeal']],
  ['writes that go astray', ['misdirectPpm']],
  ['writes that take effect twice', ['repeatPpm']],
  ['corrupt records', ['corruptEveryUs']],
  ['forgotten writes', ['forgetEveryUs']],
  ['wiped units', ['wipeEveryUs']],
  ['units that go back', ['restoreEveryUs']],
  ['own disks that hang', ['diskHangPpm']],
  ['lost answers of own disks', ['diskLostAnswerPpm']],
  ['own disks that fail', ['diskFailEveryUs', 'diskFailUsMax']],
  ['damaged own disks', ['diskMisdirectPpm', 'diskCorruptEveryUs', 'diskForgetEveryUs']],
];

export interface Milder {
  /** The missing faults, in words. */
  readonly without: string;
  readonly faults: FaultPlan;
}

/** Every plan that lacks one kind of fault that this one has. */
export function milderPlans(faults: FaultPlan): Milder[] {
  const calm = { ...noFaults(), uptimeUsMax: 0 };
  return KINDS.flatMap(([without, fields]) => {
    if (fields.every((field) => faults[field] === calm[field])) return [];
    const gone = Object.fromEntries(fields.map((field) => [field, calm[field]]));
    return [{ without, faults: { ...faults, ...gone } }];
  });
}

/** The kinds of faults a plan has, for people. */
export function kindsIn(faults: FaultPlan): string[] {
  return milderPlans(faults).map(({ without }) => without);
}
