/** The shapes of worlds for the quorum engine: the swarm, and worlds made for one kind of trouble each. */
import type { Chooser } from '../../../kernel/index.ts';
import { drawFaults, noFaults, type FaultPlan, type FaultScale } from '../../faults.ts';
import type { Shape } from './mutants.ts';

export function shapeFaults(shape: Shape, chooser: Chooser, scale: FaultScale): FaultPlan {
  return SHAPES[shape](chooser, scale);
}

const SHAPES: Record<Shape, (chooser: Chooser, scale: FaultScale) => FaultPlan> = {
  swarm: drawFaults,
  lockstep,
  reboots,
  overtaking,
  outages,
  beginnings,
  orderly,
  comebacks,
  liars,
  outlived,
  slewed,
  'slow-disks': slowDisks,
  refits,
  curious,
};

/** A calm world in which all messages take the same time: nodes that move in step stay in step. */
function lockstep(chooser: Chooser, { offsetUsMax }: FaultScale): FaultPlan {
  return { ...noFaults(), latencyUsMin: 4_000 + chooser.below(4_000), latencyUsSpread: 0, offsetUsMax };
}

/** Clocks as far off as they may be, and so much lost at most. */
function lossy(chooser: Chooser, { ratePpmMax, offsetUsMax }: FaultScale, lossPpmMax: number): FaultPlan {
  return { ...noFaults(), lossPpm: chooser.below(lossPpmMax), ratePpmMax, offsetUsMax };
}

/** Machines go down and come up, and wall clocks are set: a moment later, or in the middle of things. */
function reboots(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 50_000),
    crashEveryUs: Math.floor(termUs / 2) + chooser.below(termUs * 2),
    downUsMax: 1 + chooser.below(Math.floor(termUs / 4)),
    afterVotePpm: chooser.below(20_000),
    wallSetAtBootPpm: 700_000,
    wallStepEveryUs: chooser.below(2) * termUs,
    wallStepUsMax: termUs * 4,
  };
}

/** Many copies, many of them late by a little: messages overtake each other all the time. */
function overtaking(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 30_000),
    duplicatePpm: 300_000 + chooser.below(400_000),
    latePpm: 100_000 + chooser.below(200_000),
    stallEveryUs: chooser.below(2) * termUs,
    stallUsMax: Math.floor(termUs / 4),
  };
}

/** Nearly everything goes down, again and again, and wall clocks are set back while no node is there to remember. */
function outages(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 50_000),
    crashEveryUs: Math.floor(termUs / 10) + chooser.below(Math.floor(termUs / 4)),
    downUsMax: termUs + chooser.below(termUs * 2),
    keepDiskPpm: 1_000_000,
    wallStepEveryUs: Math.floor(termUs / 4),
    wallStepUsMax: termUs * 4,
    wallStepsBack: true,
  };
}

/** Members start, vote and are started again while messages of their first moments are still under way. */
function beginnings(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 50_000),
    cutEveryUs: chooser.below(2) * Math.floor(termUs / 20),
    cutUsMax: termUs * 3,
    duplicatePpm: 500_000 + chooser.below(400_000),
    latePpm: 100_000 + chooser.below(300_000),
    crashEveryUs: Math.floor(termUs / 4) + chooser.below(termUs),
    downUsMax: Math.floor(termUs / 50),
    afterVotePpm: 20_000 + chooser.below(100_000),
  };
}

/** Members are gone for a moment, again and again, and come back with their records. */
function comebacks(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 50_000),
    crashEveryUs: Math.floor(termUs / 2) + chooser.below(Math.floor(termUs / 4)),
    downUsMax: 1 + chooser.below(Math.floor(termUs * 1.5)),
    storageUsMin: 1,
    storageUsSpread: chooser.below(Math.floor(termUs / 50)),
  };
}

/** Anything may go wrong, but wall clocks are not set: the highest believed ballot passes by each of them in time. */
function liars(chooser: Chooser, scale: FaultScale): FaultPlan {
  return { ...drawFaults(chooser, scale), wallStepEveryUs: 0, wallSetAtBootPpm: 0, wallStepsBack: false };
}

