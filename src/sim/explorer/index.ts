/** The explorer: everything that can happen in a small world, not a sample of it. */
import type { Core } from '../../core/index.ts';
import type { Violation } from '../../check/index.ts';
import { openStage, type StageNote } from '../stage/index.ts';
import { Cast } from './cast.ts';
import { Judge } from './judge.ts';
import { asScript } from './script.ts';
import { search, type SearchLimits, type SearchProgress } from './search.ts';
import type { Bounds, SmallWorld } from './small-world.ts';
import { Universe } from './universe.ts';
import { quorumWorld } from './worlds/quorum.ts';
import { roundWorlds } from './worlds/rounds.ts';
import { roundsRegisterWorld } from './worlds/rounds-register.ts';
import { toyWorld } from './worlds/toy.ts';

export type { SearchLimits, SearchProgress } from './search.ts';
export type { Bounds } from './small-world.ts';

/** What an exploration came to. */
export interface Exploration extends SearchProgress {
  readonly exhausted: boolean;
  /** Bytes of the table of visited states, and of the states that waited, at most. */
  readonly visitedBytes: number;
  readonly frontierBytes: number;
  /** Distinct states of single nodes, distinct messages, and steps that cores took: the rest was remembered. */
  readonly nodeStates: number;
  readonly messages: number;
  readonly coreSteps: number;
  readonly found: FoundScript | null;
}

/** A violation, replayed on a stage. */
export interface FoundScript {
  readonly settings: Readonly<Record<string, string>>;
  readonly violation: Violation;
  readonly lines: readonly { readonly line: string; readonly notes: readonly StageNote[] }[];
}

/** A protocol that can be explored, with its types closed over. */
export interface Exploring {
  readonly protocol: string;
  readonly bounds: Bounds;
  readonly mutants: readonly string[];
  explore(bounds: Bounds, mutant: string | null, limits: SearchLimits): Exploration;
}

/** Every protocol that declares a small world. */
export const explorings: readonly Exploring[] = [
  exploring(quorumWorld),
  ...roundWorlds.map((world) => exploring(world)),
  exploring(roundsRegisterWorld),
  exploring(toyWorld),
];

export function exploring<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  world: SmallWorld<Message, Command, Event, Config, Node>,
): Exploring {
  const { staging } = world;
  const { protocol } = staging;
  return {
    protocol: protocol.name,
    bounds: world.bounds,
    mutants: protocol.mutants.map(({ name }) => name),
    explore(bounds, mutant, limits) {
      const cast = new Cast<Message, Command, Event, Config>(world, bounds, mutant);
      const judge = new Judge(() => protocol.referees(cast.scenario, () => undefined), cast);
      const universe = new Universe(cast, judge);
      const { path, ...result } = search(universe, limits);
      const settings = world.settings(bounds, mutant);
      return {
        ...result,
        nodeStates: cast.states.length,
        messages: cast.posts.length,
        coreSteps: cast.played,
        found: path && asScript(cast, path, settings, openStage(staging, settings, mutant)),
      };
    },
  };
}
