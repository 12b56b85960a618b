/** The quorum engine in the simulator: members and clients, several names, two handles in a process, everything that can go wrong. */
import { encodeName, hashName, type Chooser } from '../../kernel/index.ts';
import {
  deriveTiming,
  KIND_NAMES,
  ACCEPTED,
  PROMISED,
  QuorumCore,
  REASONS,
  REFUSED,
  type Boot,
  type QuorumCommand,
  type QuorumConfig,
  type QuorumEvent,
  type QuorumMessage,
} from '../../core/index.ts';
import { DeadlineReferee, ExclusionReferee, FencingReferee, RequestReferee, type Referee } from '../../check/index.ts';
import { quorumCodec } from '../../wire/index.ts';
import { LEASE_INTERESTS, LeaseObserver, WORLD_INTERESTS } from '../interest.ts';
import type { Desk, Scenario, SimProtocol, User } from '../protocol.ts';
import { drawShape, isLiteral, QUORUM_MUTANTS, rulesOf } from './quorum-mutants.ts';
import { shapeFaults } from './quorum-shapes.ts';
import { QuorumUser, type QuorumHabits } from './quorum-user.ts';

const TERM_US = 1_000_000;
const LATENCY_US_MAX = 20_000;

interface QuorumWorld {
  readonly members: number;
  readonly core: QuorumConfig;
  readonly habits: QuorumHabits;
  readonly tame: boolean;
  /** How many handles each node has. */
  readonly handles: readonly number[];
}

type QuorumScenario = Scenario<QuorumWorld>;

