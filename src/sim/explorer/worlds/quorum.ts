/**
 * The small world of the quorum engine: acceptors that only vote, proposers that only ask, one name, a lease of
 * three instants with attempts of one. See `docs/explorer.md` for what that covers and what it does not.
 */
import { isRequest, type QuorumCommand, type QuorumCore, type QuorumEvent, type QuorumMessage, type Snapshot } from '../../../core/index.ts';
import type { QuorumWorld } from '../../protocols/quorum.ts';
import { quorumStaging, type QuorumActorSnapshot } from '../../stage/quorum.ts';
import type { Settings } from '../../stage/staging.ts';
import type { Bounds, Offer, SmallWorld } from '../small-world.ts';

const NAME = 'x';
const TERM = '2s';

export const quorumWorld: SmallWorld<QuorumMessage, QuorumCommand, QuorumEvent, QuorumWorld, QuorumCore> = {
  staging: quorumStaging,
  bounds: {
    acceptors: 3,
    proposers: 2,
    attempts: 1,
    renewals: 1,
    releases: true,
    crashes: 1,
    duplicates: 0,
    losses: 0,
    instants: 4,
  },
  tickUs: 1_000_000,

  settings: ({ acceptors, proposers }: Bounds): Settings => ({
    acceptors: String(acceptors),
    proposers: String(proposers),
    term: TERM,
    rtt: '1us',
    attempt: '1s',
  }),

  ratePpm: (): number => 0,

  offers({ acceptors, attempts, renewals, releases }: Bounds, node: number, actor: Snapshot): readonly Offer[] {
    if (node < acceptors) return [];
    const { asked, leases } = actor as unknown as QuorumActorSnapshot;
    const offers: Offer[] = [];
    if (asked < attempts && leases.length === 0) offers.push(['acquire', NAME, TERM]);
    for (const lease of leases) {
      if (lease.state === 'asking') continue;
      offers.push(['use', NAME]);
      if (lease.state !== 'holding') continue;
      if (lease.renewals < renewals) offers.push(['renew', NAME]);
      if (releases) offers.push(['release', NAME]);
    }
    return offers;
  },

  alike: ({ acceptors }: Bounds): number => acceptors,
  rename: renameCore,
  wakesPromptly: ({ acceptors }: Bounds, node: number): boolean => node < acceptors,
  // An answer is for the incarnation that asked, and incarnations do not come again.
  isDead: (message: QuorumMessage, _to: number, incarnation: number): boolean => !isRequest(message) && message.owner !== incarnation,
};

interface Renamable {
  readonly proposer: readonly { readonly sets: readonly (readonly number[])[]; readonly refusals: readonly { readonly voter: number }[] }[];
  readonly holder: {
    readonly renewals: readonly { readonly accepted: readonly number[]; readonly refused: readonly number[] }[];
    readonly releases: readonly { readonly answered: readonly number[] }[];
  };
}

/** Acceptors are named only in the sets of voters a proposer counts. In which order refusals came makes no difference to what comes of them. */
function renameCore(core: Snapshot, numbered: (node: number) => number): Snapshot {
  const told = core as unknown as Renamable;
  const set = (voters: readonly number[]): number[] => voters.map(numbered).sort((a, b) => a - b);
  const renamed = {
    ...told,
    proposer: told.proposer.map((pursuit) => ({
      ...pursuit,
      sets: pursuit.sets.map(set),
      refusals: pursuit.refusals
        .map((refusal) => ({ ...refusal, voter: numbered(refusal.voter) }))
        .sort((a, b) => a.voter - b.voter),
    })),
    holder: {
      ...told.holder,
      renewals: told.holder.renewals.map((renewal) => ({ ...renewal, accepted: set(renewal.accepted), refused: set(renewal.refused) })),
      releases: told.holder.releases.map((release) => ({ ...release, answered: set(release.answered) })),
    },
  };
  return renamed as unknown as Snapshot;
}
