/** The worlds in which the members, the voters of a name and the longest term of a cell change: what each is made for, and how it is drawn. */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import { deriveTiming, type Keeps, type QuorumConfig, type View } from '../../../core/index.ts';
import { noFaults, type FaultPlan, type FaultScale } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';
import { memberKeysOf, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import type { ModeHabits, ModeResource } from '../quorum-modes/user.ts';
import type { Shape } from '../quorum/mutants.ts';
import { shapeFaults } from '../quorum/shapes.ts';
import type { StormShape } from './mutants.ts';
import type { Moves, PlannedChange } from './user.ts';

/** The longest term that most cells begin with. */
export const FIRST_TERM_US = 1_000_000;
const TERM_US = FIRST_TERM_US;
const LATENCY_US_MAX = 20_000;
const MILLION = 1_000_000;

export interface ViewsWorld {
  /** Members have numbers below this. */
  readonly members: number;
  readonly core: QuorumConfig;
  readonly modes: Omit<ModeHabits, 'handles'>;
  readonly handles: readonly number[];
  readonly keeps: readonly Keeps[];
  readonly fenced: boolean;
  /** The operators of members take so long to store a view. */
  readonly storeUsMax: number;
  /** The operators of these members never store any. */
  readonly negligent: readonly number[];
  /** Which nodes change the cell, how often, and how often after the world has healed. */
  readonly administrators: readonly number[];
  readonly changesPpm: number;
  readonly changesOwed: number;
  readonly termsUs: readonly number[];
  /** Most changes are of the longest term. */
  readonly termOften: boolean;
  readonly splits: boolean;
  readonly moves: Moves;
  readonly planned: readonly PlannedChange[];
  /** Nodes that are no members at first are started again and again, also when all goes well. */
  readonly newcomersLate: boolean;
  /** Those ask for nothing before a change that makes them members is over. */
  readonly newcomersIdle: boolean;
  /** Views that operators have stored; a scenario may be run many times, and the first process begins with nothing stored. */
  readonly stored: Map<number, View>;
}

const STORMS: readonly Shape[] = ['swarm', 'swarm', 'overtaking', 'reboots', 'beginnings'];
/** Members are started again and again, and cut off from each other. */
const FORGETTING: readonly Shape[] = ['outages', 'outages', 'outages', 'beginnings', 'reboots'];
type Storm = Shape | 'partitions' | 'sides' | 'power';
const STORMS_OF: Record<StormShape, readonly Storm[]> = {
  storm: STORMS,
  steady: STORMS,
  split: STORMS,
  forgetful: FORGETTING,
  sundered: ['partitions', 'partitions', 'partitions', 'beginnings', 'outages'],
  lagging: ['sides', 'sides', 'sides', 'sides', 'partitions'],
  rivals: ['partitions', 'partitions', 'partitions', 'beginnings', 'curious'],
  floors: ['overtaking', 'curious', 'comebacks', 'refits', 'curious'],
  longer: ['power', 'power', 'power', 'partitions', 'refits'],
};

/** Nothing fails, but messages may take as long as terms allow. */
function calm(chooser: Chooser): FaultPlan {
  const isSlow = chooser.below(2) === 0;
  return isSlow ? { ...noFaults(), latencyUsMin: LATENCY_US_MAX / 2, latencyUsSpread: LATENCY_US_MAX / 2 } : noFaults();
}

/** The world falls apart into two sides for long, again and again; members on either are started again meanwhile. */
function partitions(chooser: Chooser, { termUs, ratePpmMax, offsetUsMax }: FaultScale): FaultPlan {
  return {
    ...noFaults(),
    latencyUsSpread: 1 + chooser.below(10_000),
    lossPpm: chooser.below(2) * chooser.below(100_000),
    ratePpmMax,
    offsetUsMax,
    cutEveryUs: Math.floor(termUs / 2) + chooser.below(termUs * 4),
    cutUsMax: termUs * (2 + chooser.below(8)),
    crashEveryUs: Math.floor(termUs / 4) + chooser.below(termUs),
    downUsMax: 1 + chooser.below(Math.floor(termUs / 4)),
    keepDiskPpm: MILLION,
  };
}

/** The world falls apart into two sides, one time after the other. Nothing else happens, so most of the time one of them can go on. */
function sides(chooser: Chooser, { termUs, ratePpmMax, offsetUsMax }: FaultScale): FaultPlan {
  return {
    ...noFaults(),
    latencyUsSpread: 1 + chooser.below(10_000),
    ratePpmMax,
    offsetUsMax,
    cutEveryUs: termUs * (3 + chooser.below(4)),
    cutUsMax: termUs * (6 + chooser.below(6)),
  };
}

/** All members go down at once, and are back in a moment. */
function power(chooser: Chooser, { termUs, ratePpmMax, offsetUsMax }: FaultScale): FaultPlan {
  return {
    ...noFaults(),
    latencyUsSpread: 1 + chooser.below(2_000),
    ratePpmMax,
    offsetUsMax,
    powerEveryUs: termUs * (2 + chooser.below(6)),
    downUsMax: 1 + chooser.below(Math.floor(termUs / 20)),
  };
}

const OWN_STORMS = { partitions, sides, power };

function isOwn(storm: Storm): storm is keyof typeof OWN_STORMS {
  return storm in OWN_STORMS;
}

interface Size {
  readonly members: number;
  readonly numbers: number;
  readonly nodes: number;
}

const MANY_CLIENTS: readonly StormShape[] = ['sundered', 'lagging', 'rivals', 'longer'];

/** A cell that moves to other members can leave all of its first members. */
function sizeOf(shape: StormShape, moves: Moves, chooser: Chooser): Size {
  const isWide = shape === 'split' || (shape === 'floors' && chooser.below(2) === 0);
  const few = isWide ? 4 + chooser.below(2) : (([3, 3, 4] as const)[chooser.below(3)] as number);
  const members = shape === 'lagging' ? 5 : moves === 'all' ? 3 : few;
  const numbers = moves === 'all' ? 2 * members : members + 1 + chooser.below(2);
  return { members, numbers, nodes: numbers + (MANY_CLIENTS.includes(shape) ? 4 : 2) };
}

/** What the longest term may become. */
function termsOf(shape: StormShape): number[] {
  if (shape === 'longer') return [TERM_US / 4, TERM_US * 2, TERM_US * 4];
  return shape === 'steady' ? [TERM_US, TERM_US * 2] : [TERM_US / 2, TERM_US, TERM_US * 2];
}

interface Trouble {
  readonly shape: StormShape;
  readonly storm: Storm;
  readonly tame: boolean;
  readonly scale: FaultScale;
  readonly size: Size;
}

function faultsOf(chooser: Chooser, { shape, storm, tame, scale, size }: Trouble): FaultPlan {
  const faults = shape === 'steady' ? calm(chooser) : isOwn(storm) ? OWN_STORMS[storm](chooser, scale) : shapeFaults(storm, chooser, scale);
  if (tame) faults.wallStepEveryUs = faults.wallSetAtBootPpm = 0;
  // Members whose operators store no views have forgotten them.
  if (shape === 'sundered') {
    faults.powerEveryUs = TERM_US * (2 + chooser.below(6));
    faults.powerNodes = size.members;
  } else faults.powerNodes = size.numbers;
  // A round trip fits even the shortest terms.
  const latencyUsMax = shape === 'longer' ? LATENCY_US_MAX / 8 : LATENCY_US_MAX;
  faults.latencyUsMin = Math.min(faults.latencyUsMin, latencyUsMax / 2);
  faults.latencyUsSpread = Math.min(faults.latencyUsSpread, latencyUsMax / 2);
  return faults;
}

interface Node {
  readonly node: number;
  readonly numbers: number;
  readonly members: number;
  readonly newcomersLate: boolean;
  readonly newcomersIdle: boolean;
}

/** How many applications a node has. Applications on machines that are being set up are not judged by their losses. */
function handlesOf(chooser: Chooser, { node, numbers, members, newcomersLate, newcomersIdle }: Node): number {
  if (node >= numbers || (newcomersIdle && node >= members)) return 1 + chooser.below(2);
  return newcomersLate ? 0 : chooser.below(2);
}

type OfShape = Partial<Record<StormShape, number>>;
/** In one of so many worlds no operator stores views. */
const STORED_IN: OfShape = { forgetful: 2, sundered: 2, longer: 2, lagging: 12 };
/** One of so many members never stores any. */
const NEGLIGENT: OfShape = { lagging: 12, longer: 3 };
const CHANGES_PPM: OfShape = { steady: 0, rivals: 900_000, longer: 60_000 };
const USES_MAX: OfShape = { steady: 24, lagging: 24, longer: 48 };

function nodesBelow(count: number): number[] {
  return Array.from({ length: count }, (_, node) => node);
}

/** How many vote on a name, where not all do. */
function fewOf(shape: StormShape, chooser: Chooser): number {
  return shape === 'lagging' && chooser.below(4) > 0 ? 3 : 2 + chooser.below(2);
}

/** A data directory serves one process at a time, and is not lost. */
function haveDirectories(faults: FaultPlan): void {
  faults.twinPpm = 0;
  faults.keepDiskPpm = MILLION;
}

export function planStorm(chooser: Chooser, shape: StormShape): Scenario<ViewsWorld> {
  const isSteady = shape === 'steady';
  const newcomersLate = isSteady && chooser.below(2) === 0;
  const newcomersIdle = shape === 'floors' && chooser.below(4) > 0;
  const movesAll = newcomersLate || newcomersIdle || shape === 'sundered';
  const moves = movesAll ? 'all' : shape === 'lagging' ? 'one' : 'some';
  const size = sizeOf(shape, moves, chooser);
  const { members, numbers, nodes } = size;
  const storm = STORMS_OF[shape][chooser.below(STORMS.length)] as Storm;
  const tame = shape !== 'floors' && storm !== 'reboots' && chooser.below(2) === 0;
  const rateErrorPpm = ([0, 1_000, 20_000] as const)[chooser.below(tame ? 2 : 3)] as number;
  const offsetUsMax = tame ? TERM_US * 0.4 : TERM_US * (shape === 'floors' ? 30 : 4);
  const faults = faultsOf(chooser, { shape, storm, tame, size, scale: { termUs: TERM_US, ratePpmMax: rateErrorPpm, offsetUsMax } });
  const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread);
  const firstTermUs = shape === 'longer' ? TERM_US / 4 : TERM_US;
  const timing = deriveTiming({ maxTermUs: firstTermUs, rateErrorPpm, rttUs });
  const isForCaller = shape === 'forgetful' || shape === 'sundered' || shape === 'lagging' || shape === 'longer';
  const keptBy = shape === 'floors' || (!isForCaller && chooser.below(2) === 0) ? 'disk' : 'caller';
  const kept = keptBy === 'disk' ? (['votes', 'floor'] as const)[chooser.below(2)] : undefined;
  if (kept !== undefined) haveDirectories(faults);
  const clients = nodes - numbers;
  const handles = Array.from({ length: nodes }, (_, node) => handlesOf(chooser, { node, numbers, members, newcomersLate, newcomersIdle }));
  const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
  const names = isSteady ? handlesInAll : (newcomersIdle ? 40 : 1) + chooser.below(shape === 'longer' ? 1 : 2);
  const resources = Array.from({ length: names }, (_, i): ModeResource => ({ text: `r${i}`, bytes: encodeName(`r${i}`), slots: 0 }));
  const splits = shape === 'split' || shape === 'lagging' || (!newcomersLate && chooser.below(3) === 0);
  const changesOwed = isSteady ? 2 : 0;
  const livenessUs = (handlesInAll * 8 + 40 + changesOwed * 30) * TERM_US;
  const isStored = keptBy === 'caller' && (isSteady || chooser.below(STORED_IN[shape] ?? 4) > 0);
  return {
    nodes,
    units: 0,
    faults,
    termUs: TERM_US,
    safetyUs: TERM_US * (isSteady ? 1 : 10 + chooser.below(storm === 'partitions' || storm === 'sides' ? 40 : 16)),
    livenessUs,
    config: {
      members: numbers,
      core: {
        memberKeys: memberKeysOf(members),
        memberNumbers: numbers,
        replication: splits && shape !== 'storm' && members > 3 ? fewOf(shape, chooser) : members,
        timing,
        floorBuckets: newcomersIdle ? 1024 : 4,
        changeBuckets: WORLD_CHANGE_BUCKETS,
        viewsKeptBy: keptBy,
        succession: chooser.below(3) === 0 ? 'strict' : 'majority',
      },
      modes: {
        resources,
        maxTermUs: firstTermUs,
        livenessUs,
        habits: chooser.below(3) === 0 ? ['shared'] : [],
        nodes,
        orderly: false,
        usesMax: USES_MAX[shape] ?? 6,
        mayLose: !isSteady,
      },
      handles,
      keeps: kept === undefined ? [] : Array.from({ length: numbers }, () => kept),
      fenced: tame || kept !== undefined,
      storeUsMax: isStored ? 1 + chooser.below(shape === 'lagging' ? TERM_US / 4 : TERM_US) : Infinity,
      negligent: nodesBelow(numbers).filter(() => NEGLIGENT[shape] !== undefined && chooser.below(NEGLIGENT[shape]) === 0),
      administrators: isSteady ? [nodes - 1] : nodesBelow(nodes).filter((node) => node >= nodes - clients || chooser.below(2) === 0),
      changesPpm: CHANGES_PPM[shape] ?? 300_000,
      changesOwed,
      termsUs: termsOf(shape),
      termOften: shape === 'longer',
      splits,
      moves,
      planned: [],
      newcomersLate,
      newcomersIdle,
      stored: new Map(),
    },
  };
}
