/**
 * Worlds in which bundles matter most: processes keep leases of one term for long, some give back and take others, and rivals ask for a name all the time.
 * Clocks are right, so that a moment too long is seen.
 */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import { deriveTiming, type QuorumConfig } from '../../../core/index.ts';
import { noFaults, type FaultPlan } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';
import { memberKeysOf, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import type { ModesWorld } from '../quorum-modes/protocol.ts';

/** `secluded`: one node at a time is cut off, for a term or more. `renumbered`: members are started again. `tardy`: answers come late. `lossy`: much is lost. */
export const BUNDLE_SHAPES = ['secluded', 'renumbered', 'tardy', 'lossy'] as const;
export type BundleShape = (typeof BUNDLE_SHAPES)[number];

const TERM_US = 1_000_000;
/** Patient enough for answers that come late. */
const RTT_US = 40_000;
const MEMBERS = 3;
/** Of the longest term: members look so seldom for votes that have run out that a bundle is still there when its holder is back. */
const PARTS_OF_LONGEST = 4;

const FAULTS: Record<BundleShape, (chooser: Chooser) => Partial<FaultPlan>> = {
  /** Votes and bundles run out at one voter, then at another, while their holder goes on with the rest. */
  secluded: (chooser) => ({
    duplicatePpm: chooser.below(2) * 100_000,
    cutEveryUs: TERM_US + chooser.below(TERM_US * 2),
    cutUsMax: TERM_US * 2 + chooser.below(TERM_US),
  }),
  /** A voter has forgotten the votes in its bundle, and has another bundle of the same holder soon. */
  renumbered: (chooser) => ({
    lossPpm: chooser.below(2) * chooser.below(50_000),
    crashEveryUs: TERM_US + chooser.below(TERM_US),
    downUsMax: 1 + chooser.below(Math.floor(TERM_US / 4)),
  }),
  /** Some answers take as long as a round waits. Holders are cut off, and hold until their leases run out. */
  tardy: (chooser) => ({
    tailPpm: 500_000 + chooser.below(250_000),
    cutEveryUs: Math.floor(TERM_US / 4) + chooser.below(TERM_US),
    cutUsMax: TERM_US * 2,
  }),
  /** Releases are lost, and most rounds are not. */
  lossy: (chooser) => ({ lossPpm: 100_000 + chooser.below(250_000), duplicatePpm: chooser.below(2) * 200_000 }),
};

/** Members vote, and clients want one name. */
export function planSteadfast(shape: BundleShape, chooser: Chooser): Scenario<ModesWorld> {
  const clients = 2 + chooser.below(2);
  const nodes = MEMBERS + clients;
  const handles = Array.from({ length: nodes }, (_, node) => (node < MEMBERS ? 0 : 1 + chooser.below(2)));
  const core: QuorumConfig = {
    memberKeys: memberKeysOf(MEMBERS),
    replication: MEMBERS,
    timing: deriveTiming({ maxTermUs: shape === 'secluded' ? TERM_US * PARTS_OF_LONGEST : TERM_US, rateErrorPpm: 0, rttUs: RTT_US }),
    floorBuckets: 4,
    changeBuckets: WORLD_CHANGE_BUCKETS,
    succession: 'majority',
  };
  const faults = { ...noFaults(), ...FAULTS[shape](chooser) };
  const safetyUs = TERM_US * (15 + chooser.below(25));
  const usesMax = 5 + chooser.below(shape === 'secluded' ? 150 : 60);
  // All may stand in line, and each holds for as long as it uses its lease.
  const livenessUs = (handles.reduce((sum, count) => sum + count, 0) * (12 + usesMax / 2) + 40) * TERM_US;
  return {
    nodes,
    units: 0,
    faults,
    termUs: TERM_US,
    safetyUs,
    livenessUs,
    config: {
      members: MEMBERS,
      core,
      habits: {
        resources: [{ text: 'r0', bytes: encodeName('r0'), slots: 0 }],
        maxTermUs: TERM_US,
        livenessUs,
        habits: [],
        nodes,
        orderly: false,
        usesMax,
        steadfast: true,
      },
      handles,
      keeps: [],
      orderly: false,
      fenced: true,
    },
  };
}
