/** Leases on storage in the simulator: clean with all rules, and the paper to the letter is not. Mutants are killed by the seeds of docs/research/mutants.md. */
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { kitNamed } from '../support/kits.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';

const RUNS = 25;

describe.each(['delta-lease', 'delta-lease-nd', 'delta-lease-cas', 'delta-lease-shared'])('%s', (name) => {
  test('is clean in worlds of every shape', { timeout: 60_000 }, () => {
    const kit = kitNamed(name);
    let grants = 0;
    for (let run = 0; run < RUNS; run++) {
      const result = kit.run(deriveSeed(3, run), null);
      expect({ seed: result.seed, violations: result.violations }).toEqual({ seed: result.seed, violations: [] });
      grants += result.grants;
    }
    expect(grants).toBeGreaterThan(RUNS);
  });
});

test.each([
  ['a reader whose row was grounded by another took a token below an erased one', 1493005358607443],
  ['a renewal that had begun before told of data that was not stored', 4877639087713523],
])('what once broke is whole: %s', (_what, seed) => {
  expect(kitNamed('delta-lease-shared').run(seed, null).violations).toEqual([]);
});

test('the paper to the letter has two holders when a write lands late', () => {
  const kit = kitNamed('delta-lease-literal');
  const properties = Array.from({ length: 30 }, (_, run) => kit.run(deriveSeed(1, run), null).violations[0]?.property);
  expect(properties).toContain('exclusion');
});

test(
  'whoever renews by the ND renewal goes on for ever beside another, where the store has forgotten one of them',
  { timeout: 60_000 },
  () => {
    const kit = kitNamed('delta-lease');
    const broken = Array.from({ length: 10 }, (_, run) => kit.run(deriveSeed(3, run), 'nd-renewal').violations.length > 0);
    expect(broken).toContain(true);
  },
);

describe('without its rule it breaks as the page of mutants says:', () => {
  const cases = ['delta-lease', 'delta-lease-nd', 'delta-lease-cas', 'delta-lease-shared']
    .map(kitNamed)
    .flatMap((kit) => kit.mutants.map((mutant) => ({ kit, ...mutant })));

  test.each(cases)('$kit.name $name', ({ kit, ...mutant }) => {
    expect(deathOf(kit, mutant)).toEqual(deathOnPage(kit, mutant));
  });
});