/** Members are taken for dead, live on, and still have clients, while their successors begin. */
function outlived(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 50_000),
    duplicatePpm: chooser.below(2) * 100_000,
    latePpm: chooser.below(2) * 20_000,
    outliveEveryUs: Math.floor(termUs / 2) + chooser.below(termUs),
    crashEveryUs: chooser.below(2) * termUs * 4,
    downUsMax: Math.floor(termUs / 4),
  };
}

/** Disks are slow, much is lost, and members go down as soon as they have voted: whatever was answered before it was written is forgotten. */
function slowDisks(chooser: Chooser, { termUs, ratePpmMax, offsetUsMax }: FaultScale): FaultPlan {
  return {
    ...noFaults(),
    latencyUsMin: 200,
    latencyUsSpread: 1 + chooser.below(2_000),
    lossPpm: 40_000 + chooser.below(100_000),
    latePpm: chooser.below(2) * 30_000,
    ratePpmMax,
    offsetUsMax,
    crashEveryUs: termUs * 2 + chooser.below(termUs * 4),
    downUsMax: 1 + chooser.below(Math.floor(termUs / 10)),
    afterVotePpm: 50_000 + chooser.below(250_000),
    storageUsMin: 1,
    storageUsSpread: chooser.below(Math.floor(termUs / 40)),
    // A place that hangs is left alone, and its next vote is in another: both are found by the next life.
    diskHangPpm: chooser.below(3) * 15_000,
  };
}

/** Members are gone for a moment, again and again, and are set up with something else when they are back. */
function refits(chooser: Chooser, scale: FaultScale): FaultPlan {
  const { termUs } = scale;
  return {
    ...lossy(chooser, scale, 150_000),
    crashEveryUs: Math.floor(termUs / 10) + chooser.below(Math.floor(termUs / 2)),
    downUsMax: 1 + chooser.below(Math.floor(termUs / 4)),
    storageUsMin: 1,
    storageUsSpread: chooser.below(Math.floor(termUs / 50)),
  };
}

/** Much is lost and members go down for a moment: votes run out and come back while questions are open. */
function curious(chooser: Chooser, { termUs, ratePpmMax, offsetUsMax }: FaultScale): FaultPlan {
  return {
    ...noFaults(),
    latencyUsMin: 500,
    latencyUsSpread: 1 + chooser.below(10_000),
    lossPpm: 50_000 + chooser.below(250_000),
    duplicatePpm: chooser.below(2) * 100_000,
    latePpm: chooser.below(2) * 50_000,
    ratePpmMax,
    offsetUsMax,
    crashEveryUs: chooser.below(2) * (termUs + chooser.below(termUs * 4)),
    downUsMax: 1 + chooser.below(Math.floor(termUs / 4)),
    sleepEveryUs: chooser.below(2) * termUs * 4,
    sleepUsMax: Math.floor(termUs / 2),
  };
}

/** Nothing fails, so every node answers within a head start and the order of waiters is judged. Wall clocks are anything. */
function orderly(chooser: Chooser, { ratePpmMax, offsetUsMax }: FaultScale): FaultPlan {
  return { ...noFaults(), latencyUsMin: 500 + chooser.below(4_000), latencyUsSpread: chooser.below(4_000), ratePpmMax, offsetUsMax };
}

/** One clock at a time runs far too fast or too slow for a while: whose it is notices, and stops before it does harm. */
function slewed(chooser: Chooser, { termUs, offsetUsMax }: FaultScale): FaultPlan {
  return {
    ...noFaults(),
    lossPpm: chooser.below(50_000),
    duplicatePpm: chooser.below(100_000),
    offsetUsMax,
    crashEveryUs: chooser.below(2) * (termUs + chooser.below(termUs * 2)),
    downUsMax: Math.floor(termUs / 4),
    slewEveryUs: Math.floor(termUs / 2) + chooser.below(termUs),
    slewUsMax: termUs * 4,
  };
}
