/** Leases on storage in the simulator: Δ-leases on plain registers with both renewals, to the letter, and with compare-and-set. */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import {
  CasLeaseCore,
  DeltaLeaseCore,
  deriveStorageTiming,
  literalTiming,
  type Boot,
  type RenewalKind,
  type StorageCommand,
  type StorageEvent,
  type StorageTiming,
} from '../../../core/index.ts';
import {
  AnswerReferee,
  DataReferee,
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  RequestReferee,
  Unjudged,
  type Referee,
} from '../../../check/index.ts';
import { registerCodec } from '../../../wire/index.ts';
import { LeaseInterest } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, SmallerScenario, User } from '../../protocol.ts';
import { EventualExclusion } from './eventual.ts';
import { SharedInterest, storageInterests, type StorageKind } from './interests.ts';
import { CAS_MUTANTS, casRules, DELTA_MUTANTS, deltaRules, ND_RENEWAL, SHARED_MUTANTS, type StorageMutant } from './mutants.ts';
import { StorageUser, type StorageHabits } from './user.ts';
import { storageFaults, TERM_US, type StorageShape } from './worlds.ts';

/** A late access takes up to so many terms. */
const LATE_TERMS = 3;

/** With terms shorter than so many δ, the four steps of a renewal do not always fit into the rest of one. */
const RENEWAL_DELTAS = 10;

export interface StorageWorld {
  /** What the store can do. */
  readonly kind: StorageKind;
  readonly timing: StorageTiming;
  readonly habits: StorageHabits;
  readonly handles: readonly number[];
  /** Tokens rise here (rule 24). */
  readonly isFenced: boolean;
  /** From when on there is at most one holder; 0: always. */
  readonly exclusiveFromUs: number;
  /** Certain answers are judged. */
  readonly judgesAnswers: boolean;
}

type StorageScenario = Scenario<StorageWorld>;
export type SimulatedLeaseCore = DeltaLeaseCore | CasLeaseCore;
export type StorageProtocolKit = SimProtocol<never, StorageCommand, StorageEvent, StorageWorld, SimulatedLeaseCore>;

export interface StorageVariant {
  readonly name: string;
  readonly summary: string;
  /** What its stores can do; `either`: some this, some that, and readers share names. */
  readonly kind: StorageKind | 'either';
  readonly renewal: RenewalKind;
  readonly mutants: readonly StorageMutant[];
  /** Half of the worlds have one of these. */
  readonly shapes: readonly StorageShape[];
}

function mutantOf({ mutants }: StorageVariant, name: string | null): StorageMutant | undefined {
  return mutants.find((mutant) => mutant.name === name);
}

function kindOf(variant: StorageVariant, chooser: Chooser, mutant: string | null): StorageKind {
  if (variant.kind !== 'either') return variant.kind;
  const drawn = chooser.below(2) === 0 ? 'plain' : 'swap';
  return mutantOf(variant, mutant)?.kind ?? drawn;
}

