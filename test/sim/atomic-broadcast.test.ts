/** I8: atomic broadcast in large worlds: nothing breaks, everything happens, and every mutant dies as the page of mutants says. */
import { expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { kitNamed } from '../support/kits.ts';
import { sized } from '../support/sizes.ts';

const SLOW = 240_000;
const RUNS = sized(30, 60);
const kit = kitNamed('atomic-broadcast');

test(
  'keeps total order, integrity and what was acknowledged, in worlds in which everything happens',
  () => {
    const counts: Record<string, number> = {};
    for (let run = 0; run < RUNS; run++) {
      const { seed, violations, sometimes } = kit.run(deriveSeed(5, run), null);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      for (const [name, count] of Object.entries(sometimes)) counts[name] = (counts[name] ?? 0) + count;
    }
    expect(counts).toMatchObject({ delivery: expect.any(Number), 'begun-anew': expect.any(Number) });
    const own = ['delivery', 'acknowledgement', 'batch', 'client-publishes', 'position-gone', 'caught-up', 'amnesiac-votes-again'];
    expect(own.filter((name) => !counts[name])).toEqual([]);
  },
  SLOW,
);

test.each(kit.mutants)(
  '$name breaks as the page of mutants says',
  (mutant) => {
    expect(deathOf(kit, mutant)).toEqual(deathOnPage(kit, mutant));
    expect(kit.run(deathOnPage(kit, mutant).seed, null).violations).toEqual([]);
  },
  SLOW,
);
