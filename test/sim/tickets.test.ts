/** Compare-and-set in worlds whose storage is late, weak, lossy and damaged. */
import { describe, expect, test } from 'vitest';
import { openStage, simulation, type FaultPlan } from '../../src/sim/index.ts';
import { shrinker } from '../../src/sim/shrink/shrink.ts';
import { failingSeedOf, soon } from '../support/shrinking.ts';
import { ticketStaging, tickets, ticketToScript } from './tickets.ts';

const RUNS = 120;

/** The properties that break in so many runs. */
function broken(mutant: string | null, damage: Partial<FaultPlan> = {}, runs = RUNS): Set<string> {
  const simulated = simulation(tickets(damage));
  const properties = Array.from({ length: runs }, (_, seed) => simulated.run(seed, mutant).violations[0]?.property);
  return new Set(properties.filter((property) => property !== undefined));
}

describe('tickets by compare-and-set', () => {
  test('are taken once each, in worlds with every fault but a unit that forgets', () => {
    const simulated = simulation(tickets());
    const counts: Record<string, number> = {};
    for (let seed = 0; seed < RUNS; seed++) {
      const { violations, sometimes } = simulated.run(seed, null);
      expect(violations).toEqual([]);
      for (const [name, count] of Object.entries(sometimes)) counts[name] = (counts[name] ?? 0) + count;
    }
    const never = Object.keys(counts).filter((name) => counts[name] === 0);
    // Nobody writes the record but by a swap, and those are found only when they have won.
    expect(never.toSorted()).toEqual(['early-read', 'forgotten-write', 'wiped-unit']);
  });

  test.each([
    ['ignores-lost', {}],
    ['unknown-is-won', { unitFailEveryUs: 500_000, unitFailUsMax: 500_000 }],
    ['corrupt-is-free', { corruptEveryUs: 1_000_000 }],
    ['corrupt-is-free', { misdirectPpm: 100_000, corruptEveryUs: 0 }],
  ])('%s is found out with %j', (mutant, damage) => {
    expect(broken(null, damage)).toEqual(new Set());
    expect(broken(mutant, damage)).toContain('agreement');
  });

  test.each([{ forgetEveryUs: 1_000_000 }, { wipeEveryUs: 1_000_000 }])(
    'cannot survive a unit that loses acknowledged writes: %j',
    (damage) => {
      expect(broken(null, damage, 40)).not.toEqual(new Set());
    },
  );
});

const TAKE_P = ['look p', 'answer p #1', 'take p'];

describe('on a stage', () => {
  const play = (lines: readonly string[], mutant: string | null): { told: string[]; properties: string[] } => {
    const stage = openStage(ticketStaging, {}, mutant);
    stage.startAll();
    const told = lines.flatMap((line) => stage.line(line)).filter(({ kind }) => kind === 'told');
    return { told: told.map(({ text }) => text), properties: stage.violations.map(({ property }) => property) };
  };

  test('the swap that comes second is lost, and a mutant that does not look has the same ticket', () => {
    const lines = ['look p', 'look q', 'answer p #1', 'answer q #1', 'take p', 'take q', 'answer p #2', 'answer q #2'];
    expect(play(lines, null)).toEqual({
      told: ['p is told: free', 'q is told: free', 'p is told: taken 1', 'q is told: lost'],
      properties: [],
    });
    expect(play(lines, 'ignores-lost').properties).toEqual(['agreement']);
  });

  test('a record that is damaged gives no tickets', () => {
    const lines = [...TAKE_P, 'answer p #2', 'corrupt unit 0 counter', 'look q', 'answer q #1'];
    expect(play(lines, null)).toMatchObject({ told: expect.arrayContaining(['q is told: damaged']) as unknown, properties: [] });
    expect(play([...lines, 'take q', 'answer q #2'], 'corrupt-is-free').properties).toEqual(['agreement']);
  });

  test('a swap that failed was won all the same, and its taker finds out', () => {
    const { told, properties } = play([...TAKE_P, 'effect p #2', 'fail p #2', 'look p', 'answer p #3'], null);
    expect(told.slice(-1)).toEqual(['p is told: taken 1']);
    expect(properties).toEqual([]);
  });
});

describe('a failing run becomes a script', () => {
  const scriptOf = (mutant: string | null, damage: Partial<FaultPlan>, property: string): readonly string[] => {
    const protocol = tickets(damage);
    const seed = failingSeedOf(simulation(protocol), mutant, property);
    const shrunk = shrinker({ ...ticketStaging, protocol }, ticketToScript).shrink(seed, mutant, soon(300));
    const script = shrunk?.script;
    if (!script) throw new Error('there is no script');
    const stage = openStage(ticketStaging, script.settings, mutant);
    stage.startAll();
    for (const line of script.lines) stage.line(line);
    expect(stage.violations[0]?.property).toBe(property);
    return script.lines;
  };

  test('of a swap that was lost', () => {
    const lines = scriptOf('ignores-lost', {}, 'agreement');
    expect(lines.filter((line) => line.startsWith('take ')).length).toBe(2);
    expect(lines.length).toBeLessThan(12);
  });

  test.each([
    ['corrupt-is-free', { corruptEveryUs: 500_000, misdirectPpm: 0 }, 'agreement', /^corrupt unit 0 counter byte \d+$/],
    ['corrupt-is-free', { corruptEveryUs: 0, misdirectPpm: 300_000 }, 'agreement', /^misdirect \w+ #\d+ to counter$/],
    [null, { forgetEveryUs: 500_000, corruptEveryUs: 0, misdirectPpm: 0 }, 'agreement', /^forget unit 0 counter$/],
    [null, { wipeEveryUs: 500_000, corruptEveryUs: 0, misdirectPpm: 0 }, 'regularity', /^wipe unit 0$/],
  ] as const)('that tells the damage: %s, %j', (mutant, damage, property, told) => {
    const lines = scriptOf(mutant, damage, property);
    expect(lines.some((line) => told.test(line))).toBe(true);
    expect(lines.length).toBeLessThan(16);
  });
});
