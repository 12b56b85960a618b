/** Worlds for cores of leases on storage, drawn from a seed, and the mutants that must break in them. */
import { Random } from '../../../src/kernel/index.ts';
import {
  ALL_CAS_RULES,
  ALL_DELTA_RULES,
  CasLeaseCore,
  DeltaLeaseCore,
  deriveStorageTiming,
  literalTiming,
  LITERAL_DELTA_RULES,
  type Boot,
  type CasRules,
  type DeltaRules,
  type StorageTiming,
} from '../../../src/core/index.ts';
import type { WorldPlan } from './world.ts';

const DELTA_US = 10_000;
export type Kind = 'delta-lease' | 'delta-lease-nd' | 'delta-lease-cas' | 'literal';

export interface Mutant {
  readonly name: string;
  readonly rule: keyof DeltaRules | keyof CasRules;
  /** What a world must have for it to show soon. */
  readonly tweak?: Partial<WorldPlan>;
  /** A run that shows it. */
  readonly seed: number;
}

/** A world without trouble, but for what is put in. */
const CALM = { latePpm: 0, lostPpm: 0, failPpm: 0, stallPpm: 0, sleepPpm: 0, crashPpm: 0, names: 1 };

export const DELTA_MUTANTS: readonly Mutant[] = [
  { name: 'no-timing-check', rule: 'timingCheck', seed: 58 },
  { name: 'age-by-monotonic', rule: 'ageByBothClocks', tweak: { ...CALM, sleepPpm: 400_000, processes: 5 }, seed: 20 },
  { name: 'deadline-from-return', rule: 'deadlineFromWrite', seed: 28 },
  { name: 'wait-of-record', rule: 'waitOfStore', seed: 20 },
  { name: 'contend-short-wait', rule: 'fullObservation', tweak: { ...CALM, latePpm: 300_000, processes: 5, ratePpm: 0 }, seed: 71 },
  { name: 'no-rate-margin', rule: 'rateMargin', tweak: { ...CALM, processes: 4 }, seed: 36 },
  { name: 'read-back-at-once', rule: 'readBackPause', seed: 5 },
  { name: 'voided-contend-releases', rule: 'voidReleasesNothing', seed: 20 },
  { name: 'release-in-place', rule: 'releaseApart', tweak: { judgesTokens: false }, seed: 2 },
  { name: 'write-sent-twice', rule: 'writeOnce', seed: 15 },
  { name: 'renewal-revives', rule: 'endIsFinal', seed: 4 },
  { name: 'corrupt-is-free', rule: 'unreadableIsRefused', tweak: { corruptPpm: 20_000 }, seed: 2 },
  { name: 'observe-any-record', rule: 'observesThisUid', seed: 2 },
  { name: 'deadline-by-monotonic', rule: 'holderWatchesWall', tweak: { ...CALM, sleepPpm: 100_000 }, seed: 8 },
];

export const CAS_MUTANTS: readonly Mutant[] = [
  { name: 'steal-early', rule: 'fullObservation', seed: 2 },
  { name: 'observe-any-record', rule: 'observesThisUid', seed: 1 },
  { name: 'deadline-from-response', rule: 'deadlineFromStart', seed: 5 },
  { name: 'blind-steal', rule: 'conditionalTake', seed: 1 },
  { name: 'blind-renewal', rule: 'conditionalRenewal', seed: 4 },
  { name: 'blind-release', rule: 'conditionalRelease', seed: 2 },
  { name: 'late-renewal-revives', rule: 'endIsFinal', seed: 4 },
  { name: 'token-from-clock', rule: 'tokenAboveRecord', seed: 1 },
  { name: 'erased-token-forgotten', rule: 'tokenAboveFloor', tweak: { compactPpm: 60_000 }, seed: 1 },
  { name: 'no-rate-margin', rule: 'rateMargin', tweak: { ...CALM, processes: 4 }, seed: 1 },
  { name: 'cas-lost-ack-is-loss', rule: 'lostAnswerIsRead', tweak: { ...CALM, lostPpm: 100_000 }, seed: 1 },
  { name: 'corrupt-is-free', rule: 'unreadableIsRefused', tweak: { corruptPpm: 20_000 }, seed: 1 },
  { name: 'memory-unchecked', rule: 'memoryIsChecked', seed: 1 },
];

/** The core of a kind, with one rule switched off or none. */
function coreOf(kind: Kind, timing: StorageTiming, off: Mutant['rule'] | null): (boot: Boot) => ReturnType<WorldPlan['makeCore']> {
  const without = off === null ? {} : { [off]: false };
  switch (kind) {
    case 'delta-lease':
      return (boot) => new DeltaLeaseCore({ unit: 0, timing }, boot, { ...ALL_DELTA_RULES, ...without });
    case 'delta-lease-nd':
      return (boot) => new DeltaLeaseCore({ unit: 0, timing, renewal: 'nd' }, boot, { ...ALL_DELTA_RULES, ...without });
    case 'delta-lease-cas':
      return (boot) => new CasLeaseCore({ unit: 0, timing }, boot, { ...ALL_CAS_RULES, ...without });
    default:
      return (boot) => new DeltaLeaseCore({ unit: 0, timing, variant: 'literal' }, boot, LITERAL_DELTA_RULES);
  }
}

export function planOf(kind: Kind, seed: number, mutant: Mutant | null = null): WorldPlan {
  const random = new Random(seed * 7919 + 1);
  const oneOf = <T>(...values: readonly T[]): T => values[random.below(values.length)] as T;
  const upTo = (ppm: number): number => (random.below(2) === 0 ? 0 : random.below(ppm));
  const maxTermUs = DELTA_US * oneOf(5, 10, 40, 100);
  const ratePpm = kind === 'literal' ? 0 : oneOf(0, 10_000, 100_000);
  const input = { deltaUs: DELTA_US, maxTermUs, rateErrorPpm: ratePpm };
  const timing = kind === 'literal' ? literalTiming(input, 'eventual-nd') : deriveStorageTiming(input);
  return {
    makeCore: coreOf(kind, timing, mutant?.rule ?? null),
    processes: 2 + random.below(4),
    names: 1 + random.below(2),
    deltaUs: DELTA_US,
    maxTermUs,
    ratePpm,
    // Tokens on plain registers rise if wall clocks agree (rule 24); with compare-and-set, whatever they say.
    wallOffUs: kind === 'delta-lease-cas' ? 3 * maxTermUs : Math.floor(maxTermUs / 4),
    latePpm: upTo(300_000),
    lostPpm: upTo(100_000),
    failPpm: upTo(100_000),
    stallPpm: upTo(60_000),
    sleepPpm: upTo(60_000),
    crashPpm: upTo(20_000),
    compactPpm: kind === 'delta-lease-cas' ? upTo(60_000) : 0,
    troubleUs: maxTermUs * (4 + random.below(20)),
    judgesTokens: kind === 'delta-lease-cas' || (kind !== 'literal' && ratePpm === 0),
    restores: random.below(3) === 0,
    pace: oneOf(0.1, 0.9),
    ...mutant?.tweak,
  };
}
