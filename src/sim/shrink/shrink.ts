/**
 * Shrinking: from a seed that breaks something to a script a person reads in a minute. First the world gets smaller
 * (`world-reduction.ts`), then its run is put on the stage (`tape-to-script.ts`) and loses every beat it can lose
 * (`ddmin.ts`), then the rest is made readable (`polish.ts`). The same property breaks all the way.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Core } from '../../core/index.ts';
import type { Violation } from '../../check/index.ts';
import type { Scenario, SimProtocol } from '../protocol.ts';
import { openStage, STAGE_DEFAULTS, type AnyStage, type Settings, type StagedProtocol } from '../stage/index.ts';
import { Tape, type Lines } from '../tape.ts';
import { formatEntry, Trace } from '../trace.ts';
import { World } from '../world.ts';
import { reduceList } from './ddmin.ts';
import { stageLike, tapeToPlay, type GoodEnd, type TapeToScript } from './tape-to-script.ts';
import { kindsIn } from './milder.ts';
import { perform, type Beat, type Performance } from './play.ts';
import { polish } from './polish.ts';
import { alone, answering, anyOf, beside, linesOf, type Opens, type Distinguisher } from './distinguishing.ts';
import { reduceWorld, type ReducedWorld, type ReductionWatch } from './world-reduction.ts';

/** No person reads a script of more steps than this, and writing it takes a while: if there was no time to make it smaller there is none. */
const UNREAD_MIN = 500;

/** Where it matters in which order messages arrive, so many are tried. */
const DICE_FOR_ORDER = 32;

/** So many terms before progress is missed, all may begin to go well. */
const LATER_ENDS = [0.02, 0.1, 0.25, 0.5, 1, 2];

/** Ends a search in its midst. */
class OutOfTime extends Error {}

interface Best {
  readonly beats: readonly Beat[];
  readonly settings: Settings;
}

export interface Shrunk {
  readonly violation: Violation;
  /** Of the run as drawn, and of the smallest world's. */
  readonly eventsBefore: number;
  readonly events: number;
  readonly nodes: number;
  /** What the world could do without, in the order in which it was taken away, and the kinds of faults that are left. */
  readonly without: readonly string[];
  readonly faults: readonly string[];
  /** Null where the story cannot be told on a stage. */
  readonly script: ShrunkScript | null;
  /** The steps of the smallest world's shortest run, where there is no script. */
  readonly story: readonly string[];
}

export interface ShrunkScript {
  readonly settings: Settings;
  readonly lines: readonly string[];
  readonly violation: Violation;
}

/** A protocol's shrinking with its types closed over. */
export interface Shrinker {
  /** Null if the seed breaks nothing. */
  shrink(seed: number, mutant: string | null, watch: ReductionWatch): Shrunk | null;
}

export function shrinker<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  staging: StagedProtocol<Message, Command, Event, Config, Node>,
  teller: TapeToScript<Command, Config>,
): Shrinker {
  // As in `simulation`: each core goes back only to the protocol that built it.
  const protocol = staging.protocol as unknown as SimProtocol<Message, Command, Event, Config>;
  return {
    shrink(seed, mutant, watch) {
      const { eventsBefore, runs } = reduceWorld(protocol, seed, mutant, watch);
      const [world] = runs;
      if (!world) return null;
      const { violation, events, scenario, without } = world;
      const open = (settings: Settings, rules = mutant): AnyStage => openStage(staging, settings, rules);
      const product = mutant === null ? null : (settings: Settings): AnyStage => open(settings, null);
      const scripts = runs.flatMap((run) => {
        // On a stage every node is honest.
        if (watch.outOfTime() || (run.scenario.liars ?? 0) > 0) return [];
        const tellings = product === null ? [alone] : [beside(product), answering(open, product, run.violation.property)];
        return (
          shrinkPlay(
            tapeOf(protocol, run, mutant, teller),
            teller,
            run,
            { ...staging.defaults, ...STAGE_DEFAULTS },
            watch,
            open,
            tellings,
          ) ?? []
        );
      });
      // Different runs end in different smallest scripts: none that has no smaller neighbour need be the smallest.
      const script = scripts.toSorted((a, b) => a.lines.length - b.lines.length)[0] ?? null;
      return {
        violation,
        eventsBefore,
        events,
        nodes: scenario.nodes,
        without,
        faults: kindsIn(scenario.faults),
        script,
        story: script ? [] : storyOf(protocol, world, mutant),
      };
    },
  };
}

function storyOf<Message, Command, Event, Config>(
  protocol: SimProtocol<Message, Command, Event, Config>,
  { scenario, chooser, eventsMax }: ReducedWorld<Config>,
  mutant: string | null,
): string[] {
  const nameOf = (node: number): string => protocol.nodeName(scenario, node);
  const trace = new Trace(nameOf, () => world.nowUs);
  const world: World<Message, Command, Event, Config> = new World(protocol, scenario, chooser(), mutant, trace);
  world.eventsMax = eventsMax;
  world.run();
  return trace.entries.map((entry) => formatEntry(entry, nameOf));
}

