/** The explorer: small worlds to their end, mutants by their shortest scripts, and that what it leaves out makes no difference. */
import { describe, expect, test } from 'vitest';
import { exploring, type Budgets, type Exploration, type Exploring } from '../../src/sim/index.ts';
import { permutations, renumberingsOf } from '../../src/sim/explorer/hashes.ts';
import { Frontier } from '../../src/sim/explorer/frontier.ts';
import { VisitedSet } from '../../src/sim/explorer/visited.ts';
import { NodeStates } from '../../src/sim/explorer/node-states.ts';
import { Judge } from '../../src/sim/explorer/judge.ts';
import { Universe } from '../../src/sim/explorer/universe.ts';
import type { Askers } from '../../src/sim/explorer/small-world.ts';
import type { QuorumMessage } from '../../src/core/index.ts';
import type { MonoUs } from '../../src/kernel/index.ts';
import { sized } from '../support/sizes.ts';
import { explore, exploringOf, quorumWorld, stageOf, type SomeBounds } from '../support/kits.ts';

const SLOW = 120_000;
const some = (bounds: SomeBounds): SomeBounds => bounds;

const quorum = exploringOf('quorum');
const toy = exploringOf('toy');

/** Two proposers, one try each, a lease of two instants and one instant to spend. */
const TINY: SomeBounds = { crashes: 0, renewals: 0, releases: false, instants: 1 };

describe('the quorum engine', () => {
  test(
    'breaks nothing in a small world with release, seen to its end',
    () => {
      const outcome = explore(quorum, { ...TINY, releases: true });
      expect(outcome).toMatchObject({ exhausted: true, found: null, waiting: 0 });
      expect(outcome.states).toBeGreaterThan(10_000);
      // Each pair of node state and input is played once; the rest is remembered.
      expect(outcome.coreSteps).toBeLessThan(outcome.transitions / 20);
    },
    SLOW,
  );

  test(
    'breaks nothing with a crash, a renewal and a duplicate, when there is one proposer',
    () => {
      const outcome = explore(quorum, { proposers: 1, crashes: 1, renewals: 1, releases: true, duplicates: 1, instants: 3 });
      expect(outcome).toMatchObject({ exhausted: true, found: null });
    },
    SLOW,
  );

  test('finds the same number of states each time', () => {
    const [one, other] = [explore(quorum, { ...TINY, proposers: 1 }), explore(quorum, { ...TINY, proposers: 1 })];
    expect(one.states).toBe(other.states);
    expect(one.transitions).toBe(other.transitions);
  });

  test('is said not to be exhausted when a budget ends the search', () => {
    const outcome = explore(quorum, {}, null, 100);
    expect(outcome).toMatchObject({ exhausted: false, found: null });
    expect(outcome.waiting).toBeGreaterThan(0);
    // What the last state that was looked at leads to is counted, no more.
    expect(outcome.states).toBeLessThan(120);
  });

  test('asks often whether to go on', () => {
    const outcome = quorum.explore(quorum.usual, null, { maxStates: 5_000_000, isOver: () => true });
    expect(outcome).toMatchObject({ exhausted: false });
    expect(outcome.states).toBeLessThan(500);
  });
});

describe.each([
  { mutant: 'replace-live-lease', bounds: TINY, steps: 11 },
  { mutant: 'no-restart-silence', bounds: { ...TINY, crashes: 1 }, steps: 16 },
  { mutant: 'count-messages', bounds: { ...TINY, duplicates: 1 }, steps: 10 },
  { mutant: 'nack-counts', bounds: TINY, steps: 10 },
  { mutant: 'acceptor-term-too-short', bounds: { ...TINY, driftPpm: 100_000, instants: 2 }, steps: 18 },
  { mutant: 'flag-not-clock', bounds: { ...TINY, proposers: 1, instants: 2 }, steps: 8 },
])('without $mutant', ({ mutant, bounds, steps }) => {
  test(
    'there is a short script that breaks a promise, and does not break the product',
    () => {
      const { found } = explore(quorum, bounds, mutant);
      if (!found) throw new Error('nothing was found');
      expect(found.lines.length).toBeLessThanOrEqual(steps);
      const stage = stageOf('quorum');
      const again = stage.open(found.settings, mutant);
      const product = stage.open(found.settings, null);
      again.startAll();
      product.startAll();
      for (const { line } of found.lines) {
        again.line(line);
        try {
          product.line(line);
        } catch {
          // The product does not send what the mutant sends.
        }
      }
      expect(again.violations[0]?.message).toBe(found.violation.message);
      expect(product.violations).toEqual([]);
    },
    SLOW,
  );
});

