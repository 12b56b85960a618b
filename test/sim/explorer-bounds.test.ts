/** Any bounds that can be typed: the explorer searches, or says that they do not go together. Nothing else comes of them. */
import { expect, test } from 'vitest';
import { SeededChooser, TenureError } from '../../src/kernel/index.ts';
import { kits, type Bound, type Budgets, type Exploring } from '../../src/sim/index.ts';
import { sized } from '../support/sizes.ts';

const SLOW = 120_000;
const DRAWS = sized(6, 25);
const STATES_MAX = 1000;

/** Whether a world takes this for the bound. */
function takes(bound: Bound, text: string): boolean {
  try {
    bound.read(text);
    return true;
  } catch {
    return false;
  }
}

/** These break as they are. */
const BROKEN: ReadonlySet<string> = new Set(['toy', 'delta-lease-literal']);

/** Mostly small, now and then as large as it goes. */
function drawBound(bound: Bound, chooser: SeededChooser): number | boolean {
  if (typeof bound.usual === 'boolean') return chooser.below(2) === 0;
  if (takes(bound, '0.2')) return chooser.below(3) === 0 ? bound.read('0.2') : 0;
  const taken = Array.from({ length: 100 }, (_, n) => n).filter((n) => takes(bound, String(n)));
  const drawn = chooser.below(8) === 0 ? taken.at(-1) : taken[chooser.below(Math.min(3, taken.length))];
  return drawn ?? 0;
}

function drawBounds({ bounds, usual }: Exploring, chooser: SeededChooser): Budgets {
  const drawn = Object.entries(bounds).map(([name, bound]) => [name, drawBound(bound, chooser)]);
  return { ...usual, ...(Object.fromEntries(drawn) as Partial<Budgets>) };
}

/** What came of it, in a word. */
function outcomeOf(engine: Exploring, bounds: Budgets, mutant: string | null): 'unfit' | 'broken' | 'exhausted' | 'left' | 'untold' {
  if (engine.misfit(bounds) !== null) return 'unfit';
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

test.each(kits.flatMap(({ name, mutants, exploring }) => (exploring ? [{ protocol: name, mutants, engine: exploring }] : [])))(
  '$protocol, in any world',
  ({ protocol, mutants, engine }) => {
    const chooser = new SeededChooser(protocol.length);
    const outcomes = Array.from({ length: DRAWS }, () => {
      const bounds = drawBounds(engine, chooser);
      const mutant = chooser.below(2) === 0 ? null : (mutants[chooser.below(Math.max(1, mutants.length))]?.name ?? null);
      return { mutant, outcome: outcomeOf(engine, bounds, mutant) };
    });
    expect(outcomes.filter(({ outcome }) => outcome === 'untold')).toEqual([]);
    expect(outcomes.filter(({ outcome, mutant }) => outcome === 'broken' && mutant === null && !BROKEN.has(protocol))).toEqual([]);
    expect(outcomes.filter(({ outcome }) => outcome !== 'unfit').length).toBeGreaterThan(DRAWS / 4);
  },
  SLOW,
);
