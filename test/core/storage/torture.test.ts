/** Leases on storage in hundreds of small random worlds: nothing breaks with the rules, and something does without any one of them. */
import { describe, expect, test } from 'vitest';
import { World } from './world.ts';
import { CAS_MUTANTS, DELTA_MUTANTS, planOf, type Kind, type Mutant } from './worlds.ts';

const RUNS = Number(process.env['TORTURE_RUNS'] ?? 15);
const FIRST = Number(process.env['TORTURE_SEED'] ?? 1);

describe.each<Kind>(['delta-lease', 'delta-lease-nd', 'delta-lease-cas'])('%s', (kind) => {
  test('never has two holders, and everyone gets its turn once the trouble is over', () => {
    const seen = { grants: 0, renewals: 0, voids: 0 };
    for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
      const { violation, stuck, ...counts } = new World(planOf(kind, seed), seed).run();
      expect({ seed, violation, stuck }).toEqual({ seed, violation: null, stuck: null });
      for (const key of ['grants', 'renewals', 'voids'] as const) seen[key] += counts[key];
    }
    if (process.env['TORTURE_RUNS'] !== undefined) console.log(kind, RUNS, seen);
    expect(seen.grants).toBeGreaterThan(RUNS);
    expect(seen.renewals).toBeGreaterThan(RUNS);
    expect(seen.voids).toBeGreaterThan(0);
  });
});

/** The first of a few worlds in which it breaks; its seed is where one was found. */
function breaks(kind: Kind, mutant: Mutant): string | null {
  for (let seed = mutant.seed; seed < mutant.seed + 20; seed++) {
    const { violation } = new World(planOf(kind, seed, mutant), seed).run();
    if (violation !== null) return violation;
  }
  return null;
}

describe('without one rule', () => {
  test.each(DELTA_MUTANTS)('on plain registers, $name breaks', (mutant) => expect(breaks('delta-lease', mutant)).not.toBeNull());
  test.each(CAS_MUTANTS)('with compare-and-set, $name breaks', (mutant) => expect(breaks('delta-lease-cas', mutant)).not.toBeNull());
});

test("the paper's single register has two holders when a write lands late", () => {
  const { violation } = new World(planOf('literal', 8), 8).run();
  expect(violation).not.toBeNull();
});