function tapeOf<Message, Command, Event, Config>(
  protocol: SimProtocol<Message, Command, Event, Config>,
  { scenario, chooser, eventsMax }: ReducedWorld<Config>,
  mutant: string | null,
  lines: Lines<Command>,
): Tape<Command> {
  const world = new World(protocol, scenario, chooser(), mutant, null);
  const tape = new Tape<Command>(() => world.nowUs, lines);
  world.tape = tape;
  world.eventsMax = eventsMax;
  world.run();
  return tape;
}

function shrinkPlay<Command, Config>(
  tape: Tape<Command>,
  teller: TapeToScript<Command, Config>,
  { scenario, violation, events, eventsMax }: ReducedWorld<Config>,
  defaults: Settings,
  watch: ReductionWatch,
  open: Opens,
  tellings: readonly Distinguisher[],
): ShrunkScript | null {
  const settings = stageLike(tape, teller, scenario);
  const play = (beats: readonly Beat[], on: Settings): Performance => perform(() => open(on), beats);
  /** The property breaks, and not because the world has become one in which no protocol could keep it: the product does. */
  const breaks = (beats: readonly Beat[], on: Settings): boolean => {
    const { violation: found, actions: done } = play(beats, on);
    return found?.property === violation.property && telling(on, done) !== null;
  };
  const isEndless = events > eventsMax;
  let first: Performance | null = null;
  for (const end of violation.property === 'liveness' ? goodEnds(tape, teller, scenario, violation.at, isEndless) : [null]) {
    if (first && watch.outOfTime()) break;
    first = play(tapeToPlay(tape, teller, scenario, end), settings);
    if (first.violation?.property === violation.property) break;
  }
  if (first?.violation?.property !== violation.property) return null;
  const { actions } = first;
  const [telling = anyOf(tellings)] = tellings.filter((one) => one(settings, actions) !== null);
  let best: Best = { beats: first.beats, settings };
  /** Without the beats that can no longer be done. */
  const doneOf = ({ beats, settings: on }: Best): Best => {
    const done = play(beats, on).beats;
    return { beats: done.length < beats.length ? done : beats, settings: on };
  };
  /** A play that passes becomes the best so far, and the next attempt starts from it. */
  const passes = (beats: readonly Beat[], on: Settings): boolean => {
    if (watch.outOfTime()) throw new OutOfTime();
    watch.tried(best.beats.length, 'taking some out');
    try {
      if (!breaks(beats, on)) return false;
    } catch (error) {
      // Settings that do not fit together make no stage.
      if (error instanceof TenureError && error.code !== 'TENURE_INTERNAL') return false;
      throw error;
    }
    best = { beats, settings: on };
    return true;
  };
  try {
    for (let before = Infinity; best.beats.length < before;) {
      before = best.beats.length;
      reduceList(best.beats, (shorter) => passes(shorter, best.settings));
      best = doneOf(best);
      polish(best.beats, best.settings, { defaults, spares: teller.spares ?? [] }, passes);
      best = doneOf(best);
    }
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
  }
  if (watch.outOfTime() && best.beats.length > UNREAD_MIN) return null;
  const last = play(best.beats, best.settings);
  const lines = telling(best.settings, last.actions);
  if (lines === null) return null;
  return {
    settings: best.settings,
    lines: linesOf(open(best.settings), lines()),
    violation: last.violation ?? violation,
  };
}

/**
 * How a run in which progress is missed may end on a stage. Users wait for progress, or ask again after it, as the users of the world do. If nothing
 * breaks from the instant on at which the world healed, more of the run is played as it was; then messages lose their order.
 */
function* goodEnds<Command, Config>(
  { healed }: Tape<Command>,
  teller: TapeToScript<Command, Config>,
  scenario: Scenario<Config>,
  missedUs: number,
  isEndless: boolean,
): Generator<GoodEnd> {
  const ways = [
    null,
    ...[true, false].flatMap((latecomersToo) => (teller.ways?.(scenario) ?? []).map((one) => ({ ...one, latecomersToo }))),
  ];
  if (isEndless) {
    for (const one of ways) yield { from: { stuckUs: missedUs }, ways: one };
    return;
  }
  const healedUs = healed?.atUs ?? Infinity;
  const later = LATER_ENDS.map((terms) => missedUs - terms * scenario.termUs).filter((atUs) => atUs > healedUs);
  const froms = ['healed' as const, ...later.map((atUs) => ({ atUs }))];
  for (let die = 0; die <= DICE_FOR_ORDER; die++) {
    for (const from of froms) for (const one of ways) yield { from, ways: one, ...(die === 0 ? {} : { dice: die }) };
  }
}
