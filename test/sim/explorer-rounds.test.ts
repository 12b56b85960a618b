/** Flease and PaxosLease in the explorer: small worlds to their end, mutants by their shortest scripts, and that what it leaves out makes no difference. */
import { describe, expect, test } from 'vitest';
import { exploring, type Exploration, type Exploring } from '../../src/sim/index.ts';
import { NodeStates } from '../../src/sim/explorer/node-states.ts';
import { sized } from '../support/sizes.ts';
import { exploringOf, roundWorlds, stageOf, type SomeBounds } from '../support/kits.ts';

const SLOW = 120_000;

function explore(which: Exploring, bounds: SomeBounds, mutant: string | null = null): Exploration {
  return which.explore({ ...which.usual, ...bounds }, mutant, { maxStates: 3_000_000, isOver: () => false });
}

const TINY: SomeBounds = { acceptors: 3, releases: false };
const ALONE: SomeBounds = { acceptors: 1, releases: false };
/** Clocks further apart than the engine is told: rule 13 keeps it safe. */
const APART: SomeBounds = { ...ALONE, skew: 1, beyond: 1, term: 3, instants: 2 };

const DEATHS: readonly { mutant: string; bounds: SomeBounds; only?: readonly string[]; steps: number }[] = [
  { mutant: 'no-restart-silence', bounds: { ...ALONE, crashes: 1 }, steps: 12 },
  { mutant: 'count-messages', bounds: { ...TINY, duplicates: 1, instants: 0 }, steps: 18 },
  { mutant: 'nack-is-vote', bounds: { ...TINY, instants: 0 }, steps: 18 },
  { mutant: 'release-before-stop', bounds: { acceptors: 1 }, steps: 14 },
  { mutant: 'release-any-ballot', bounds: { ...ALONE, tries: 2 }, steps: 20 },
  { mutant: 'owner-is-node', bounds: { acceptors: 1, attempts: 2, crashes: 1 }, steps: 22 },
  { mutant: 'no-safety-period', bounds: { ...ALONE, skew: 1, instants: 2 }, only: ['flease'], steps: 13 },
  { mutant: 'te-without-s', bounds: ALONE, only: ['paxoslease-skewed'], steps: 13 },
  { mutant: 'no-skew-guard', bounds: APART, only: ['flease', 'paxoslease-skewed'], steps: 14 },
];

describe.each(roundWorlds)('$staging.protocol.name', (world) => {
  const { name } = world.staging.protocol;
  const engine = exploringOf(name);
  /** Its clocks are apart in every way that makes a difference: each search takes several times as long. */
  const isSkewed = name === 'paxoslease-skewed';
  const usually: SomeBounds = { acceptors: 2, crashes: 1, ...(isSkewed ? sized({ skew: 0 }, {}) : {}) };

  test.each([
    // With clocks that are apart in every way, three acceptors take too long for a test.
    ...(isSkewed
      ? [{ what: 'clocks apart by S, and a release', bounds: {} }]
      : [{ what: 'two proposers at three acceptors', bounds: TINY }]),
    ...(!('beyond' in world.bounds) ? [] : [{ what: 'clocks further apart than it is told', bounds: APART }]),
    { what: 'two proposers at two acceptors, a crash and a release', bounds: { acceptors: 2, crashes: 1 } },
    {
      what: 'one acceptor that crashes, release and renewal',
      bounds: { acceptors: 1, crashes: 1, renewals: 1, instants: isSkewed ? sized(2, 3) : 3 },
    },
    { what: 'one acceptor, a copy, two tries', bounds: { acceptors: 1, duplicates: 1, tries: 2, instants: isSkewed ? sized(1, 2) : 2 } },
    ...(name === 'flease' ? [{ what: 'clocks apart by ε and a crash', bounds: { acceptors: 1, crashes: 1, skew: 1, instants: 4 } }] : []),
  ])(
    'breaks nothing with $what',
    ({ bounds }) => {
      const outcome = explore(engine, bounds);
      expect(outcome).toMatchObject({ exhausted: true, found: null, waiting: 0 });
    },
    SLOW,
  );

  test.each(DEATHS.filter(({ only = [name] }) => only.includes(name)))(
    'without $mutant has two holders by a short script, which the product survives',
    ({ mutant, bounds, steps }) => {
      const { found } = explore(engine, bounds, mutant);
      if (!found) throw new Error('nothing was found');
      expect(found.violation.property).toBe('exclusion');
      // Lines that set clocks are no steps.
      expect(found.lines.filter(({ line }) => !line.startsWith('set ')).length).toBeLessThanOrEqual(steps);
      const product = stageOf(name).open(found.settings, null);
      product?.startAll();
      for (const { line } of found.lines) {
        try {
          product?.line(line);
        } catch {
          // The product does not send what the mutant sends.
        }
      }
      expect(product?.violations).toEqual([]);
    },
    SLOW,
  );

  test.each([
    { what: 'that acceptors are alike', world: { alike: () => 0 } },
    // A quorum of two out of two awaits every answer: a copy does not.
    { what: 'messages nobody listens to', world: { isDead: () => false }, bounds: { acceptors: 1, tries: 2, duplicates: 1 } },
    { what: 'what makes no difference any more', world: { tidy: (core) => core } },
    { what: 'the end, when nobody asks any more', world: { asksNothing: () => false } },
    {
      what: 'that acceptors are woken at once',
      world: { wakesPromptly: () => false, asksNothing: () => false },
      ...(isSkewed ? { bounds: { acceptors: 2, crashes: 1, skew: 0, releases: false } } : {}),
    },
  ] satisfies { what: string; world: Partial<typeof world>; bounds?: SomeBounds }[])(
    'without using $what, more states come to the same',
    ({ world: changed, bounds = usually }: { world: Partial<typeof world>; bounds?: SomeBounds }) => {
      const slower = exploring({ ...world, ...changed });
      const [with_, without] = [explore(engine, bounds), explore(slower, bounds)];
      expect(without).toMatchObject({ exhausted: true, found: null });
      expect(without.states).toBeGreaterThan(with_.states);
      const [found, foundSlowly] = [explore(engine, bounds, 'nack-is-vote'), explore(slower, bounds, 'nack-is-vote')];
      expect(found.found?.violation.property).toBe('exclusion');
      expect(foundSlowly.depth).toBe(found.depth);
    },
    SLOW,
  );

  test.each<SomeBounds>([
    { acceptors: 1, proposers: 1, renewals: 2, releases: false, driftPpm: 100_000, instants: 4 },
    { acceptors: 2, proposers: 1, attempts: 2, renewals: 1, releases: false, driftPpm: 100_000, instants: 2 },
  ])('what is tidied away changes no message that anybody sends, in a world of %j', (changed) => {
    // All else that is left out is looked at, so that each message that can be sent is.
    const patient = { ...world, asksNothing: () => false, isDead: () => false };
    const sent = (which: typeof world): number => {
      const outcome = explore(exploring(which), changed);
      expect(outcome).toMatchObject({ exhausted: true, found: null });
      return outcome.messages;
    };
    expect(sent(patient)).toBe(sent({ ...patient, tidy: (core) => core }));
  });
});

