/** The worlds of consensus: how many members, what they keep, what befalls them. */
import { spanUs, type Chooser } from '../../../kernel/index.ts';
import type { ConsensusConfig, ConsensusKeeps, ConsensusMode } from '../../../core/index.ts';
import { drawDiskFaults, drawFaults, type FaultPlan } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';
import type { ConsensusShape } from './mutants.ts';

export const CONSENSUS_TERM_US = 1_000_000;
/** A caller that pauses for less finds nothing new almost always, and takes most of the world's steps for that. */
export const PAUSE_US_MIN: number = CONSENSUS_TERM_US / 1000;

export interface ConsensusWorld {
  readonly consensus: ConsensusConfig;
  /** How long a member thinks before it proposes again, at most. */
  readonly pauseUsMax: number;
  /** So many members propose; the others only take part. */
  readonly proposers: number;
}

export type ConsensusScenario = Scenario<ConsensusWorld>;

/** One in so many worlds without a mutant is of each shape; disks are the most. */
const SHAPES: readonly ConsensusShape[] = ['disk', 'disk', 'torn', 'memory', 'paper', 'liars'];

/** `needs` is what a mutant asks for; `like` is a shape that is asked for without being made for a mutant. */
export function drawConsensusWorld(
  chooser: Chooser,
  needs: ConsensusShape | undefined,
  drawMode: () => ConsensusMode,
  like?: ConsensusShape,
): ConsensusScenario {
  const shape = needs ?? like ?? SHAPES[chooser.below(SHAPES.length)] ?? 'disk';
  const members = chooser.below(3) === 0 ? 5 : 3;
  const isTorn = shape === 'torn' || shape === 'promises';
  const liars = shape === 'liars' ? 1 : 0;
  const faults = drawFaults(chooser, { termUs: CONSENSUS_TERM_US, ratePpmMax: 1000, offsetUsMax: CONSENSUS_TERM_US / 10 });
  shapeFaults(chooser, faults, shape, needs !== undefined);
  const timeoutUs = CONSENSUS_TERM_US / 50 + chooser.below(CONSENSUS_TERM_US / (isTorn ? 20 : 4));
  const window = shape === 'memory' ? 1 + chooser.below(2) : 1 + chooser.below(4);
  return {
    nodes: members + liars,
    liars,
    units: 0,
    faults,
    termUs: CONSENSUS_TERM_US,
    safetyUs: CONSENSUS_TERM_US * (1 + chooser.below(6)),
    livenessUs: CONSENSUS_TERM_US * 60,
    config: {
      consensus: {
        members,
        mode: drawMode(),
        keeps: keepsOf(chooser, shape),
        window,
        kept: window + chooser.below(8),
        detector: { heartbeatUs: spanUs(Math.ceil(timeoutUs / 4)), timeoutUs: spanUs(timeoutUs) },
        retryUs:
          shape === 'paper'
            ? null
            : spanUs(CONSENSUS_TERM_US / 50 + chooser.below(CONSENSUS_TERM_US / (isTorn || needs === 'disk' ? 2 : 10))),
      },
      pauseUsMax: Math.max(PAUSE_US_MIN, 1 + chooser.below(CONSENSUS_TERM_US / (chooser.below(2) === 0 ? 4 : 40))),
      proposers: shape === 'paper' ? members : 1 + chooser.below(members),
    },
  };
}

function keepsOf(chooser: Chooser, shape: ConsensusShape): ConsensusKeeps {
  if (shape === 'paper') return 'crash-stop';
  if (shape === 'memory') return chooser.below(2) === 0 ? 'memory' : 'disk';
  return 'disk';
}

