/** The explorer: everything that can happen in a small world, not a sample of it. */
import type { Core } from '../../core/index.ts';
import { openStage } from '../stage/index.ts';
import { NodeStates } from './node-states.ts';
import { Judge } from './judge.ts';
import { asScript, type FoundScript } from './script.ts';
import { search, type SearchLimits, type SearchProgress } from './search.ts';
import { usualBounds, type Bound, type Budgets } from './bounds.ts';
import type { ExploredProtocol } from './small-world.ts';
import { Universe } from './universe.ts';

export type { FoundScript } from './script.ts';
export type { SearchLimits, SearchProgress } from './search.ts';
export * from './bounds.ts';
export {
  AGREEING_CLOCKS,
  NOTHING_LEFT_OUT,
  type Addressee,
  type Askers,
  type ClocksAheadUs,
  type NodeView,
  type Offer,
  type SmallWorld,
} from './small-world.ts';

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

/** A protocol that can be explored, with its types closed over. */
export interface Exploring {
  /** What can be said of how large its world is. */
  readonly bounds: Readonly<Record<string, Bound>>;
  readonly usual: Budgets;
  /** Why these bounds do not go together, though each is valid alone; null if they do. */
  misfit(bounds: Budgets): string | null;
  explore(bounds: Budgets, mutant: string | null, limits: SearchLimits): Exploration;
}

export function exploring<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  world: ExploredProtocol<Message, Command, Event, Config, Node>,
): Exploring {
  const { staging } = world;
  return {
    bounds: { ...world.bounds },
    usual: usualBounds(world.bounds),
    misfit: (bounds) => world.misfit?.(bounds) ?? null,
    explore(bounds, mutant, limits) {
      let all = NOTHING_EXPLORED;
      for (const aheadUs of world.clocks(bounds)) {
        const before = all;
        const progress = (here: SearchProgress): SearchProgress => ({
          states: before.states + here.states,
          transitions: before.transitions + here.transitions,
          depth: Math.max(before.depth, here.depth),
          waiting: here.waiting,
        });
        // Other clocks make another world, and only its beginning was seen yet.
        const beginning = { states: 0, transitions: 0, depth: 0, waiting: 1 };
        if (before.states > 0 && (before.states >= limits.maxStates || limits.isOver(progress(beginning)))) {
          return { ...before, waiting: 1, exhausted: false };
        }
        const nodeStates = new NodeStates<Message, Command, Event, Config>(world, bounds, mutant, aheadUs);
        const judge = new Judge(() => nodeStates.referees(), nodeStates);
        const { path, ...result } = search(new Universe(nodeStates, judge), {
          ...limits,
          maxStates: limits.maxStates - before.states,
          isOver: (here) => limits.isOver(progress(here)),
        });
        const settings = world.settings(bounds, mutant);
        all = {
          ...progress(result),
          depth: path ? result.depth : Math.max(before.depth, result.depth),
          exhausted: result.exhausted,
          visitedBytes: Math.max(before.visitedBytes, result.visitedBytes),
          frontierBytes: Math.max(before.frontierBytes, result.frontierBytes),
          nodeStates: before.nodeStates + nodeStates.states.length,
          messages: before.messages + nodeStates.envelopes.length,
          coreSteps: before.coreSteps + nodeStates.played,
          found: path && asScript(nodeStates, path, settings, openStage(staging, settings, mutant)),
        };
        if (!all.exhausted) return all;
      }
      return all;
    },
  };
}

const NOTHING_EXPLORED: Exploration = {
  states: 0,
  transitions: 0,
  depth: 0,
  waiting: 0,
  exhausted: true,
  visitedBytes: 0,
  frontierBytes: 0,
  nodeStates: 0,
  messages: 0,
  coreSteps: 0,
  found: null,
};
