/** Worlds of Flease and PaxosLease as settings of a stage, and back: a world drawn for the simulator can be said in the first line of a script. */
import { deriveRoundTiming } from '../../../core/index.ts';
import type { Scenario } from '../../protocol.ts';
import { formatSpan } from '../../stage/actions.ts';
import { settingIsOn, settingSpanUs, settingWord } from '../../stage/settings.ts';
import { calmScenario, type Settings } from '../../stage/staging.ts';
import { plainHabits } from '../leases/habits.ts';
import { LEASE_DEFAULTS, leaseCell, leaseCellSettings, withAttempts } from '../leases/staging.ts';
import type { RoundWorld } from './protocol.ts';

export type RoundEngineName = RoundWorld['core']['engine'];

/** `skew` is ε, or S. */
export function roundDefaults(engine: RoundEngineName, clocks: 'absolute' | 'relative'): Settings {
  const own: Settings = engine === 'flease' ? { algorithm: '4' } : { heard: 'no' };
  return { ...LEASE_DEFAULTS, clocks, skew: clocks === 'absolute' ? '200ms' : '0s', ...own };
}

export function roundScenario(engine: RoundEngineName, settings: Settings): Scenario<RoundWorld> {
  const { members, nodes, memberKeys, replication, ...said } = leaseCell(settings);
  const algorithm = engine === 'flease' ? (Number(settingWord(settings, 'algorithm', ['2', '3', '4'])) as 2 | 3 | 4) : 4;
  const clocks = settingWord(settings, 'clocks', ['absolute', 'relative']);
  const skewUs = settingSpanUs(settings, 'skew');
  const timing = withAttempts(deriveRoundTiming({ ...said, clocks, skewUs, skewsInSilence: engine === 'flease' ? 2 : 1 }), settings);
  const teaches = engine === 'paxoslease';
  return calmScenario(nodes, said.maxTermUs, {
    members,
    core: { engine, algorithm, memberKeys, replication, timing },
    habits: {
      ...plainHabits(said.maxTermUs, timing.silenceUs),
      watches: teaches,
      speaks: true,
      renews: algorithm !== 2,
      // Where no clocks are compared, a learner that hears late believes for too long.
      tellsBeliefs: teaches && clocks === 'absolute',
    },
    agrees: settingIsOn(settings, 'fencing'),
    releasesHeard: teaches && settingIsOn(settings, 'heard'),
    judgesDeadlines: true,
    handles: [],
  });
}

export function roundSettings(scenario: Scenario<RoundWorld>): Settings {
  const { core, agrees, releasesHeard } = scenario.config;
  const { clocks, skewUs } = core.timing;
  return {
    ...leaseCellSettings(scenario),
    clocks,
    skew: formatSpan(skewUs),
    fencing: agrees ? 'yes' : 'no',
    ...(core.engine === 'flease' ? { algorithm: String(core.algorithm) } : { heard: releasesHeard ? 'yes' : 'no' }),
  };
}