export function planStorageWorld(variant: StorageVariant, chooser: Chooser, mutant: string | null): StorageScenario {
  const { renewal } = variant;
  const kind = kindOf(variant, chooser, mutant);
  const shares = variant.kind === 'either';
  const drawn = chooser.below(2 * variant.shapes.length);
  const wanted = mutant === null ? (variant.shapes[drawn] ?? 'any') : (mutantOf(variant, mutant)?.shape ?? 'any');
  // On plain registers a writer may wait for ever.
  const shape = wanted === 'crowded' && kind === 'plain' ? 'any' : wanted;
  const isCrowded = shape === 'crowded';
  const isBroken = shape === 'broken';
  const isRestored = shape === 'restored';
  const deltaUs = TERM_US / ([5, 10, 40, 100][shape === 'drifting' ? 3 : chooser.below(4)] as number);
  const rateErrorPpm = shape === 'drifting' ? 100_000 : ([0, 1_000, 100_000][chooser.below(3)] as number);
  // Where the store keeps acknowledged writes, tokens rise whatever wall clocks say, if it can compare and set (rule 24).
  const tokensRiseAnyway = kind === 'swap' && !isRestored;
  const offsetUsMax = tokensRiseAnyway ? TERM_US * 3 : TERM_US / 4;
  const faults = storageFaults(shape, chooser, { deltaUs, ratePpm: kind === 'literal' ? 0 : rateErrorPpm, offsetUsMax });
  const input = { deltaUs, maxTermUs: TERM_US, rateErrorPpm };
  const timing = kind === 'literal' ? literalTiming(input, renewal) : deriveStorageTiming(input);
  const nodes = 2 + chooser.below(4) + (isCrowded ? 3 : 0);
  const handles = Array.from({ length: nodes }, () => 1 + chooser.below(2));
  const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
  const names = isCrowded ? 1 : 1 + chooser.below(2);
  const safetyUs = TERM_US * (4 + chooser.below(12));
  const calmAfterUs = (LATE_TERMS + 1) * TERM_US + 2 * timing.observationUs;
  // A write that was never answered may be found and not found for ever: a claim that watches the record begins anew each time.
  const isSafetyOnly = shape === 'damaged' || shape === 'stale' || kind === 'literal';
  const livenessUs = isSafetyOnly ? 0 : (2 * handlesInAll + 10) * 4 * timing.observationUs + 4 * calmAfterUs;
  const isDriftSmall = faults.ratePpmMax <= 1_000 && faults.wallStepEveryUs === 0 && faults.wallSetAtBootPpm === 0;
  return {
    nodes,
    units: 1,
    faults,
    termUs: TERM_US,
    safetyUs,
    livenessUs,
    config: {
      kind,
      timing,
      habits: {
        resources: Array.from({ length: names }, (_, i) => ({ text: `r${i}`, bytes: encodeName(`r${i}`) })),
        maxTermUs: TERM_US,
        livenessUs,
        // A creation that lands again after an erasure brings an old record back, with its old token: stores must not land a change twice.
        compacts: kind === 'swap' && shape !== 'stale' && chooser.below(2) === 0 && shape !== 'repeated',
        calmAfterUs,
        clings: isBroken,
        // Readers stand in each other's way: on plain registers by their names, elsewhere since all change the same record.
        keepsLast: (kind === 'swap' && !shares) || TERM_US >= RENEWAL_DELTAS * (shares ? 4 : 1) * deltaUs,
        namesAreCertain: !isRestored && shape !== 'repeated',
        // A mutant of another rule is judged by that rule.
        losesAtEndOnly: kind === 'swap' && shape !== 'stale' && !isBroken && !isRestored && (mutant === null || shape === 'unanswered'),
        shares,
        crowds: isCrowded,
      },
      handles,
      isFenced: (tokensRiseAnyway || isDriftSmall) && !isBroken && kind !== 'literal',
      judgesAnswers: kind !== 'literal' && shape !== 'stale' && !isBroken,
      exclusiveFromUs: isBroken ? safetyUs + calmAfterUs : 0,
    },
  };
}

function smallerWorlds(scenario: StorageScenario): SmallerScenario<StorageWorld>[] {
  const { nodes, config } = scenario;
  const { handles, habits } = config;
  const smaller: SmallerScenario<StorageWorld>[] = [];
  for (let node = 0; node < nodes && nodes > 1; node++) {
    const fewer = { ...config, handles: handles.toSpliced(node, 1) };
    smaller.push({ without: `client ${node}`, scenario: { ...scenario, nodes: nodes - 1, config: fewer } });
  }
  if (habits.resources.length > 1) {
    const one = { ...config, habits: { ...habits, resources: habits.resources.slice(0, 1) } };
    smaller.push({ without: 'all names but one', scenario: { ...scenario, config: one } });
  }
  handles.forEach((count, node) => {
    if (count > 1) smaller.push({ without: 'a handle', scenario: { ...scenario, config: { ...config, handles: handles.with(node, 1) } } });
  });
  return smaller;
}

