/** Flease and PaxosLease in the simulator: made safe, and as the papers have them. */
import { encodeName, type Chooser, type WallUs } from '../../../kernel/index.ts';
import {
  BucketBallots,
  deriveRoundTiming,
  PlainBallots,
  ROUND_NAMES,
  ROUND_REASONS,
  RoundCore,
  roundKinds,
  type Boot,
  type LeaseCommand,
  type LeaseEvent,
  type RoundConfig,
  type RoundMessage,
} from '../../../core/index.ts';
import {
  AnswerReferee,
  BeliefReferee,
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  RegularityReferee,
  RequestReferee,
  Unjudged,
  type Referee,
} from '../../../check/index.ts';
import { roundCodec } from '../../../wire/index.ts';
import { CLOCK_INTERESTS, LEASE_INTERESTS, LeaseInterest, WORLD_INTERESTS } from '../../interest.ts';
import type { FaultPlan } from '../../faults.ts';
import type { Desk, Forger, Scenario, SimProtocol, Sometime, User } from '../../protocol.ts';
import { memberKeysOf, plainHabits, type QuorumHabits } from '../leases/habits.ts';
import { QuorumUser } from '../leases/user.ts';
import { LEASE_WORDS } from '../leases/words.ts';
import {
  FLEASE_LITERAL_MUTANTS,
  FLEASE_MUTANTS,
  PAXOSLEASE_LITERAL_MUTANTS,
  PAXOSLEASE_MUTANTS,
  roundRules,
  SKEWED_MUTANTS,
  type RoundMutant,
} from './mutants.ts';
import { roundForger } from './liar.ts';
import { roundFaults, type RoundShape } from './worlds.ts';

const TERM_US = 1_000_000;
const SKEW_US = 200_000;
/** Wall clocks of a world are never further apart. */
const CLOCKS_APART_US = 100 * TERM_US;
/** What a few terms of lies leave in the tables of a node, at most. */
const NAMES_LEFT_MAX = 1000;
/** Where a lease is wanted for a moment only, each must have had it within this part of a term after the world healed. */
const LEFTOVER_TERMS = 0.5;
const SMALL_SHAPES: ReadonlySet<RoundShape> = new Set<RoundShape>(['sway', 'leftovers', 'long-memory']);

export interface RoundWorld {
  readonly members: number;
  readonly core: RoundConfig;
  readonly habits: QuorumHabits;
  /** Clocks keep to what the cell was told. */
  readonly agrees: boolean;
  /** What owners tell learners arrives, and in time. */
  readonly releasesHeard: boolean;
  readonly judgesDeadlines: boolean;
  readonly handles: readonly number[];
}

interface Variant {
  readonly name: string;
  readonly summary: string;
  readonly engine: RoundConfig['engine'];
  readonly clocks: 'absolute' | 'relative';
  readonly skewUs: number;
  readonly literal: boolean;
  /** Of eight worlds, the first have these shapes. */
  readonly shapes: readonly RoundShape[];
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
  { name: 'proclaimed', description: 'a holder changed what it says of itself' },
  { name: 'proclaim-read', description: 'a look-up found what a holder says of itself' },
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
  'proclaimed',
  'proclaim-read',
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
  'refused-timeout',
]);

function mutantOf({ mutants }: Variant, name: string | null): RoundMutant | undefined {
  return mutants.find((mutant) => mutant.name === name);
}

function drawShape(variant: Variant, chooser: Chooser, mutant: string | null): RoundShape {
  const wanted = mutantOf(variant, mutant)?.shape;
  if (wanted !== undefined) return wanted;
  const drawn = chooser.below(8);
  return (mutant === null ? variant.shapes[drawn] : undefined) ?? 'any';
}

/** What the clocks of a drawn world are, and what the engine is told of them. */
interface DrawnClocks {
  readonly clocks: 'absolute' | 'relative';
  readonly skewUs: number;
  readonly rateErrorPpm: number;
  readonly faults: FaultPlan;
}

function drawClocks({ clocks: usual, skewUs: told, literal }: Variant, shape: RoundShape, chooser: Chooser): DrawnClocks {
  const clocks = shape === 'perfect' ? 'absolute' : usual;
  const skewUs = shape === 'perfect' ? 0 : told;
  const rateErrorPpm = clocks === 'relative' ? ([0, 1_000, 20_000][chooser.below(3)] as number) : 0;
  const offsetUsMax = shape === 'wild' || clocks === 'relative' ? TERM_US * 2 : literal ? skewUs / 2 : skewUs / 4;
  const isAbsolute = clocks === 'absolute';
  const faults = roundFaults(shape, chooser, { termUs: TERM_US, ratePpmMax: rateErrorPpm, offsetUsMax, skewUs, isAbsolute });
  return { clocks, skewUs, rateErrorPpm, faults };
}

