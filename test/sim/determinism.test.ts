import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { runCampaign } from '../../dist/cli/sim-pool.js';
import { addResult, emptyResult, formatEntry, kits, runChunk, type Simulation } from '../../src/sim/index.ts';
import { register } from '../../src/sim/protocols/register/protocol.ts';
import { toy } from '../../src/sim/protocols/toy/protocol.ts';
import { replaySwapped } from './swapped-core.ts';
import { sized } from '../support/sizes.ts';

const SEEDS = Array.from({ length: sized(4, 12) }, (_, i) => deriveSeed(7, i));
/** Of a campaign, and how many of them the first chunk has. */
const RUNS = sized(4, 12);
const SPLIT = sized(1, 5);

function named(name: string): Simulation {
  const found = kits.find((simulation) => simulation.name === name);
  if (!found) throw new Error(`no simulation ${name}`);
  return found;
}

/** What came of each seed when it was run for the first time. */
const firsts = new Map<Simulation, ReturnType<Simulation['run']>[]>();
function firstResultsOf(simulation: Simulation): ReturnType<Simulation['run']>[] {
  const results = firsts.get(simulation) ?? SEEDS.map((seed) => simulation.run(seed, null));
  firsts.set(simulation, results);
  return results;
}

describe.each(kits)('$name', (simulation) => {
  test('the same seed gives the same result', () => {
    const results = firstResultsOf(simulation);
    expect(SEEDS.map((seed) => simulation.run(seed, null))).toEqual(results);
  });

  test('different seeds give different worlds', () => {
    const worlds = new Set(firstResultsOf(simulation).map((result) => JSON.stringify({ ...result, seed: 0 })));
    expect(worlds.size).toBe(SEEDS.length);
  });

  test('a campaign in chunks is the campaign in one', () => {
    const whole = runChunk(simulation, null, 5, 0, RUNS, false);
    const sum = emptyResult(simulation);
    for (const [first, count] of [
      [0, SPLIT],
      [SPLIT, 1],
      [SPLIT + 1, RUNS - SPLIT - 1],
    ] as const)
      addResult(sum, runChunk(simulation, null, 5, first, count, false));
    expect(sum).toEqual(whole);
  });
});

test.each(kits)('$name: the same seed gives the same steps, and watching them changes nothing', (simulation) => {
  for (const [i, seed] of SEEDS.slice(0, sized(2, 4)).entries()) {
    const first = simulation.replay(seed, null);
    const text = (run: typeof first): string => run.entries.map((entry) => formatEntry(entry, String)).join('\n');
    expect(text(simulation.replay(seed, null))).toBe(text(first));
    const { entries: _entries, nodeNames: _nodeNames, ...result } = first;
    expect(firstResultsOf(simulation)[i]).toEqual(result);
  }
});

describe('a campaign does not depend on the number of threads', () => {
  test.each(['toy', sized('paxoslease', 'quorum')])(
    '%s',
    async (name) => {
      const runs = sized(56, 80);
      const order = { simulation: named(name), mutant: null, runs, seed: 3, stopAtViolation: false };
      const alone = await runCampaign({ ...order, threads: 1 });
      expect(await runCampaign({ ...order, threads: 3 })).toEqual(alone);
      expect(alone.runs).toBe(runs);
    },
    60_000,
  );

  test('nor does one that stops at the first violation', async () => {
    const order = { simulation: named('toy'), mutant: null, runs: 200, seed: 9, stopAtViolation: true };
    const alone = await runCampaign({ ...order, threads: 1 });
    expect(await runCampaign({ ...order, threads: 3 })).toEqual(alone);
    expect(alone.violations.length).toBe(1);
  });
});

describe('a core that is replaced by a restored copy goes on as if nothing had happened', () => {
  test.each(SEEDS.slice(0, 6))('toy, seed %i', (seed) => {
    const { run, swaps } = replaySwapped(toy, seed, 5);
    expect(run).toEqual(named('toy').replay(seed, null));
    expect(swaps).toBeGreaterThan(0);
  });

  test.each(SEEDS.slice(0, 2))('register, seed %i', (seed) => {
    const { run, swaps } = replaySwapped(register, seed, 5);
    expect(run).toEqual(named('register').replay(seed, null));
    expect(swaps).toBeGreaterThan(0);
  });
});
