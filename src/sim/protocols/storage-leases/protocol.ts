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
import { DeadlineReferee, ExclusionReferee, FencingReferee, RequestReferee, type Referee } from '../../../check/index.ts';
import { registerCodec } from '../../../wire/index.ts';
import { LEASE_INTERESTS, LeaseInterest, PROCESS_INTERESTS, STORAGE_INTERESTS } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, SmallerScenario, Sometime, User } from '../../protocol.ts';
import { EventualExclusion } from './eventual.ts';
import { CAS_MUTANTS, casRules, DELTA_MUTANTS, deltaRules, ND_RENEWAL, type StorageMutant } from './mutants.ts';
import { StorageUser, type StorageHabits } from './user.ts';
import { storageFaults, TERM_US, type StorageShape } from './worlds.ts';

/** A late access takes up to so many terms. */
const LATE_TERMS = 3;

/** With terms shorter than so many δ, the four steps of a renewal do not always fit into what is left of one. */
const RENEWAL_DELTAS = 10;

interface StorageWorld {
  readonly timing: StorageTiming;
  readonly habits: StorageHabits;
  readonly handles: readonly number[];
  /** Tokens rise here (rule 24). */
  readonly isFenced: boolean;
  /** From when on there is at most one holder; 0: always. */
  readonly exclusiveFromUs: number;
}

type StorageScenario = Scenario<StorageWorld>;
type StorageNode = DeltaLeaseCore | CasLeaseCore;
export type StorageProtocolKit = SimProtocol<never, StorageCommand, StorageEvent, StorageWorld, StorageNode>;

interface Variant {
  readonly name: string;
  readonly summary: string;
  readonly kind: 'plain' | 'swap' | 'literal';
  readonly renewal: RenewalKind;
  readonly mutants: readonly StorageMutant[];
  /** Of eight worlds, the first have these shapes. */
  readonly shapes: readonly StorageShape[];
}

const INTERESTS: readonly Sometime[] = [
  ...LEASE_INTERESTS,
  ...PROCESS_INTERESTS,
  ...STORAGE_INTERESTS,
  { name: 'void-attempt', description: 'an attempt came to nothing because an access was late, failed or was not answered' },
  { name: 'waiter-served', description: 'a lease was granted to one that had waited' },
  { name: 'renewal-failed', description: 'a renewal failed' },
  { name: 'proclaimed', description: 'a holder changed what it says of itself' },
  { name: 'release-acknowledged', description: 'the store answered a release' },
  { name: 'query-finds-holder', description: 'a question named the holder' },
  { name: 'query-finds-nobody', description: 'a question found the lease free' },
  { name: 'refused-held', description: 'a try was told who holds the lease' },
  { name: 'refused-queued', description: 'a try found another request of its process' },
  { name: 'refused-timeout', description: 'a wait ended' },
  { name: 'refused-cancelled', description: 'a request was cancelled' },
  { name: 'refused-unreachable', description: 'a request found no answer' },
];

const DAMAGE: readonly Sometime[] = [
  { name: 'unreadable-record', description: 'a record could not be read' },
  { name: 'refused-unreadable', description: 'a request met a record that cannot be read' },
];
const PLAIN: readonly Sometime[] = [{ name: 'refused-contended', description: 'a try was overtaken while it contended' }];
const SWAP: readonly Sometime[] = [{ name: 'record-erased', description: 'a record was erased, and its token kept as a floor' }];

/** What never happens: only plain registers are overtaken in, only swaps erase, and a swap is decided before it is seen. */
const LACKS: Readonly<Record<Variant['kind'], ReadonlySet<string>>> = {
  plain: new Set(['record-erased']),
  swap: new Set(['refused-contended', 'early-read']),
  literal: new Set(['record-erased', 'refused-contended', 'stale-read', 'early-read', 'unreadable-record', 'refused-unreadable']),
};

function mutantOf({ mutants }: Variant, name: string | null): StorageMutant | undefined {
  return mutants.find((mutant) => mutant.name === name);
}

