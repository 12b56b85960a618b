/** Any bounds that can be typed: the explorer searches, or says that they do not go together. Nothing else comes of them. */
import { expect, test } from 'vitest';
import { SeededChooser, TenureError } from '../../src/kernel/index.ts';
import { explorings, type Bounds, type Exploring } from '../../src/sim/index.ts';

const SLOW = 120_000;
const DRAWS = 25;
const STATES_MAX = 1000;

/** From lowest to highest, as `tenure explore` takes them. */
const RANGES: Readonly<Record<Exclude<keyof Bounds, 'releases' | 'driftPpm'>, readonly [number, number]>> = {
  acceptors: [1, 5],
  proposers: [1, 5],
  attempts: [1, 4],
  tries: [1, 4],
  handles: [1, 3],
  renewals: [0, 4],
  crashes: [0, 8],
  duplicates: [0, 8],
  losses: [0, 8],
  skew: [0, 4],
  beyond: [0, 4],
  term: [1, 8],
  instants: [0, 15],
};

/** Mostly small, now and then as large as it goes. */
function drawBounds(chooser: SeededChooser): Bounds {
  const drawn = Object.entries(RANGES).map(([name, [least, most]]) => {
    const few = Math.min(most, least + 2);
    return [name, chooser.below(8) === 0 ? most : least + chooser.below(few - least + 1)] as const;
  });
  return {
    ...(Object.fromEntries(drawn) as unknown as Bounds),
    releases: chooser.below(2) === 0,
    driftPpm: chooser.below(3) === 0 ? 200_000 : 0,
  };
}

/** What came of it, in a word. */
function outcomeOf(engine: Exploring, bounds: Bounds, mutant: string | null): 'unfit' | 'broken' | 'exhausted' | 'left' | 'untold' {
  try {
    const { exhausted, found, waiting } = engine.explore(bounds, mutant, { maxStates: STATES_MAX, isOver: () => false });
    if (found !== null) return 'broken';
    if (exhausted) return waiting === 0 ? 'exhausted' : 'untold';
    return waiting > 0 ? 'left' : 'untold';
  } catch (error) {
    if (error instanceof TenureError && error.code === 'TENURE_BAD_TIMING') return 'unfit';
    throw new Error(JSON.stringify({ bounds, mutant }), { cause: error });
  }
}

test.each(explorings)(
  '$protocol, in any world',
  (engine) => {
    const { protocol, mutants } = engine;
    const chooser = new SeededChooser(protocol.length);
    const outcomes = Array.from({ length: DRAWS }, () => {
      const bounds = drawBounds(chooser);
      const mutant = chooser.below(2) === 0 ? null : (mutants[chooser.below(Math.max(1, mutants.length))] ?? null);
      return { mutant, outcome: outcomeOf(engine, bounds, mutant) };
    });
    expect(outcomes.filter(({ outcome }) => outcome === 'untold')).toEqual([]);
    expect(outcomes.filter(({ outcome, mutant }) => outcome === 'broken' && mutant === null && protocol !== 'toy')).toEqual([]);
    expect(outcomes.filter(({ outcome }) => outcome !== 'unfit').length).toBeGreaterThan(DRAWS / 4);
  },
  SLOW,
);
