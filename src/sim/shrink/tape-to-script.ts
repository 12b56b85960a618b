/**
 * From a tape to a play: what a run of the simulator was made of, put on the stage of the same protocol. The stage
 * has no network and no faults of its own: a loss is a message that no beat delivers, a cut is many, a stall is time.
 */
import type { Scenario } from '../protocol.ts';
import { formatSpan, type OriginAction, type Settings, type Ways } from '../stage/index.ts';
import type { Lines, Said, SinceStep, Tape, TapedClock, TapedStep } from '../tape.ts';
import { originKey, type Beat } from './play.ts';

/** A user that is owed progress waits so many times as long as progress may take. */
const PATIENCE = 10;

type Line = Pick<Said, 'verb' | 'words'>;

/** What a protocol declares to have its runs told as scripts. */
export interface TapeToScript<Command, Config> extends Lines<Command> {
  /** The stage that is like this world. */
  settings(scenario: Scenario<Config>): Settings;
  /** Settings that count nodes where a script may have fewer. */
  readonly spares?: readonly string[];
  /** The same line for a caller that waits for so long; null if the line is nothing to wait for. */
  insist?(line: Line, forUs: number): Line | null;
  /** What users do of themselves where all goes well, each to be tried. */
  ways?(scenario: Scenario<Config>): readonly Ways[];
  /** How many users of a node are owed progress, each of them once. */
  users?(scenario: Scenario<Config>, node: number): number;
}

/** Which callers ask while all goes well: callers that asked after the world had healed, or former holders that ask again. */
interface LiftedWays extends Ways {
  readonly latecomersToo: boolean;
}

/**
 * How a run ends on the stage where progress is the question: all goes well, for as long as the world had. If the users' ways are given they do
 * then what users in a world do; if not, each user that asked for something asks once and waits. With dice, messages arrive out of order, as
 * drawn.
 */
export interface GoodEnd {
  /** Where it begins: when the world heals, at an instant after that, or at the instant that the run never got past. */
  readonly from: 'healed' | { readonly atUs: number } | { readonly stuckUs: number };
  readonly ways?: LiftedWays | null;
  readonly dice?: number;
}

/** The settings of the stage that is like the world of this tape, whose machines have been up for so long. */
export function stageLike<Command, Config>(
  { clocks }: Tape<Command>,
  lines: TapeToScript<Command, Config>,
  scenario: Scenario<Config>,
): Settings {
  const uptime = clocks.map(({ monoUs }) => formatSpan(monoUs)).join(',');
  return { ...lines.settings(scenario), uptime, back: scenario.faults.wallStepsBack ? 'yes' : 'no' };
}

/** The beats of a play, the tape's own and those between them, which are numbered from the end of the tape on. */
class BeatList {
  readonly all: Beat[] = [];
  #next: number;

  constructor(next: number) {
    this.#next = next;
  }

  keep({ id, atUs, action, choices, replacedBy }: TapedStep): void {
    this.all.push({ id, atUs, action, choices, ...(replacedBy === undefined ? {} : { replacedBy }) });
  }

