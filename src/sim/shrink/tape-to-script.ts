/**
 * From a tape to a play: what a run of the simulator was made of, put on the stage of the same protocol. The stage
 * has no network and no faults of its own: a loss is a message that no beat delivers, a cut is many, a stall is time.
 */
import type { Scenario } from '../protocol.ts';
import { formatSpan, type Settings, type StageAction, type Ways } from '../stage/index.ts';
import type { Tape, TapedDeed, TapedOrigin, TapedStep } from '../tape.ts';
import { firstStartOf, type Beat, type Deed, type Origin } from './play.ts';

/** What came of a step that became no beat cannot be found. */
const NO_BEAT = Number.NaN;

/** Whoever is owed progress waits so many times as long as it may take. */
const PATIENCE = 10;

/** What an actor on the stage is told to do instead of a command. */
export interface Said {
  readonly verb: string;
  readonly words: readonly string[];
  /** The number of the request that the command makes, or is about, if it has one. */
  readonly asks?: number;
  readonly about?: number;
}

/** What a protocol declares to have its runs told as scripts. */
export interface TapeToScript<Command, Config> {
  /** The stage that is like this world. */
  settings(scenario: Scenario<Config>): Settings;
  /** Null: the story can do without. */
  say(command: Command): Said | null;
  /** The same from one who wants it all the time that is given here; null if that is not something to wait for. */
  insist?(command: Command, forUs: number): Said | null;
  /** What users do of themselves where all goes well, each to be tried. */
  ways?(scenario: Scenario<Config>): readonly Ways[];
  /** How many users of a node are owed progress, each of them once. */
  users?(scenario: Scenario<Config>, node: number): number;
  use(resource: string, request: number): Said | null;
  /** Looking at what a learner believes, where there are learners. */
  look?(resource: string): Said;
}

/** Whether those who asked only after the world had healed ask from then on, or are those who held something and ask again. */
interface LiftedWays extends Ways {
  readonly latecomersToo: boolean;
}

/**
 * How a run ends on the stage where progress is the question: all goes well, for as long as the world had. If the users' ways are given they do
 * then what users in a world do; if not, whoever asked for something asks once and waits. With dice, messages arrive out of order, as drawn.
 */
export interface GoodEnd {
  /** Where it begins: when the world heals, at an instant after that, or at the one that the run never got past. */
  readonly from: 'healed' | { readonly atUs: number } | { readonly stuckUs: number };
  readonly ways?: LiftedWays | null;
  readonly dice?: number;
}

/** The settings of the stage that is like the world of this tape, whose machines have been up for so long. */
export function stageLike<Command, Config>(
  { clocks }: Tape<Command>,
  lifting: TapeToScript<Command, Config>,
  scenario: Scenario<Config>,
): Settings {
  return { ...lifting.settings(scenario), uptime: clocks.map(({ monoUs }) => formatSpan(monoUs)).join(',') };
}

