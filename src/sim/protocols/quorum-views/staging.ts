/** A cell whose members change, on a stage: acceptors a, b, c, …, the first so many of which are its members at first, and proposers p, q, …. */
import { deriveTiming, type QuorumCommand, type QuorumCore, type QuorumEvent } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import { settingCount, settingIsOn } from '../../stage/settings.ts';
import { calmScenario, type Settings, type Staging } from '../../stage/staging.ts';
import { shortName } from '../../stage/words.ts';
import { memberKeysOf, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import { LEASE_DEFAULTS, leaseCell, withAttempts } from '../leases/staging.ts';
import { VIEW_VERBS, ViewsActor } from './actor.ts';
import type { ViewsWorld } from './worlds.ts';

/** 0 founders are all acceptors. The operator of a member stores views: a line says so. `floors`: how many buckets names have for the highest token there was. */
const VIEWS_DEFAULTS: Settings = { ...LEASE_DEFAULTS, founders: '0', floors: '1' };

const FLOORS_MAX = 1024;

export const viewsStaging: Staging<QuorumCommand, QuorumEvent, ViewsWorld, QuorumCore> = {
  defaults: VIEWS_DEFAULTS,
  verbs: VIEW_VERBS,
  scenario: viewsScenario,
  nodeName: ({ config }: Scenario<ViewsWorld>, node: number): string => shortName(config.members, node),
  latencyUs: ({ config }: Scenario<ViewsWorld>): number => Math.ceil(config.core.timing.rttUs / 2),
  actor: (_scenario: Scenario<ViewsWorld>, core: QuorumCore, desk: Desk<QuorumCommand>): ViewsActor => new ViewsActor(core, desk),
};

function viewsScenario(settings: Settings): Scenario<ViewsWorld> {
  const { members, nodes, replication, ...said } = leaseCell(settings);
  const founders = settingCount(settings, 'founders', 0, members) || members;
  const { maxTermUs } = said;
  return calmScenario(nodes, maxTermUs, {
    members,
    core: {
      memberKeys: memberKeysOf(founders),
      memberNumbers: members,
      replication: Math.min(replication, founders),
      timing: withAttempts(deriveTiming(said), settings),
      floorBuckets: settingCount(settings, 'floors', 1, FLOORS_MAX),
      changeBuckets: WORLD_CHANGE_BUCKETS,
      viewsKeptBy: 'caller',
    },
    fenced: settingIsOn(settings, 'fencing'),
    keeps: [],
    stored: new Map(),
    // No node does anything by itself.
    modes: { resources: [], maxTermUs, livenessUs: 0, habits: [], nodes, orderly: false },
    handles: [],
    storeUsMax: Infinity,
    negligent: [],
    administrators: [],
    changesPpm: 0,
    changesOwed: 0,
    termsUs: [],
    termOften: false,
    splits: false,
    moves: 'some',
    planned: [],
    newcomersLate: false,
    newcomersIdle: false,
  });
}
