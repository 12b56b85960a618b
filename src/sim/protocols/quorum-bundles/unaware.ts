/**
 * A world in which members are replaced while a client only renews its leases, in bulk: nothing tells it of the next view but answers to its rounds. Members
 * are cut off for a term or more, one after the other, so their votes of the view before have run out when they are back.
 */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import { deriveTiming } from '../../../core/index.ts';
import { noFaults } from '../../faults.ts';
import { memberKeysOf } from '../leases/habits.ts';
import { viewsProtocol } from '../quorum-views/protocol.ts';

type ViewsScenario = ReturnType<typeof viewsProtocol.plan>;

const TERM_US = 1_000_000;
const RTT_US = 10_000;
const MEMBERS = 3;
/** Of members there ever are, and of clients; the last client changes the cell. */
const NUMBERS = 5;
const CLIENTS = 4;

export function planUnaware(chooser: Chooser): ViewsScenario {
  const drawn = viewsProtocol.plan(chooser, null);
  const nodes = NUMBERS + CLIENTS;
  const livenessUs = (CLIENTS * 12 + 60) * TERM_US;
  const cuts = { cutEveryUs: TERM_US + chooser.below(TERM_US), cutUsMax: TERM_US * 2 + chooser.below(TERM_US) };
  return {
    nodes,
    units: 0,
    faults: { ...noFaults(), ...cuts },
    termUs: TERM_US,
    safetyUs: TERM_US * (30 + chooser.below(30)),
    livenessUs,
    config: {
      ...drawn.config,
      members: NUMBERS,
      core: {
        ...drawn.config.core,
        memberKeys: memberKeysOf(MEMBERS),
        memberNumbers: NUMBERS,
        replication: MEMBERS,
        timing: deriveTiming({ maxTermUs: TERM_US, rateErrorPpm: 0, rttUs: RTT_US }),
        viewsKeptBy: 'caller',
      },
      modes: {
        resources: [{ text: 'r0', bytes: encodeName('r0'), slots: 0 }],
        maxTermUs: TERM_US,
        livenessUs,
        habits: [],
        nodes,
        orderly: false,
        usesMax: 150,
        mayLose: true,
        steadfast: true,
      },
      handles: Array.from({ length: nodes }, (_, node) => (node >= NUMBERS && node < nodes - 1 ? 1 : 0)),
      keeps: [],
      fenced: true,
      storeUsMax: 1 + chooser.below(TERM_US / 10),
      negligent: [],
      administrators: [nodes - 1],
      changesPpm: 500_000,
      changesOwed: 0,
      termsUs: [TERM_US],
      termOften: false,
      splits: false,
      moves: 'some',
      planned: [],
      newcomersLate: false,
      newcomersIdle: false,
      stored: new Map(),
    },
  };
}