/** Where progress is not the question there is no good end: a world that has healed goes on like any other. */
export function lift<Command, Config>(
  { clocks, steps }: Tape<Command>,
  lifting: TapeToScript<Command, Config>,
  scenario: Scenario<Config>,
  end: GoodEnd | null,
): Beat[] {
  const owedUs = end === null ? null : scenario.livenessUs;
  const isStuck = end !== null && end.from !== 'healed' && 'stuckUs' in end.from;
  const ways = end?.ways ?? null;
  const beats: Beat[] = [];
  /** The beat that each step of the tape became, and that each request was made by. */
  const beatOf = new Map<number, number>();
  const requests = new Map<string, number>();
  const isUp: boolean[] = [];
  const wasUp: boolean[] = [];
  const asleep = new Set<number>();
  /** The process that is in its node's place, and the beat by which each that is not was replaced. */
  const current: number[] = [];
  const replacedBy = new Map<number, number>();
  let doer: number | undefined;
  /** From which step on all goes well, when that is, and who has asked for something since. */
  const healed = end === null ? steps.length : beginning(steps, end);
  const healedUs = steps[healed]?.atUs ?? Infinity;
  const insistent = new Map<number, number>();
  const deliveries = countDeliveries(steps);
  const add = (atUs: number, deed: Deed, choices: readonly number[] = []): number => {
    beats.push({ id: beats.length, atUs, deed, choices, ...(doer === undefined ? {} : { replacedBy: doer }) });
    return beats.length - 1;
  };
  const plain = (atUs: number, action: StageAction, choices: readonly number[] = []): number =>
    add(atUs, { kind: 'plain', action }, choices);
  const insist = (command: Command): Said | null => {
    const said = lifting.insist?.(command, (owedUs ?? 0) * PATIENCE) ?? null;
    // Whoever asks again asks as they did.
    return said && ways?.askAgainUs !== undefined ? lifting.say(command) : said;
  };
  const origin = ({ step, kind, nth }: TapedOrigin): Origin => ({ beat: beatOf.get(step) ?? NO_BEAT, kind, nth });

  /** A world that got stuck never came to heal: what was broken then is put right. */
  const heal = (): void => {
    for (const twin of replacedBy.values()) {
      const { deed } = beats[twin] as Beat;
      doer = twin;
      if (deed.kind === 'plain' && deed.action.kind === 'twin') plain(healedUs, { kind: 'crash', node: deed.action.node });
    }
    doer = undefined;
    for (const node of asleep) plain(healedUs, { kind: 'awake', node });
    let as = steps.reduce((most, { process }) => Math.max(most, process), 0) + 1;
    isUp.forEach((up, node) => {
      if (!up) plain(healedUs, { kind: 'restart', node, diskKept: true, as: ++as });
    });
  };

  clocks.forEach(({ wallOffsetUs, ratePpm }, node) => {
    if (ratePpm !== 0) plain(0, { kind: 'rate', node, ppm: ratePpm });
    if (wallOffsetUs !== 0) plain(0, { kind: 'set', node, byUs: wallOffsetUs });
  });
  steps.forEach((step, index) => {
    const { atUs, node, process, deed, choices } = step;
    doer = replacedBy.get(process);
    const isWell = index >= healed;
    if (index === healed && !isStuck) {
      for (const { message, byUs } of stillUnderWay(steps, healed)) add(healedUs, { kind: 'delay', message: origin(message), byUs });
      // What was lost on the way would arrive if it were still under way.
      plain(healedUs, { kind: 'drop-all' });
      doer = replacedBy.get(process);
    }
    if (isWell && isLeftToTheStage(deed, atUs, healedUs)) return;
    // If the step cannot be taken on the stage, the crash that follows on the tape comes all the same.
    if (isCutOff(steps, index) && canBeSaid(deed, lifting)) plain(atUs, { kind: 'crash', node, after: step.cutAfter as number });
    const act = ({ verb, words, asks, about }: Said): void => {
      const aboutBeat = about === undefined ? null : (requests.get(`${process} ${about}`) ?? null);
      if (about !== undefined && aboutBeat === null) return;
      const id = add(Math.min(atUs, healedUs), { kind: 'act', node, verb, words, asks: asks !== undefined, about: aboutBeat }, choices);
      if (asks !== undefined) requests.set(`${process} ${asks}`, id);
      beatOf.set(index, id);
    };
    switch (deed.kind) {
      case 'start':
        // The first starts are the stage's own.
        if (wasUp[node]) {
          const isTwin = isUp[node] === true;
          // Lives are numbered in the order of all starts.
          const as = process + 1;
          const id = plain(atUs, isTwin ? { kind: 'twin', node, as } : { kind: 'restart', node, diskKept: deed.diskKept, as });
          if (isTwin) replacedBy.set(current[node] as number, id);
          beatOf.set(index, id);
        } else {
          beatOf.set(index, firstStartOf(node));
        }
        isUp[node] = wasUp[node] = true;
        current[node] = process;
        return;
      case 'crash':
        plain(atUs, { kind: 'crash', node });
        if (doer === undefined) isUp[node] = false;
        return;
      case 'deliver': {
        const { message } = deed;
        const key = keyOf(message);
        for (let copies = deliveries.get(key) ?? 1; copies > 1; copies--) add(atUs, { kind: 'duplicate', message: origin(message) });
        deliveries.set(key, 1);
        beatOf.set(index, add(atUs, { kind: 'deliver', message: origin(message) }, choices));
        return;
      }
      case 'wake':
        beatOf.set(index, plain(atUs, { kind: 'wake', node }, choices));
        return;
      case 'command': {
        const asked = insistent.get(process) ?? 0;
        const usersMax = ways === null ? 1 : ways.latecomersToo ? (lifting.users?.(scenario, node) ?? 1) : 0;
        const isOneMore = asked < usersMax || atUs === healedUs;
        const said = !isWell ? lifting.say(deed.command) : isOneMore ? insist(deed.command) : null;
        if (!said) return;
        if (isWell) insistent.set(process, asked + 1);
        act(said);
        return;
      }
      case 'use': {
        const said = lifting.use(deed.resource, deed.request);
        if (said) act(said);
        return;
      }
      case 'look': {
        const said = lifting.look?.(deed.resource);
        if (said) act(said);
        return;
      }
      case 'effect': {
        const access = origin(deed.access);
        const { astray } = deed;
        add(atUs, astray === undefined ? { kind: 'effect', node, access } : { kind: 'misdirect', node, access, to: astray });
        return;
      }
      case 'repeat':
        add(atUs, { kind: 'repeat', node, access: origin(deed.access) });
        return;
      case 'corrupt':
      case 'forget':
      case 'wipe':
        plain(atUs, deed);
        return;
      case 'completed': {
        const access = origin(deed.access);
        const found = deed.found && origin(deed.found);
        const listing = deed.listing === undefined ? {} : { listing: deed.listing };
        const answer: Deed = { kind: 'answer', node, access, ...(found === undefined ? {} : { found }), ...listing };
        beatOf.set(index, add(atUs, deed.ok ? answer : { kind: 'fail', node, access }, choices));
        return;
      }
      case 'healed':
        return;
      case 'wall':
        plain(atUs, { kind: 'set', node, byUs: deed.byUs });
        return;
      case 'rate':
        plain(atUs, { kind: 'rate', node, ppm: deed.ppm });
        return;
      case 'boot':
        plain(atUs, { kind: 'boot', node, uptimeUs: deed.uptimeUs });
        asleep.delete(node);
        return;
      case 'sleep':
      case 'awake':
        plain(atUs, { kind: deed.kind, node });
        if (deed.kind === 'sleep') asleep.add(node);
        else asleep.delete(node);
        return;
    }
  });
  if (owedUs !== null && healedUs < Infinity) {
    doer = undefined;
    if (isStuck) heal();
    const { latecomersToo: _, ...as } = ways ?? { latecomersToo: false };
    const dice = end?.dice;
    const order = dice === undefined ? {} : { outOfOrder: true };
    plain(healedUs, { kind: 'settle', byUs: owedUs, ...order, ...as }, dice === undefined ? [] : [dice]);
  }
  return beats;
}

