/** Flease and PaxosLease in the simulator: made safe, and as the papers have them. */
import { encodeName, hashName, type Chooser } from '../../kernel/index.ts';
import {
  deriveRoundTiming,
  ROUND_NAMES,
  ROUND_REASONS,
  RoundCore,
  roundKinds,
  type Boot,
  type LeaseCommand,
  type LeaseEvent,
  type RoundConfig,
  type RoundMessage,
} from '../../core/index.ts';
import { DeadlineReferee, ExclusionReferee, FencingReferee, RequestReferee, type Referee } from '../../check/index.ts';
import { roundCodec } from '../../wire/index.ts';
import { LEASE_INTERESTS, LeaseObserver, WORLD_INTERESTS } from '../interest.ts';
import type { Desk, Scenario, SimProtocol, Sometime, User } from '../protocol.ts';
import { drawFaults } from '../faults.ts';
import { QuorumUser, type QuorumHabits } from './quorum-user.ts';
import {
  FLEASE_LITERAL_MUTANTS,
  FLEASE_MUTANTS,
  PAXOSLEASE_MUTANTS,
  roundRules,
  SKEWED_MUTANTS,
  type RoundMutant,
} from './rounds-mutants.ts';

const TERM_US = 1_000_000;
const SKEW_US = 200_000;
const LATENCY_US_MAX = 20_000;

interface RoundWorld {
  readonly members: number;
  readonly core: RoundConfig;
  readonly habits: QuorumHabits;
  /** Clocks keep to what the cell was told. */
  readonly agrees: boolean;
  readonly handles: readonly number[];
}

interface Variant {
  readonly name: string;
  readonly summary: string;
  readonly engine: RoundConfig['engine'];
  readonly clocks: 'absolute' | 'relative';
  readonly skewUs: number;
  readonly literal: boolean;
  readonly mutants: readonly RoundMutant[];
}

type RoundScenario = Scenario<RoundWorld>;
export type RoundProtocol = SimProtocol<RoundMessage, LeaseCommand, LeaseEvent, RoundWorld, RoundCore>;

const INTERESTS: readonly Sometime[] = [
  ...LEASE_INTERESTS,
  ...WORLD_INTERESTS,
  { name: 'grant-after-split', description: 'a lease was granted after a round had failed' },
  { name: 'waiter-served', description: 'a lease was granted to one that had waited' },
  { name: 'renewal-failed', description: 'a renewal found no quorum' },
  { name: 'release-acknowledged', description: 'a quorum answered a release' },
  { name: 'release-later', description: 'a lease was given back as of a later time' },
  { name: 'silence-over', description: 'a restarted member ended its silence' },
  { name: 'query-finds-holder', description: 'a look-up named the holder' },
  { name: 'query-finds-nobody', description: 'a look-up found the lease free' },
  { name: 'refused-held', description: 'a try was told who holds the lease' },
  { name: 'refused-contended', description: 'a try was outbid until it gave up' },
  { name: 'refused-silent', description: 'a try met silent members' },
  { name: 'refused-no-quorum', description: 'a try reached no quorum' },
  { name: 'refused-timeout', description: 'a wait ended' },
  { name: 'refused-cancelled', description: 'a request was cancelled' },
];

/** The papers to the letter are played without renewal, release and waiting, in worlds of clocks that keep to the bound. */
const LITERAL_LACKS = new Set([
  'release-acknowledged',
  'release-later',
  'renewal',
  'release',
  'sleep',
  'wall-step',
  'waiter-served',
  'renewal-failed',
  'query-finds-holder',
  'query-finds-nobody',
  'refused-no-quorum',
  'refused-timeout',
]);

