/** Worlds of the quorum engine in which leases are more than exclusive and kept: what can end them early, how they are shared, and their heirs. */
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
} from '../../../core/index.ts';
import {
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  OrderReferee,
  RequestReferee,
  Unjudged,
  type Referee,
} from '../../../check/index.ts';
import { quorumCodec } from '../../../wire/index.ts';
import { LEASE_INTERESTS, LeaseInterest, WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, User } from '../../protocol.ts';
import { memberKeysOf, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import { LEASE_WORDS } from '../leases/words.ts';
import type { Shape } from '../quorum/mutants.ts';
import { describeQuorumMessage } from '../quorum/protocol.ts';
import { shapeFaults } from '../quorum/shapes.ts';
import { MODE_MUTANTS, mutantNamed, rulesWithout, type Habit } from './mutants.ts';
import { ModesUser, type ModeHabits, type ModeResource } from './user.ts';

const TERM_US = 1_000_000;
const LATENCY_US_MAX = 20_000;
const MILLION = 1_000_000;

export interface ModesWorld {
  readonly members: number;
  readonly core: QuorumConfig;
  readonly habits: Omit<ModeHabits, 'handles'>;
  /** How many handles each node has. */
  readonly handles: readonly number[];
  /** What each member keeps on its disk. */
  readonly keeps: readonly Keeps[];
  readonly orderly: boolean;
  readonly fenced: boolean;
}

type ModesScenario = Scenario<ModesWorld>;

export const modesProtocol: SimProtocol<QuorumMessage, QuorumCommand, QuorumEvent, ModesWorld, QuorumCore> = {
  name: 'quorum-modes',
  summary: "what the product's own engine can do beside plain exclusive leases",
  mutants: MODE_MUTANTS,
  sometimes: [
    ...LEASE_INTERESTS,
    ...WORLD_INTERESTS,
    { name: 'waiter-served', description: 'a lease was granted to one that had waited in the queues' },
    { name: 'release-later', description: 'a lease was given back as of a later time' },
    { name: 'reached-max-hold', description: 'a lease ended because it was held for as long as it may be' },
    { name: 'renewal-allowed', description: 'a holder was asked before a renewal, and said to go on' },
    { name: 'renewal-denied', description: 'a holder was asked before a renewal, and did not want it' },
    { name: 'shared-grant', description: 'a lease was granted to a reader' },
    { name: 'readers-together', description: 'two readers of one process held a name at once' },
    { name: 'upgraded', description: 'a reader became the only one' },
    { name: 'upgrade-waited', description: 'a reader became the only one after it had waited for others' },
    { name: 'upgrade-refused-held', description: 'an upgrade was refused because of other readers' },
    { name: 'upgrade-refused-upgrading', description: 'an upgrade was refused because another reader waits for the same' },
    { name: 'downgraded', description: 'the only one became a reader' },
    { name: 'wanted', description: 'a holder was told that somebody waits' },
    { name: 'slot-grant', description: 'one of several slots was granted' },
    { name: 'other-slot', description: 'another slot was granted than the one that was asked for first' },
    { name: 'quarantine', description: 'a slot was given back that has to rest' },
    { name: 'handed-over', description: 'a lease was handed over to another process that waited' },
    { name: 'handed-to-named', description: 'a lease was handed over to a waiter that its holder had chosen' },
    { name: 'heir-died', description: 'a lease was handed over to a process that died soon after' },
    {
      name: 'too-few-ready',
      description: 'a lease was offered while others waited, and kept because too few voters had the heir’s proposal',
    },
    { name: 'nobody-to-hand-to', description: 'a lease was offered, and kept because nobody waited' },
    { name: 'renewal-unanswered', description: 'a holder was asked before a renewal, and did not answer' },
  ],
  codec: quorumCodec(),
  plan: planModes,

  core({ config }: ModesScenario, boot: Boot, mutant: string | null): QuorumCore {
    return new QuorumCore({ ...config.core, keeps: config.keeps[boot.self] ?? 'nothing' }, boot, rulesWithout(mutant));
  },

  user({ config }: ModesScenario, core: QuorumCore, desk: Desk<QuorumCommand>): User<QuorumEvent> {
    return new ModesUser({ ...config.habits, handles: config.handles[desk.node] ?? 0 }, core, desk);
  },

  referees: ({ config }: ModesScenario, sometimes: (name: string) => void): Referee[] => [
    new ExclusionReferee(),
    ...(config.fenced ? [new FencingReferee()] : []),
    config.orderly ? new OrderReferee() : new Unjudged(['queued'], 'waiters keep their order only while they answer in time'),
    new DeadlineReferee(),
    new RequestReferee(),
    new LeaseInterest(sometimes),
  ],

  isVote: ({ kind }: QuorumMessage): boolean => kind === ACCEPTED || kind === PROMISED,
  describeMessage: describeQuorumMessage,
  ...LEASE_WORDS,
  smaller: () => [],
};

/** Beside the swarm. */
const SHAPES_DRAWN: readonly Shape[] = ['overtaking', 'reboots', 'comebacks', 'orderly', 'outlived', 'slow-disks'];

function drawShapeOf(chooser: Chooser, mutant: string | null): Shape {
  const asked = mutantNamed(mutant)?.shape;
  if (asked && chooser.below(4) > 0) return asked;
  return SHAPES_DRAWN[chooser.below(12)] ?? 'swarm';
}

function drawHabits(chooser: Chooser, mutant: string | null): Habit[] {
  const asked = mutantNamed(mutant)?.habit;
  const all: readonly Habit[] = ['ends', 'shared', 'slots', 'hands'];
  return all.filter((habit) => habit === asked || (asked === undefined ? chooser.below(4) > 0 : chooser.below(3) === 0));
}

function drawKeepsOf(chooser: Chooser, shape: Shape, members: number, mutant: string | null): Keeps[] {
  const asked = mutantNamed(mutant)?.keeps;
  const drawn = (['votes', 'floor'] as const)[chooser.below(shape === 'comebacks' || shape === 'slow-disks' ? 2 : 8)];
  const keeps = asked ?? (shape === 'orderly' || shape === 'outlived' ? undefined : drawn);
  return keeps === undefined ? [] : Array.from({ length: members }, () => keeps);
}

function planModes(chooser: Chooser, mutant: string | null): ModesScenario {
  const shape = drawShapeOf(chooser, mutant);
  const members = [3, 3, 3, 5, 4][chooser.below(5)] as number;
  const nodes = members + 1 + chooser.below(3);
  const tame = shape !== 'reboots' && chooser.below(2) === 0;
  const rateErrorPpm = (tame ? [0, 1_000] : [0, 1_000, 20_000, 100_000])[chooser.below(tame ? 2 : 4)] as number;
  const offsetUsMax = tame ? TERM_US * 0.4 : TERM_US * 4;
  const faults = shapeFaults(shape, chooser, { termUs: TERM_US, ratePpmMax: rateErrorPpm, offsetUsMax });
  if (shape === 'outlived') faults.outlivedNodes = members;
  if (tame) faults.wallStepEveryUs = faults.wallSetAtBootPpm = 0;
  faults.latencyUsMin = Math.min(faults.latencyUsMin, LATENCY_US_MAX / 2);
  faults.latencyUsSpread = Math.min(faults.latencyUsSpread, LATENCY_US_MAX / 2);
  const keeps = drawKeepsOf(chooser, shape, members, mutant);
  if (keeps.length > 0) {
    // A data directory serves one process at a time.
    faults.twinPpm = 0;
    faults.keepDiskPpm = MILLION;
  }
  const names = 1 + chooser.below(2);
  const handles = Array.from({ length: nodes }, () => 1 + chooser.below(2));
  const habits = drawHabits(chooser, mutant);
  const resources = Array.from({ length: names }, (_, i): ModeResource => {
    const hasSlots = habits.includes('slots') && (!habits.includes('shared') || chooser.below(2) === 0);
    return { text: `r${i}`, bytes: encodeName(`r${i}`), slots: hasSlots ? 1 + chooser.below(4) : 0 };
  });
  const slowestUs = shape === 'slow-disks' ? faults.storageUsSpread : 0;
  const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread) + slowestUs;
  const timing = deriveTiming({ maxTermUs: TERM_US, rateErrorPpm, rttUs });
  const livenessUs = (handles.reduce((sum, count) => sum + count, 0) * 6 + 20) * TERM_US;
  const replication = members === 5 && chooser.below(2) === 0 ? 3 : members;
  return {
    nodes,
    units: 0,
    faults,
    termUs: TERM_US,
    safetyUs: TERM_US * (4 + chooser.below(12)),
    livenessUs,
    config: {
      members,
      core: {
        memberKeys: memberKeysOf(members),
        replication,
        timing,
        floorBuckets: 4,
        changeBuckets: WORLD_CHANGE_BUCKETS,
        placesMin: 1 << chooser.below(3),
        succession: chooser.below(3) === 0 ? 'strict' : 'majority',
      },
      habits: {
        resources,
        maxTermUs: TERM_US,
        livenessUs,
        habits,
        nodes,
        orderly: shape === 'orderly',
        overlong: !rulesWithout(mutant).quarantineFits,
      },
      handles,
      keeps,
      orderly: shape === 'orderly',
      fenced: tame || keeps.length > 0,
    },
  };
}
