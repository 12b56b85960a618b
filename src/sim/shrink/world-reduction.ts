/**
 * The first stage of shrinking: a smaller world in which the same property breaks. Kinds of faults,
 * nodes, names and time are taken away one after the other, as long as the referees still object. A world
 * that lost something draws its dice anew, so each smaller world is tried with a few dice; all follow from the seed.
 */
import { deriveSeed, SeededChooser, type Chooser } from '../../kernel/index.ts';
import type { Violation } from '../../check/index.ts';
import type { Scenario, SimProtocol, SmallerScenario } from '../protocol.ts';
import { World } from '../world.ts';
import { milderPlans } from './milder.ts';

/** How many dice a smaller world is tried with. */
const DICE = 16;

/** In the smallest world so many dice are rolled, and so many of the shortest runs handed on. */
const DICE_LAST = 400;
const RUNS_HANDED_ON = 12;

/** No smaller run is worth more steps than this, unless the first needed them. */
const EVENTS_MAX = 100_000;

/** Time that is not spent on the world is left for the script, which says more than a smaller world does. */
const SHARE = 0.5;

export interface ReducedWorld<Config> {
  readonly scenario: Scenario<Config>;
  /** The chooser as it was after the plan was drawn, or one with dice of its own. */
  readonly chooser: () => Chooser;
  readonly violation: Violation;
  readonly events: number;
  /** The removed parts, in order. */
  readonly without: readonly string[];
  /** After how many steps the run counts as endless. */
  readonly eventsMax: number;
}

export interface Reduction<Config> {
  /** Of the run as drawn. */
  readonly eventsBefore: number;
  /** The shortest runs of the smallest world found, best first. Empty if the seed breaks nothing. */
  readonly runs: readonly ReducedWorld<Config>[];
}

export interface ReductionWatch {
  /** Called after every try. */
  readonly tried: (events: number, note: string) => void;
  /** Whether this part of the time is spent; all of it if nothing is said. */
  readonly outOfTime: (share?: number) => boolean;
}

export function reduceWorld<Message, Command, Event, Config>(
  protocol: SimProtocol<Message, Command, Event, Config>,
  seed: number,
  mutant: string | null,
  watch: ReductionWatch,
): Reduction<Config> {
  const isOver = (): boolean => watch.outOfTime(SHARE);
  const asDrawn = (): Chooser => {
    const chooser = new SeededChooser(seed);
    protocol.plan(chooser, mutant);
    return chooser;
  };
  const scenario = protocol.plan(new SeededChooser(seed), mutant);
  const first = new World(protocol, scenario, asDrawn(), mutant, null);
  first.run();
  const [violation] = first.panel.violations;
  if (!violation) return { eventsBefore: first.events, runs: [] };
  const isEndless = first.events > first.eventsMax;
  const eventsMax = isEndless ? EVENTS_MAX : Math.max(EVENTS_MAX, first.events);

  const run = (smaller: Scenario<Config>, chooser: () => Chooser, rules = mutant): World<Message, Command, Event, Config> => {
    const world = new World(protocol, smaller, chooser(), rules, null);
    world.eventsMax = eventsMax;
    world.outOfTime = isOver;
    world.run();
    return world;
  };
  /** In a world in which the product breaks as well, no protocol could keep the promise. */
  const blamesTheMutant = (smaller: Scenario<Config>, chooser: () => Chooser): boolean =>
    mutant === null || (run(smaller, chooser, null).panel.violationCount === 0 && !isOver());
  let best: ReducedWorld<Config> = { scenario, chooser: asDrawn, violation, events: first.events, without: [], eventsMax };

  const dice = Array.from({ length: DICE_LAST }, (_, die) => (): Chooser => new SeededChooser(deriveSeed(seed, die)));
  dice.unshift(asDrawn);
  /** The shortest run of the smaller world that breaks the same property. */
  const attempt = ({ without, scenario: smaller }: SmallerScenario<Config>): ReducedWorld<Config> | null => {
    let found: ReducedWorld<Config> | null = null;
    for (const chooser of dice.slice(0, DICE + 1)) {
      if (isOver()) break;
      const world = run(smaller, chooser);
      const broken = world.panel.violations[0];
      watch.tried(best.events, `trying without ${without}`);
      if (broken?.property !== violation.property || (found && world.events >= found.events)) continue;
      if (!blamesTheMutant(smaller, chooser)) continue;
      found = { scenario: smaller, chooser, violation: broken, events: world.events, without: [...best.without, without], eventsMax };
    }
    return found;
  };

  for (let improved = true; improved && !isOver();) {
    improved = false;
    // What worked is gone from the next list; what failed is tried again in the smaller world.
    for (let i = 0; ; i++) {
      const candidate = candidatesFor(protocol, best.scenario)[i];
      if (!candidate || isOver()) break;
      const found = attempt(candidate);
      if (!found) continue;
      best = found;
      improved = true;
      i--;
    }
  }

  const runs = [best];
  // Runs that miss progress are long, and as alike as two runs can be.
  for (const chooser of dice.slice(0, violation.property === 'liveness' ? DICE : DICE_LAST)) {
    if (isOver()) break;
    const world = run(best.scenario, chooser);
    const broken = world.panel.violations[0];
    watch.tried(best.events, 'looking for the shortest run');
    if (broken?.property === violation.property) runs.push({ ...best, chooser, violation: broken, events: world.events });
  }
  return { eventsBefore: first.events, runs: runs.toSorted((a, b) => a.events - b.events).slice(0, RUNS_HANDED_ON) };
}

function candidatesFor<Message, Command, Event, Config>(
  protocol: SimProtocol<Message, Command, Event, Config>,
  scenario: Scenario<Config>,
): SmallerScenario<Config>[] {
  const fewer = protocol.smaller?.(scenario) ?? [];
  const milder = milderPlans(scenario.faults).map(({ faults, ...rest }) => ({ ...rest, scenario: { ...scenario, faults } }));
  const halfUs = Math.floor(scenario.safetyUs / 2);
  const shorter = halfUs >= scenario.termUs ? [{ without: 'half of the time', scenario: { ...scenario, safetyUs: halfUs } }] : [];
  return [...fewer, ...milder, ...shorter];
}
