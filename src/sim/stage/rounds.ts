/** Flease and PaxosLease on a stage, made safe and to the letter: acceptors a, b, c, …, proposers p, q, …, the quorum engine's actor. */
import { encodeName, hashName, spanUs } from '../../kernel/index.ts';
import { deriveRoundTiming, stretch, type LeaseCommand, type LeaseEvent, type RoundCore, type RoundMessage } from '../../core/index.ts';
import { noFaults } from '../faults.ts';
import type { Desk, Scenario } from '../protocol.ts';
import {
  flease,
  fleaseLiteral,
  paxosLease,
  paxosLeaseLiteral,
  paxosLeaseSkewed,
  type RoundProtocol,
  type RoundWorld,
} from '../protocols/rounds.ts';
import { ACCEPTOR_NAMES, PROPOSER_NAMES, QuorumActor, votersIn } from './quorum.ts';
import { settingCount, settingIsOn, settingPpm, settingSpanUs, settingWord } from './settings.ts';
import type { Settings, Staging } from './staging.ts';

export type RoundStaging = Staging<RoundMessage, LeaseCommand, LeaseEvent, RoundWorld, RoundCore>;

const VERBS: readonly string[] = [
  'acquire NODE NAME TERM [wait SPAN] [keep] [saying TEXT]',
  'renew NODE NAME [TERM]',
  'release NODE NAME [in SPAN]',
  'cancel NODE NAME',
  'use NODE NAME',
  'query NODE NAME',
  'proclaim NODE NAME TEXT',
  'retime NODE SPAN',
  'paces NODE fine|fast|slow [MEMBER NUMBERS]',
];
const LEARNERS_VERBS: readonly string[] = ['watch NODE [PREFIX]', 'look NODE NAME'];
const NUMBERED = '(renew, release, cancel, use and proclaim take "lease N": the Nth acquire of the node, instead of its last of that name)';

function roundStaging(protocol: RoundProtocol, engine: 'flease' | 'paxoslease', clocks: 'absolute' | 'relative'): RoundStaging {
  const skew = clocks === 'absolute' ? '200ms' : '0s';
  const verbs = [...VERBS, ...(engine === 'paxoslease' ? LEARNERS_VERBS : []), NUMBERED];
  return {
    protocol,
    // An attempt of 0 is whatever the engine derives from the round trip; 0 voters are all acceptors. `skew` is ε, or S.
    defaults: {
      acceptors: '3',
      proposers: '2',
      voters: '0',
      term: '3s',
      rtt: '2ms',
      rate: '0ppm',
      clocks,
      skew,
      attempt: '0s',
      fencing: 'yes',
      ...(engine === 'flease' ? { algorithm: '4' } : { heard: 'no' }),
    },
    verbs,

    scenario(settings: Settings): Scenario<RoundWorld> {
      const members = settingCount(settings, 'acceptors', 1, ACCEPTOR_NAMES.length);
      const proposers = settingCount(settings, 'proposers', 0, PROPOSER_NAMES.length);
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
    },

    nodeName({ config }: Scenario<RoundWorld>, node: number): string {
      return (node < config.members ? ACCEPTOR_NAMES[node] : PROPOSER_NAMES[node - config.members]) ?? `n${node}`;
    },

    latencyUs: ({ config }: Scenario<RoundWorld>): number => Math.ceil(config.core.timing.rttUs / 2),
    actor: (_scenario: Scenario<RoundWorld>, core: RoundCore, desk: Desk<LeaseCommand>): QuorumActor =>
      new QuorumActor(core, desk, { verbs, releasesLater: true }),
  };
}

export const roundStagings: readonly RoundStaging[] = [
  roundStaging(flease, 'flease', 'absolute'),
  roundStaging(fleaseLiteral, 'flease', 'absolute'),
  roundStaging(paxosLease, 'paxoslease', 'relative'),
  roundStaging(paxosLeaseSkewed, 'paxoslease', 'absolute'),
  roundStaging(paxosLeaseLiteral, 'paxoslease', 'absolute'),
];
