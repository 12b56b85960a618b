/** The explorer's cores are restored for each step and tidied; those of a stage are not. Walks taken at random come to the same on both. */
import { describe, expect, test } from 'vitest';
import { SeededChooser } from '../../src/kernel/index.ts';
import { openStage } from '../../src/sim/stage/index.ts';
import { NodeStates } from '../../src/sim/explorer/node-states.ts';
import { Judge } from '../../src/sim/explorer/judge.ts';
import { performMove } from '../../src/sim/explorer/script.ts';
import type { Budgets } from '../../src/sim/explorer/bounds.ts';
import type { ClocksAheadUs, ExploredProtocol } from '../../src/sim/explorer/small-world.ts';
import { Universe, type Move } from '../../src/sim/explorer/universe.ts';
import { quorumWorld, registerWorld, roundsRegisterWorld, roundWorlds, storageLeaseWorlds } from '../support/kits.ts';
import { lockWorld } from './locks.ts';
import { sized } from '../support/sizes.ts';

const SEEDS = sized([1], [1, 2, 3]);
const WALKS = sized(60, 84);
const SLOW = 120_000;
const STEPS = 45;

interface Option {
  readonly move: Move;
  readonly breaks: boolean;
  readonly state: Int32Array;
}

/** How many steps were taken. Throws where the stage cannot do what the explorer did, or judges it otherwise. */
function walk<M, C, E, W>(world: ExploredProtocol<M, C, E, W>, bounds: Budgets, mutant: string | null, chooser: SeededChooser): number {
  const clocks = [...world.clocks(bounds)];
  const aheadUs = clocks[chooser.below(clocks.length)] as ClocksAheadUs;
  const nodeStates = new NodeStates<M, C, E, W>(world, bounds, mutant, aheadUs);
  const universe = new Universe(nodeStates, new Judge(() => nodeStates.referees(), nodeStates));
  const stage = openStage(world.staging, world.settings(bounds, mutant), mutant);
  stage.startAll();
  for (let node = 0; node < nodeStates.nodes; node++) {
    stage.do({ kind: 'rate', node, ppm: world.ratePpm(bounds, node) });
    stage.do({ kind: 'set', node, byUs: aheadUs[node] ?? 0 });
  }
  universe.begin();
  const room = universe.newState();
  let state: Int32Array = universe.next.slice(0, universe.nextLength);
  for (let step = 0; step < STEPS; step++) {
    const options: Option[] = [];
    room.set(state);
    universe.expand(room, state.length, (move, breaks) => {
      options.push({ move: move(), breaks, state: universe.next.slice(0, universe.nextLength) });
      return true;
    });
    const option = options[chooser.below(Math.max(1, options.length))];
    if (!option) return step;
    performMove(nodeStates, option.move, stage, (action) => {
      // What the explorer does is a line of a script: the text says all of it.
      const line = stage.format(action);
      expect(stage.format(stage.parse(line))).toBe(line);
      stage.line(line);
    });
    expect(stage.violations.length > 0).toBe(option.breaks);
    if (option.breaks) return step;
    ({ state } = option);
  }
  return STEPS;
}

function walks<M, C, E, W>(world: ExploredProtocol<M, C, E, W>, seed: number): number {
  const chooser = new SeededChooser(seed);
  const pick = <T>(...from: readonly [T, ...T[]]): T => from[chooser.below(from.length)] as T;
  const { name, mutants } = world.staging.protocol;
  let steps = 0;
  for (let i = 0; i < WALKS; i++) {
    const [acceptors, proposers] = [pick(1, 2, 3), pick(1, 2)];
    const bounds = {
      acceptors,
      stores: acceptors,
      proposers,
      clients: proposers,
      attempts: pick(1, 2, 3),
      tries: pick(1, 2, 3),
      handles: pick(1, 2),
      renewals: pick(0, 1, 3),
      releases: pick(true, false),
      crashes: pick(0, 1, 2),
      duplicates: pick(0, 1, 2),
      losses: pick(0, 1),
      driftPpm: pick(0, 100_000),
      skew: 'skew' in world.bounds ? pick(0, 1) : 0,
      beyond: 'beyond' in world.bounds ? pick(0, 0, 1) : 0,
      term: pick(2, 4) + (name.startsWith('delta-lease') ? 1 : 0),
      instants: name === 'rounds-register' ? 0 : pick(4, 10),
      operations: 'operations' in world.bounds ? pick(3, 5) : 0,
      atOnce: 'atOnce' in world.bounds ? pick(1, 2) : 0,
      failures: 'failures' in world.bounds ? pick(0, 1, 2) : 0,
      damages: 'damages' in world.bounds ? pick(0, 1, 2) : 0,
    };
    steps += walk(world, bounds, pick(null, mutants[chooser.below(Math.max(1, mutants.length))]?.name ?? null), chooser);
  }
  return steps;
}

const STEPS_AT_LEAST = WALKS * 10;

describe.each(SEEDS)('what the explorer does happens on a stage, and is judged the same: walks of seed %i', (seed) => {
  test('quorum', () => expect(walks(quorumWorld, seed)).toBeGreaterThan(STEPS_AT_LEAST), SLOW);
  test.each(roundWorlds)('$staging.protocol.name', (world) => expect(walks(world, seed)).toBeGreaterThan(STEPS_AT_LEAST), SLOW);
  test('register', () => expect(walks(registerWorld, seed)).toBeGreaterThan(STEPS_AT_LEAST), SLOW);
  test.each(storageLeaseWorlds)('$staging.protocol.name', (world) => expect(walks(world, seed)).toBeGreaterThan(STEPS_AT_LEAST), SLOW);
  test.each(['swaps', 'lists'] as const)(
    'a lock by %s',
    (which) => expect(walks(lockWorld(which), seed)).toBeGreaterThan(STEPS_AT_LEAST),
    SLOW,
  );
  test('rounds-register', () => expect(walks(roundsRegisterWorld, seed)).toBeGreaterThan(STEPS_AT_LEAST), SLOW);
});
