/** I8: atomic broadcast in large worlds: nothing breaks, everything happens, and every mutant dies as the page of mutants says. */
import { expect, test } from 'vitest';
import { deriveSeed, SeededChooser } from '../../src/kernel/index.ts';
import { simulation } from '../../src/sim/index.ts';
import { atomicBroadcast } from '../../src/sim/protocols/atomic-broadcast/protocol.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { kitNamed } from '../support/kits.ts';
import { sized } from '../support/sizes.ts';

const SLOW = 240_000;
const RUNS = sized(30, 60);
const FORGETFUL_RUNS = 8;
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

/** In this world too many members crash before it is stored that they have founded their group. */
const FOUNDING_LOST = 5996968145168470;

test('a group whose founding was lost is begun anew by its operator, and goes on', () => {
  const { violations, sometimes } = kit.run(FOUNDING_LOST, null);
  expect(violations).toEqual([]);
  expect(sometimes).toMatchObject({ 'no-majority-remembers': expect.any(Number), 'begun-anew': 1 });
  expect(sometimes['no-majority-remembers']).toBeGreaterThan(0);
});

test(
  'a group that stops though its disks remember is neither excused nor begun anew',
  () => {
    // Whoever restarts takes its disk for a new one.
    const forgetful = simulation({
      ...atomicBroadcast,
      core: (scenario, boot, mutant) => atomicBroadcast.core(scenario, { ...boot, diskKept: false }, mutant),
    });
    const seeds = Array.from({ length: FORGETFUL_RUNS }, (_, run) => deriveSeed(7, run)).filter((seed) => {
      const { broadcast, mayStop } = atomicBroadcast.plan(new SeededChooser(seed), null).config;
      return broadcast.keeps === 'disk' && !mayStop;
    });
    const runs = seeds.map((seed) => forgetful.run(seed, null));
    const stopped = runs.filter(({ violations: [first] }) => first?.property === 'liveness' && first.message.includes('still waits'));
    expect(stopped.length).toBeGreaterThan(seeds.length / 2);
    expect(runs.filter(({ sometimes }) => sometimes['begun-anew'])).toEqual([]);
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
