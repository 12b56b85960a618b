/**
 * The small world of consensus: one instance, members that propose a value each, and no time. No member suspects another: later rounds come of crashes, since a member that comes back enters a round above the
 * one it has stored. The search tries every write of a member, every crash and every delivery.
 */
import type { ConsensusMessage, Snapshot } from '../../../core/index.ts';
import { budgetBounds, countBound, type Budgets } from '../../explorer/bounds.ts';
import { NOTHING_LEFT_OUT, type Addressee, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { ConsensusActorSnapshot } from './staging.ts';

interface ConsensusBounds extends Budgets {
  readonly members: number;
  readonly proposers: number;
}

/** The only instance there is. */
const INSTANCE = 1;

export const consensusSmallWorld: SmallWorld<ConsensusMessage, ConsensusBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    members: countBound('members', [1, 3], 3, 'nodes that take part'),
    proposers: countBound('proposers', [1, 3], 1, 'so many of them propose a value of their own'),
    ...budgetBounds({ crashes: 0, duplicates: 0, instants: 0 }),
  },
  settings: ({ members }: ConsensusBounds): Settings => ({ members: String(members), kept: '1', shortcut: 'yes' }),

  offers({ proposers }: ConsensusBounds, { node, life, core, actor }: NodeView): readonly Offer[] {
    const { proposals } = actor as unknown as ConsensusActorSnapshot;
    if (node >= proposers || proposals + life > 0 || isDecided(core)) return [];
    return [['propose', String(INSTANCE), `v${node}`]];
  },

  mayCrash: (_bounds: ConsensusBounds, { core }: NodeView): boolean => !isDecided(core),
  mayWake: (): boolean => false,

  /** Heartbeats change beliefs about others, and nothing follows from those without time. A decision is learned once. */
  isDead(message: ConsensusMessage, _addressee: Addressee, core: Snapshot | null): boolean {
    return message.kind === 'heartbeat' || (message.kind === 'decide' && core !== null && isDecided(core));
  },
};

function isDecided(core: Snapshot): boolean {
  return (core as unknown as { decisions: { upTo: number } }).decisions.upTo >= INSTANCE;
}
