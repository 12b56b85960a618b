/** The quorum engine in the simulated world: clean with its rules, broken without any one of them. */
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { quorumProtocol } from '../../src/sim/protocols/quorum/protocol.ts';
import { runChunk, simulation } from '../../src/sim/index.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { replaySwapped } from './swapped-core.ts';
import { sized } from '../support/sizes.ts';

/** More than any world has. */
const LEASES_MAX = 1024;

const engine = simulation(quorumProtocol);
const RUNS = sized(150, 400);
/** Of so few worlds perhaps none has it. */
const SELDOM: readonly string[] = sized(['outlived-itself'], []);

test('no world breaks the engine, and everything that must happen sometimes happens', () => {
  const result = runChunk(engine, null, 20_261_115, 0, RUNS, false);
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

/** Pages of a list begin at a row, and a snapshot knows no rows: who is swapped between two pages may put a lease where the list has been. So each is one page. */
const inOnePage: typeof quorumProtocol = {
  ...quorumProtocol,
  core: ({ config, ...rest }, boot, mutant) =>
    quorumProtocol.core({ ...rest, config: { ...config, core: { ...config.core, leasesPerPage: LEASES_MAX } } }, boot, mutant),
};

test('a core built from the snapshot of another goes on where that one was', () => {
  for (let run = 0; run < sized(4, 10); run++) {
    const { run: result, swaps } = replaySwapped(inOnePage, deriveSeed(5, run), 40);
    expect(result.violations).toEqual([]);
    expect(swaps).toBeGreaterThan(5);
  }
});
