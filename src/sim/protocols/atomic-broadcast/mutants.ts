/** The mutants of atomic broadcast: its own rules, and the rules of the consensus inside that a log adds to. Each lacks one rule, in worlds in which that rule matters. */
import {
  ALL_BROADCAST_RULES,
  ALL_CONSENSUS_RULES,
  ALL_INTERVAL_RULES,
  type BroadcastRules,
  type ConsensusRules,
  type InnerRules,
} from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';

/**
 * What a world is made for. `disk`, `memory`, `torn`, `paper`, `liars`: as in consensus. `short`: the log keeps little, and members and clients are cut off for long. `power`: members crash, often all of them at once, and
 * disks are slow or hang. `act`: members lose their memory until the group stops, and an operator begins it anew.
 */
export type BroadcastShape = 'disk' | 'memory' | 'torn' | 'paper' | 'liars' | 'short' | 'power' | 'act';

export interface BroadcastMutant extends Mutant {
  readonly without: { readonly own: keyof BroadcastRules } | { readonly inner: keyof ConsensusRules };
  readonly needs: BroadcastShape;
}

export const BROADCAST_MUTANTS: readonly BroadcastMutant[] = [
  {
    name: 'deliver-before-decide',
    rule: 'deliver what is decided',
    how: 'A leader delivers its batch when it proposes it; another batch is decided in that instance.',
    without: { own: 'deliversDecided' },
    needs: 'torn',
  },
  {
    name: 'deliver-twice',
    rule: 'once by (incarnation, number)',
    how: 'A message is sent to two leaders, both have their batches decided, and the message is delivered with each.',
    without: { own: 'deliversOnce' },
    needs: 'torn',
  },
  {
    name: 'forgotten-is-new',
    rule: 'once by (incarnation, number)',
    how: 'The log has dropped all messages of a process; a copy of one of them comes late, and is taken for new.',
    without: { own: 'forgottenIsNotNew' },
    needs: 'short',
  },
  {
    name: 'votes-leave-unlogged',
    rule: 'rule 25',
    how: 'A vote takes the place of one whose decision the log does not have on the disk yet; all members crash, the batch is lost, and another one is decided in its place.',
    without: { inner: 'votesStayUntilLogged' },
    needs: 'power',
  },
  {
    name: 'amnesiac-votes',
    rule: 'rule 26',
    how: 'A member that has lost its memory votes again where it has voted before: two batches are decided in one instance.',
    without: { inner: 'abstains' },
    needs: 'memory',
  },
  {
    name: 'old-epoch-heard',
    rule: 'epochs',
    how: 'The group was begun anew; a decision of the last epoch comes late and counts in this one, whose log waits for ever.',
    without: { own: 'hearsOwnEpoch' },
    needs: 'act',
    breaksLiveness: true,
  },
  {
    name: 'clients-as-others',
    rule: 'a client publishes as itself',
    how: 'A client publishes under the incarnation of another process: messages are delivered that nobody broadcast.',
    without: { own: 'clientsAreThemselves' },
    needs: 'liars',
  },
];

export function ownRulesOf(mutant: BroadcastMutant | undefined): BroadcastRules {
  return mutant && 'own' in mutant.without ? { ...ALL_BROADCAST_RULES, [mutant.without.own]: false } : ALL_BROADCAST_RULES;
}

export function innerRulesOf(mutant: BroadcastMutant | undefined): InnerRules {
  const consensus = mutant && 'inner' in mutant.without ? { ...ALL_CONSENSUS_RULES, [mutant.without.inner]: false } : ALL_CONSENSUS_RULES;
  return { consensus, fast: { consensus, intervals: ALL_INTERVAL_RULES, lostIsLeased: true } };
}