/** Two processes that are the same member at once are outside the model: a member's disk and its connections are one process's. */
function shapeFaults(chooser: Chooser, faults: FaultPlan, shape: ConsensusShape, isForMutant: boolean): void {
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  faults.twinPpm = 0;
  if (shape === 'disk' || shape === 'liars') {
    // Disks are lost only where members know what to do without them: not all at once.
    faults.keepDiskPpm = 1_000_000;
    drawDiskFaults(chooser, faults, CONSENSUS_TERM_US);
    if (isForMutant && shape === 'disk') {
      // Disks are slower than the network: much is said before it would be stored.
      faults.afterVotePpm = between(50_000, 300_000);
      faults.lastWordsLatePpm = chooser.below(2) * 500_000;
      faults.lossPpm = between(50_000, 500_000);
      faults.latencyUsMin = between(1, CONSENSUS_TERM_US / 1000);
      faults.latencyUsSpread = between(1, CONSENSUS_TERM_US / 1000);
      faults.downUsMax = CONSENSUS_TERM_US / 4;
      faults.cutEveryUs = between(CONSENSUS_TERM_US / 20, CONSENSUS_TERM_US);
      faults.cutUsMax = between(CONSENSUS_TERM_US / 20, CONSENSUS_TERM_US / 4);
      faults.storageUsSpread = CONSENSUS_TERM_US / 50;
    }
  } else if (shape === 'torn') {
    faults.keepDiskPpm = 1_000_000;
    faults.lossPpm = between(100_000, 400_000);
    faults.afterVotePpm = between(10_000, 100_000);
    faults.downUsMax = between(CONSENSUS_TERM_US / 4, CONSENSUS_TERM_US * 4);
    faults.latencyUsSpread = between(1, CONSENSUS_TERM_US / 50);
    faults.cutEveryUs = between(CONSENSUS_TERM_US / 20, CONSENSUS_TERM_US / 4);
    faults.cutUsMax = between(CONSENSUS_TERM_US / 10, CONSENSUS_TERM_US / 2);
    faults.oneWayPpm = 500_000;
    faults.crashEveryUs = between(CONSENSUS_TERM_US / 10, CONSENSUS_TERM_US / 2);
  } else if (shape === 'promises') {
    faults.keepDiskPpm = 1_000_000;
    faults.lossPpm = between(50_000, 300_000);
    faults.afterVotePpm = between(50_000, 400_000);
    faults.downUsMax = between(1, CONSENSUS_TERM_US / 10);
    faults.latencyUsMin = between(1, CONSENSUS_TERM_US / 1000);
    faults.latencyUsSpread = between(1, CONSENSUS_TERM_US / 500);
    faults.cutEveryUs = between(CONSENSUS_TERM_US / 40, CONSENSUS_TERM_US / 8);
    faults.cutUsMax = between(CONSENSUS_TERM_US / 20, CONSENSUS_TERM_US / 4);
    faults.oneWayPpm = 500_000;
    faults.storageUsSpread = between(CONSENSUS_TERM_US / 50, CONSENSUS_TERM_US / 10);
  } else if (shape === 'memory') {
    faults.keepDiskPpm = 0;
    faults.crashEveryUs = between(CONSENSUS_TERM_US / 2, CONSENSUS_TERM_US * 3);
    faults.downUsMax = between(1, CONSENSUS_TERM_US / 10);
    faults.midStepPpm = 0;
    faults.afterVotePpm = chooser.below(2) * 500;
    if (isForMutant) {
      // One forgets after another, while a third is behind.
      faults.crashEveryUs = between(CONSENSUS_TERM_US / 8, CONSENSUS_TERM_US);
      faults.downUsMax = CONSENSUS_TERM_US / 50;
      faults.latencyUsMin = between(1, CONSENSUS_TERM_US / 1000);
      faults.latencyUsSpread = between(1, CONSENSUS_TERM_US / 500);
      faults.cutEveryUs = between(CONSENSUS_TERM_US / 20, CONSENSUS_TERM_US / 4);
      faults.cutUsMax = between(CONSENSUS_TERM_US / 10, CONSENSUS_TERM_US);
    }
  } else {
    Object.assign(faults, { lossPpm: 0, cutEveryUs: 0 });
    faults.afterVotePpm = chooser.below(2) * between(100, 3_000);
    faults.crashEveryUs = chooser.below(2) * between(CONSENSUS_TERM_US, CONSENSUS_TERM_US * 4);
    faults.midStepPpm = chooser.below(2) * between(50, 500);
  }
}
