/** The mutants of leases on storage. */
import { ALL_CAS_RULES, ALL_DELTA_RULES, LITERAL_DELTA_RULES, type CasRules, type DeltaRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';
import type { StorageShape } from './worlds.ts';

export interface StorageMutant extends Mutant {
  /** Null: it is not a rule that is missing. */
  readonly without: keyof DeltaRules | keyof CasRules | null;
  /** On which stores it breaks something, where a protocol has several. */
  readonly kind?: 'plain' | 'swap';
  /** Worlds in which its rule matters. */
  readonly shape?: StorageShape;
}

export const DELTA_MUTANTS: readonly StorageMutant[] = [
  {
    name: 'no-timing-check',
    rule: 'rule 14',
    how: 'A write that took terms counts: another has taken the lease since the read before it.',
    without: 'timingCheck',
    shape: 'late',
  },
  {
    name: 'age-by-monotonic',
    rule: 'rule 14',
    how: 'A machine sleeps between the read and the write, and its monotonic clock says that no time has passed.',
    without: 'ageByBothClocks',
    shape: 'asleep',
  },
  {
    name: 'deadline-from-return',
    rule: 'rule 14',
    how: 'A read-back that is answered late makes the lease last longer than whoever watches the name waits.',
    without: 'deadlineFromWrite',
  },
  {
    name: 'read-back-at-once',
    rule: 'rule 14',
    how: 'A contender that read before our write has not written yet when we read our name back.',
    without: 'readBackPause',
  },
  {
    name: 'contend-short-wait',
    rule: 'rule 14',
    how: 'A name is free after the longest term: its holder has up to 4δ more.',
    without: 'fullObservation',
    shape: 'late',
  },
  {
    name: 'no-rate-margin',
    rule: 'rule 14',
    how: 'The clock of whoever watches is fast, the holder’s is slow.',
    without: 'rateMargin',
    shape: 'drifting',
  },
  {
    name: 'voided-contend-releases',
    rule: 'rule 15',
    how: 'A void write lands over the name of a holder, and is said to be released.',
    without: 'voidReleasesNothing',
    shape: 'late',
  },
  {
    name: 'release-in-place',
    rule: 'rule 15',
    how: 'A release lands late and wipes the name of the next holder.',
    without: 'releaseApart',
  },
  {
    name: 'write-sent-twice',
    rule: 'rule 20',
    how: 'A name that was released lands again over that of the next holder.',
    without: 'writeOnce',
    shape: 'late',
  },
  {
    name: 'wait-of-record',
    rule: 'rule 21',
    how: 'A void late write with a short term has wiped the name of a longer lease.',
    without: 'waitOfStore',
    shape: 'late',
  },
  {
    name: 'observe-any-record',
    rule: 'rule 22',
    how: 'Whoever watches counts on when the name changes: a holder that renews is taken for dead.',
    without: 'observesThisUid',
  },
  {
    name: 'deadline-by-monotonic',
    rule: 'rule 12',
    how: 'A holder that slept believes that it still holds.',
    without: 'holderWatchesWall',
    shape: 'asleep',
  },
  {
    name: 'renewal-revives',
    rule: 'renewals',
    how: 'A renewal that ends after the deadline makes the lease valid again.',
    without: 'endIsFinal',
  },
  {
    name: 'epoch-not-waited',
    rule: 'rule 23',
    how: 'The store has lost the name of a holder, and whoever finds it free takes it at once.',
    without: 'epochWait',
    shape: 'restored',
  },
  {
    name: 'corrupt-is-free',
    rule: 'records',
    how: 'A record that cannot be read is taken for "nothing there".',
    without: 'unreadableIsRefused',
    shape: 'damaged',
  },
];

/** Where every assumption may break until the world heals. */
export const ND_RENEWAL: StorageMutant = {
  name: 'nd-renewal',
  rule: 'renewals',
  how: 'Two holders, of when the store had forgotten one, renew for ever.',
  without: null,
  shape: 'broken',
};

export const CAS_MUTANTS: readonly StorageMutant[] = [
  {
    name: 'steal-early',
    rule: 'compare-and-set',
    how: 'A record is taken before it was watched for its whole term.',
    without: 'fullObservation',
  },
  {
    name: 'observe-any-record',
    rule: 'rule 22',
    how: 'Whoever watches counts on when the record changes: a holder that renews is taken for dead.',
    without: 'observesThisUid',
  },
  {
    name: 'deadline-from-response',
    rule: 'compare-and-set',
    how: 'The swap landed long before its answer came, and whoever watches has seen the record since.',
    without: 'deadlineFromStart',
  },
  {
    name: 'blind-steal',
    rule: 'compare-and-set',
    how: 'Two that find the record free both write it.',
    without: 'conditionalTake',
  },
  {
    name: 'blind-renewal',
    rule: 'compare-and-set',
    how: 'A renewal lands late, over the record of the next holder.',
    without: 'conditionalRenewal',
    shape: 'late',
  },
  {
    name: 'blind-release',
    rule: 'compare-and-set',
    how: 'A release lands late, and frees the record of the next holder.',
    without: 'conditionalRelease',
    shape: 'late',
  },
  {
    name: 'late-renewal-revives',
    rule: 'renewals',
    how: 'A renewal that wins after the deadline makes the lease valid again.',
    without: 'endIsFinal',
    shape: 'late',
  },
  {
    name: 'token-from-clock',
    rule: 'rule 24',
    how: 'The wall clock of the next holder is behind.',
    without: 'tokenAboveRecord',
  },
  {
    name: 'erased-token-forgotten',
    rule: 'rule 24',
    how: 'A record is erased, and the wall clock of whoever creates it anew is behind.',
    without: 'tokenAboveFloor',
  },
  {
    name: 'no-rate-margin',
    rule: 'rule 22',
    how: 'The clock of whoever watches is fast, the holder’s is slow.',
    without: 'rateMargin',
    shape: 'drifting',
  },
  {
    name: 'deadline-by-monotonic',
    rule: 'rule 12',
    how: 'A holder that slept believes that it still holds.',
    without: 'holderWatchesWall',
    shape: 'asleep',
  },
  {
    name: 'epoch-not-waited',
    rule: 'rule 23',
    how: 'The store has lost the name of a holder, and whoever finds it free takes it at once.',
    without: 'epochWait',
    shape: 'restored',
  },
  {
    name: 'corrupt-is-free',
    rule: 'records',
    how: 'A record that cannot be read is taken for "nothing there".',
    without: 'unreadableIsRefused',
    shape: 'damaged',
  },
  {
    name: 'cas-lost-ack-is-loss',
    rule: 'compare-and-set',
    how: 'A renewal whose answer was lost is taken for one that lost: a living holder gives up.',
    without: 'lostAnswerIsRead',
    shape: 'unanswered',
    breaksLiveness: true,
  },
  {
    name: 'memory-unchecked',
    rule: 'compare-and-set',
    how: 'A record that this process has set free is written over without a look: another has taken it since.',
    without: 'memoryIsChecked',
  },
  {
    name: 'memory-of-another-epoch',
    rule: 'rule 23',
    how: 'The store has lost the name of a holder, and whoever set the record free before remembers it so.',
    without: 'memoryIsOfEpoch',
    shape: 'restored',
  },
];

export const SHARED_MUTANTS: readonly StorageMutant[] = [
  {
    name: 'shared-bare-name',
    rule: 'rule 16',
    how: 'All readers write one name, as in section 10: a writer that waits does not see that another came.',
    without: 'readersHaveNames',
    kind: 'plain',
  },
  {
    name: 'join-unconfirmed',
    rule: 'rule 16',
    how: 'A void write of a reader has landed over a writer’s name, and invites others to join beside that writer.',
    without: 'joinsOnStatement',
    kind: 'plain',
    shape: 'late',
  },
  {
    name: 'reader-releases',
    rule: 'rule 16',
    how: 'A reader says that its name is released while another reader holds by it.',
    without: 'readersRunOut',
    kind: 'plain',
  },
  {
    name: 'writer-beside-readers',
    rule: 'rule 16',
    how: 'A writer that can compare and set takes a record in which readers stand.',
    without: 'writersWaitForReaders',
    kind: 'swap',
  },
  {
    name: 'reader-dropped-early',
    rule: 'rule 16',
    how: 'A row is taken out of the record before it was watched for its term.',
    without: 'rowsAreWatched',
    kind: 'swap',
  },
  {
    name: 'readers-overtake',
    rule: 'rule 16',
    how: 'Readers join though a writer waits, and it waits for ever.',
    without: 'writersArePreferred',
    kind: 'swap',
    shape: 'crowded',
    breaksLiveness: true,
  },
  {
    name: 'stale-sync-accepted',
    rule: 'sync',
    how: 'The data of a holder whose time is over lands over that of the next.',
    without: 'conditionalSync',
    kind: 'swap',
    shape: 'late',
  },
];

export function deltaRules(mutant: StorageMutant | undefined, isLiteral: boolean): DeltaRules {
  const rules = isLiteral ? LITERAL_DELTA_RULES : ALL_DELTA_RULES;
  return mutant?.without ? { ...rules, [mutant.without]: false } : rules;
}

export function casRules(mutant: StorageMutant | undefined): CasRules {
  return mutant?.without ? { ...ALL_CAS_RULES, [mutant.without]: false } : ALL_CAS_RULES;
}
