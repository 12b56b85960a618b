/** Worlds of the quorum engine as settings of a stage, and back: what is drawn for the simulator can be said in the first line of a script. */
import { encodeName, hashName, spanUs, TenureError } from '../../../kernel/index.ts';
import { deriveTiming, stretch, type Keeps, type SuccessionMode } from '../../../core/index.ts';
import { noFaults } from '../../faults.ts';
import type { Scenario } from '../../protocol.ts';
import { formatSpan } from '../../stage/actions.ts';
import { settingCount, settingIsOn, settingPpm, settingSpanUs, settingWord } from '../../stage/settings.ts';
import type { Settings } from '../../stage/staging.ts';
import { ASKER_NAMES, VOTER_NAMES } from '../../stage/words.ts';
import { votersIn, votersText } from '../leases/staging.ts';
import type { QuorumWorld } from './protocol.ts';

/** An attempt of 0 is whatever the engine derives from the round trip; 0 voters are all acceptors. */
export const QUORUM_DEFAULTS: Settings = {
  acceptors: '3',
  proposers: '2',
  voters: '0',
  term: '3s',
  rtt: '2ms',
  rate: '0ppm',
  attempt: '0s',
  keeps: 'nothing',
  floors: '1',
  new: 'no',
  fencing: 'yes',
  order: 'no',
  succession: 'none',
};

export function quorumScenario(settings: Settings): Scenario<QuorumWorld> {
  const members = settingCount(settings, 'acceptors', 1, VOTER_NAMES.length);
  const proposers = settingCount(settings, 'proposers', 0, ASKER_NAMES.length);
  const termUs = settingSpanUs(settings, 'term');
  const attemptUs = settingSpanUs(settings, 'attempt');
  const rateErrorPpm = settingPpm(settings, 'rate');
  const derived = deriveTiming({ maxTermUs: termUs, rateErrorPpm, rttUs: settingSpanUs(settings, 'rtt') });
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
      core: {
        memberKeys,
        replication: votersIn(settings, members),
        timing,
        floorBuckets: settingCount(settings, 'floors', 1, 1024),
        ...successionIn(settings),
      },
      habits: {
        handles: 0,
        resources: [],
        maxTermUs: termUs,
        lapseOnly: false,
        rush: false,
        trying: false,
        livenessUs: 0,
        watches: true,
        releasesLater: false,
        extras: true,
        renews: true,
        brief: false,
        tellsBeliefs: false,
        silenceUs: timing.silenceUs,
        restarted: false,
        bootstraps: settingIsOn(settings, 'new'),
        isMember: false,
        opened: { asked: false },
      },
      // Waiters are served in order only while they answer in time: a script that judges it sees to that.
      orderly: settingIsOn(settings, 'order'),
      handles: [],
      keeps: keepsIn(settings, members),
      // Tokens rise only while wall clocks keep to the bound of rule 18; a script that sets them far apart says fencing=no.
      fenced: settingIsOn(settings, 'fencing'),
    },
  };
}

export function quorumSettings({ nodes, config }: Scenario<QuorumWorld>): Settings {
  const { members, core, fenced, keeps, habits, orderly } = config;
  return {
    acceptors: String(members),
    proposers: String(nodes - members),
    voters: votersText(core.replication, members),
    keeps: keepsText(keeps),
    floors: String(core.floorBuckets),
    new: habits.bootstraps ? 'yes' : 'no',
    order: orderly ? 'yes' : 'no',
    term: formatSpan(core.timing.maxTermUs),
    rtt: formatSpan(core.timing.rttUs),
    rate: `${core.timing.rateErrorPpm}ppm`,
    fencing: fenced ? 'yes' : 'no',
    succession: core.succession ?? 'none',
  };
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
