/** Worlds of Flease and PaxosLease as settings of a stage, and back: what is drawn for the simulator can be said in the first line of a script. */
import { encodeName, hashName, spanUs } from '../../../kernel/index.ts';
import { deriveRoundTiming, stretch } from '../../../core/index.ts';
import { noFaults } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';
import { formatSpan } from '../../stage/actions.ts';
import { settingCount, settingIsOn, settingPpm, settingSpanUs, settingWord } from '../../stage/settings.ts';
import type { Settings } from '../../stage/staging.ts';
import { ASKER_NAMES, VOTER_NAMES } from '../../stage/words.ts';
import { votersIn, votersText } from '../leases/staging.ts';
import type { RoundWorld } from './protocol.ts';

export type RoundEngine = RoundWorld['core']['engine'];

/** An attempt of 0 is whatever the engine derives from the round trip; 0 voters are all acceptors. `skew` is ε, or S. */
export function roundDefaults(engine: RoundEngine, clocks: 'absolute' | 'relative'): Settings {
  return {
    acceptors: '3',
    proposers: '2',
    voters: '0',
    term: '3s',
    rtt: '2ms',
    rate: '0ppm',
    clocks,
    skew: clocks === 'absolute' ? '200ms' : '0s',
    attempt: '0s',
    fencing: 'yes',
    ...(engine === 'flease' ? { algorithm: '4' } : { heard: 'no' }),
  };
}

export function roundScenario(engine: RoundEngine, settings: Settings): Scenario<RoundWorld> {
  const members = settingCount(settings, 'acceptors', 1, VOTER_NAMES.length);
  const proposers = settingCount(settings, 'proposers', 0, ASKER_NAMES.length);
  const termUs = settingSpanUs(settings, 'term');
  const attemptUs = settingSpanUs(settings, 'attempt');
  const rateErrorPpm = settingPpm(settings, 'rate');
  const algorithm = engine === 'flease' ? (Number(settingWord(settings, 'algorithm', ['2', '3', '4'])) as 2 | 3 | 4) : 4;
  const kept = settingWord(settings, 'clocks', ['absolute', 'relative']);
  const derived = deriveRoundTiming({
    maxTermUs: termUs,
    rateErrorPpm,
    rttUs: settingSpanUs(settings, 'rtt'),
    clocks: kept,
    skewUs: settingSpanUs(settings, 'skew'),
    skewsInSilence: engine === 'flease' ? 2 : 1,
  });
  const timing = attemptUs === 0 ? derived : { ...derived, attemptUs: spanUs(attemptUs), promiseUs: stretch(attemptUs, rateErrorPpm) };
  const memberKeys = Array.from({ length: members }, (_, member) => hashName(encodeName(`m${member}`), 0, 2));
  return {
    nodes: members + proposers,
    units: 0,
    faults: noFaults(),
    termUs,
    safetyUs: 0,
    livenessUs: 0,
    config: {
      members,
      core: { engine, algorithm, memberKeys, replication: votersIn(settings, members), timing },
      habits: {
        handles: 0,
        resources: [],
        maxTermUs: termUs,
        lapseOnly: false,
        rush: false,
        trying: false,
        livenessUs: 0,
        watches: engine === 'paxoslease',
        releasesLater: false,
        extras: false,
        speaks: true,
        renews: algorithm !== 2,
        brief: false,
        // Where nobody compares clocks, a learner that hears late believes for too long.
        tellsBeliefs: engine === 'paxoslease' && kept === 'absolute',
        silenceUs: timing.silenceUs,
        restarted: false,
        bootstraps: false,
        isMember: false,
        opened: { asked: false },
      },
      agrees: settingIsOn(settings, 'fencing'),
      releasesHeard: engine === 'paxoslease' && settingIsOn(settings, 'heard'),
      judgesDeadlines: true,
      handles: [],
    },
  };
}

export function roundSettings({ nodes, config }: Scenario<RoundWorld>): Settings {
  const { members, core, agrees, releasesHeard } = config;
  const { clocks, maxTermUs, rttUs, rateErrorPpm, skewUs } = core.timing;
  return {
    acceptors: String(members),
    proposers: String(nodes - members),
    voters: votersText(core.replication, members),
    term: formatSpan(maxTermUs),
    rtt: formatSpan(rttUs),
    rate: `${rateErrorPpm}ppm`,
    clocks,
    skew: formatSpan(skewUs),
    fencing: agrees ? 'yes' : 'no',
    ...(core.engine === 'flease' ? { algorithm: String(core.algorithm) } : { heard: releasesHeard ? 'yes' : 'no' }),
  };
}