  add(atUs: number, action: OriginAction, more: Pick<Beat, 'choices' | 'replacedBy'> = {}): void {
    this.all.push({ id: this.#next++, atUs, action, ...more });
  }
}

/** Where progress is not the question there is no good end: a world that has healed goes on like any other. */
export function tapeToPlay<Command, Config>(
  tape: Tape<Command>,
  lines: TapeToScript<Command, Config>,
  scenario: Scenario<Config>,
  end: GoodEnd | null,
): Beat[] {
  const { steps, clocks } = tape;
  const beats = new BeatList(tape.length);
  setClocks(beats, clocks);
  const well = end && beginning(tape, end);
  const before = well ? steps.filter(({ id }) => id < well.step) : steps;
  playAsItWas(beats, before, steps);
  if (!end || !well) return beats.all;
  const after = steps.slice(before.length);
  const isStuck = end.from !== 'healed' && 'stuckUs' in end.from;
  if (!isStuck) leaveUnderWay(beats, after, well);
  askFor(beats, after, well, end.ways ?? null, lines, scenario);
  const told = steps.filter(({ id, atUs }) => id < well.step || atUs === well.atUs);
  if (isStuck) mend(beats, told, well.atUs, scenario.nodes);
  addSettling(beats, end, well.atUs, scenario.livenessUs);
  return beats.all;
}

function setClocks(beats: BeatList, clocks: readonly TapedClock[]): void {
  clocks.forEach(({ wallOffsetUs, ratePpm }, node) => {
    if (ratePpm !== 0) beats.add(0, { kind: 'rate', node, ppm: ratePpm });
    if (wallOffsetUs !== 0) beats.add(0, { kind: 'set', node, byUs: wallOffsetUs });
  });
}

/** Each step, with a copy of each message that is delivered again, and with the crash announced before a step that a crash cut off. */
function playAsItWas(beats: BeatList, before: readonly TapedStep[], all: readonly TapedStep[]): void {
  const deliveries = countDeliveries(all);
  before.forEach((step, index) => {
    const { atUs, action } = step;
    const by = step.replacedBy === undefined ? {} : { replacedBy: step.replacedBy };
    const { cutAfter } = step;
    if (cutAfter !== null && canBeCutOff(step, all[index + 1])) beats.add(atUs, { kind: 'crash', node: step.node, after: cutAfter }, by);
    if (action.kind === 'deliver') {
      const key = originKey(action.message);
      for (let copies = deliveries.get(key) ?? 1; copies > 1; copies--) beats.add(atUs, { kind: 'duplicate', message: action.message }, by);
      deliveries.set(key, 1);
    }
    beats.keep(step);
  });
}

/** Where its process then left something on its disk, the crash is told after it. */
function canBeCutOff({ action, isCommand }: TapedStep, next: TapedStep | undefined): boolean {
  if (next?.action.kind === 'effect' || next?.action.kind === 'misdirect') return false;
  // If the step cannot be taken on the stage, the crash that follows on the tape comes all the same.
  return action.kind === 'act' ? isCommand : ['deliver', 'wake', 'answer', 'fail'].includes(action.kind);
}

/** Messages under way when the world heals that arrived later are delayed as much; the others were lost, and are dropped. */
function leaveUnderWay(beats: BeatList, after: readonly TapedStep[], well: SinceStep): void {
  const seen = new Set<string>();
  for (const { action, atUs } of after) {
    if (action.kind !== 'deliver' || action.message.step >= well.step || seen.has(originKey(action.message))) continue;
    seen.add(originKey(action.message));
    beats.add(well.atUs, { kind: 'delay', message: action.message, byUs: atUs - well.atUs });
  }
  beats.add(well.atUs, { kind: 'drop-all' });
}

/** Where all goes well the stage delivers, answers and wakes by itself; later requests are made at once. */
function askFor<Command, Config>(
  beats: BeatList,
  after: readonly TapedStep[],
  well: SinceStep,
  ways: LiftedWays | null,
  lines: TapeToScript<Command, Config>,
  scenario: Scenario<Config>,
): void {
  const asked = new Map<number, number>();
  for (const step of after) {
    const { action, atUs, process } = step;
    if (!step.isCommand) {
      if (atUs === well.atUs && !['deliver', 'wake', 'answer', 'fail', 'effect', 'misdirect'].includes(action.kind)) beats.keep(step);
      continue;
    }
    if (action.kind !== 'act') continue;
    const before = asked.get(process) ?? 0;
    const usersMax = ways === null ? 1 : ways.latecomersToo ? (lines.users?.(scenario, action.node) ?? 1) : 0;
    const insistent = before < usersMax || atUs === well.atUs ? lines.insist?.(action, scenario.livenessUs * PATIENCE) : null;
    if (!insistent) continue;
    asked.set(process, before + 1);
    // A user that asks again asks in the same words.
    const { verb, words } = ways?.askAgainUs === undefined ? insistent : action;
    beats.keep({ ...step, atUs: well.atUs, action: { ...action, verb, words } });
  }
}

/** A world that got stuck never healed: the script heals it. */
function mend(beats: BeatList, steps: readonly TapedStep[], atUs: number, nodes: number): void {
  const isDown = new Set<number>();
  const asleep = new Set<number>();
  for (const { id, action, replacedBy } of steps) {
    if (action.kind === 'twin') beats.add(atUs, { kind: 'crash', node: action.node }, { replacedBy: id });
    else if (action.kind === 'crash' && replacedBy === undefined) isDown.add(action.node);
    else if (action.kind === 'restart') isDown.delete(action.node);
    else if (action.kind === 'sleep') asleep.add(action.node);
    else if (action.kind === 'awake' || action.kind === 'boot') asleep.delete(action.node);
  }
  for (const node of asleep) beats.add(atUs, { kind: 'awake', node });
  let as = steps.reduce((most, { process }) => Math.max(most, process), nodes - 1) + 1;
  for (const node of [...isDown].sort((a, b) => a - b)) beats.add(atUs, { kind: 'restart', node, diskKept: true, as: ++as });
}

function addSettling(beats: BeatList, { ways, dice }: GoodEnd, atUs: number, byUs: number): void {
  const { latecomersToo: _, ...as } = ways ?? { latecomersToo: false };
  const order = dice === undefined ? {} : { outOfOrder: true };
  beats.add(atUs, { kind: 'settle', byUs, ...order, ...as }, dice === undefined ? {} : { choices: [dice] });
}

/** The step from which on all goes well; null if there is none. */
function beginning<Command>({ steps, healed }: Tape<Command>, { from }: GoodEnd): SinceStep | null {
  if (from === 'healed') return healed;
  const sinceUs = 'atUs' in from ? from.atUs : from.stuckUs;
  const first = steps.find(({ atUs }) => atUs >= sinceUs);
  return first ? { step: first.id, atUs: first.atUs } : null;
}

function countDeliveries(steps: readonly TapedStep[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { action } of steps) {
    if (action.kind !== 'deliver') continue;
    const key = originKey(action.message);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