const APART = { ...(quorumWorld.askers as Askers<QuorumMessage>), alike: () => [] };

/** Every state by itself, and how many of them each state of the quotient stands for. */
function orbits(bounds: Budgets): { readonly states: number; readonly sizes: number[]; readonly breaks: boolean } {
  const nodeStates = new NodeStates(quorumWorld, bounds, null, []);
  const universe = new Universe(nodeStates, new Judge(() => nodeStates.referees(), nodeStates));
  const seen = new Set<string>();
  const sizes = new Map<string, number>();
  const waiting: Int32Array[] = [];
  let breaks = false;
  const meet = (): void => {
    const state = universe.next.slice(0, universe.nextLength);
    if (seen.has(state.join())) return;
    seen.add(state.join());
    waiting.push(state);
    const stand = `${universe.low} ${universe.high}`;
    sizes.set(stand, (sizes.get(stand) ?? 0) + 1);
  };
  universe.begin();
  meet();
  const room = universe.newState();
  for (let state = waiting.pop(); state; state = waiting.pop()) {
    room.set(state);
    universe.expand(room, state.length, (_move, broken) => {
      breaks ||= broken;
      if (!broken) meet();
      return true;
    });
  }
  return { states: seen.size, sizes: [...sizes.values()], breaks };
}

describe('nodes that are alike', () => {
  test.each<[SomeBounds, number]>([
    [{ acceptors: 1, proposers: 2, crashes: 1, releases: true, instants: 2 }, 2],
    [{ acceptors: 1, proposers: 2, crashes: 1, attempts: 2, releases: false, renewals: 1, instants: 1 }, 2],
    [{ acceptors: 1, proposers: 3, crashes: sized(0, 1), releases: true, instants: 1 }, 6],
  ])(
    'in a world of %j: each state of the search stands for those that a renumbering makes of it, %i at most, and all are seen',
    (changed, renumberings) => {
      const bounds = { ...quorum.usual, renewals: 0, ...changed };
      const { states, sizes, breaks } = orbits(bounds);
      const outcome = explore(quorum, bounds);
      expect(outcome).toMatchObject({ exhausted: true, found: null, states: sizes.length });
      expect(breaks).toBe(false);
      // By Lagrange: as many as the renumberings, or a part of them where a state looks the same from two sides.
      expect(sizes.filter((size) => renumberings % size !== 0)).toEqual([]);
      expect(explore(exploring({ ...quorumWorld, askers: APART }), bounds).states).toBe(states);
      expect(states).toBeGreaterThan(sizes.length * 1.5);
    },
    SLOW,
  );

  test.each<[string, SomeBounds]>([
    ['release-live-attempt', { acceptors: 1, crashes: 0, renewals: 0, releases: false, instants: 1 }],
    ['release-before-stop', { acceptors: 2, crashes: 0, renewals: 0, instants: 1 }],
    ['failed-renewal-releases', { acceptors: 1, crashes: 0, releases: false, term: 3 }],
    ['token-not-above', { acceptors: 2, crashes: 0, renewals: 0, instants: 1 }],
    ['flag-not-clock', { acceptors: 2, crashes: 0, renewals: 0, releases: false }],
    ['owner-is-node', { acceptors: 1, crashes: 1, attempts: 2, renewals: 0, instants: 1 }],
    ['no-attempt-deadline', { acceptors: 1, renewals: 0, releases: false, instants: 3 }],
  ])(
    'or not: %s is judged the same',
    (mutant, bounds) => {
      const [found, apart] = [explore(quorum, bounds, mutant), explore(exploring({ ...quorumWorld, askers: APART }), bounds, mutant)];
      expect(found.found?.violation.property).toBe(apart.found?.violation.property);
      expect([found.depth, found.exhausted]).toEqual([apart.depth, apart.exhausted]);
    },
    SLOW,
  );

  test('are not all who ask, where incarnations are compared', () => {
    const alike = (tries: number, mutant: string | null): number =>
      quorumWorld.askers?.alike({ ...quorum.usual, ...some({ tries }) }, mutant).length ?? 0;
    expect([alike(1, null), alike(2, null), alike(1, 'owner-is-node')]).toEqual([2, 0, 0]);
  });
});

