/**
 * The search: breadth first, so that the first violation found has the fewest steps. Only hashes and depths are
 * kept of states that were expanded; the way to a violation is found again afterwards, by walking from the
 * beginning along states of rising depth.
 */
import { invariant } from '../../kernel/index.ts';
import { ARRIVAL_WORDS, Frontier } from './frontier.ts';
import type { Arrival, Move, Universe, Visitor } from './universe.ts';
import { VisitedSet } from './visited.ts';

export interface SearchLimits {
  /** Takes also the steps that could as well have been taken a step earlier: more transitions, the same states. */
  readonly takesEveryOrder?: boolean;
  readonly maxStates: number;
  /** Asked now and then, with the progress so far, whether to stop. */
  isOver(progress: SearchProgress): boolean;
}

export interface SearchProgress {
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  /** States found and not yet expanded. */
  readonly waiting: number;
}

export interface SearchResult extends SearchProgress {
  /** Every state was expanded. */
  readonly exhausted: boolean;
  /** The steps to the nearest violation, if one was found. */
  readonly path: readonly Move[] | null;
  /** Of the table of visited states. */
  readonly visitedBytes: number;
  /** Of states that wait, at most. */
  readonly frontierBytes: number;
}

/** Rare enough to cost nothing, often enough for worlds of many renumberings, where a state may take a hundredth of a second. */
const ASK_EVERY = 64;
const DEPTH_MAX = 255;

export function search<Message, Command, Event, Config>(
  universe: Universe<Message, Command, Event, Config>,
  limits: SearchLimits,
): SearchResult {
  const visited = new VisitedSet();
  let level = new Frontier();
  let nextLevel = new Frontier();
  // With each state goes the step by which it was found: three numbers behind it.
  const state = new Int32Array(universe.newState().length + ARRIVAL_WORDS);
  const push = (to: Frontier): void => {
    const { arrival, next, nextLength } = universe;
    to.push(next, nextLength, limits.takesEveryOrder === true ? -1 : arrival.node, arrival.before, arrival.input);
  };
  const found: Arrival = { node: -1, before: 0, input: 0 };
  let transitions = 0;
  let depth = 0;
  let expanded = 0;
  let isBroken = false;
  let isStopped = false;

  universe.begin();
  visited.add(universe.low, universe.high, 0);
  push(level);
  const progress = (): SearchProgress => ({ states: visited.count, transitions, depth, waiting: level.count + nextLevel.count });

  while (level.count > 0 && !isBroken && !isStopped) {
    // Deeper than a visited state can say. No search has the time to get there, but if it happens, the world is not exhausted.
    if (depth === DEPTH_MAX) break;
    for (let taken = level.take(state); taken > 0; taken = level.take(state)) {
      const length = taken - ARRIVAL_WORDS;
      found.node = state[length] as number;
      found.before = state[length + 1] as number;
      found.input = state[length + 2] as number;
      const visit: Visitor = (_move, breaks) => {
        transitions++;
        if (breaks) {
          isBroken = true;
          return false;
        }
        if (visited.add(universe.low, universe.high, depth + 1)) push(nextLevel);
        return true;
      };
      universe.expand(state, length, visit, found);
      if (isBroken) break;
      // A search with no states left is not stopped early.
      if (level.count + nextLevel.count === 0) continue;
      if (visited.count >= limits.maxStates || (++expanded % ASK_EVERY === 0 && limits.isOver(progress()))) {
        isStopped = true;
        break;
      }
    }
    if (isBroken || isStopped) break;
    level.clear();
    [level, nextLevel] = [nextLevel, level];
    if (level.count > 0) depth++;
  }
  return {
    ...progress(),
    depth: isBroken ? depth + 1 : depth,
    exhausted: !isBroken && !isStopped && level.count === 0,
    path: isBroken ? [...universe.opening, ...pathTo(universe, visited, depth)] : null,
    visitedBytes: visited.bytes,
    frontierBytes: level.bytes + nextLevel.bytes,
  };
}

/** Some way to a step that breaks a promise, out of a state of this depth. */
function pathTo<Message, Command, Event, Config>(
  universe: Universe<Message, Command, Event, Config>,
  visited: VisitedSet,
  breakDepth: number,
): Move[] {
  const tried = new VisitedSet();
  const path: Move[] = [];
  const walk = (state: Int32Array, length: number, depth: number): boolean => {
    const onward: { state: Int32Array; move: Move }[] = [];
    let last: Move | null = null;
    universe.expand(state, length, (move, breaks) => {
      if (breaks) {
        if (depth === breakDepth) last = move();
        return depth !== breakDepth;
      }
      if (depth < breakDepth && visited.depthOf(universe.low, universe.high) === depth + 1 && tried.add(universe.low, universe.high, 0)) {
        onward.push({ state: universe.next.slice(0, universe.nextLength), move: move() });
      }
      return true;
    });
    if (last !== null) {
      path.push(last);
      return true;
    }
    const room = universe.newState();
    for (const next of onward) {
      path.push(next.move);
      room.set(next.state);
      if (walk(room, next.state.length, depth + 1)) return true;
      path.pop();
    }
    return false;
  };
  universe.begin();
  const isFound = walk(universe.next.slice(), universe.nextLength, 0);
  invariant(isFound, 'the way to a violation was lost');
  return path;
}
