/**
 * The small world of the round-based register: stores, clients that READ and then WRITE, and no time. The last client's
 * ballots are fixed; the others' may be anywhere between them, so that every order of ballots is there.
 */
import type {
  RoundAction,
  RoundRegisterCommand,
  RoundRegisterCore,
  RoundRegisterEvent,
  RoundRegisterMessage,
  Snapshot,
} from '../../../core/index.ts';
import type { RegisterRounds } from '../../protocols/rounds-register.ts';
import { roundsRegisterStaging, type RegisterRoundsActorSnapshot } from '../../stage/rounds-register.ts';
import type { Settings } from '../../stage/staging.ts';
import { AGREEING_CLOCKS, USUAL_BOUNDS, type Addressee, type Bounds, type NodeView, type Offer, type SmallWorld } from '../small-world.ts';

export const roundsRegisterWorld: SmallWorld<
  RoundRegisterMessage,
  RoundRegisterCommand,
  RoundRegisterEvent,
  RegisterRounds,
  RoundRegisterCore
> = {
  staging: roundsRegisterStaging,
  bounds: { ...USUAL_BOUNDS, releases: false, crashes: 1, duplicates: 1, term: 1, instants: 0 },
  ignores: ['tries', 'handles', 'renewals', 'releases', 'driftPpm', 'skew', 'beyond', 'term'],
  tickUs: 1_000_000,
  settings: ({ acceptors, proposers }: Bounds): Settings => ({ stores: String(acceptors), clients: String(proposers) }),
  ratePpm: (): number => 0,
  clocks: () => AGREEING_CLOCKS,

  offers({ acceptors, proposers, attempts }: Bounds, { node, life, actor }: NodeView): readonly Offer[] {
    if (node < acceptors) return [];
    const { time, reads, found } = actor as unknown as RegisterRoundsActorSnapshot;
    const offers: Offer[] = [];
    if (reads + life < attempts) {
      const times =
        node === acceptors + proposers - 1
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
  mayCrash({ acceptors, attempts }: Bounds, { node, life, core }: NodeView): boolean {
    const [readTime = 0, , writeTime = 0] = (core as unknown as RegisterCoreSnapshot).register ?? [];
    return node < acceptors ? readTime !== 0 || writeTime !== 0 : life + 1 < attempts;
  },

  mayWake: (): boolean => false,
  asksNothing({ acceptors, attempts, crashes }: Bounds, { node, life, core, actor }: NodeView): boolean {
    if (node < acceptors) return true;
    const { reads, found } = actor as unknown as RegisterRoundsActorSnapshot;
    // One that may crash may ask again.
    if (crashes > 0 && life + 1 < attempts) return false;
    return reads + life >= attempts && found === null && (core as unknown as RegisterCoreSnapshot).operation === null;
  },

  alike: ({ acceptors }: Bounds): number => acceptors,
  firstToAct: (): null => null,
  rename(core: Snapshot, numbered: (node: number) => number): Snapshot {
    const told = core as unknown as RegisterCoreSnapshot;
    return { ...told, heard: told.heard.map(numbered).sort((a, b) => a - b) };
  },
  wakesPromptly: ({ acceptors }: Bounds, node: number): boolean => node < acceptors,
  tidy: (core: Snapshot): Snapshot => core,

  /** What is for a store that crashed, and answers to anything but the operation under way: a client's ballots only rise. */
  isDead({ kind, action, time, by }: RoundRegisterMessage, { incarnation }: Addressee, core: Snapshot | null): boolean {
    const told = core as unknown as RegisterCoreSnapshot | null;
    if (kind === 'ask') return told !== null && told.register === null;
    const operation = told?.operation ?? null;
    return by !== incarnation || operation === null || operation.action !== action || operation.time !== time;
  },
};

/** What this file reads of a core's snapshot. */
interface RegisterCoreSnapshot {
  readonly register: readonly [readTime: number, ...rest: readonly (number | null)[]] | null;
  readonly operation: { readonly action: RoundAction; readonly time: number } | null;
  readonly heard: readonly number[];
}

/** One for each READ of each life of each client. */
function ownValue(node: number, reads: number, life: number): number {
  return node * 100 + life * 10 + reads;
}
