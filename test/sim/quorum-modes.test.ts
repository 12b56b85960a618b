/** What the quorum engine can do beside plain exclusive leases, in the simulated world: clean with its rules, broken without any one of them. */
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { modesProtocol } from '../../src/sim/protocols/quorum-modes/protocol.ts';
import { runChunk, simulation } from '../../src/sim/index.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { replaySwapped } from './swapped-core.ts';
import { sized } from '../support/sizes.ts';

const engine = simulation(modesProtocol);
const RUNS = sized(75, 150);
/** Of so few worlds perhaps none has it. */
const SELDOM: readonly string[] = sized(['heir-died'], []);

test('no world breaks the engine, and everything that must happen sometimes happens', () => {
  const result = runChunk(engine, null, 8899, 0, RUNS, false);
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
  for (let run = 0; run < sized(3, 5); run++) {
    const { run: result, swaps } = replaySwapped(modesProtocol, deriveSeed(5, run), 40);
    expect(result.violations).toEqual([]);
    expect(swaps).toBeGreaterThan(5);
  }
}, 300_000);
