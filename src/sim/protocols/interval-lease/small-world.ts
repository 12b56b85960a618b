/**
 * The small world of interval leases: members whose disks begin at once, clients that claim one of two intervals, the second inside the first, and no time. What a
 * member stores, when it crashes and what of it is delivered, all of it is tried. The first thing that happens is the bootstrap.
 */
import type { IntervalMessage, Snapshot } from '../../../core/index.ts';
import { budgetBounds, countBound, type Budgets } from '../../explorer/bounds.ts';
import { NOTHING_LEFT_OUT, type Addressee, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { IntervalActorSnapshot } from './staging.ts';

interface IntervalBounds extends Budgets {
  readonly members: number;
  readonly clients: number;
  /** How many claims each client makes; a crash uses one up. */
  readonly attempts: number;
}

export const intervalSmallWorld: SmallWorld<IntervalMessage, IntervalBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    members: countBound('members', [1, 3], 1, 'nodes that accept'),
    clients: countBound('clients', [1, 3], 2, 'nodes that claim'),
    attempts: countBound('attempts', [1, 3], 1, 'how many claims each client makes'),
    ...budgetBounds({ crashes: 0, duplicates: 1, instants: 0 }),
  },
  settings: ({ members, clients }: IntervalBounds): Settings => ({
    members: String(members),
    clients: String(clients),
    places: '4',
  }),

  offers({ members, attempts }: IntervalBounds, { node, life, core, actor }: NodeView): readonly Offer[] {
    if (node < members) {
      const { phase } = (core as unknown as { disk: { phase: string } }).disk;
      return node === 0 && phase === 'blank' && !isFounding(core) ? [['bootstrap', '1s']] : [];
    }
    const { count } = actor as unknown as IntervalActorSnapshot;
    if (count + life >= attempts) return [];
    return [
      ['claim', 's', '0', '3'],
      ['claim', 's', '1', '2'],
    ];
  },

  mayCrash: ({ members }: IntervalBounds, { node }: NodeView): boolean => node < members,
  mayWake: (): boolean => false,

  /** Answers to requests not under way any more: counters only rise. */
  isDead(message: IntervalMessage, { incarnation }: Addressee, core: Snapshot | null): boolean {
    if (message.kind !== 'ack' && message.kind !== 'nack' && message.kind !== 'withdrawn') return false;
    if (core === null || message.incarnation !== incarnation) return true;
    const { attempts, givenUp, withdrawals } = (core as unknown as { claimant: ClaimantSeen }).claimant;
    const asked = message.kind === 'withdrawn' ? withdrawals : [...attempts, ...givenUp];
    return !asked.some(({ counter }) => counter === message.counter);
  },
};

interface ClaimantSeen {
  readonly attempts: readonly { readonly counter: number }[];
  readonly givenUp: readonly { readonly counter: number }[];
  readonly withdrawals: readonly { readonly counter: number }[];
}

function isFounding(core: Snapshot): boolean {
  return (core as unknown as { disk: { foundation: { phase: string } } }).disk.foundation.phase !== 'idle';
}