describe('steps that could as well have been taken earlier', () => {
  const everyOrder = (which: Exploring, bounds: SomeBounds, mutant: string | null = null): Exploration =>
    which.explore({ ...which.usual, ...bounds }, mutant, { maxStates: 5_000_000, isOver: () => false, takesEveryOrder: true });

  test.each<[string, Exploring, SomeBounds]>([
    ['quorum', quorum, { ...TINY, acceptors: sized(2, 3), releases: true }],
    ['quorum', quorum, { ...TINY, acceptors: 2, crashes: 1, releases: true }],
    ['quorum', quorum, { ...TINY, acceptors: 1, duplicates: 1, losses: 1 }],
    ['quorum', quorum, { ...TINY, acceptors: 2, crashes: 1, losses: 1 }],
    ['quorum', quorum, { acceptors: 1, proposers: 3, crashes: 0, renewals: 0, instants: 2 }],
    ['quorum', quorum, { ...TINY, acceptors: 1, tries: 2, instants: 2 }],
    ['quorum', quorum, { ...TINY, acceptors: 1, attempts: 2, handles: 2 }],
    ['quorum', quorum, { ...TINY, acceptors: 1, attempts: 2, crashes: 1 }],
    [
      'quorum, nobody alike,',
      exploring({ ...quorumWorld, askers: APART, alike: () => 0 }),
      { ...TINY, acceptors: sized(1, 2), crashes: 1 },
    ],
    ['toy', toy, { nodes: 2, crashes: 0, instants: 1 }],
  ])(
    'are left out: %s finds the same states as deep, with fewer transitions',
    (_name, which, bounds) => {
      const [fewer, all] = [explore(which, bounds), everyOrder(which, bounds)];
      const { states, depth, exhausted, found } = all;
      expect(fewer).toMatchObject({ states, depth, exhausted });
      expect(fewer.found?.violation.property).toBe(found?.violation.property);
      expect(fewer.transitions).toBeLessThan(all.transitions);
    },
    SLOW,
  );

  test.each<[string, SomeBounds]>([
    ['replace-live-lease', TINY],
    ['no-restart-silence', { ...TINY, crashes: 1 }],
    ['count-messages', { ...TINY, duplicates: 1 }],
    ['nack-counts', TINY],
    ['release-before-stop', { ...TINY, releases: true }],
    ['failed-renewal-releases', { acceptors: 1, crashes: 0, releases: false, term: 3 }],
    ['own-lower-ballot', { acceptors: 1, crashes: 0, renewals: 0, releases: false, tries: 2 }],
    ['token-not-above', { ...TINY, releases: true }],
    ['no-attempt-deadline', { acceptors: 1, renewals: 0, releases: false, instants: 3 }],
  ])(
    'are left out: %s dies as soon',
    (mutant, bounds) => {
      const [fewer, all] = [explore(quorum, bounds, mutant), everyOrder(quorum, bounds, mutant)];
      expect(fewer.found?.violation.property).toBe(all.found?.violation.property);
      expect(fewer.found).not.toBeNull();
      expect(fewer.depth).toBe(all.depth);
    },
    SLOW,
  );
});

describe('what is left out makes no difference', () => {
  const ways: { what: string; world: Partial<typeof quorumWorld> }[] = [
    { what: 'that acceptors are alike', world: { alike: () => 0 } },
    { what: 'that proposers are alike', world: { askers: APART } },
    { what: 'messages nobody listens to', world: { isDead: () => false } },
    { what: 'what acceptors have forgotten', world: { tidy: (core) => core } },
    { what: 'the end, when nobody asks any more', world: { asksNothing: () => false } },
    { what: 'that acceptors are woken at once', world: { wakesPromptly: () => false, asksNothing: () => false } },
  ];

  test.each(ways)(
    'without using $what, more states come to the same',
    ({ world }) => {
      const slower = exploring({ ...quorumWorld, ...world });
      const bounds = { ...TINY, acceptors: 2, crashes: 1, releases: true };
      const [with_, without] = [explore(quorum, bounds), explore(slower, bounds)];
      expect(without).toMatchObject({ exhausted: true, found: null });
      expect(without.states).toBeGreaterThan(with_.states);
      for (const mutant of sized(['nack-counts'], ['replace-live-lease', 'nack-counts'])) {
        const [found, foundSlowly] = [explore(quorum, bounds, mutant), explore(slower, bounds, mutant)];
        expect(found.found?.violation.property).toBe('exclusion');
        expect(foundSlowly.depth).toBe(found.depth);
      }
    },
    SLOW,
  );
});

