/** The quorum engine in the simulator: members and clients, several names, two handles in a process, everything that can go wrong. */
import { encodeName, type Chooser, type WallUs } from '../../../kernel/index.ts';
import {
  deriveTiming,
  KIND_NAMES,
  ACCEPTED,
  PROMISED,
  QuorumCore,
  REASONS,
  REFUSED,
  type Boot,
  type Keeps,
  type QuorumCommand,
  type QuorumConfig,
  type QuorumEvent,
  type QuorumMessage,
} from '../../../core/index.ts';
import {
  AnswerReferee,
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  OrderReferee,
  RegularityReferee,
  RequestReferee,
  Unjudged,
  type Referee,
} from '../../../check/index.ts';
import { quorumCodec } from '../../../wire/index.ts';
import { drawDiskFaults, type FaultPlan } from '../../faults.ts';
import { CLOCK_INTERESTS, DISK_INTERESTS, LEASE_INTERESTS, LeaseInterest, WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Forger, Scenario, SimProtocol, User } from '../../protocol.ts';
import { drawKeeps, drawRefits, REFIT_TERMS_MAX, refitOf, type Refit } from './disks.ts';
import { drawBootstraps, drawShape, QUORUM_MUTANTS, rulesOf, type Shape } from './mutants.ts';
import { quorumForger } from './liar.ts';
import { shapeFaults } from './shapes.ts';
import { memberKeysOf, plainHabits, WORLD_CHANGE_BUCKETS, type QuorumHabits } from '../leases/habits.ts';
import { LEASE_WORDS } from '../leases/words.ts';
import { QuorumUser } from '../leases/user.ts';

const TERM_US = 1_000_000;
const LATENCY_US_MAX = 20_000;
const MILLION = 1_000_000;
/** Wall clocks of a world are never further apart, unless they are set. */
const CLOCKS_APART_US = 30 * TERM_US;
/** What a few terms of lies leave in the tables of a node, at most. */
const NAMES_LEFT_MAX = 1000;

export interface QuorumWorld {
  readonly members: number;
  readonly core: QuorumConfig;
  readonly habits: QuorumHabits;
  /** Every node answers in time: the order of waiters is judged. */
  readonly orderly: boolean;
  /** How many handles each node has. */
  readonly handles: readonly number[];
  /** What each member keeps on its disk. */
  readonly keeps: readonly Keeps[];
  /** What lives of members are set up with, in turn; none where all are alike. */
  readonly refits?: readonly Refit[];
  /** Fencing tokens rise for ever here. */
  readonly fenced: boolean;
}

type QuorumScenario = Scenario<QuorumWorld>;