/** Where all goes well the stage delivers, answers and wakes by itself; what comes later is asked for at once. */
function isLeftToTheStage<Command>({ kind }: TapedDeed<Command>, atUs: number, healedUs: number): boolean {
  return kind === 'command' ? false : atUs > healedUs || kind === 'deliver' || kind === 'wake' || kind === 'completed' || kind === 'effect';
}

/** Some of the step's effects were cut off. Where its process then left something on its disk, the crash is told after it. */
function isCutOff<Command>(steps: readonly TapedStep<Command>[], index: number): boolean {
  return steps[index]?.cutAfter !== null && steps[index + 1]?.deed.kind !== 'effect';
}

function canBeSaid<Command, Config>(deed: TapedDeed<Command>, lifting: TapeToScript<Command, Config>): boolean {
  switch (deed.kind) {
    case 'deliver':
    case 'wake':
    case 'completed':
      return true;
    case 'command': {
      const said = lifting.say(deed.command);
      return said !== null && said.about === undefined;
    }
    default:
      return false;
  }
}

/** The step from which on all goes well; past the last one if there is none. */
function beginning<Command>(steps: readonly TapedStep<Command>[], { from }: GoodEnd): number {
  const isFirst = ({ deed, atUs }: TapedStep<Command>): boolean =>
    from === 'healed' ? deed.kind === 'healed' : atUs >= ('atUs' in from ? from.atUs : from.stuckUs);
  const index = steps.findIndex(isFirst);
  return index < 0 ? steps.length : index;
}

/** What was sent before the world healed and arrived after it, and how long after. */
function stillUnderWay<Command>(
  steps: readonly TapedStep<Command>[],
  healed: number,
): { readonly message: TapedOrigin; readonly byUs: number }[] {
  const healedUs = (steps[healed] as TapedStep<Command>).atUs;
  const seen = new Set<string>();
  return steps.slice(healed).flatMap(({ deed, atUs }) => {
    if (deed.kind !== 'deliver' || deed.message.step >= healed || seen.has(keyOf(deed.message))) return [];
    seen.add(keyOf(deed.message));
    return [{ message: deed.message, byUs: atUs - healedUs }];
  });
}

function countDeliveries<Command>(steps: readonly TapedStep<Command>[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { deed } of steps) {
    if (deed.kind !== 'deliver') continue;
    const key = keyOf(deed.message);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function keyOf({ step, kind, nth }: TapedOrigin): string {
  return `${step} ${kind} ${nth}`;
}
