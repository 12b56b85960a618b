/** One run: draw the world of a seed, run it, say what came of it. */
import { SeededChooser } from '../kernel/index.ts';
import type { Core } from '../core/index.ts';
import type { Violation } from '../check/index.ts';
import type { Mutant, SimProtocol, Sometime } from './protocol.ts';
import { Trace, type TraceEntry } from './trace.ts';
import { World } from './world.ts';

/** What observers look at, and what no referee judges: nothing of it can break. */
const OBSERVED: readonly string[] = ['interest', 'unjudged'];

export interface RunResult {
  readonly seed: number;
  /** True time at the end of the run. */
  readonly endedUs: number;
  readonly events: number;
  readonly grants: number;
  readonly violations: readonly Violation[];
  /** Whether the run came as far as the healed world. */
  readonly livenessChecked: boolean;
  readonly sometimes: Readonly<Record<string, number>>;
}

export interface TracedRun extends RunResult {
  readonly nodeNames: readonly string[];
  readonly entries: readonly TraceEntry[];
}

/** A protocol with its types closed over: all that campaigns and commands need. */
export interface Simulation {
  readonly name: string;
  readonly summary: string;
  readonly mutants: readonly Mutant[];
  readonly sometimes: readonly Sometime[];
  /** The properties that are judged in the worlds of the first so many seeds. */
  properties(seeds: number): string[];
  run(seed: number, mutant: string | null): RunResult;
  replay(seed: number, mutant: string | null): TracedRun;
}

export function simulation<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  protocol: SimProtocol<Message, Command, Event, Config, Node>,
): Simulation {
  // The world hands each core back only to the protocol that built it, so the narrower core type is safe.
  const opened = protocol as unknown as SimProtocol<Message, Command, Event, Config>;
  const resultOf = (seed: number, world: World<Message, Command, Event, Config>): RunResult => ({
    seed,
    endedUs: world.nowUs,
    events: world.events,
    grants: world.grants,
    violations: world.panel.violations,
    livenessChecked: world.healed,
    sometimes: world.sometimesCounts(),
  });
  return {
    name: protocol.name,
    summary: protocol.summary,
    mutants: protocol.mutants,
    sometimes: protocol.sometimes,

    properties(seeds) {
      const judged = new Set<string>();
      for (let seed = 1; seed <= seeds; seed++) {
        const scenario = opened.plan(new SeededChooser(seed), null);
        for (const { property } of opened.referees(scenario, () => undefined)) if (!OBSERVED.includes(property)) judged.add(property);
        if (scenario.livenessUs > 0) judged.add('liveness');
      }
      return [...judged];
    },

    run(seed, mutant) {
      const chooser = new SeededChooser(seed);
      const world = new World(opened, opened.plan(chooser, mutant), chooser, mutant, null);
      world.run();
      return resultOf(seed, world);
    },

    replay(seed, mutant) {
      const chooser = new SeededChooser(seed);
      const scenario = opened.plan(chooser, mutant);
      const nodeNames = Array.from({ length: scenario.nodes }, (_, node) => opened.nodeName(scenario, node));
      const trace = new Trace(
        (node) => nodeNames[node] ?? `n${node}`,
        () => world.nowUs,
      );
      const world: World<Message, Command, Event, Config> = new World(opened, scenario, chooser, mutant, trace);
      world.run();
      return { ...resultOf(seed, world), nodeNames, entries: trace.entries };
    },
  };
}