function planWorld(variant: Variant, chooser: Chooser, mutant: string | null): StorageScenario {
  const { kind, renewal } = variant;
  const drawn = chooser.below(8);
  const shape = mutant === null ? (variant.shapes[drawn] ?? 'any') : (mutantOf(variant, mutant)?.shape ?? 'any');
  const isBroken = shape === 'broken';
  const deltaUs = TERM_US / ([5, 10, 40, 100][shape === 'drifting' ? 3 : chooser.below(4)] as number);
  const rateErrorPpm = shape === 'drifting' ? 100_000 : ([0, 1_000, 100_000][chooser.below(3)] as number);
  const offsetUsMax = kind === 'swap' ? TERM_US * 3 : TERM_US / 4;
  const faults = storageFaults(shape, chooser, { deltaUs, ratePpm: kind === 'literal' ? 0 : rateErrorPpm, offsetUsMax });
  const input = { deltaUs, maxTermUs: TERM_US, rateErrorPpm };
  const timing = kind === 'literal' ? literalTiming(input, renewal) : deriveStorageTiming(input);
  const nodes = 2 + chooser.below(4);
  const handles = Array.from({ length: nodes }, () => 1 + chooser.below(2));
  const handlesInAll = handles.reduce((sum, count) => sum + count, 0);
  const names = 1 + chooser.below(2);
  const safetyUs = TERM_US * (4 + chooser.below(12));
  const calmAfterUs = (LATE_TERMS + 1) * TERM_US + 2 * timing.observationUs;
  // A write that was never answered may be found and not found for ever: whoever watches the record begins anew each time.
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
      timing,
      habits: {
        resources: Array.from({ length: names }, (_, i) => ({ text: `r${i}`, bytes: encodeName(`r${i}`) })),
        maxTermUs: TERM_US,
        livenessUs,
        compacts: kind === 'swap' && shape !== 'stale' && chooser.below(2) === 0,
        calmAfterUs,
        clings: isBroken,
        keepsLast: kind === 'swap' || TERM_US >= RENEWAL_DELTAS * deltaUs,
        // Where something else is taken out, that is what is judged.
        losesAtEndOnly: kind === 'swap' && shape !== 'stale' && (mutant === null || shape === 'unanswered'),
      },
      handles,
      isFenced: (kind === 'swap' || isDriftSmall) && !isBroken && kind !== 'literal',
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

function storageProtocol(variant: Variant): StorageProtocolKit {
  const { kind, renewal, mutants } = variant;
  return {
    name: variant.name,
    summary: variant.summary,
    mutants,
    sometimes: [...INTERESTS, ...DAMAGE, ...PLAIN, ...SWAP].filter(({ name }) => !LACKS[kind].has(name)),
    codec: registerCodec,

    plan: (chooser: Chooser, mutant: string | null): StorageScenario => planWorld(variant, chooser, mutant),
    smaller: smallerWorlds,

    core({ config: { timing } }: StorageScenario, boot: Boot, name: string | null): StorageNode {
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

    user: ({ config }: StorageScenario, core: StorageNode, desk: Desk<StorageCommand>): User<StorageEvent> =>
      new StorageUser(config.habits, config.handles[desk.node] ?? 0, core, desk),

    referees: ({ config }: StorageScenario, sometimes: (name: string) => void): Referee[] => [
      config.exclusiveFromUs > 0 ? new EventualExclusion(config.exclusiveFromUs) : new ExclusionReferee(),
      ...(config.isFenced ? [new FencingReferee()] : []),
      new DeadlineReferee(),
      new RequestReferee(),
      new LeaseInterest(sometimes),
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

export const deltaLease: StorageProtocolKit = storageProtocol({
  name: 'delta-lease',
  summary: 'Δ-leases on plain registers, made safe, with the ◇ND renewal: late, lost and failing accesses',
  kind: 'plain',
  renewal: 'eventual-nd',
  mutants: [...DELTA_MUTANTS, ND_RENEWAL],
  shapes: ['weak', 'damaged', 'broken', 'asleep', 'late'],
});

export const deltaLeaseNd: StorageProtocolKit = storageProtocol({
  name: 'delta-lease-nd',
  summary: 'Δ-leases on plain registers, made safe, with the ND renewal: one write',
  kind: 'plain',
  renewal: 'nd',
  mutants: DELTA_MUTANTS,
  shapes: ['weak', 'damaged', 'asleep', 'late'],
});

export const deltaLeaseCas: StorageProtocolKit = storageProtocol({
  name: 'delta-lease-cas',
  summary: 'leases where the store can compare and set: late, lost and failing accesses',
  kind: 'swap',
  renewal: 'eventual-nd',
  mutants: CAS_MUTANTS,
  shapes: ['damaged', 'asleep', 'late', 'unanswered', 'stale'],
});

export const deltaLeaseLiteral: StorageProtocolKit = storageProtocol({
  name: 'delta-lease-literal',
  summary: 'the Δ-lease to the letter: breaks where a write lands late',
  kind: 'literal',
  renewal: 'eventual-nd',
  mutants: [],
  shapes: ['late', 'late', 'late', 'late'],
});
