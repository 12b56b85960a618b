/** The worlds of registers over several units: how many units, what they can do, what befalls them. */
import type { Chooser } from '../../../kernel/index.ts';
import { encodeMark, encodeWhole, MARK_KEY, WHOLE_KEY, type UnitsConfig } from '../../../core/index.ts';
import { drawFaults, noFaults, type FaultPlan } from '../../faults.ts';
import type { Scenario, UnitRecord } from '../../protocol.ts';

export const UNITS_TERM_US = 1_000_000;
/** The same for all users of the units. */
const MEMBERS = Uint8Array.of(7);

export type UnitsShape =
  /** Everything of processes and clocks; units that fail, hang, are wiped or come back in another epoch. */
  | 'any'
  /** Some accesses hang far longer than the rest, and nothing else goes wrong. */
  | 'hung'
  /** The same, and processes crash and come back. */
  | 'hung-restarts'
  /** Accesses hang, and most processes that are taken for dead live on beside their successors. */
  | 'twins'
  /** Units are wiped, and repaired. */
  | 'wiped'
  /** Units are wiped so often that some are wiped while they are repaired. */
  | 'wiped-often'
  /** Units go back to an earlier state, in another epoch, and are repaired. */
  | 'restored'
  /** Nothing goes wrong, and every process is as fast as every other. */
  | 'even';

export type UnitsKind = 'swap' | 'plain' | 'mixed';

export interface UnitsWorld {
  readonly units: UnitsConfig;
  readonly names: number;
  /** How long a user thinks before its next operation, at most. */
  readonly pauseUsMax: number;
  /** How many operations of one user may be under way. */
  readonly atOnce: number;
  /** Units lose their records. */
  readonly isLossy: boolean;
}

export type UnitsScenario = Scenario<UnitsWorld>;

/** Three units of some kind. */
export function drawUnits(
  chooser: Chooser,
  kind: UnitsKind | null,
  { patienceUs, retryUs, count = 3 }: { readonly patienceUs: number; readonly retryUs: number; readonly count?: number },
): UnitsConfig {
  const drawn = kind ?? (['swap', 'plain', 'mixed'] as const)[chooser.below(3)];
  const units = Array.from({ length: count }, () => ({ canSwap: drawn === 'mixed' ? chooser.below(2) === 0 : drawn === 'swap' }));
  return { units, members: MEMBERS, patienceUs, retryUs };
}

export function drawUnitsWorld(chooser: Chooser, shape: UnitsShape, kind: UnitsKind | null): UnitsScenario {
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  const count = chooser.below(4) === 0 && shape === 'any' ? 5 : 3;
  const storageUsMin = between(1, 2_000);
  const storageUsSpread = shape === 'even' ? 10 : between(1, 10_000);
  const retryUs = shape === 'even' ? 1 : between(2_000, 20_000);
  const units = drawUnits(chooser, kind, { patienceUs: between(30_000, 100_000), retryUs, count });
  const faults = { ...drawUnitsFaults(shape, chooser), storageUsMin, storageUsSpread, weakReads: false };
  return {
    nodes: shape === 'even' ? 5 : 2 + chooser.below(4),
    units: count,
    faults,
    termUs: UNITS_TERM_US,
    safetyUs: (UNITS_TERM_US / 2) * (1 + chooser.below(3)),
    livenessUs: shape === 'even' ? UNITS_TERM_US : UNITS_TERM_US * 30,
    config: {
      units,
      names: 1 + chooser.below(2),
      pauseUsMax: between(1_000, 60_000),
      atOnce: 1 + chooser.below(2),
      isLossy: faults.wipeEveryUs > 0 || faults.restoreEveryUs > 0,
    },
  };
}

function drawUnitsFaults(shape: UnitsShape, chooser: Chooser): FaultPlan {
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  const calm = noFaults();
  const term = UNITS_TERM_US;
  switch (shape) {
    case 'any': {
      const faults = drawFaults(chooser, { termUs: term, ratePpmMax: 1_000, offsetUsMax: term });
      if (chooser.below(2) === 0) faults.wipeEveryUs = between(term / 2, term * 3);
      if (chooser.below(3) === 0) faults.restoreEveryUs = between(term / 2, term * 3);
      return faults;
    }
    case 'hung':
      return { ...calm, lateAccessPpm: between(10_000, 150_000) };
    case 'hung-restarts':
      return {
        ...calm,
        lateAccessPpm: between(10_000, 150_000),
        crashEveryUs: between(term / 20, term / 2),
        downUsMax: between(1, term / 10),
        midStepPpm: 2_000,
      };
    case 'twins':
      return {
        ...calm,
        lateAccessPpm: between(10_000, 100_000),
        crashEveryUs: between(term / 50, term / 10),
        downUsMax: between(1, term / 20),
        twinPpm: 700_000,
      };
    case 'wiped':
      return { ...calm, lateAccessPpm: between(1_000, 50_000), wipeEveryUs: between(term / 10, term / 2) };
    case 'wiped-often':
      return { ...calm, lateAccessPpm: between(1_000, 50_000), wipeEveryUs: between(term / 50, term / 10) };
    case 'restored':
      return { ...calm, lateAccessPpm: between(1_000, 50_000), restoreEveryUs: between(term / 10, term / 2) };
    default:
      // Even.
      return calm;
  }
}

/** All units are named when the world begins. */
export function furnishedUnits({ units }: Pick<UnitsScenario, 'units'>): UnitRecord[] {
  return Array.from({ length: units }, (_, unit) => {
    const identity = unit + 1;
    const mark = encodeMark({ identity, slot: unit, epoch: epochBytes(0), members: MEMBERS });
    return [
      { unit, key: MARK_KEY, value: mark },
      { unit, key: WHOLE_KEY, value: encodeWhole(identity) },
    ];
  }).flat();
}

export function epochBytes(epoch: number): Uint8Array {
  return Uint8Array.of(epoch & 0xff, epoch >> 8);
}
