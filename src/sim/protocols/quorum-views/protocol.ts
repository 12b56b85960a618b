/** Worlds of the quorum engine in which the members, the voters of a name and the longest term change while leases are held. */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import {
  ACCEPTED,
  deriveTiming,
  PROMISED,
  QuorumCore,
  type Boot,
  type Keeps,
  type QuorumCommand,
  type QuorumConfig,
  type QuorumEvent,
  type QuorumMessage,
  type View,
} from '../../../core/index.ts';
import { DeadlineReferee, ExclusionReferee, FencingReferee, RequestReferee, Unjudged, type Referee } from '../../../check/index.ts';
import { quorumCodec } from '../../../wire/index.ts';
import { noFaults, type FaultPlan, type FaultScale } from '../../faults.ts';
import { LEASE_INTERESTS, LeaseInterest, WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, User } from '../../protocol.ts';
import { memberKeysOf, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import { LEASE_WORDS } from '../leases/words.ts';
import type { ModeHabits, ModeResource } from '../quorum-modes/user.ts';
import type { Shape } from '../quorum/mutants.ts';
import { describeQuorumMessage } from '../quorum/protocol.ts';
import { shapeFaults } from '../quorum/shapes.ts';
import { VIEW_MUTANTS, viewMutantNamed, viewRulesOf, type ViewShape } from './mutants.ts';
import { ViewsUser } from './user.ts';

const TERM_US = 1_000_000;
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
  /** Whoever runs members takes so long to store a view. */
  readonly storeUsMax: number;
  /** Whoever runs these members never stores any. */
  readonly negligent: readonly number[];
  /** Which nodes change the cell, how often, and how often after the world has healed. */
  readonly administrators: readonly number[];
  readonly changesPpm: number;
  readonly changesOwed: number;
  readonly termsUs: readonly number[];
  /** Most changes are of the longest term. */
  readonly termOften: boolean;
  readonly splits: boolean;
  /** What whoever runs members has stored; a scenario may be run many times, and the first process begins with nothing stored. */
  readonly stored: Map<number, View>;
}

type ViewsScenario = Scenario<ViewsWorld>;