function planRounds(variant: Variant, shape: RoundShape, chooser: Chooser): RoundScenario {
  const { engine, literal } = variant;
  const small = SMALL_SHAPES.has(shape);
  const members = shape === 'leftovers' ? 5 : small ? 3 : ([3, 3, 5, 4][chooser.below(4)] as number);
  const liars = shape === 'liars' ? 2 + chooser.below(2) : 0;
  const nodes = members + liars + (small ? 2 : chooser.below(3));
  const algorithm = shape === 'perfect' && engine === 'flease' ? ([2, 3][chooser.below(2)] as 2 | 3) : 4;
  const wild = shape === 'wild';
  const { clocks, skewUs, rateErrorPpm, faults } = drawClocks(variant, shape, chooser);
  const isAbsolute = clocks === 'absolute';
  const names = !small && chooser.below(3) === 0 ? 1 + chooser.below(3) : 1;
  const resources = Array.from({ length: names }, (_, i) => ({ text: `r${i}`, bytes: encodeName(`r${i}`) }));
  // In small worlds clients ask and members only vote.
  const handles = Array.from({ length: nodes - liars }, (_, node) => (small ? (node < members ? 0 : 1) : 1 + chooser.below(2)));
  const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
  // Where attempts have no deadline, leases are left to run out and only callers' patience ends an attempt.
  const lapseOnly = literal || shape === 'long-memory';
  // What a failed attempt left at a minority must not cost a term.
  const isBrief = shape === 'leftovers';
  const livenessUs = lapseOnly || wild ? 0 : isBrief ? TERM_US * LEFTOVER_TERMS : (handlesInAll * 6 + 20) * TERM_US;
  // Some cells of five let three members vote on a name (F8).
  const replication = members === 5 && !small && chooser.below(2) === 0 ? 3 : members;
  const isPunctual = shape === 'punctual';
  const teaches = engine === 'paxoslease';
  const releasesLater = !literal && !isBrief && (isPunctual || chooser.below(2) === 0);
  const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread);
  const skewsInSilence = engine === 'flease' ? 2 : 1;
  const timing = deriveRoundTiming({ maxTermUs: TERM_US, rateErrorPpm, rttUs, clocks, skewUs, skewsInSilence });
  return {
    nodes,
    ...(liars > 0 ? { liars } : {}),
    units: 0,
    faults,
    termUs: TERM_US,
    safetyUs: isBrief ? TERM_US * 0.3 : TERM_US * ((shape === 'long-memory' ? 40 : 4) + chooser.below(12)),
    livenessUs,
    config: {
      members,
      core: { engine, algorithm, memberKeys: memberKeysOf(members), replication, timing },
      habits: {
        ...plainHabits(TERM_US, timing.silenceUs),
        resources,
        lapseOnly,
        patient: shape === 'long-memory',
        livenessUs,
        watches: teaches,
        releasesLater,
        speaks: !literal && algorithm !== 2,
        renews: algorithm !== 2,
        brief: isBrief,
        wideNumbers: chooser.below(4) === 0,
        tellsBeliefs: teaches && !literal && isAbsolute && !wild && liars === 0 && (isPunctual || !releasesLater),
        compares: shape === 'slewed' ? { members, rateErrorPpm } : undefined,
      },
      agrees: !wild && isAbsolute && liars === 0,
      releasesHeard: isPunctual,
      judgesDeadlines: shape !== 'steady',
      handles,
    },
  };
}

