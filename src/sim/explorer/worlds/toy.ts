/** The small world of the toy: every node votes, some also ask. Its bug is found in no time. */
import type { Snapshot, ToyCommand, ToyConfig, ToyCore, ToyEvent, ToyMessage } from '../../../core/index.ts';
import type { Settings } from '../../stage/staging.ts';
import { toyStaging, type ToyActorSnapshot } from '../../stage/toy.ts';
import { AGREEING_CLOCKS, USUAL_BOUNDS, type Bounds, type NodeView, type Offer, type SmallWorld } from '../small-world.ts';

export const toyWorld: SmallWorld<ToyMessage, ToyCommand, ToyEvent, ToyConfig, ToyCore> = {
  staging: toyStaging,
  bounds: { ...USUAL_BOUNDS, crashes: 1, instants: 3 },
  ignores: ['tries', 'handles', 'renewals', 'driftPpm', 'skew', 'beyond'],
  tickUs: 1_000_000,
  settings: ({ acceptors, term }: Bounds): Settings => ({ nodes: String(acceptors), term: `${term}s` }),
  ratePpm: (): number => 0,
  clocks: () => AGREEING_CLOCKS,

  offers({ proposers, attempts, releases }: Bounds, { node, actor }: NodeView): readonly Offer[] {
    if (node >= proposers) return [];
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
