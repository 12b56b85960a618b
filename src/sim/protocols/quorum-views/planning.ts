/**
 * Which world is drawn, and the worlds in which three or four things must happen in one order: which node changes the cell and which nodes hear
 * each other is planned there, but not to the instant, so that the cores decide what comes of it.
 */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import { deriveTiming } from '../../../core/index.ts';
import { noFaults } from '../../faults.ts';
import type { PlannedCut, Scenario } from '../../protocol.ts';
import { memberKeysOf, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import { viewMutantNamed, type PlannedShape, type ViewShape } from './mutants.ts';
import type { PlannedChange } from './user.ts';
import { FIRST_TERM_US as TERM_US, planStorm, type ViewsWorld } from './worlds.ts';

const SHAPES: readonly ViewShape[] = [
  'storm',
  'storm',
  'split',
  'forgetful',
  'steady',
  'lagging',
  'rivals',
  'floors',
  'longer',
  'sundered',
  'halfway',
  'hearsay',
];

export function planViews(chooser: Chooser, mutant: string | null): Scenario<ViewsWorld> {
  const asked = viewMutantNamed(mutant)?.shape;
  const shape = (asked !== undefined && chooser.below(8) > 0 ? asked : SHAPES[chooser.below(SHAPES.length)]) as ViewShape;
  return shape === 'halfway' || shape === 'hearsay' ? planned(chooser, PLOTS[shape](chooser)) : planStorm(chooser, shape);
}

/** Members have the numbers 0 to 4, and 0, 1 and 2 are the first. These nodes change the cell, and these want the lease. */
const NUMBERS = 5;
const [FIRST, SECOND, ONE, OTHER] = [5, 6, 7, 8] as const;
const NODES = 9;
const RTT_US = 4_000;

/** Clocks are told to differ by far more than they do: between the initiator's last renewal and the end of the change there is time. */
const RATE_ERROR_PPM = 100_000;
const RATE_PPM_MAX = 1_000;

interface Plot {
  readonly rateErrorPpm: number;
  readonly changes: readonly PlannedChange[];
  readonly cuts: readonly PlannedCut[];
}

const PLOTS: Record<PlannedShape, (chooser: Chooser) => Plot> = { halfway, hearsay };
const SAFETY_US = 9 * TERM_US;

const termsFrom = (chooser: Chooser, min: number, max: number): number =>
  Math.floor(min * TERM_US) + chooser.below(Math.floor((max - min) * TERM_US));

/** The first puts 3 in the place of 0, and is cut off with 3 when that is about to be over. The second finishes it, and is cut off from 2 and 3. */
function halfway(chooser: Chooser): Plot {
  const [firstUs, secondUs] = [termsFrom(chooser, 1.5, 1.9), termsFrom(chooser, 4.2, 4.9)];
  return {
    rateErrorPpm: RATE_ERROR_PPM,
    changes: [
      { node: FIRST, atUs: TERM_US / 10, members: [1, 2, 3] },
      { node: SECOND, atUs: 2 * TERM_US, members: [1, 2, 3] },
    ],
    cuts: [
      { fromUs: firstUs, untilUs: secondUs, side: [3, FIRST] },
      { fromUs: secondUs, untilUs: SAFETY_US, side: [2, 3, FIRST, OTHER] },
    ],
  };
}

/** The first begins a change that 2 alone hears of. The second makes another, and is cut off when it is about to be over: 2 tells 0 and 1, and later hears of the end. */
function hearsay(chooser: Chooser): Plot {
  const [firstUs, secondUs] = [termsFrom(chooser, 0.15, 0.55), termsFrom(chooser, 2.3, 3.1)];
  const thirdUs = secondUs + termsFrom(chooser, 0.5, 1.2);
  return {
    rateErrorPpm: chooser.below(2) * RATE_PPM_MAX,
    changes: [
      { node: FIRST, atUs: TERM_US / 10, members: [0, 1, 4] },
      { node: SECOND, atUs: Math.floor(0.8 * TERM_US), members: [1, 2, 3] },
    ],
    cuts: [
      { fromUs: firstUs, untilUs: secondUs, side: [2, FIRST] },
      { fromUs: secondUs, untilUs: SAFETY_US, side: [FIRST] },
      { fromUs: secondUs, untilUs: thirdUs, side: [3, SECOND, OTHER] },
      { fromUs: thirdUs, untilUs: SAFETY_US, side: [2, 3, SECOND, OTHER] },
    ],
  };
}

function planned(chooser: Chooser, { changes, cuts, rateErrorPpm }: Plot): Scenario<ViewsWorld> {
  const handles = Array.from({ length: NODES }, (_, node) => (node === ONE || node === OTHER ? 1 + chooser.below(2) : 0));
  const livenessUs = (handles.reduce((sum, count) => sum + count, 0) * 8 + 40) * TERM_US;
  const resources = [{ text: 'r0', bytes: encodeName('r0'), slots: 0 }];
  return {
    nodes: NODES,
    units: 0,
    faults: { ...noFaults(), ratePpmMax: Math.min(rateErrorPpm, RATE_PPM_MAX), offsetUsMax: 4 * TERM_US },
    cuts,
    termUs: TERM_US,
    safetyUs: SAFETY_US,
    livenessUs,
    config: {
      members: NUMBERS,
      core: {
        memberKeys: memberKeysOf(3),
        memberNumbers: NUMBERS,
        replication: 3,
        timing: deriveTiming({ maxTermUs: TERM_US, rateErrorPpm, rttUs: RTT_US }),
        floorBuckets: 4,
        changeBuckets: WORLD_CHANGE_BUCKETS,
        viewsKeptBy: 'caller',
        succession: chooser.below(3) === 0 ? 'strict' : 'majority',
      },
      modes: { resources, maxTermUs: TERM_US, livenessUs, habits: [], nodes: NODES, orderly: false, mayLose: true },
      handles,
      keeps: [],
      fenced: false,
      storeUsMax: 1 + chooser.below(TERM_US / 20),
      negligent: [],
      administrators: [],
      changesPpm: 0,
      changesOwed: 0,
      termsUs: [TERM_US],
      termOften: false,
      splits: false,
      moves: 'some',
      planned: changes,
      newcomersLate: false,
      newcomersIdle: false,
      stored: new Map(),
    },
  };
}
