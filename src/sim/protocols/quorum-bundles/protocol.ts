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
import { shapeFaults } from '../quorum/shapes.ts';
import { BUNDLE_MUTANTS, bundleMutantNamed, bundleRulesOf } from './mutants.ts';
import { BundlesUser } from './user.ts';

type ModesScenario = ReturnType<typeof modesProtocol.plan>;
type ViewsScenario = ReturnType<typeof viewsProtocol.plan>;

interface BundlesWorld {
  readonly members: number;
  /** The world that it is otherwise; one of the two. */
  readonly modes: ModesScenario | null;
  readonly views: ViewsScenario | null;
  readonly kept: number;
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
    { config: { modes, views, kept }, termUs, livenessUs }: BundlesScenario,
    core: QuorumCore,
    desk: Desk<QuorumCommand>,
  ): User<QuorumEvent> {
    const applications = modes ? modesProtocol.user(modes, core, desk) : viewsProtocol.user(views as ViewsScenario, core, desk);
    return new BundlesUser({ kept, maxTermUs: termUs, waitUs: livenessUs }, applications, core, desk);
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
  const isViews = asked?.shape === 'views' ? chooser.below(8) > 0 : chooser.below(asked === undefined ? 5 : 12) === 0;
  const kept = 1 + chooser.below(3);
  if (isViews) {
    const views = viewsProtocol.plan(chooser, null);
    const { nodes, units, faults, termUs, safetyUs, livenessUs } = views;
    return {
      nodes,
      units,
      faults,
      termUs,
      safetyUs,
      livenessUs,
      config: { members: views.config.members, modes: null, views: longer(views), kept },
    };
  }
  const modes = longer(modesProtocol.plan(chooser, null));
  const { nodes, units, termUs, safetyUs, livenessUs, config } = modes;
  const { habits, core, members } = config;
  const all = asked?.habit === undefined || habits.habits.includes(asked.habit) ? habits.habits : [...habits.habits, asked.habit];
  const shape = asked?.shape;
  let { faults } = modes;
  const isMade = shape !== undefined && shape !== 'views' && chooser.below(4) > 0;
  if (isMade) {
    const { ratePpmMax, offsetUsMax } = faults;
    const { latencyUsMin, latencyUsSpread } = faults;
    faults = { ...shapeFaults(shape, chooser, { termUs, ratePpmMax, offsetUsMax }), latencyUsMin, latencyUsSpread };
  }
  const keeps = asked?.keeps === undefined ? config.keeps : Array.from({ length: members }, () => asked.keeps as Keeps);
  if (keeps.length > 0) Object.assign(faults, { twinPpm: 0, keepDiskPpm: MILLION });
  // A shape of its own keeps nobody in order, and sets wall clocks as it likes.
  const own = isMade ? { orderly: false, fenced: keeps.length > 0 } : {};
  const world = { ...config, keeps, ...own, core, habits: { ...habits, habits: all, ...(isMade ? { orderly: false } : {}) } };
  return {
    nodes,
    units,
    faults,
    termUs,
    safetyUs,
    livenessUs,
    config: { members, modes: { ...modes, faults, config: world }, views: null, kept },
  };
}

/** Leases are kept for longer than in other worlds: they are to be renewed more than once. */
function longer<S extends ModesScenario | ViewsScenario>(scenario: S): S {
  const { config } = scenario;
  const changed = 'habits' in config ? { habits: { ...config.habits, usesMax: 20 } } : { modes: { ...config.modes, usesMax: 20 } };
  return { ...scenario, config: { ...config, ...changed } };
}
