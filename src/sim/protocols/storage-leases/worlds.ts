/**
 * The worlds in which leases on storage are played. Most are drawn from everything that can go wrong with processes,
 * clocks and accesses. A few have a shape: something else goes wrong in them, or only what one rule is about.
 */
import type { Chooser } from '../../../kernel/index.ts';
import { drawFaults, noFaults, type FaultPlan } from '../../faults.ts';

export const TERM_US = 1_000_000;

export type StorageShape =
  /** Atomic registers; accesses that are late, lost or fail; dead clients, stalls, sleeps, clocks that drift and jump. */
  | 'any'
  /** Registers that are only regular, and every access ends within δ. */
  | 'weak'
  /** Reads are stale or early, though swaps are atomic, and all of `any` goes wrong besides. Only safety is judged. */
  | 'stale'
  /** Records are corrupted. Only safety is judged: a record that no process can read has no holder for ever. */
  | 'damaged'
  /** The store loses acknowledged writes, and says so by another epoch. All of `any` goes wrong besides. */
  | 'restored'
  /** Changes land twice, and all of `any` goes wrong besides. Compare-and-set does not mind. */
  | 'repeated'
  /**
   * Until the world heals, no assumption holds: the store loses acknowledged writes silently or does them twice, reads are weak and accesses late, clocks
   * run beyond ρ, and all of `any` goes wrong besides. Judged once everything that began before has ended.
   */
  | 'broken'
  /** Machines sleep and nothing else goes wrong. */
  | 'asleep'
  /** Clocks drift as far as they may, and nothing else goes wrong. */
  | 'drifting'
  /** Clocks are perfect and many accesses late. */
  | 'late'
  /** Readers never cease to come, and nothing goes wrong. */
  | 'crowded'
  /** Answers get lost, and nothing else goes wrong. */
  | 'unanswered';

export interface StorageScale {
  /** δ. */
  readonly deltaUs: number;
  /** ρ. */
  readonly ratePpm: number;
  readonly offsetUsMax: number;
}

export function storageFaults(shape: StorageShape, chooser: Chooser, { deltaUs, ratePpm, offsetUsMax }: StorageScale): FaultPlan {
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  // Every access that is not late ends within δ by any clock that keeps to ρ.
  const storageUsMin = between(1, Math.ceil(deltaUs / 20));
  const storageUsSpread = between(1, Math.floor(deltaUs * (chooser.below(2) === 0 ? 0.1 : 0.8)));
  const calm: FaultPlan = { ...noFaults(), storageUsMin, storageUsSpread, offsetUsMax, ratePpmMax: ratePpm };
  switch (shape) {
    case 'any':
    case 'stale':
    case 'damaged':
    case 'restored':
    case 'repeated':
    case 'broken':
    case 'weak': {
      const drawn = drawFaults(chooser, { termUs: TERM_US, ratePpmMax: ratePpm, offsetUsMax });
      const faults = { ...drawn, storageUsMin, storageUsSpread, weakReads: shape === 'stale' };
      if (shape === 'damaged') faults.corruptEveryUs = between(TERM_US / 4, TERM_US * 2);
      if (shape === 'restored') faults.restoreEveryUs = between(TERM_US / 2, TERM_US * 4);
      if (shape === 'repeated') faults.repeatPpm = between(10_000, 300_000);
      if (shape === 'weak') {
        // A write that is never answered stays under way for ever. A crashed client's write ends, though no process is told.
        Object.assign(faults, { weakReads: true, lateAccessPpm: 0, lostAnswerPpm: 0, unitFailEveryUs: 0 });
      }
      return shape === 'broken' ? brokenFaults(faults, chooser) : faults;
    }
    case 'asleep':
      return { ...calm, sleepEveryUs: between(2 * deltaUs, 10 * deltaUs), sleepUsMax: TERM_US };
    case 'drifting':
    case 'crowded':
      return calm;
    case 'late':
      return { ...calm, ratePpmMax: 0, lateAccessPpm: between(100_000, 300_000) };
    default:
      // Unanswered.
      return { ...calm, lostAnswerPpm: between(20_000, 200_000) };
  }
}

/** Some assumptions break, or all of them. */
function brokenFaults(faults: FaultPlan, chooser: Chooser): FaultPlan {
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  const either = (): boolean => chooser.below(2) === 0;
  const [isWeak, isFast, isForgetful] = [either(), either(), either()];
  return {
    ...faults,
    lateAccessPpm: between(10_000, 200_000),
    repeatPpm: between(1_000, 200_000),
    weakReads: isWeak,
    weakReadsHeal: isWeak,
    slewEveryUs: isFast ? between(TERM_US / 4, TERM_US * 2) : 0,
    slewUsMax: isFast ? between(TERM_US / 2, TERM_US * 3) : 0,
    forgetEveryUs: isForgetful ? between(TERM_US / 8, TERM_US) : 0,
    wipeEveryUs: isForgetful ? between(TERM_US / 2, TERM_US * 4) : 0,
  };
}
