/** Interval leases in the simulator: clean as they are, and no rule can go. */
import { describe, expect, it } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { kitNamed } from '../support/kits.ts';

const kit = kitNamed('interval-lease');
const RUNS = 40;
const RUNS_MAX = 1500;

function firstKill(mutant: string, seed: number): string | null {
  for (let run = 0; run < RUNS_MAX; run++) {
    const [violation] = kit.run(deriveSeed(seed, run), mutant).violations;
    if (violation) return violation.property;
  }
  return null;
}

describe('interval leases', { timeout: 300_000 }, () => {
  it('keep what they promise', () => {
    for (let run = 0; run < RUNS; run++) expect(kit.run(deriveSeed(31, run), null).violations).toEqual([]);
  });

  it.each(kit.mutants.map(({ name }) => name))('break without a rule: %s', (name) => {
    expect(firstKill(name, 32)).not.toBe(null);
  });
});