export const quorumProtocol: SimProtocol<QuorumMessage, QuorumCommand, QuorumEvent, QuorumWorld, QuorumCore> = {
  name: 'quorum',
  summary: "the product's own engine: leases by a majority of peers, one round trip, relative terms",
  mutants: QUORUM_MUTANTS,
  sometimes: [
    ...LEASE_INTERESTS,
    ...WORLD_INTERESTS,
    ...CLOCK_INTERESTS,
    ...DISK_INTERESTS,
    { name: 'one-round-trip', description: 'an uncontended acquire took one round trip' },
    { name: 'grant-after-split', description: 'a lease was granted after the vote had split' },
    { name: 'queued', description: 'a request stood in line at a quorum' },
    { name: 'waiter-served', description: 'a lease was granted to one that had waited in the queues' },
    { name: 'renewal-failed', description: 'a renewal found no quorum' },
    { name: 'release-acknowledged', description: 'a quorum answered a release' },
    { name: 'silence-over', description: 'a restarted member ended its silence' },
    { name: 'votes-restored', description: 'a restarted member read its votes back' },
    { name: 'voted-instead-of-silence', description: 'a restarted member that had kept its votes voted when it would have been silent' },
    { name: 'bootstrapped', description: 'the silence of a brand-new cell was ended early, and every member said so' },
    { name: 'bootstrap-refused', description: 'a bootstrap was refused, or not every member said that it is done' },
    { name: 'outlived', description: 'a member lived on beside its successor, and some went on talking to it' },
    { name: 'waited-to-be-noted', description: 'a started member asked again to be noted' },
    { name: 'outlived-itself', description: 'a member that had voted heard of its successor, and fell silent' },
    { name: 'older-life-left-out', description: 'a vote of a life that has a successor was not counted' },
    { name: 'status-told', description: 'members said how they stand' },
    { name: 'query-finds-holder', description: 'a question to a quorum named the holder' },
    { name: 'query-finds-nobody', description: 'a question to a quorum found the lease free' },
    { name: 'list-finds-leases', description: 'a list of what is held had leases on it' },
    { name: 'list-finds-none', description: 'a list of what is held was surely empty' },
    { name: 'proclaimed', description: 'a quorum has what a holder says of itself anew' },
    { name: 'proclaim-read', description: 'a question to a quorum told what a holder had proclaimed' },
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

  plan: planQuorum,

  core({ config, nodes }: QuorumScenario, boot: Boot, mutant: string | null): QuorumCore {
    // Members of a cell that is to be bootstrapped do not know that they are new.
    const restarted = boot.restarted || (config.habits.bootstraps && boot.incarnation <= nodes);
    const refit = boot.self < config.members ? refitOf(config.refits, nodes, boot) : null;
    const { timing, keeps } = refit ?? { timing: config.core.timing, keeps: config.keeps[boot.self] ?? 'nothing' };
    return new QuorumCore({ ...config.core, timing, keeps }, { ...boot, restarted }, rulesOf(mutant));
  },

  user({ config, nodes }: QuorumScenario, core: QuorumCore, desk: Desk<QuorumCommand>): User<QuorumEvent> {
    // A scenario may be run many times: no user has asked for anything when its first process starts.
    if (desk.incarnation === 1) config.habits.opened.asked = false;
    const [handles, restarted, isMember] = [config.handles[desk.node] ?? 0, desk.incarnation > nodes, desk.node < config.members];
    const { maxTermUs, silenceUs } = (isMember && refitOf(config.refits, nodes, desk)?.timing) || config.core.timing;
    return new QuorumUser({ ...config.habits, handles, restarted, isMember, maxTermUs, silenceUs }, core, desk);
  },

  referees: ({ config, liars = 0 }: QuorumScenario, sometimes: (name: string) => void): Referee[] => [
    new ExclusionReferee(),
    ...(config.fenced ? [new FencingReferee()] : []),
    config.orderly ? new OrderReferee() : new Unjudged(['queued'], 'waiters keep their order only while they answer in time'),
    new DeadlineReferee(),
    new RequestReferee(),
    new AnswerReferee(liars === 0),
    new RegularityReferee(),
    new LeaseInterest(sometimes),
  ],

  forger: ({ config }: QuorumScenario): Forger<QuorumMessage> =>
    quorumForger(
      config.habits.resources.map(({ bytes }) => bytes),
      config.core.timing.aheadUsMax,
    ),

  audit({ config }: QuorumScenario, core: QuorumCore, wallUs: WallUs): string | null {
    const { aheadUsMax } = config.core.timing;
    if (core.highestBallot > wallUs + aheadUsMax + CLOCKS_APART_US)
      return `has ballots up to ${core.highestBallot}, which is beyond belief`;
    return core.names > NAMES_LEFT_MAX ? `knows ${core.names} names, of which most are nobody’s any more` : null;
  },

  isVote: ({ kind }: QuorumMessage): boolean => kind === ACCEPTED || kind === PROMISED,

  describeMessage: describeQuorumMessage,

  ...LEASE_WORDS,
};

export function describeQuorumMessage(message: QuorumMessage): string {
  const what = KIND_NAMES[message.kind] ?? `kind ${message.kind}`;
  const why = message.kind === REFUSED ? ` ${REASONS[message.reason]}` : '';
  return `${what}${why}(#${message.owner} lease ${message.lease}, ballot ${message.ballot})`;
}

/** The nodes of a drawn cell, and how well its clocks keep to its timing. */
interface DrawnCell {
  readonly shape: Shape;
  /** A node that crashes with a lease leaves its name alone for a term: where much is to happen, clients hold and members only vote. */
  readonly hasty: boolean;
  /** Every user wants the same at the same instant. */
  readonly rush: boolean;
  readonly members: number;
  readonly liars: number;
  readonly nodes: number;
  /**
   * Fencing tokens rise across restarts only while wall clocks are within the silence of each other (rule 18): in tame worlds they are, and
   * tokens are judged; in wild worlds wall clocks are anything.
   */
  readonly tame: boolean;
  readonly rateErrorPpm: number;
}

function drawCell(chooser: Chooser, mutant: string | null): DrawnCell {
  const shape = drawShape(chooser, mutant);
  const drawn = [3, 3, 3, 5, 4][chooser.below(5)] as number;
  const members = shape === 'comebacks' || shape === 'slow-disks' ? 3 : drawn;
  const hasty = shape === 'slow-disks';
  const clients = hasty || shape === 'outlived' ? 2 + chooser.below(2) : chooser.below(3);
  const liars = shape === 'liars' ? 2 + chooser.below(2) : 0;
  const tame = shape !== 'reboots' && shape !== 'outages' && shape !== 'slewed' && chooser.below(2) === 0;
  const rateErrorPpm = (tame ? [0, 1_000] : [0, 1_000, 20_000, 100_000])[chooser.below(tame ? 2 : 4)] as number;
  return { shape, hasty, rush: shape === 'lockstep', members, liars, nodes: members + clients + liars, tame, rateErrorPpm };
}

function drawFaultsOf({ shape, members, tame, rateErrorPpm }: DrawnCell, chooser: Chooser): FaultPlan {
  const offsetUsMax = tame ? TERM_US * 0.4 : TERM_US * 4;
  const faults = shapeFaults(shape, chooser, { termUs: TERM_US, ratePpmMax: rateErrorPpm, offsetUsMax });
  if (shape === 'outlived') {
    faults.outlivedNodes = members;
    faults.outlivedAmongMembers = chooser.below(2) === 0;
  }
  if (tame) faults.wallStepEveryUs = faults.wallSetAtBootPpm = 0;
  faults.latencyUsMin = Math.min(faults.latencyUsMin, LATENCY_US_MAX / 2);
  faults.latencyUsSpread = Math.min(faults.latencyUsSpread, LATENCY_US_MAX / 2);
  return faults;
}

/** Names, and how many handles each node has. */
function drawUsers(
  { hasty, rush, members, nodes, liars }: DrawnCell,
  chooser: Chooser,
): Pick<QuorumWorld, 'handles'> & Pick<QuorumHabits, 'resources'> {
  // Some have more names than a page of a listing, or the first places of a disk, have room for.
  const names = hasty ? 1 + chooser.below(7) : ([1 + chooser.below(4), 6 + chooser.below(8)][chooser.below(6) - 2] ?? 1);
  const resources = Array.from({ length: names }, (_, i) => ({ text: `r${i}`, bytes: encodeName(`r${i}`) }));
  const handles = Array.from({ length: nodes - liars }, (_, node) =>
    rush ? 1 : hasty && node < members ? 0 : 1 + chooser.below(hasty ? 4 : 2),
  );
  return { resources, handles };
}

/** What members keep on their disks, which changes what goes wrong with these. */
function drawDisks({ shape, members }: DrawnCell, chooser: Chooser, mutant: string | null, faults: FaultPlan): readonly Keeps[] {
  // A disk or a silence would keep waiters from answering within a head start.
  const keeps = shape === 'orderly' || shape === 'outlived' ? [] : drawKeeps(chooser, shape, members, mutant);
  if (keeps.length === 0) return keeps;
  // A data directory serves one process at a time.
  faults.twinPpm = 0;
  if (chooser.below(2) === 0) faults.keepDiskPpm = MILLION;
  else if (shape !== 'outages') faults.keepDiskPpm = chooser.below(MILLION + 1);
  drawDiskFaults(chooser, faults, TERM_US);
  return keeps;
}

function planQuorum(chooser: Chooser, mutant: string | null): QuorumScenario {
  const cell = drawCell(chooser, mutant);
  const { shape, hasty, rush, members, liars, nodes, tame, rateErrorPpm } = cell;
  const faults = drawFaultsOf(cell, chooser);
  // Waiters meet in the queues; whether tries get past each other is up to chance alone.
  const trying = rush && chooser.below(2) === 0;
  // Votes that wait for slow disks take longer than the network does, and the operator of a cell says so.
  const rttUs = 2 * (faults.latencyUsMin + faults.latencyUsSpread) + (hasty ? faults.storageUsSpread : 0);
  const { resources, handles } = drawUsers(cell, chooser);
  const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
  const terms = rush ? handlesInAll + 4 : (handlesInAll * 5 + 15) * (shape === 'refits' ? REFIT_TERMS_MAX : 1);
  const livenessUs = terms * TERM_US;
  // Some cells of five let three members vote on a name (F8).
  const replication = members === 5 && chooser.below(2) === 0 ? 3 : members;
  const keeps = drawDisks(cell, chooser, mutant, faults);
  const allKept = keeps.length > 0 && keeps.every((kept) => kept !== 'nothing');
  const succession = faults.outlivedAmongMembers || chooser.below(3) === 0 ? 'strict' : 'majority';
  const isRefitted = shape === 'refits' && allKept;
  if (isRefitted) faults.keepDiskPpm = MILLION;
  const orderly = shape === 'orderly';
  const bootstraps = !rush && !orderly && drawBootstraps(chooser, shape, mutant);
  const timing = deriveTiming({ maxTermUs: TERM_US, rateErrorPpm, rttUs });
  const refits = isRefitted ? drawRefits(chooser, keeps, timing) : [];
  const tables = { placesMin: 1 << chooser.below(3), leasesPerPage: 1 + chooser.below(4) };
  const safetyTerms = (shape === 'comebacks' || shape === 'outlived' ? 16 : 4) + (rush ? 0 : chooser.below(12));
  return {
    nodes,
    ...(liars > 0 ? { liars } : {}),
    units: 0,
    faults,
    termUs: TERM_US,
    safetyUs: rush ? TERM_US : TERM_US * safetyTerms,
    livenessUs,
    config: {
      members,
      core: {
        memberKeys: memberKeysOf(members),
        replication,
        timing,
        floorBuckets: 4,
        changeBuckets: WORLD_CHANGE_BUCKETS,
        ...tables,
        succession,
      },
      habits: {
        ...plainHabits(TERM_US, timing.silenceUs),
        resources,
        sureTermUs: TERM_US,
        lapseOnly: false,
        rush,
        trying,
        livenessUs,
        extras: true,
        wideNumbers: chooser.below(4) === 0,
        compares: shape === 'slewed' ? { members, rateErrorPpm } : undefined,
        restless: shape === 'comebacks',
        hasty,
        curious: shape === 'curious',
        bootstraps,
      },
      orderly,
      handles,
      keeps,
      refits,
      // With floors that no restart forgets, wall clocks may be anything.
      // A liar’s ballots are ahead of what a member without a disk begins with anew.
      fenced: (tame && liars === 0) || (allKept && faults.keepDiskPpm === MILLION),
    },
  };
}
