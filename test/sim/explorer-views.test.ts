/** One change of the members of a cell in a small world, seen to its end: nothing breaks with its rules, and something does without each that is seen there. */
import { describe, expect, test } from 'vitest';
import { Judge } from '../../src/sim/explorer/judge.ts';
import { exploring } from '../../src/sim/explorer/index.ts';
import { NodeStates } from '../../src/sim/explorer/node-states.ts';
import { search } from '../../src/sim/explorer/search.ts';
import { Universe } from '../../src/sim/explorer/universe.ts';
import { explore, exploringOf, viewsWorld, type SomeBounds } from '../support/kits.ts';
import { sized } from '../support/sizes.ts';

const views = exploringOf('quorum-views');
const SLOW = 900_000;

/** The only member is replaced by another, while somebody wants the lease; one instant is all there is. */
const ONE_ASKS: SomeBounds = { proposers: 2, releases: false, crashes: 1, term: 1, instants: 1 };
/** Two want it. */
const TWO_ASK: SomeBounds = { proposers: 3, releases: false, crashes: 0, instants: 1 };
/** From the joint view on, with a holder of before, to the view in which the change is over. */
const WHOLE: SomeBounds = { begun: 1, proposers: 2, releases: false, crashes: 1, instants: 4 };

/** The epochs of the views that members are in, in any state of a world, by how often the member was started. */
function epochsOf(bounds: SomeBounds): Set<string> {
  const nodeStates = new NodeStates(viewsWorld, { ...views.usual, ...bounds }, null, []);
  const universe = new Universe(nodeStates, new Judge(() => nodeStates.referees(), nodeStates));
  expect(search(universe, { maxStates: 1_000_000, isOver: () => false }).exhausted).toBe(true);
  const cores = nodeStates.states.flatMap(({ life, snapshot }) => (snapshot === null ? [] : [{ life, core: snapshot[0] }]));
  return new Set(
    cores.flatMap(({ life, core }) => {
      const { acceptor } = core as unknown as { acceptor: { views: [bytes: readonly number[] | null] } | null };
      if (acceptor === null) return [];
      const [bytes] = acceptor.views;
      const epoch = bytes === null ? 0 : new DataView(Uint8Array.from(bytes).buffer).getFloat64(1, true);
      return [`life ${life} in epoch ${epoch}`];
    }),
  );
}

describe('one change of members', () => {
  test('to its joint view with one restart is exhausted, and nothing breaks', () => {
    const outcome = explore(views, ONE_ASKS);
    expect(outcome).toMatchObject({ exhausted: true, found: null });
    expect(outcome.states).toBeGreaterThan(40_000);
  });

  test('from its joint view to its end with one restart is exhausted, and nothing breaks', () => {
    const outcome = explore(views, WHOLE);
    expect(outcome).toMatchObject({ exhausted: true, found: null });
    expect(outcome.states).toBeGreaterThan(100_000);
  });

  test('is over in that world, also for a member that was started anew', () => {
    expect(epochsOf(WHOLE)).toEqual(new Set([0, 1].flatMap((life) => [0, 1, 2].map((epoch) => `life ${life} in epoch ${epoch}`))));
  });

  test.each<[string, SomeBounds]>([
    ['joint-new-only', TWO_ASK],
    ['rows-dropped', TWO_ASK],
    ['joint-new-only', { ...WHOLE, proposers: 3 }],
    ['rows-dropped', { ...WHOLE, proposers: 3 }],
  ])('has two holders by a short script without the rule of %s, in a world of %j', (mutant, bounds) => {
    const { found } = explore(views, bounds, mutant);
    expect(found?.violation.property).toBe('exclusion');
    expect(found?.lines.length).toBeLessThan(30);
  });

  test.runIf(sized(false, true))(
    'with one that asks at its end and one restart is exhausted, and has two holders if the joint view is not stored',
    () => {
      const late = { ...WHOLE, proposers: 3, asksFrom: 4 };
      expect(explore(views, late)).toMatchObject({ exhausted: true, found: null });
      expect(explore(views, { ...late, attempts: 2 }, 'seal-in-memory').found?.violation.property).toBe('exclusion');
    },
    SLOW,
  );
});

describe('deliveries of which nothing comes', () => {
  const everyDelivery = exploring({ ...viewsWorld, leavesOutVain: false });

  test('make no difference: the world is larger, and as clean', () => {
    const [less, all] = [explore(views, ONE_ASKS), explore(everyDelivery, ONE_ASKS)];
    expect(all).toMatchObject({ exhausted: true, found: null });
    expect(all.states).toBeGreaterThan(less.states);
  });

  test.each(['joint-new-only', 'rows-dropped'])('make no difference to how soon %s breaks something', (mutant) => {
    const [less, all] = [explore(views, TWO_ASK, mutant), explore(everyDelivery, TWO_ASK, mutant)];
    expect(less.found?.violation.property).toBe(all.found?.violation.property);
    expect(less.depth).toBe(all.depth);
  });
});
