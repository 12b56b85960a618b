/**
 * The small world of the round-based register: stores, clients that READ and then WRITE, and no time. The last client's
 * ballots are fixed; the others' may be anywhere between them, so that every order of ballots is there.
 */
import type { RoundAction, RoundsRegisterMessage, Snapshot } from '../../../core/index.ts';
import { budgetBounds, countBound, type Budgets } from '../../explorer/bounds.ts';
import { NOTHING_LEFT_OUT, type Addressee, type NodeView, type Offer, type SmallWorld } from '../../explorer/small-world.ts';
import type { Settings } from '../../stage/staging.ts';
import type { RoundsRegisterActorSnapshot } from './staging.ts';

interface RoundsRegisterBounds extends Budgets {
  readonly stores: number;
  readonly clients: number;
  /** How many rounds each client begins; a crash uses one up. */
  readonly attempts: number;
}

export const roundsRegisterSmallWorld: SmallWorld<RoundsRegisterMessage, RoundsRegisterBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    stores: countBound('stores', [1, 5], 3, 'nodes that store'),
    clients: countBound('clients', [1, 5], 2, 'nodes that READ and WRITE'),
    attempts: countBound('attempts', [1, 4], 1, 'how many rounds each client begins'),
    ...budgetBounds({ crashes: 1, duplicates: 1, instants: 0 }),
  },
  settings: ({ stores, clients }: RoundsRegisterBounds): Settings => ({ stores: String(stores), clients: String(clients) }),

  offers({ stores, clients, attempts }: RoundsRegisterBounds, { node, life, actor }: NodeView): readonly Offer[] {
    if (node < stores) return [];
    const { time, reads, found } = actor as unknown as RoundsRegisterActorSnapshot;
    const offers: Offer[] = [];
    if (reads + life < attempts) {
      const times =
        node === stores + clients - 1
          ? [attempts * (reads + life + 1)]
          : Array.from({ length: attempts * (attempts + 1) }, (_, i) => i + 1).filter((one) => one > time);
      for (const one of times) offers.push(['read', String(one)]);
    }
    if (found === null) return offers;
    offers.push(['write', String(ownValue(node, reads, life))]);
    if (found !== 0) offers.push(['write', String(found)]);
    return offers;
  },

  // A store that crashes forgets, and is not heard again; a client that crashes may begin anew.
  mayCrash({ stores, attempts }: RoundsRegisterBounds, { node, life, core }: NodeView): boolean {
    const [readTime = 0, , writeTime = 0] = (core as unknown as RoundsRegisterCoreSnapshot).register ?? [];
    return node < stores ? readTime !== 0 || writeTime !== 0 : life + 1 < attempts;
  },

  mayWake: (): boolean => false,
  asksNothing({ stores, attempts, crashes }: RoundsRegisterBounds, { node, life, core, actor }: NodeView): boolean {
    if (node < stores) return true;
    const { reads, found } = actor as unknown as RoundsRegisterActorSnapshot;
    // A client that may crash may ask again.
    if (crashes > 0 && life + 1 < attempts) return false;
    return reads + life >= attempts && found === null && (core as unknown as RoundsRegisterCoreSnapshot).operation === null;
  },

  alike: ({ stores }: RoundsRegisterBounds): number => stores,
  rename(core: Snapshot, numbered: (node: number) => number): Snapshot {
    const told = core as unknown as RoundsRegisterCoreSnapshot;
    return { ...told, heard: told.heard.map(numbered).sort((a, b) => a - b) };
  },
  wakesPromptly: ({ stores }: RoundsRegisterBounds, node: number): boolean => node < stores,

  /** Requests to a store that crashed, and answers to anything but the operation under way: a client's ballots only rise. */
  isDead({ kind, action, time, by }: RoundsRegisterMessage, { incarnation }: Addressee, core: Snapshot | null): boolean {
    const told = core as unknown as RoundsRegisterCoreSnapshot | null;
    if (kind === 'ask') return told !== null && told.register === null;
    const operation = told?.operation ?? null;
    return by !== incarnation || operation === null || operation.action !== action || operation.time !== time;
  },
};

/** What this file reads of a core's snapshot. */
interface RoundsRegisterCoreSnapshot {
  readonly register: readonly [readTime: number, ...rest: readonly (number | null)[]] | null;
  readonly operation: { readonly action: RoundAction; readonly time: number } | null;
  readonly heard: readonly number[];
}

/** One for each READ of each life of each client. */
function ownValue(node: number, reads: number, life: number): number {
  return node * 100 + life * 10 + reads;
}
