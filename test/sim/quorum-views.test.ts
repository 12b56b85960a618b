/** Cells of the quorum engine whose members and terms change, in the simulated world: clean with its rules, broken without any one of them. */
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { viewsProtocol } from '../../src/sim/protocols/quorum-views/protocol.ts';
import { runChunk, simulation } from '../../src/sim/index.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { replaySwapped } from './swapped-core.ts';
import { sized } from '../support/sizes.ts';

const engine = simulation(viewsProtocol);
const RUNS = sized(40, 100);
/** Of so few worlds perhaps none has it. */
const SELDOM: readonly string[] = sized(['crash-mid-step', 'twin', 'stall', 'sleep'], []);

test('no world breaks the engine, and everything that must happen sometimes happens', () => {
  const result = runChunk(engine, null, 20_261_117, 0, RUNS, false);
  expect(result.violations).toEqual([]);
  expect(result.liveness).toEqual({ checked: RUNS, failed: 0 });
  const unreached = Object.entries(result.sometimes).flatMap(([name, count]) => (count === 0 && !SELDOM.includes(name) ? [name] : []));
  expect(unreached).toEqual([]);
}, 300_000);

describe('without its rule the engine breaks as the page of mutants says:', () => {
  test.each(engine.mutants)('$name', (mutant) => {
    expect(deathOf(engine, mutant)).toEqual(deathOnPage(engine, mutant));
  });
});

test('a core built from the snapshot of another goes on where that one was', () => {
  for (let run = 0; run < 3; run++) {
    const { run: result, swaps } = replaySwapped(viewsProtocol, deriveSeed(5, run), 40);
    expect(result.violations).toEqual([]);
    expect(swaps).toBeGreaterThan(5);
  }
}, 300_000);