function roundProtocol(variant: Variant): RoundProtocol {
  const { engine, literal, clocks, skewUs } = variant;
  const mutantOf = (name: string | null): RoundMutant | undefined => variant.mutants.find((mutant) => mutant.name === name);
  const guards = clocks === 'absolute' && skewUs > 0 && !literal;
  return {
    name: variant.name,
    summary: variant.summary,
    mutants: variant.mutants,
    sometimes: [
      ...INTERESTS.filter(({ name }) => !literal || !LITERAL_LACKS.has(name)),
      ...(guards ? [{ name: 'refused-skewed', description: 'a try met clocks that are too far apart' }] : []),
      ...(engine === 'paxoslease' ? [{ name: 'learned', description: 'a learner was told of a change' }] : []),
    ],
    codec: roundCodec(),

    plan(chooser: Chooser, mutant: string | null): RoundScenario {
      const members = [3, 3, 5, 4][chooser.below(4)] as number;
      const nodes = members + chooser.below(3);
      const wild = guards && (mutantOf(mutant)?.wild === true || (mutant === null && chooser.below(4) === 0));
      const rateErrorPpm = clocks === 'relative' ? ([0, 1_000, 20_000][chooser.below(3)] as number) : 0;
      const faults = drawFaults(chooser, {
        termUs: TERM_US,
        ratePpmMax: rateErrorPpm,
        offsetUsMax: wild || clocks === 'relative' ? TERM_US * 2 : skewUs / 4,
      });
      if (!wild && clocks === 'absolute') {
        faults.wallStepEveryUs = faults.wallSetAtBootPpm = faults.sleepEveryUs = 0;
        faults.rateChangeEveryUs = 0;
      }
      faults.latencyUsMin = Math.min(faults.latencyUsMin, LATENCY_US_MAX / 2);
      faults.latencyUsSpread = Math.min(faults.latencyUsSpread, LATENCY_US_MAX / 2);
      const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread);
      const names = chooser.below(3) === 0 ? 1 + chooser.below(3) : 1;
      const resources = Array.from({ length: names }, (_, i) => ({ text: `r${i}`, bytes: encodeName(`r${i}`) }));
      const handles = Array.from({ length: nodes }, () => 1 + chooser.below(2));
      const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
      const livenessUs = literal || wild ? 0 : (handlesInAll * 6 + 20) * TERM_US;
      const memberKeys = Array.from({ length: members }, (_, member) => hashName(encodeName(`m${member}`), 0, 2));
      const timing = deriveRoundTiming({
        maxTermUs: TERM_US,
        rateErrorPpm,
        rttUs,
        clocks,
        skewUs,
        skewsInSilence: engine === 'flease' ? 2 : 1,
      });
      return {
        nodes,
        units: 0,
        faults,
        termUs: TERM_US,
        safetyUs: TERM_US * (4 + chooser.below(12)),
        livenessUs,
        config: {
          members,
          core: { engine, algorithm: 4, memberKeys, timing },
          habits: {
            handles: 0,
            resources,
            maxTermUs: TERM_US,
            lapseOnly: literal,
            rush: false,
            trying: false,
            livenessUs,
            watches: engine === 'paxoslease',
            releasesLater: !literal,
            extras: false,
            silenceUs: timing.silenceUs,
            restarted: false,
            bootstraps: false,
            isMember: false,
            opened: { asked: false },
          },
          agrees: !wild && clocks === 'absolute',
          handles,
        },
      };
    },

    core: ({ config }: RoundScenario, boot: Boot, mutant: string | null): RoundCore =>
      new RoundCore(config.core, boot, roundRules(mutantOf(mutant), literal)),

    user: ({ config }: RoundScenario, core: RoundCore, desk: Desk<LeaseCommand>): User<LeaseEvent> =>
      new QuorumUser({ ...config.habits, handles: config.handles[desk.node] ?? 0 }, core, desk),

    referees: ({ config }: RoundScenario, sometimes: (name: string) => void): Referee[] => [
      new ExclusionReferee(),
      ...(config.agrees ? [new FencingReferee()] : []),
      new DeadlineReferee(),
      new RequestReferee(),
      new LeaseObserver(sometimes),
    ],

    isVote: ({ kind }: RoundMessage): boolean => kind === roundKinds.ACK_WRITE || kind === roundKinds.ACK_READ,

    describeMessage(message: RoundMessage): string {
      const what = ROUND_NAMES[engine][message.kind] ?? `kind ${message.kind}`;
      const why = message.kind === roundKinds.NACK ? ` ${ROUND_REASONS[message.reason]}` : '';
      return `${what}${why}(#${message.owner} lease ${message.lease}, ballot ${message.ballot})`;
    },

    describeCommand(command: LeaseCommand): string {
      return 'lease' in command ? `${command.kind} (lease ${command.lease})` : command.kind;
    },

    describeEvent(event: LeaseEvent): string {
      const lease = 'lease' in event ? ` (lease ${event.lease})` : '';
      return event.kind === 'refused' ? `refused: ${event.reason}${lease}` : `${event.kind}${lease}`;
    },

    nodeName: ({ config }: RoundScenario, node: number): string => (node < config.members ? `m${node}` : `c${node - config.members}`),
  };
}

const FLEASE = { engine: 'flease', clocks: 'absolute', skewUs: SKEW_US } as const;
const PAXOSLEASE = { engine: 'paxoslease', clocks: 'relative', skewUs: 0 } as const;

export const flease: RoundProtocol = roundProtocol({
  ...FLEASE,
  name: 'flease',
  summary: 'Flease, Algorithm 4, made safe: leases in a round-based register, clocks that agree within ε',
  literal: false,
  mutants: FLEASE_MUTANTS,
});

export const fleaseLiteral: RoundProtocol = roundProtocol({
  ...FLEASE,
  name: 'flease-literal',
  summary: 'Flease to the letter: breaks where the rules of section 5 are missing',
  literal: true,
  mutants: FLEASE_LITERAL_MUTANTS,
});

export const paxosLease: RoundProtocol = roundProtocol({
  ...PAXOSLEASE,
  name: 'paxoslease',
  summary: 'PaxosLease, made safe, with relative terms: no wall clock is compared with another',
  literal: false,
  mutants: PAXOSLEASE_MUTANTS,
});

export const paxosLeaseSkewed: RoundProtocol = roundProtocol({
  ...PAXOSLEASE,
  clocks: 'absolute',
  skewUs: SKEW_US,
  name: 'paxoslease-skewed',
  summary: 'PaxosLease, made safe, with clocks that agree within S',
  literal: false,
  mutants: SKEWED_MUTANTS,
});

export const paxosLeaseLiteral: RoundProtocol = roundProtocol({
  ...PAXOSLEASE,
  clocks: 'absolute',
  skewUs: SKEW_US,
  name: 'paxoslease-literal',
  summary: 'PaxosLease to the letter: breaks where the rules of section 5 are missing',
  literal: true,
  mutants: [],
});