function roundProtocol(variant: Variant): RoundProtocol {
  const { engine, literal } = variant;
  const guards = variant.clocks === 'absolute' && variant.skewUs > 0 && !literal;
  return {
    name: variant.name,
    summary: variant.summary,
    mutants: variant.mutants,
    sometimes: [
      ...INTERESTS.filter(({ name }) => !literal || !LITERAL_LACKS.has(name)),
      ...(guards ? [{ name: 'refused-skewed', description: 'a try met clocks that are too far apart' }] : []),
      ...(variant.shapes.includes('slewed') ? CLOCK_INTERESTS : []),
      ...(engine === 'paxoslease' ? [{ name: 'learned', description: 'a learner was told of a change' }] : []),
    ],
    codec: roundCodec(),

    plan: (chooser: Chooser, mutant: string | null): RoundScenario => planRounds(variant, drawShape(variant, chooser, mutant), chooser),
    core: ({ config }: RoundScenario, boot: Boot, mutant: string | null): RoundCore =>
      new RoundCore(config.core, boot, roundRules(mutantOf(variant, mutant), literal)),

    user: ({ config, nodes }: RoundScenario, core: RoundCore, desk: Desk<LeaseCommand>): User<LeaseEvent> =>
      // Of the clients that want a lease for a moment, the last alone wants one before the world heals.
      new QuorumUser(
        { ...config.habits, handles: config.handles[desk.node] ?? 0, rush: config.habits.brief && desk.node < nodes - 1 },
        core,
        desk,
      ),

    referees: ({ config, liars = 0 }: RoundScenario, sometimes: (name: string) => void): Referee[] => [
      new ExclusionReferee(),
      ...(config.agrees ? [new FencingReferee()] : []),
      config.habits.tellsBeliefs
        ? new BeliefReferee(config.releasesHeard)
        : new Unjudged(['believed'], 'learners of this world promise nothing'),
      // The papers hand out leases too late (rule 11); where another rule is the question, that is not judged.
      ...(config.judgesDeadlines ? [new DeadlineReferee()] : []),
      new RequestReferee(),
      // Flease lets every process write back another's lease: a liar may do so with a token that its owner never had, or with its earlier metadata.
      engine === 'flease' && liars > 0
        ? new Unjudged(['queried', 'answered', 'listed'], 'liars write back leases of others as they like')
        : new AnswerReferee(liars === 0),
      config.habits.speaks && !(engine === 'flease' && liars > 0)
        ? new RegularityReferee()
        : new Unjudged(['invoked', 'responded'], 'what holders say of themselves is no register here'),
      new LeaseInterest(sometimes),
    ],

    forger: ({ config }: RoundScenario): Forger<RoundMessage> => {
      const { timing } = config.core;
      const ballots = engine === 'flease' ? new BucketBallots(timing.bucketUs, true) : new PlainBallots();
      const names = config.habits.resources.map(({ bytes }) => bytes);
      return roundForger(names, timing.aheadUsMax, (wallUs) => ballots.highestAt(Math.max(0, wallUs)));
    },

    audit({ config }: RoundScenario, core: RoundCore, wallUs: WallUs): string | null {
      const { aheadUsMax } = config.core.timing;
      if (core.highestToken > wallUs + aheadUsMax + CLOCKS_APART_US) return `has tokens up to ${core.highestToken}, which is beyond belief`;
      return core.names > NAMES_LEFT_MAX ? `knows ${core.names} names, of which most are nobody’s any more` : null;
    },

    isVote: ({ kind }: RoundMessage): boolean => kind === roundKinds.ACK_WRITE || kind === roundKinds.ACK_READ,

    describeMessage(message: RoundMessage): string {
      const what = ROUND_NAMES[engine][message.kind] ?? `kind ${message.kind}`;
      const why = message.kind === roundKinds.NACK ? ` ${ROUND_REASONS[message.reason]}` : '';
      return `${what}${why}(#${message.owner} lease ${message.lease}, ballot ${message.ballot})`;
    },

    ...LEASE_WORDS,
  };
}

const LITERAL_SHAPES: readonly RoundShape[] = ['long-memory', 'long-memory', 'long-memory', 'long-memory', 'steady', 'restarts'];
const FLEASE = { engine: 'flease', clocks: 'absolute', skewUs: SKEW_US, shapes: ['wild', 'perfect', 'restarts', 'liars'] } as const;
const PAXOSLEASE = {
  engine: 'paxoslease',
  clocks: 'relative',
  skewUs: 0,
  shapes: ['perfect', 'restarts', 'leftovers', 'liars', 'slewed'],
} as const;
const SKEWED = { engine: 'paxoslease', clocks: 'absolute', skewUs: SKEW_US, shapes: ['wild', 'punctual', 'restarts', 'liars'] } as const;

export const fleaseProtocol: RoundProtocol = roundProtocol({
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
  shapes: LITERAL_SHAPES,
  mutants: FLEASE_LITERAL_MUTANTS,
});

export const paxosLeaseProtocol: RoundProtocol = roundProtocol({
  ...PAXOSLEASE,
  name: 'paxoslease',
  summary: 'PaxosLease, made safe, with relative terms: no wall clock is compared with another',
  literal: false,
  mutants: PAXOSLEASE_MUTANTS,
});

export const paxosLeaseSkewed: RoundProtocol = roundProtocol({
  ...SKEWED,
  name: 'paxoslease-skewed',
  summary: 'PaxosLease, made safe, with clocks that agree within S',
  literal: false,
  mutants: SKEWED_MUTANTS,
});

export const paxosLeaseLiteral: RoundProtocol = roundProtocol({
  ...SKEWED,
  name: 'paxoslease-literal',
  summary: 'PaxosLease to the letter: breaks where the rules of section 5 are missing',
  literal: true,
  shapes: LITERAL_SHAPES,
  mutants: PAXOSLEASE_LITERAL_MUTANTS,
});