export const viewsProtocol: SimProtocol<QuorumMessage, QuorumCommand, QuorumEvent, ViewsWorld, QuorumCore> = {
  name: 'quorum-views',
  summary: "the product's own engine while its members and terms change",
  mutants: VIEW_MUTANTS,
  sometimes: [
    ...LEASE_INTERESTS,
    ...WORLD_INTERESTS,
    { name: 'view-joint', description: 'a member went to a joint view' },
    { name: 'view-sealed', description: 'a member went to a view in which a change is over' },
    { name: 'view-followed', description: 'a process went on in another view' },
    { name: 'member-out', description: 'a member heard that it is none any more' },
    { name: 'change-done', description: 'a change of the cell was made' },
    { name: 'change-abandoned', description: 'whoever changed the cell went away in the middle of things' },
  ],
  codec: quorumCodec(),
  plan: planViews,

  core({ config }: ViewsScenario, boot: Boot, mutant: string | null): QuorumCore {
    if (boot.incarnation === 1) config.stored.clear();
    const view = config.stored.get(boot.self);
    return new QuorumCore({ ...config.core, keeps: config.keeps[boot.self] ?? 'nothing', view }, boot, viewRulesOf(mutant));
  },

  user({ config }: ViewsScenario, core: QuorumCore, desk: Desk<QuorumCommand>): User<QuorumEvent> {
    const { administrators, members: numbers, stored, termsUs, termOften, splits, changesPpm, changesOwed } = config;
    const storeUsMax = config.negligent.includes(desk.node) ? Infinity : config.storeUsMax;
    const keys = memberKeysOf(numbers);
    const isAdministrator = administrators.includes(desk.node);
    return new ViewsUser(
      {
        modes: { ...config.modes, handles: config.handles[desk.node] ?? 0 },
        rules: core.rules,
        changesPpm: isAdministrator ? changesPpm : 0,
        changesOwed: isAdministrator ? changesOwed : 0,
        storeUsMax,
        stored,
        numbers,
        keyOf: (number) => keys[number] as number,
        termsUs,
        termOften,
        splits,
      },
      core,
      desk,
    );
  },

  referees: ({ config }: ViewsScenario, sometimes: (name: string) => void): Referee[] => [
    new ExclusionReferee(),
    ...(config.fenced ? [new FencingReferee()] : []),
    new Unjudged(['queued'], 'waiters keep their order only while they answer in time'),
    new DeadlineReferee(),
    new RequestReferee(),
    new LeaseInterest(sometimes),
  ],

  isVote: ({ kind }: QuorumMessage): boolean => kind === ACCEPTED || kind === PROMISED,
  describeMessage: describeQuorumMessage,
  ...LEASE_WORDS,
  smaller: () => [],
};

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
];
const STORMS: readonly Shape[] = ['swarm', 'swarm', 'overtaking', 'reboots', 'beginnings'];
/** Members are started again and again, and cut off from each other. */
const FORGETTING: readonly Shape[] = ['outages', 'outages', 'outages', 'beginnings', 'reboots'];
type Storm = Shape | 'partitions';
const STORMS_OF: Record<ViewShape, readonly Storm[]> = {
  storm: STORMS,
  steady: STORMS,
  split: STORMS,
  forgetful: FORGETTING,
  sundered: ['partitions', 'partitions', 'partitions', 'beginnings', 'outages'],
  lagging: ['partitions', 'partitions', 'partitions', 'refits', 'outages'],
  rivals: ['partitions', 'partitions', 'partitions', 'beginnings', 'curious'],
  floors: ['overtaking', 'comebacks', 'comebacks', 'refits', 'curious'],
  longer: ['partitions', 'partitions', 'refits', 'curious', 'swarm'],
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

interface Size {
  readonly members: number;
  readonly numbers: number;
  readonly nodes: number;
}

function sizeOf(shape: ViewShape, chooser: Chooser): Size {
  const isWide = shape === 'split' || shape === 'lagging' || (shape === 'floors' && chooser.below(2) === 0);
  const members = isWide ? 4 + chooser.below(2) : (([3, 3, 4] as const)[chooser.below(3)] as number);
  const numbers = members + 1 + chooser.below(2);
  return { members, numbers, nodes: numbers + (shape === 'sundered' || shape === 'lagging' || shape === 'rivals' ? 4 : 2) };
}

/** What the longest term may become. */
function termsOf(shape: ViewShape): number[] {
  if (shape === 'longer') return [TERM_US / 4, TERM_US * 2, TERM_US * 4];
  return shape === 'steady' ? [TERM_US, TERM_US * 2] : [TERM_US / 2, TERM_US, TERM_US * 2];
}

interface Trouble {
  readonly shape: ViewShape;
  readonly storm: Storm;
  readonly tame: boolean;
  readonly scale: FaultScale;
}

function faultsOf(chooser: Chooser, { shape, storm, tame, scale }: Trouble): FaultPlan {
  const faults =
    shape === 'steady' ? calm(chooser) : storm === 'partitions' ? partitions(chooser, scale) : shapeFaults(storm, chooser, scale);
  if (tame) faults.wallStepEveryUs = faults.wallSetAtBootPpm = 0;
  // A round trip fits even the shortest terms.
  const latencyUsMax = shape === 'longer' ? LATENCY_US_MAX / 8 : LATENCY_US_MAX;
  faults.latencyUsMin = Math.min(faults.latencyUsMin, latencyUsMax / 2);
  faults.latencyUsSpread = Math.min(faults.latencyUsSpread, latencyUsMax / 2);
  return faults;
}

function planViews(chooser: Chooser, mutant: string | null): ViewsScenario {
  const asked = viewMutantNamed(mutant)?.shape;
  const shape = (asked !== undefined && chooser.below(8) > 0 ? asked : SHAPES[chooser.below(SHAPES.length)]) as ViewShape;
  const isSteady = shape === 'steady';
  const { members, numbers, nodes } = sizeOf(shape, chooser);
  const storm = STORMS_OF[shape][chooser.below(STORMS.length)] as Storm;
  const tame = shape !== 'floors' && storm !== 'reboots' && chooser.below(2) === 0;
  const rateErrorPpm = ([0, 1_000, 20_000] as const)[chooser.below(tame ? 2 : 3)] as number;
  const offsetUsMax = tame ? TERM_US * 0.4 : TERM_US * 4;
  const faults = faultsOf(chooser, { shape, storm, tame, scale: { termUs: TERM_US, ratePpmMax: rateErrorPpm, offsetUsMax } });
  const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread);
  const firstTermUs = shape === 'longer' ? TERM_US / 4 : TERM_US;
  const timing = deriveTiming({ maxTermUs: firstTermUs, rateErrorPpm, rttUs });
  const isForCaller = shape === 'forgetful' || shape === 'sundered' || shape === 'lagging' || shape === 'longer';
  const keptBy = shape === 'floors' || (!isForCaller && chooser.below(2) === 0) ? 'disk' : 'caller';
  const kept = keptBy === 'disk' ? (['votes', 'floor'] as const)[chooser.below(2)] : undefined;
  if (kept !== undefined) {
    // A data directory serves one process at a time.
    faults.twinPpm = 0;
    faults.keepDiskPpm = MILLION;
  }
  const clients = nodes - numbers;
  const handles = Array.from({ length: nodes }, (_, node) => (node < numbers ? chooser.below(2) : 1 + chooser.below(2)));
  const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
  const names = isSteady ? handlesInAll : 1 + chooser.below(2);
  const resources = Array.from({ length: names }, (_, i): ModeResource => ({ text: `r${i}`, bytes: encodeName(`r${i}`), slots: 0 }));
  const splits = shape === 'split' || shape === 'lagging' || chooser.below(3) === 0;
  const changesOwed = isSteady ? 2 : 0;
  const livenessUs = (handlesInAll * 8 + 40 + changesOwed * 30) * TERM_US;
  const isStored = keptBy === 'caller' && (isSteady || chooser.below(shape === 'forgetful' || shape === 'sundered' ? 2 : 4) > 0);
  return {
    nodes,
    units: 0,
    faults,
    termUs: TERM_US,
    safetyUs: TERM_US * (isSteady ? 1 : 10 + chooser.below(storm === 'partitions' ? 40 : 16)),
    livenessUs,
    config: {
      members: numbers,
      core: {
        memberKeys: memberKeysOf(members),
        memberNumbers: numbers,
        replication: splits && shape !== 'storm' && members > 3 ? 2 + chooser.below(2) : members,
        timing,
        floorBuckets: 4,
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
        usesMax: isSteady ? 24 : 6,
        mayLose: !isSteady,
      },
      handles,
      keeps: kept === undefined ? [] : Array.from({ length: numbers }, () => kept),
      fenced: tame || kept !== undefined,
      storeUsMax: isStored ? 1 + chooser.below(TERM_US) : Infinity,
      negligent: Array.from({ length: numbers }, (_, node) => node).filter(
        () => (shape === 'lagging' || shape === 'longer') && chooser.below(3) === 0,
      ),
      administrators: isSteady
        ? [nodes - 1]
        : Array.from({ length: nodes }, (_, node) => node).filter((node) => node >= nodes - clients || chooser.below(2) === 0),
      changesPpm: isSteady ? 0 : shape === 'rivals' ? 900_000 : 300_000,
      changesOwed,
      termsUs: termsOf(shape),
      termOften: shape === 'longer',
      splits,
      stored: new Map(),
    },
  };
}