export const quorum: SimProtocol<QuorumMessage, QuorumCommand, QuorumEvent, QuorumWorld, QuorumCore> = {
  name: 'quorum',
  summary: "the product's own engine: leases by a majority of peers, one round trip, relative terms",
  mutants: QUORUM_MUTANTS,
  sometimes: [
    ...LEASE_INTERESTS,
    ...WORLD_INTERESTS,
    { name: 'one-round-trip', description: 'an uncontended acquire took one round trip' },
    { name: 'grant-after-split', description: 'a lease was granted after the vote had split' },
    { name: 'waiter-served', description: 'a lease was granted to one that had waited in the queues' },
    { name: 'renewal-failed', description: 'a renewal found no quorum' },
    { name: 'release-acknowledged', description: 'a quorum answered a release' },
    { name: 'silence-over', description: 'a restarted member ended its silence' },
    { name: 'query-finds-holder', description: 'a question to a quorum named the holder' },
    { name: 'query-finds-nobody', description: 'a question to a quorum found the lease free' },
    { name: 'learned', description: 'a learner was told of a change' },
    { name: 'refused-held', description: 'a try was told who holds the lease' },
    { name: 'refused-contended', description: 'a try gave up after split votes' },
    { name: 'refused-queued', description: 'a try found others waiting' },
    { name: 'refused-silent', description: 'a try met silent members' },
    { name: 'refused-no-quorum', description: 'a try reached no quorum' },
    { name: 'refused-timeout', description: 'a wait ended' },
    { name: 'refused-cancelled', description: 'a request was cancelled' },
  ],
  codec: quorumCodec(),

  plan(chooser: Chooser, mutant: string | null): QuorumScenario {
    const literal = isLiteral(mutant);
    const shape = drawShape(chooser, mutant);
    const members = literal ? 3 : ([3, 3, 3, 5, 4][chooser.below(5)] as number);
    const clients = literal ? 2 + chooser.below(2) : chooser.below(3);
    const nodes = members + clients;
    // Fencing tokens rise across restarts only while wall clocks are within the silence of each other
    // (rule 18): in tame worlds they are, and tokens are judged; in wild ones wall clocks are anything.
    const tame = !literal && shape !== 'reboots' && chooser.below(2) === 0;
    const rateErrorPpm = (tame ? [0, 1_000] : [0, 1_000, 20_000, 100_000])[chooser.below(tame ? 2 : 4)] as number;
    const faults = shapeFaults(shape, chooser, {
      termUs: TERM_US,
      ratePpmMax: rateErrorPpm,
      offsetUsMax: tame ? TERM_US * 0.4 : TERM_US * 4,
    });
    if (tame) faults.wallStepEveryUs = faults.wallSetAtBootPpm = 0;
    faults.latencyUsMin = Math.min(faults.latencyUsMin, LATENCY_US_MAX / 2);
    faults.latencyUsSpread = Math.min(faults.latencyUsSpread, LATENCY_US_MAX / 2);
    const rush = shape === 'lockstep';
    const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread);
    const names = !literal && chooser.below(3) === 0 ? 1 + chooser.below(4) : 1;
    const resources = Array.from({ length: names }, (_, i) => ({ text: `r${i}`, bytes: encodeName(`r${i}`) }));
    const handles = Array.from({ length: nodes }, (_, node) => (rush ? 1 : literal && node < members ? 0 : 1 + chooser.below(2)));
    const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
    // The literal variant lets its promises stand for ever: it is judged for safety only.
    const livenessUs = literal ? 0 : rush ? (handlesInAll + 4) * TERM_US : (handlesInAll * 5 + 15) * TERM_US;
    // Some cells of five let three members vote on a name (F8).
    const replication = members === 5 && chooser.below(2) === 0 ? 3 : members;
    const memberKeys = Array.from({ length: members }, (_, member) => hashName(encodeName(`m${member}`), 0, 2));
    return {
      nodes,
      units: 0,
      faults,
      termUs: TERM_US,
      safetyUs: rush ? TERM_US : TERM_US * ((literal ? 40 : 4) + chooser.below(12)),
      livenessUs,
      config: {
        members,
        core: { memberKeys, replication, timing: deriveTiming({ maxTermUs: TERM_US, rateErrorPpm, rttUs }), floorBuckets: 4 },
        habits: { handles: 0, resources, maxTermUs: TERM_US, lapseOnly: literal, rush, livenessUs, watches: true, releasesLater: false },
        tame,
        handles,
      },
    };
  },

  core: ({ config }: QuorumScenario, boot: Boot, mutant: string | null): QuorumCore => new QuorumCore(config.core, boot, rulesOf(mutant)),

  user({ config }: QuorumScenario, core: QuorumCore, desk: Desk<QuorumCommand>): User<QuorumEvent> {
    return new QuorumUser({ ...config.habits, handles: config.handles[desk.node] ?? 0 }, core, desk);
  },

  referees: ({ config }: QuorumScenario, sometimes: (name: string) => void): Referee[] => [
    new ExclusionReferee(),
    ...(config.tame ? [new FencingReferee()] : []),
    new DeadlineReferee(),
    new RequestReferee(),
    new LeaseObserver(sometimes),
  ],

  isVote: ({ kind }: QuorumMessage): boolean => kind === ACCEPTED || kind === PROMISED,

  describeMessage(message: QuorumMessage): string {
    const what = KIND_NAMES[message.kind] ?? `kind ${message.kind}`;
    const why = message.kind === REFUSED ? ` ${REASONS[message.reason]}` : '';
    return `${what}${why}(#${message.owner} lease ${message.lease}, ballot ${message.ballot})`;
  },

  describeCommand(command: QuorumCommand): string {
    return 'lease' in command ? `${command.kind} (lease ${command.lease})` : command.kind;
  },

  describeEvent(event: QuorumEvent): string {
    const lease = 'lease' in event ? ` (lease ${event.lease})` : '';
    return event.kind === 'refused' ? `refused: ${event.reason}${lease}` : `${event.kind}${lease}`;
  },

  nodeName: ({ config }: QuorumScenario, node: number): string => (node < config.members ? `m${node}` : `c${node - config.members}`),
};
