/** Renewal in bulk in the simulated world: clean with its rules, broken without any one of them. */
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { bundlesProtocol } from '../../src/sim/protocols/quorum-bundles/protocol.ts';
import { runChunk, simulation } from '../../src/sim/index.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { replaySwapped } from './swapped-core.ts';

const engine = simulation(bundlesProtocol);
/** Of a hundred worlds few have a heir that dies at the right moment. */
const SELDOM = ['heir-died'];

test('no world breaks the engine, and what is about bundles happens', () => {
  const result = runChunk(engine, null, 20_261_117, 0, 60, false);
  expect(result.violations).toEqual([]);
  expect(result.liveness).toEqual({ checked: 60, failed: 0 });
  const unreached = Object.entries(result.sometimes).flatMap(([name, count]) => (count === 0 && !SELDOM.includes(name) ? [name] : []));
  expect(unreached).toEqual([]);
}, 600_000);

describe('without its rule the engine breaks as the page of mutants says:', () => {
  test.each(engine.mutants)('$name', (mutant) => {
    expect(deathOf(engine, mutant)).toEqual(deathOnPage(engine, mutant));
  });
});

test('a core built from the snapshot of another goes on where that one was', () => {
  for (let run = 0; run < 3; run++) {
    const { run: result, swaps } = replaySwapped(bundlesProtocol, deriveSeed(5, run), 40);
    expect(result.violations).toEqual([]);
    expect(swaps).toBeGreaterThan(5);
  }
}, 300_000);
