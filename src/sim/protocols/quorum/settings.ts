/** Worlds of the quorum engine as settings of a stage, and back: a world drawn for the simulator can be said in the first line of a script. */
import { TenureError } from '../../../kernel/index.ts';
import { deriveTiming, type Keeps, type SuccessionMode } from '../../../core/index.ts';
import type { Scenario } from '../../protocol.ts';
import { settingCount, settingIsOn, settingWord } from '../../stage/settings.ts';
import { calmScenario, type Settings } from '../../stage/staging.ts';
import { plainHabits, WORLD_CHANGE_BUCKETS } from '../leases/habits.ts';
import { LEASE_DEFAULTS, leaseCell, leaseCellSettings, withAttempts } from '../leases/staging.ts';
import type { QuorumWorld } from './protocol.ts';

/** 0 places are as many as the engine makes of itself. */
export const QUORUM_DEFAULTS: Settings = {
  ...LEASE_DEFAULTS,
  keeps: 'nothing',
  floors: '1',
  places: '0',
  new: 'no',
  order: 'no',
  succession: 'none',
};

export function quorumScenario(settings: Settings): Scenario<QuorumWorld> {
  const { members, nodes, memberKeys, replication, ...said } = leaseCell(settings);
  const timing = withAttempts(deriveTiming(said), settings);
  const floorBuckets = settingCount(settings, 'floors', 1, 1024);
  return calmScenario(nodes, said.maxTermUs, {
    members,
    core: {
      memberKeys,
      replication,
      timing,
      floorBuckets,
      changeBuckets: WORLD_CHANGE_BUCKETS,
      ...placesIn(settings),
      ...successionIn(settings),
    },
    habits: { ...plainHabits(said.maxTermUs, timing.silenceUs), extras: true, bootstraps: settingIsOn(settings, 'new') },
    // Waiters are served in order only while they answer in time: a script that judges it sees to that.
    orderly: settingIsOn(settings, 'order'),
    handles: [],
    keeps: keepsIn(settings, members),
    // Tokens rise only while wall clocks keep to the bound of rule 18; a script that sets them far apart says fencing=no.
    fenced: settingIsOn(settings, 'fencing'),
  });
}

export function quorumSettings(scenario: Scenario<QuorumWorld>): Settings {
  const { core, fenced, keeps, habits, orderly } = scenario.config;
  return {
    ...leaseCellSettings(scenario),
    keeps: keepsText(keeps),
    floors: String(core.floorBuckets),
    // Only members that keep votes have places.
    places: String(keeps.includes('votes') ? (core.placesMin ?? 0) : 0),
    new: habits.bootstraps ? 'yes' : 'no',
    order: orderly ? 'yes' : 'no',
    fencing: fenced ? 'yes' : 'no',
    succession: core.succession ?? 'none',
  };
}

/** How many places for votes a disk has at first: where there are few, one vote more is two writes. */
function placesIn(settings: Settings): { readonly placesMin?: number } {
  const placesMin = settingCount(settings, 'places', 0, 1024);
  return placesMin === 0 ? {} : { placesMin };
}

/** How members take the place of their earlier lives; `none` where a script sees to it that there is one process of each. */
function successionIn(settings: Settings): { readonly succession?: SuccessionMode } {
  const word = settingWord(settings, 'succession', ['none', 'majority', 'strict']);
  return word === 'none' ? {} : { succession: word };
}

const KEEPS: readonly Keeps[] = ['nothing', 'floor', 'votes'];

/** What each member keeps: one word for all, or one for each, with commas. */
function keepsIn(settings: Settings, members: number): Keeps[] {
  const words = (settings['keeps'] ?? 'nothing').split(',');
  if (words.length > 1 && words.length !== members)
    throw new TenureError('TENURE_BAD_ARGUMENT', `keeps is one word for all ${members} members or one for each, not ${words.length}`);
  return Array.from({ length: members }, (_, member) => {
    const word = words.length === 1 ? words[0] : words[member];
    const keeps = KEEPS.find((one) => one === word);
    if (keeps) return keeps;
    throw new TenureError('TENURE_BAD_ARGUMENT', `keeps is one of ${KEEPS.join(', ')}, or one for each member with commas, not '${word}'`);
  });
}

function keepsText(keeps: readonly Keeps[]): string {
  const [first = 'nothing'] = keeps;
  return keeps.every((one) => one === first) ? first : keeps.join(',');
}
