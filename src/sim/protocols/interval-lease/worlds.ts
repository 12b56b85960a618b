/** Worlds of interval leases: what goes wrong in each, and what its claimants want. */
import { quorumOf, type Chooser } from '../../../kernel/index.ts';
import type { IntervalLeaseConfig } from '../../../core/index.ts';
import type { MandatoryReason } from '../../../check/index.ts';
import { drawDiskFaults, drawFaults, noFaults, type FaultPlan } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';

export const INTERVAL_TERM_US = 1_000_000;

/** What claimants of a world do. */
export interface ClaimHabits {
  readonly spaces: readonly string[];
  readonly livenessUs: number;
  readonly pauseUsMax: number;
  /** Claims of one process that are under way at once. */
  readonly atOnce: number;
  /** One claim in so many wants a block wherever it is; 0 is none. */
  readonly blockEvery: number;
  /** One claim in so many is called off, answered or not; 0 is none. */
  readonly callOffEvery: number;
  /** All ask for the same blocks of this size. */
  readonly block: number;
  /** One claim in two asks for an interval across, inside or around them. */
  readonly strays: boolean;
  /** All but so many integers are claimed at first; 0 is none. */
  readonly room: number;
  /** One claim in so many is for everything; 0 is none. */
  readonly everythingEvery: number;
}

export interface IntervalWorld {
  readonly core: IntervalLeaseConfig;
  readonly habits: ClaimHabits;
  /** A round trip, as clients take it: where claims are to be half way for long they do not ask again soon. */
  readonly clientRttUs: number;
  /** For what a claim may be refused. */
  readonly reason: MandatoryReason;
  readonly membersClaim: boolean;
}

export type IntervalScenario = Scenario<IntervalWorld>;

/**
 * `rush`: hardly any faults, every claimant wants the same. `half-way`: disks are lost while claims are half way. `literal`: refused requests are
 * recorded. `scarce`: there are few integers, and members miss claims. `lost-again`: disks are lost while they join.
 */
export type IntervalShape =
  | 'any'
  | 'rush'
  | 'lossy'
  | 'doubled'
  | 'claimants-crash'
  | 'members-crash'
  | 'lost-disks'
  | 'half-way'
  | 'literal'
  | 'scarce'
  | 'lost-again';

const SPACES = ['s', 't'];
const SHAPES: readonly IntervalShape[] = [
  'rush',
  'lossy',
  'doubled',
  'claimants-crash',
  'members-crash',
  'lost-disks',
  'half-way',
  'literal',
  'scarce',
  'lost-again',
];
/** Of so many worlds each of these shapes has one, and all others have any faults. */
const SHAPES_DRAWN = 16;

export function planIntervals(chooser: Chooser, asked: IntervalShape | null, isBurning: boolean): IntervalScenario {
  const drawn = SHAPES[chooser.below(SHAPES_DRAWN)] ?? 'any';
  const shape = asked ?? drawn;
  const isHalfWay = shape === 'half-way';
  const isLostAgain = shape === 'lost-again';
  const members = isLostAgain ? 5 : isHalfWay || chooser.below(3) > 0 ? 3 : 5;
  // Few processes with many claims each: crashes hit members, and claims survive.
  const clients = isHalfWay ? 1 + chooser.below(2) : 2 + chooser.below(4);
  const faults = faultsOf(shape, chooser, members);
  const isLiteral = shape === 'literal';
  const tripUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread) + faults.storageUsMin + faults.storageUsSpread;
  const livenessUs = 400 * INTERVAL_TERM_US;
  const isQuiet = shape === 'doubled' || shape === 'lossy';
  return {
    nodes: members + clients,
    units: 0,
    faults,
    termUs: INTERVAL_TERM_US,
    safetyUs: INTERVAL_TERM_US * (shape === 'any' || isHalfWay ? 3 + chooser.below(6) : 2 + chooser.below(3)),
    livenessUs,
    config: {
      core: {
        members,
        rttUs: Math.max(1000, tripUs),
        variant: isLiteral ? 'literal' : 'product',
        placesMin: 1 + chooser.below(8),
        piecesPerPage: 1 + chooser.below(3),
      },
      clientRttUs: isHalfWay ? INTERVAL_TERM_US / 10 : Math.max(1000, tripUs),
      reason: isLiteral && !isBurning ? 'ever-claimed' : 'granted-or-open',
      membersClaim: !isHalfWay && chooser.below(2) === 0,
      habits: {
        spaces: SPACES.slice(0, isHalfWay || chooser.below(3) === 0 ? 2 : 1),
        livenessUs,
        pauseUsMax: 1 + chooser.below(shape === 'any' ? INTERVAL_TERM_US / 2 : isQuiet ? INTERVAL_TERM_US / 4 : INTERVAL_TERM_US / 10),
        atOnce: isHalfWay ? 4 + chooser.below(5) : 1 + chooser.below(2),
        blockEvery: isQuiet || isBurning || isHalfWay ? 0 : ([0, 2, 6][chooser.below(3)] as number),
        callOffEvery: isBurning || isHalfWay ? 0 : ([0, 3, 8][chooser.below(3)] as number),
        block: 1 + chooser.below(8),
        strays: !isHalfWay,
        room: shape === 'scarce' ? 10 + chooser.below(60) : 0,
        everythingEvery: isBurning ? 4 : !isLiteral && !isHalfWay && chooser.below(3) === 0 ? 20 : 0,
      },
    },
  };
}