const ONE: SomeBounds = { acceptors: 1 };
const THREE: SomeBounds = { acceptors: 3 };

describe('clocks that agree within S', () => {
  const world = roundWorlds.find(({ staging }) => staging.protocol.name === 'paxoslease-skewed') as (typeof roundWorlds)[number];
  const skewed = exploringOf('paxoslease-skewed');
  const clocksOf = (bounds: SomeBounds): string[] =>
    [...world.clocks({ ...skewed.usual, ...bounds })].map((ahead) => ahead.map((us) => us / world.tickUs).join(''));

  test('are apart in every way that makes a difference', () => {
    expect(clocksOf({ acceptors: 1 })).toEqual(['100', '101', '110', '000', '001', '010', '011']);
    // Of 32 the one in which all are ahead is the one in which none is; of those who vote only the numbers count.
    expect(clocksOf({ acceptors: 3 })).toHaveLength(4 * 4 - 1);
    expect(clocksOf({ skew: 0 })).toEqual(['0000']);
    expect(clocksOf({ acceptors: 1, proposers: 1, skew: 1, beyond: 1 })).toEqual(['20', '10', '00', '01', '02']);
  });

  test('make nodes different that would be alike', () => {
    const renumberings = (aheadUs: readonly number[]): number =>
      new NodeStates(world, { ...skewed.usual, ...THREE }, null, aheadUs).renumberings.length;
    expect([renumberings([]), renumberings([1, 1, 0]), renumberings([2, 1, 0]), renumberings([0, 0, 0, 1, 0])]).toEqual([6, 2, 1, 6]);
    const bounds = { acceptors: 2, crashes: sized(0, 1), releases: false };
    const [alike, apart] = [explore(skewed, bounds), explore(exploring({ ...world, alike: () => 0 }), bounds)];
    expect([alike, apart]).toMatchObject([
      { exhausted: true, found: null },
      { exhausted: true, found: null },
    ]);
    expect(apart.states).toBeGreaterThan(alike.states);
  });

  test('are one after another, and no budget is spent anew for each', () => {
    const all = explore(skewed, ONE);
    const bounds = { ...skewed.usual, ...ONE };
    const some = skewed.explore(bounds, null, { maxStates: all.states - 1, isOver: () => false });
    expect(some).toMatchObject({ exhausted: false, found: null });
    expect(some.waiting).toBeGreaterThan(0);
    const stopped = skewed.explore(bounds, null, { maxStates: 1_000_000, isOver: ({ states }) => states > all.states / 2 });
    expect(stopped.exhausted).toBe(false);
    expect(stopped.states).toBeLessThan(all.states * 0.75);
    const once = exploring({ ...world, clocks: () => [[]] }).explore(bounds, null, { maxStates: 1_000_000, isOver: () => false });
    expect(once.states).toBeLessThan(all.states / 5);
  });
});
