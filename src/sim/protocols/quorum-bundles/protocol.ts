/** Worlds of the quorum engine in which kept leases are renewed in bulk, with all else mixed in: modes, slots, hand-over, restarts, kept votes, views. */
import type { Chooser } from '../../../kernel/index.ts';
import {
  ACCEPTED,
  PROMISED,
  QuorumCore,
  RENEWED,
  type Boot,
  type Keeps,
  type QuorumCommand,
  type QuorumEvent,
  type QuorumMessage,
} from '../../../core/index.ts';
import type { Referee } from '../../../check/index.ts';
import { quorumCodec } from '../../../wire/index.ts';
import type { Desk, Scenario, SimProtocol, User } from '../../protocol.ts';
import { LEASE_WORDS } from '../leases/words.ts';
import { modesProtocol } from '../quorum-modes/protocol.ts';
import { viewsProtocol } from '../quorum-views/protocol.ts';
import { describeQuorumMessage } from '../quorum/protocol.ts';
import type { Shape } from '../quorum/mutants.ts';
import { shapeFaults } from '../quorum/shapes.ts';
import { BUNDLE_MUTANTS, bundleMutantNamed, bundleRulesOf } from './mutants.ts';
import { BUNDLE_SHAPES, planSteadfast, type BundleShape } from './shapes.ts';
import { planUnaware } from './unaware.ts';
import { BundlesUser } from './user.ts';

type ModesScenario = ReturnType<typeof modesProtocol.plan>;
type ViewsScenario = ReturnType<typeof viewsProtocol.plan>;

interface BundlesWorld {
  readonly members: number;
  /** The world that it is otherwise; one of the two. */
  readonly modes: ModesScenario | null;
  readonly views: ViewsScenario | null;
  readonly kept: number;
  readonly alike: boolean;
  readonly churns: boolean;
}

type BundlesScenario = Scenario<BundlesWorld>;

const MILLION = 1_000_000;

export const bundlesProtocol: SimProtocol<QuorumMessage, QuorumCommand, QuorumEvent, BundlesWorld, QuorumCore> = {
  name: 'quorum-bundles',
  summary: "the product's own engine while kept leases are renewed in bulk",
  mutants: BUNDLE_MUTANTS,
  sometimes: [
    ...modesProtocol.sometimes,
    ...viewsProtocol.sometimes.filter(({ name }) => !modesProtocol.sometimes.some((one) => one.name === name)),
    { name: 'renewed-in-bulk', description: 'a lease was renewed with its bundle' },
    { name: 'bundle-repaired', description: 'a holder looked at what a voter has in a bundle, because they did not agree' },
  ],
  codec: quorumCodec(),
  plan: planBundles,

  core({ config: { modes, views } }: BundlesScenario, boot: Boot, mutant: string | null): QuorumCore {
    const rules = bundleRulesOf(mutant);
    const keepsOf = (keeps: readonly Keeps[]): Keeps => keeps[boot.self] ?? 'nothing';
    if (modes) return new QuorumCore({ ...modes.config.core, keeps: keepsOf(modes.config.keeps), bundles: true }, boot, rules);
    const { config } = views as ViewsScenario;
    if (boot.incarnation === 1) config.stored.clear();
    const view = config.stored.get(boot.self);
    return new QuorumCore({ ...config.core, keeps: keepsOf(config.keeps), view, bundles: true }, boot, rules);
  },

  user(
    { config: { modes, views, kept, alike, churns }, termUs, livenessUs }: BundlesScenario,
    core: QuorumCore,
    desk: Desk<QuorumCommand>,
  ): User<QuorumEvent> {
    const applications = modes ? modesProtocol.user(modes, core, desk) : viewsProtocol.user(views as ViewsScenario, core, desk);
    return new BundlesUser({ kept, alike, churns, maxTermUs: termUs, waitUs: livenessUs }, applications, core, desk);
  },

  referees: ({ config: { modes, views } }: BundlesScenario, sometimes: (name: string) => void): Referee[] =>
    modes ? modesProtocol.referees(modes, sometimes) : viewsProtocol.referees(views as ViewsScenario, sometimes),

  isVote: ({ kind }: QuorumMessage): boolean => kind === ACCEPTED || kind === PROMISED || kind === RENEWED,
  describeMessage: describeQuorumMessage,
  ...LEASE_WORDS,
  smaller: () => [],
};

