/** The small world of the toy: every node votes, some also ask. Its bug is found in no time. */
import type { Snapshot, ToyMessage } from '../../../core/index.ts';
import { budgetBounds, countBound, switchBound, type Budgets } from '../../explorer/bounds.ts';
import { AGREEING_CLOCKS, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { ToyActorSnapshot } from './staging.ts';

interface ToyBounds extends Budgets {
  readonly nodes: number;
  /** The first so many nodes ask. */
  readonly askers: number;
  /** How often each asks. */
  readonly attempts: number;
  readonly releases: boolean;
  /** How many instants a lease lasts. */
  readonly term: number;
}

export const toySmallWorld: SmallWorld<ToyMessage, ToyBounds> = {
  bounds: {
    nodes: countBound('nodes', [1, 5], 3, 'nodes that vote'),
    askers: countBound('askers', [1, 5], 2, 'how many of them ask'),
    attempts: countBound('attempts', [1, 4], 1, 'how often each asks'),
    releases: switchBound('release', 'holders give nothing back'),
    ...budgetBounds({ crashes: 1, instants: 3 }),
    term: countBound('term', [1, 8], 2, 'how many instants a lease lasts'),
  },
  tickUs: 1_000_000,
  settings: ({ nodes, term }: ToyBounds): Settings => ({ nodes: String(nodes), term: `${term}s` }),
  ratePpm: (): number => 0,
  clocks: () => AGREEING_CLOCKS,

  offers({ askers, attempts, releases }: ToyBounds, { node, actor }: NodeView): readonly Offer[] {
    if (node >= askers) return [];
    const { request, token } = actor as unknown as ToyActorSnapshot;
    const offers: Offer[] = [];
    if (request < attempts) offers.push(['acquire']);
    if (token > 0 && releases) offers.push(['release']);
    return offers;
  },

  // Any node may hold, so the search does not take one for another; but before anything happened they are all the same.
  alike: (): number => 0,
  firstToAct: (): number => 0,
  rename: (core: Snapshot): Snapshot => core,
  wakesPromptly: (): boolean => false,
  mayCrash: (): boolean => true,
  mayWake: (): boolean => true,
  asksNothing: (): boolean => false,
  tidy: (core: Snapshot): Snapshot => core,
  isDead: (): boolean => false,
};