test('a node that is restored is as patient as one that was not: what is found where clocks run slow happens on a stage', () => {
  // An attempt of one instant is not over at the next one, by a clock that runs slow.
  const bounds = { acceptors: 1, tries: 2, renewals: 0, crashes: 0, driftPpm: 100_000 };
  const { found } = explore(quorum, bounds, 'release-live-attempt');
  expect(found?.violation.property).toBe('exclusion');
  expect(found?.lines.map(({ line }) => line)).toContain('wake p');
});

test('a proposer that may crash, and then ask again, is not done with asking', () => {
  const seen = {
    node: 1,
    life: 0,
    core: { proposer: [], holder: { renewals: [], side: { renewals: [] } } },
    actor: { asked: 2, leases: [], reads: [] },
    monoUs: 0 as MonoUs,
  };
  const isDone = (bounds: SomeBounds): boolean => quorumWorld.asksNothing({ ...quorum.usual, ...some({ acceptors: 1 }), ...bounds }, seen);
  expect([isDone({ attempts: 2, crashes: 1 }), isDone({ attempts: 2, crashes: 0 }), isDone({ attempts: 1, crashes: 1 })]).toEqual([
    false,
    true,
    true,
  ]);
});

describe('the toy', () => {
  test(
    'has two holders after a crash',
    () => {
      const { found } = explore(toy, {});
      expect(found?.violation.property).toBe('exclusion');
      expect(found?.lines.map(({ line }) => line)).toContain('restart b');
    },
    SLOW,
  );
});

describe('the set of visited states', () => {
  test('knows what was added, with its depth, through many doublings', () => {
    const set = new VisitedSet();
    const words = (i: number): [number, number] => [Math.imul(i, 0x9e3779b1) >>> 0, Math.imul(i, 0x85ebca77) >>> 0];
    let added = 0;
    for (let i = 0; i < 300_000; i++) if (set.add(...words(i), i % 200)) added++;
    expect([added, set.count]).toEqual([300_000, 300_000]);
    let wrong = 0;
    for (let i = 0; i < 300_000; i++) if (set.add(...words(i), 0) || set.depthOf(...words(i)) !== i % 200) wrong++;
    expect(wrong).toBe(0);
    expect(set.depthOf(1, 2)).toBe(-1);
    expect(set.bytes / set.count).toBeLessThan(25);
  });
});

describe('the frontier', () => {
  test('gives states back in the order they came, each with how it was found', () => {
    const frontier = new Frontier();
    const states = Array.from({ length: 30_000 }, (_, i) => Int32Array.from({ length: 1 + (i % 9) }, (_word, j) => i * 10 + j));
    for (const [i, state] of states.entries()) frontier.push(state, state.length, i % 5, i, -1);
    const room = new Int32Array(16);
    const isTaken = states.map((state, n) => {
      const told = [...state, n % 5, n, -1];
      return frontier.take(room) === told.length && told.every((word, i) => word === room[i]);
    });
    expect(isTaken).not.toContain(false);
    expect(frontier.take(room)).toBe(0);
  });
});

test.each([
  [3, 2, 12],
  [5, 1, 120],
  [5, 3, 720],
  [5, 5, 720],
  [4, 5, 576],
])('%i acceptors and %i proposers have %i renumberings: not more than pay', (acceptors, proposers, count) => {
  const askers = Array.from({ length: proposers }, (_, i) => acceptors + i);
  const all = renumberingsOf(acceptors + proposers, acceptors, askers);
  expect(all[0]).toEqual(Array.from({ length: acceptors + proposers }, (_, node) => node));
  expect(new Set(all.map((to) => to.join())).size).toBe(count);
  for (const to of all) expect(to.toSorted((a, b) => a - b)).toEqual(all[0]);
});

test('there are n! renumberings, and the first changes nothing', () => {
  expect(permutations(3).map((order) => order.join(''))).toHaveLength(6);
  expect(new Set(permutations(4).map((order) => order.join(''))).size).toBe(24);
  expect(permutations(4)[0]).toEqual([0, 1, 2, 3]);
});
