/** The small world of the toy: every node votes, some also ask. Its bug is found in no time. */
import type { Snapshot, ToyCommand, ToyConfig, ToyCore, ToyEvent, ToyMessage } from '../../../core/index.ts';
import type { Settings } from '../../stage/staging.ts';
import { toyStaging, type ToyActorSnapshot } from '../../stage/toy.ts';
import type { Bounds, Offer, SmallWorld } from '../small-world.ts';

export const toyWorld: SmallWorld<ToyMessage, ToyCommand, ToyEvent, ToyConfig, ToyCore> = {
  staging: toyStaging,
  bounds: {
    acceptors: 3,
    proposers: 2,
    attempts: 1,
    renewals: 0,
    releases: true,
    crashes: 1,
    duplicates: 0,
    losses: 0,
    instants: 3,
  },
  tickUs: 1_000_000,
  settings: ({ acceptors }: Bounds): Settings => ({ nodes: String(acceptors), term: '2s' }),
  ratePpm: (): number => 0,

  offers({ proposers, attempts, releases }: Bounds, node: number, actor: Snapshot): readonly Offer[] {
    if (node >= proposers) return [];
    const { request, token } = actor as unknown as ToyActorSnapshot;
    const offers: Offer[] = [];
    if (request < attempts) offers.push(['acquire']);
    if (token > 0 && releases) offers.push(['release']);
    return offers;
  },

  // Any node may hold, so none is like another.
  alike: (): number => 0,
  rename: (core: Snapshot): Snapshot => core,
  wakesPromptly: (): boolean => false,
  isDead: (): boolean => false,
};