function faultsOf(shape: IntervalShape, chooser: Chooser, members: number): FaultPlan {
  if (shape === 'any') return anyFaults(chooser, members);
  const calm: FaultPlan = {
    ...noFaults(),
    keepDiskPpm: 1_000_000,
    offsetUsMax: INTERVAL_TERM_US,
    latencyUsSpread: 1 + chooser.below(INTERVAL_TERM_US / 100),
  };
  const crashes = {
    crashEveryUs: INTERVAL_TERM_US / 4 + chooser.below(INTERVAL_TERM_US / 2),
    downUsMax: 1 + chooser.below(INTERVAL_TERM_US / 10),
    tailPpm: 300_000,
  };
  // So few may lose their disks that the others can always make them whole.
  const losses = { ...crashes, keepDiskPpm: chooser.below(600_000), losableDisks: quorumOf(members) - 1 };
  switch (shape) {
    case 'rush':
    case 'literal':
      return { ...calm, tailPpm: chooser.below(2) * 200_000, lossPpm: chooser.below(2) * 20_000 };
    case 'scarce':
    case 'lossy':
      return { ...calm, lossPpm: 50_000 + chooser.below(250_000), tailPpm: 100_000 };
    case 'doubled':
      return { ...calm, duplicatePpm: 100_000 + chooser.below(400_000), tailPpm: 400_000, latePpm: chooser.below(60_000) };
    case 'claimants-crash':
      return { ...calm, ...crashes, lossPpm: 20_000 };
    case 'members-crash':
      return {
        ...calm,
        ...crashes,
        afterVotePpm: 20_000 + chooser.below(100_000),
        midStepPpm: 2_000,
        storageUsSpread: 1 + chooser.below(INTERVAL_TERM_US / 50),
      };
    case 'lost-disks':
      return { ...calm, ...losses };
    case 'lost-again':
      return {
        ...calm,
        ...losses,
        keepDiskPpm: 0,
        crashEveryUs: INTERVAL_TERM_US / 8,
        downUsMax: INTERVAL_TERM_US / 50,
        latencyUsSpread: INTERVAL_TERM_US / 20,
        lossPpm: 400_000,
      };
    default:
      return {
        ...calm,
        latencyUsSpread: 1_000,
        lossPpm: 200_000 + chooser.below(250_000),
        keepDiskPpm: 0,
        losableDisks: quorumOf(members) - 1,
        afterVotePpm: 50_000 + chooser.below(150_000),
        downUsMax: INTERVAL_TERM_US / 50,
      };
  }
}

/** Two processes never share a data directory, so no process is taken for dead and lives on beside its successor. */
function anyFaults(chooser: Chooser, members: number): FaultPlan {
  const faults = drawFaults(chooser, { termUs: INTERVAL_TERM_US, ratePpmMax: 100_000, offsetUsMax: INTERVAL_TERM_US });
  faults.twinPpm = 0;
  drawDiskFaults(chooser, faults, INTERVAL_TERM_US);
  if (chooser.below(2) === 0) faults.keepDiskPpm = 1_000_000;
  faults.losableDisks = quorumOf(members) - 1;
  return faults;
}
