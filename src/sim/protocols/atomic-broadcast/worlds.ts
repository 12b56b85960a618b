/** The worlds of atomic broadcast: the worlds of consensus, with a log that may be short, clients beside the members, and now and then an operator. */
import { spanUs, type Chooser, type SpanUs } from '../../../kernel/index.ts';
import type { BroadcastConfig, BroadcastLimits, LambdaChoice } from '../../../core/index.ts';
import type { FaultPlan } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';
import { CONSENSUS_TERM_US, drawConsensusWorld, PAUSE_US_MIN } from '../consensus/worlds.ts';
import type { ConsensusShape } from '../consensus/mutants.ts';
import type { BroadcastShape } from './mutants.ts';

export interface BroadcastWorld {
  readonly broadcast: BroadcastConfig;
  readonly clients: number;
  /** How long a publisher thinks before it publishes again, at most. */
  readonly pauseUsMax: number;
  /** How long a reader takes for a page, at most. */
  readonly readUsMax: number;
  /** How large a message is, at most. */
  readonly messageBytesMax: number;
  /** So many members may lose their memory that the group stops. */
  readonly mayStop: boolean;
  /** An operator begins the group anew when it has stopped. */
  readonly renews: boolean;
}

export type BroadcastScenario = Scenario<BroadcastWorld>;

const SHAPES: readonly BroadcastShape[] = ['disk', 'disk', 'memory', 'torn', 'paper', 'liars', 'short', 'short', 'power', 'act'];
const LIKE: { readonly [Shape in BroadcastShape]: ConsensusShape } = {
  disk: 'disk',
  memory: 'memory',
  torn: 'torn',
  paper: 'paper',
  liars: 'liars',
  short: 'torn',
  power: 'disk',
  act: 'memory',
};

export function drawBroadcastWorld(chooser: Chooser, needs: BroadcastShape | undefined): BroadcastScenario {
  const shape = needs ?? SHAPES[chooser.below(SHAPES.length)] ?? 'disk';
  const isForMutant = needs !== undefined && needs === LIKE[needs];
  const consensus = chooser.below(3) === 0 ? 'chandra-toueg' : 'fast-ct';
  const world = drawConsensusWorld(chooser, isForMutant ? LIKE[shape] : undefined, () => ({ kind: 'fast' }), LIKE[shape]);
  const { members, keeps, window, kept, detector, retryUs } = world.config.consensus;
  const clients = shape === 'paper' ? 0 : chooser.below(3);
  shapeFaults(chooser, world.faults, shape);
  const max = 1 + chooser.below(12);
  const lambda: LambdaChoice = chooser.below(2) === 0 ? { kind: 'fixed', size: max } : { kind: 'adaptive', max, isOptimistic: false };
  const broadcast: BroadcastConfig = {
    members,
    consensus,
    keeps,
    from: 'somebody',
    window: shape === 'power' ? 1 + chooser.below(2) : window,
    kept: shape === 'power' ? 2 : kept,
    detector,
    retryUs: retryUs ?? BROADCAST_RETRY_US,
    lambda,
    rttUs: 1000 + chooser.below(20_000),
    limits: drawLimits(chooser, shape),
  };
  return {
    ...world,
    nodes: members + clients + (world.liars ?? 0),
    config: {
      broadcast,
      clients,
      pauseUsMax: Math.max(PAUSE_US_MIN, 1 + chooser.below(CONSENSUS_TERM_US / (chooser.below(2) === 0 ? 4 : 40))),
      readUsMax: 1 + chooser.below(CONSENSUS_TERM_US / 20),
      messageBytesMax: 8 + chooser.below(40),
      mayStop: LIKE[shape] === 'memory',
      renews: shape === 'act',
    },
  };
}

/** Batches of a few messages; a log of a few batches, or of all. */
function drawLimits(chooser: Chooser, shape: BroadcastShape): BroadcastLimits {
  const isShort = shape === 'short' || (shape === 'memory' && chooser.below(2) === 0);
  return {
    batchBytes: 100 + chooser.below(600),
    pipelinedBytes: 1 + chooser.below(300),
    ownBytes: 200 + chooser.below(2000),
    poolBytes: 500 + chooser.below(4000),
    retainBytes: isShort ? 300 + chooser.below(3000) : 1_000_000,
    retainInstances: isShort || shape === 'power' ? 2 + chooser.below(12) : 100,
    clients: 4,
  };
}

function shapeFaults(chooser: Chooser, faults: FaultPlan, shape: BroadcastShape): void {
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  if (shape === 'short') {
    faults.latePpm = between(10_000, 200_000);
    faults.duplicatePpm = between(50_000, 300_000);
    faults.crashEveryUs = between(CONSENSUS_TERM_US / 2, CONSENSUS_TERM_US * 3);
  } else if (shape === 'power') {
    faults.crashEveryUs = between(CONSENSUS_TERM_US / 40, CONSENSUS_TERM_US / 4);
    faults.downUsMax = CONSENSUS_TERM_US / 20;
    faults.storageUsSpread = between(CONSENSUS_TERM_US / 100, CONSENSUS_TERM_US / 10);
    faults.latencyUsMin = 1;
    faults.latencyUsSpread = between(1, CONSENSUS_TERM_US / 1000);
    faults.diskHangPpm = 0;
    faults.diskFailEveryUs = 0;
    if (chooser.below(2) === 0) {
      // Writes of the log hang while votes go on, and then all that is not stored is gone at once.
      faults.crashEveryUs = between(CONSENSUS_TERM_US / 5, CONSENSUS_TERM_US);
      faults.downUsMax = CONSENSUS_TERM_US / 2;
      faults.powerEveryUs = between(CONSENSUS_TERM_US / 5, CONSENSUS_TERM_US);
      faults.diskHangPpm = between(20_000, 100_000);
      faults.storageUsSpread = between(1, CONSENSUS_TERM_US / 200);
    }
  } else if (shape === 'act') {
    faults.crashEveryUs = between(CONSENSUS_TERM_US / 10, CONSENSUS_TERM_US / 2);
    faults.latePpm = between(50_000, 200_000);
    faults.downUsMax = between(1, CONSENSUS_TERM_US / 10);
  }
}

export const BROADCAST_RETRY_US: SpanUs = spanUs(CONSENSUS_TERM_US / 20);