export function storageLeaseProtocol(variant: StorageVariant): StorageProtocolKit {
  const { renewal, mutants } = variant;
  return {
    name: variant.name,
    summary: variant.summary,
    mutants,
    sometimes: storageInterests(variant.kind, variant.shapes),
    codec: registerCodec,

    plan: (chooser: Chooser, mutant: string | null): StorageScenario => planStorageWorld(variant, chooser, mutant),
    smaller: smallerWorlds,

    core({ config: { timing, kind } }: StorageScenario, boot: Boot, name: string | null): SimulatedLeaseCore {
      const mutant = mutantOf(variant, name);
      if (kind === 'swap') return new CasLeaseCore({ unit: 0, timing }, boot, casRules(mutant));
      const isLiteral = kind === 'literal';
      const config = {
        unit: 0,
        timing,
        renewal: mutant === ND_RENEWAL ? 'nd' : renewal,
        variant: isLiteral ? 'literal' : 'product',
      } as const;
      return new DeltaLeaseCore(config, boot, deltaRules(mutant, isLiteral));
    },

    user: ({ config }: StorageScenario, core: SimulatedLeaseCore, desk: Desk<StorageCommand>): User<StorageEvent> =>
      new StorageUser(config.habits, config.handles[desk.node] ?? 0, core, desk),

    referees: ({ config }: StorageScenario, sometimes: (name: string) => void): Referee[] => [
      config.exclusiveFromUs > 0 ? new EventualExclusion(config.exclusiveFromUs) : new ExclusionReferee(),
      ...(config.isFenced ? [new FencingReferee()] : []),
      new DeadlineReferee(),
      new RequestReferee(),
      config.judgesAnswers ? new AnswerReferee() : new Unjudged(['queried', 'answered'], 'a name may hide another’s in this world'),
      ...(config.habits.shares === true ? [dataReferee(config)] : []),
      new Unjudged(['invoked', 'responded'], 'what a holder says of itself travels with its renewals'),
      new LeaseInterest(sometimes),
      new SharedInterest(sometimes),
    ],

    isVote: (): boolean => false,
    describeMessage: (): string => '',
    describeCommand: (command: StorageCommand): string => ('lease' in command ? `${command.kind} (lease ${command.lease})` : command.kind),

    describeEvent(event: StorageEvent): string {
      const lease = 'lease' in event ? ` (lease ${event.lease})` : '';
      return event.kind === 'refused' ? `refused: ${event.reason}${lease}` : `${event.kind}${lease}`;
    },

    nodeName: (_scenario: StorageScenario, node: number): string => `c${node}`,
  };
}

/** Where assumptions break, or the store forgets, data may go back. */
function dataReferee({ kind, judgesAnswers, habits }: StorageWorld): Referee {
  if (!judgesAnswers || !habits.namesAreCertain)
    return new Unjudged(['synced', 'fetching', 'fetched'], 'the store may lose what it has acknowledged in this world');
  return new DataReferee(kind === 'swap' ? 'everybody' : 'each');
}

export const STORAGE_VARIANTS: readonly StorageVariant[] = [
  {
    name: 'delta-lease',
    summary: 'Δ-leases on plain registers, made safe, with the ◇ND renewal: late, lost and failing accesses',
    kind: 'plain',
    renewal: 'eventual-nd',
    mutants: [...DELTA_MUTANTS, ND_RENEWAL],
    shapes: ['weak', 'damaged', 'restored', 'broken', 'asleep', 'late', 'drifting'],
  },
  {
    name: 'delta-lease-nd',
    summary: 'Δ-leases on plain registers, made safe, with the ND renewal: one write',
    kind: 'plain',
    renewal: 'nd',
    mutants: DELTA_MUTANTS,
    shapes: ['weak', 'damaged', 'restored', 'asleep', 'late', 'drifting'],
  },
  {
    name: 'delta-lease-cas',
    summary: 'leases where the store can compare and set: late, lost and failing accesses',
    kind: 'swap',
    renewal: 'eventual-nd',
    mutants: CAS_MUTANTS,
    shapes: ['damaged', 'restored', 'broken', 'repeated', 'asleep', 'late', 'drifting', 'unanswered', 'stale'],
  },
  {
    name: 'delta-lease-shared',
    summary: 'readers beside each other and one writer, and data under leases: on plain registers and with compare-and-set',
    kind: 'either',
    renewal: 'eventual-nd',
    mutants: SHARED_MUTANTS,
    shapes: ['damaged', 'restored', 'asleep', 'late', 'drifting', 'unanswered', 'crowded'],
  },
  {
    name: 'delta-lease-literal',
    summary: 'the Δ-lease to the letter: breaks where a write lands late',
    kind: 'literal',
    renewal: 'eventual-nd',
    mutants: [],
    shapes: ['late'],
  },
];
