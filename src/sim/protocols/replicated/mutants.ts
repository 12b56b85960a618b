/** The mutants of registers over several units: each lacks one rule, in worlds in which that rule matters. */
import { ALL_UNITS_RULES, type UnitsRules } from '../../../core/index.ts';
import type { Mutant } from '../../protocol.ts';
import type { UnitsKind, UnitsShape } from './worlds.ts';

export interface UnitsMutant extends Mutant {
  readonly without: keyof UnitsRules;
  readonly shape?: UnitsShape;
  readonly kind?: UnitsKind;
}

const OLDER_WRITE_LANDS: UnitsMutant = {
  name: 'older-write-lands',
  rule: 'units keep the larger stamp',
  how: 'A unit cannot refuse: a write that hung lands over a newer one, and sets the unit back.',
  without: 'keepsLarger',
  shape: 'hung',
  kind: 'swap',
};

const TWO_WRITES_UNDER_WAY: UnitsMutant = {
  name: 'two-writes-under-way',
  rule: 'rule 25',
  how: 'A second write of the same plain register overtakes the first, which lands over it.',
  without: 'oneWriteUnderWay',
  shape: 'hung',
  kind: 'plain',
};

const SLOT_REUSED: UnitsMutant = {
  name: 'slot-reused',
  rule: 'a register per incarnation',
  how: 'A process that comes back writes the plain register of its earlier life, whose last write hung and lands over it.',
  without: 'slotOfLife',
  shape: 'hung-restarts',
  kind: 'plain',
};

const WIPED_IS_BLANK: UnitsMutant = {
  name: 'wiped-is-blank',
  rule: 'rule 26',
  how: 'A unit that lost everything counts as one that nothing was written to.',
  without: 'unmarkedIsDead',
  shape: 'wiped',
};

const IDENTITY_READ_ONCE: UnitsMutant = {
  name: 'identity-read-once',
  rule: 'rule 26',
  how: 'A unit answers, is wiped and repaired from others that do not have it yet; then those answer, and both count.',
  without: 'identityReadAgain',
  shape: 'wiped',
};

const REPAIR_UNMARKED: UnitsMutant = {
  name: 'repair-unmarked',
  rule: 'rule 26',
  how: 'A unit is wiped once more while it is repaired, and named though it has only what was copied after that.',
  without: 'marksBeforeCopy',
  shape: 'wiped-often',
};

const EPOCH_IGNORED: UnitsMutant = {
  name: 'epoch-ignored',
  rule: 'rule 23',
  how: 'A unit that went back to an earlier state and says so counts all the same.',
  without: 'epochCounts',
  shape: 'restored',
};

export const REPLICATED_MUTANTS: readonly UnitsMutant[] = [
  {
    name: 'minority-write',
    rule: 'quorums meet',
    how: 'A write is over when fewer than a quorum of the units have it.',
    without: 'quorumWrites',
  },
  OLDER_WRITE_LANDS,
  TWO_WRITES_UNDER_WAY,
  SLOT_REUSED,
  {
    name: 'no-write-back',
    rule: 'reads write back',
    how: 'A read returns what only one unit has, and the next one asks the others.',
    without: 'writesBack',
    shape: 'hung',
  },
  WIPED_IS_BLANK,
  IDENTITY_READ_ONCE,
  REPAIR_UNMARKED,
  EPOCH_IGNORED,
];

/** Seen from above: what breaks the register breaks leases on it. */
export const LEASE_MUTANTS: readonly UnitsMutant[] = [
  {
    name: 'minority-write',
    rule: 'quorums meet',
    how: 'A name is written to fewer than a quorum of the units, and whoever reads the others finds the lease free.',
    without: 'quorumWrites',
  },
  OLDER_WRITE_LANDS,
  WIPED_IS_BLANK,
];

const PROMISE_IGNORED: UnitsMutant = {
  name: 'write-ignores-read-rank',
  rule: 'Property 4',
  how: 'A write is accepted though a read of a higher rank has been there: that read has not seen it.',
  without: 'promiseBinds',
};

export const RANKED_MUTANTS: readonly UnitsMutant[] = [
  PROMISE_IGNORED,
  TWO_WRITES_UNDER_WAY,
  SLOT_REUSED,
  WIPED_IS_BLANK,
  IDENTITY_READ_ONCE,
];

export const DECIDING_MUTANTS: readonly UnitsMutant[] = [
  {
    name: 'rank-reuse',
    rule: 'ranks are used once',
    how: 'A process that comes back uses the ranks of its earlier life, and writes another value under the same rank.',
    without: 'freshRanks',
    shape: 'twins',
  },
  PROMISE_IGNORED,
  { ...SLOT_REUSED, shape: 'twins', how: 'A process writes the block of its earlier life, which has written a value there and lives on.' },
  WIPED_IS_BLANK,
  {
    name: 'decide-without-leader',
    rule: 'Figure 10',
    how: 'Everybody tries to decide at once, and each read refuses the write of another, for ever.',
    without: 'leaderDecides',
    shape: 'even',
    breaksLiveness: true,
  },
];

export function unitsRules(mutant: UnitsMutant | undefined): UnitsRules {
  return mutant ? { ...ALL_UNITS_RULES, [mutant.without]: false } : ALL_UNITS_RULES;
}