function planBundles(chooser: Chooser, mutant: string | null): BundlesScenario {
  const asked = bundleMutantNamed(mutant);
  const shape = asked?.shape;
  const isViews = shape === 'views' ? chooser.below(8) > 0 : chooser.below(asked === undefined ? 5 : 12) === 0;
  const kept = 1 + chooser.below(3);
  if (isViews) {
    const isUnaware = chooser.below(6) < (shape === 'views' ? 5 : 1);
    const views = isUnaware ? planUnaware(chooser) : longer(viewsProtocol.plan(chooser, null));
    const keeps = { kept: isUnaware ? 0 : kept, alike: false, churns: false };
    return { ...worldOf(views), config: { members: views.config.members, modes: null, views, ...keeps } };
  }
  const own = BUNDLE_SHAPES[chooser.below(12)];
  const drawn = shape !== undefined && shape !== 'views' && chooser.below(4) > 0 ? shape : own;
  const alike = isOfBundles(drawn);
  const modes = alike ? planSteadfast(drawn, chooser) : planMixed(drawn, asked, chooser);
  const churns = drawn === 'renumbered';
  return { ...worldOf(modes), config: { members: modes.config.members, modes, views: null, kept, alike, churns } };
}

function isOfBundles(shape: Shape | BundleShape | undefined): shape is BundleShape {
  return BUNDLE_SHAPES.some((one) => one === shape);
}

function worldOf({
  nodes,
  units,
  faults,
  cuts = [],
  termUs,
  safetyUs,
  livenessUs,
}: ModesScenario | ViewsScenario): Omit<BundlesScenario, 'config'> {
  return { nodes, units, faults, cuts, termUs, safetyUs, livenessUs };
}

/** Everything that leases can do, in the swarm or in worlds of one kind of trouble. */
function planMixed(shape: Shape | undefined, asked: ReturnType<typeof bundleMutantNamed>, chooser: Chooser): ModesScenario {
  const drawn = longer(modesProtocol.plan(chooser, null));
  const modes = asked?.keeps === undefined ? drawn : withKept(drawn, asked.keeps);
  const world = shape === undefined ? modes : inShape(modes, shape, chooser);
  const { config } = world;
  const { habits } = config.habits;
  const all = asked?.habit === undefined || habits.includes(asked.habit) ? habits : [...habits, asked.habit];
  return { ...world, config: { ...config, habits: { ...config.habits, habits: all } } };
}

function withKept(scenario: ModesScenario, keeps: Keeps): ModesScenario {
  const { config, faults } = scenario;
  const all = Array.from({ length: config.members }, () => keeps);
  return { ...scenario, faults: { ...faults, twinPpm: 0, keepDiskPpm: MILLION }, config: { ...config, keeps: all, fenced: true } };
}

/** The same cell with other faults. Waiters are not kept in order there, and wall clocks are as the shape has them. */
function inShape(scenario: ModesScenario, shape: Shape, chooser: Chooser): ModesScenario {
  const { config, faults: before, termUs } = scenario;
  const isKept = config.keeps.length > 0;
  const { latencyUsMin, latencyUsSpread, ratePpmMax, offsetUsMax } = before;
  const faults = { ...shapeFaults(shape, chooser, { termUs, ratePpmMax, offsetUsMax }), latencyUsMin, latencyUsSpread };
  if (isKept) Object.assign(faults, { twinPpm: 0, keepDiskPpm: MILLION });
  return { ...scenario, faults, config: { ...config, habits: { ...config.habits, orderly: false }, orderly: false, fenced: isKept } };
}

/** Leases are kept for longer than in other worlds: they are to be renewed more than once. */
function longer<S extends ModesScenario | ViewsScenario>(scenario: S): S {
  const { config } = scenario;
  const changed = 'habits' in config ? { habits: { ...config.habits, usesMax: 20 } } : { modes: { ...config.modes, usesMax: 20 } };
  return { ...scenario, config: { ...config, ...changed } };
}
