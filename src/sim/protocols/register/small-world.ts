/**
 * The small world of shared storage: clients that read and write one register, and no messages. The explorer decides when an access takes effect and
 * what a read finds, within what a regular register allows: so this world shows that it allows no more.
 */
import { budgetBounds, countBound, type Budgets } from '../../explorer/bounds.ts';
import { NOTHING_LEFT_OUT, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { RegisterActorSnapshot } from './staging.ts';

interface RegisterBounds extends Budgets {
  readonly clients: number;
  /** How many operations each client begins; a crash uses one up. */
  readonly operations: number;
  /** How many of them it has under way at once. */
  readonly atOnce: number;
}

const KEY = 'k';

export const registerSmallWorld: SmallWorld<never, RegisterBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    clients: countBound('clients', [1, 4], 2, 'nodes that read and write'),
    operations: countBound('operations', [1, 6], 3, 'how many operations each client begins'),
    atOnce: countBound('at-once', [1, 3], 1, 'how many of them a client has under way at once'),
    failures: countBound('failures', [0, 8], 1, 'accesses to storage that fail, in all'),
    ...budgetBounds({ crashes: 1, instants: 0 }),
  },
  settings: ({ clients }: RegisterBounds): Settings => ({ clients: String(clients), units: '1' }),

  offers({ operations, atOnce }: RegisterBounds, { node, life, actor }: NodeView): readonly Offer[] {
    const { ops, registers } = actor as unknown as RegisterActorSnapshot;
    if (ops + life >= operations || registers.length >= atOnce) return [];
    return [
      ['read', KEY],
      ['write', KEY, `${node}.${life}.${ops + 1}`],
    ];
  },

  // A client that has nothing under way and crashes is only late.
  mayCrash: (_bounds: RegisterBounds, { actor }: NodeView): boolean => (actor as unknown as RegisterActorSnapshot).registers.length > 0,
  mayWake: (): boolean => false,
  // A written value names its writer, so the search does not take one client for another; but before anything happened they are all the same.
  firstToAct: (): number => 0,
};
