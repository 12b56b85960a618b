/** Leases on storage on a stage: clients p, q, … of one shared unit. The script says when an access takes effect and when it is answered. */
import { decodeName, encodeName, spanUs } from '../../../kernel/index.ts';
import { deriveStorageTiming, literalTiming, type Snapshot, type StorageCommand, type StorageEvent } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { formatSpan, type Ways } from '../../stage/actions.ts';
import { settingCount, settingIsOn, settingPpm, settingSpanUs } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { ASKER_NAMES, takesNoMore } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import { LeaseActor, sayLease } from '../leases/actor.ts';
import type { LeaseHolder } from '../leases/user.ts';
import { leaseTapeToScript } from '../leases/staging.ts';
import type { SimulatedLeaseCore, StorageVariant, StorageWorld } from './protocol.ts';

/** `poll`: how often a held lease is looked at, and how long after a failure it is tried again; 0s is as derived from δ. `eventually`: exclusion is judged from this instant on; 0s is always. */
const DEFAULTS: Settings = {
  clients: '2',
  delta: '10ms',
  term: '1s',
  rate: '0ppm',
  poll: '0s',
  fencing: 'yes',
  answers: 'yes',
  eventually: '0s',
};

const VERBS = [
  'acquire NODE NAME TERM [wait SPAN] [keep] [saying TEXT]',
  'renew NODE NAME [TERM]',
  'release NODE NAME',
  'cancel NODE NAME',
  'use NODE NAME',
  'query NODE NAME',
  'proclaim NODE NAME TEXT',
  'hint NODE NAME',
  'epoch NODE [waited]',
  'compact NODE NAME (where the store can compare and set)',
  '(renew, release, cancel, use and proclaim take "lease N": the Nth acquire of the node, instead of its last of that name)',
];

/** Records are erased under numbers of their own, apart from those of requests. */
const COMPACTIONS_FROM = 1_000_000;
/** Where all goes well an access takes this part of δ. */
const ACCESSES_PER_DELTA = 4;

export type StorageStaging = Staging<StorageCommand, StorageEvent, StorageWorld, SimulatedLeaseCore>;

export function storageStaging({ kind, renewal }: StorageVariant): StorageStaging {
  return {
    defaults: DEFAULTS,
    verbs: VERBS,

    scenario(settings: Settings): Scenario<StorageWorld> {
      const nodes = settingCount(settings, 'clients', 1, ASKER_NAMES.length);
      const maxTermUs = settingSpanUs(settings, 'term');
      const input = { deltaUs: settingSpanUs(settings, 'delta'), maxTermUs, rateErrorPpm: settingPpm(settings, 'rate') };
      const timing = kind === 'literal' ? literalTiming(input, renewal) : deriveStorageTiming(input);
      const pollUs = spanUs(settingSpanUs(settings, 'poll'));
      return calmScenario(
        nodes,
        maxTermUs,
        {
          timing: pollUs === 0 ? timing : { ...timing, pollUs, retryUs: pollUs },
          habits: {
            resources: [],
            maxTermUs,
            livenessUs: 0,
            compacts: false,
            calmAfterUs: 0,
            clings: false,
            keepsLast: false,
            namesAreCertain: true,
            losesAtEndOnly: false,
          },
          handles: [],
          isFenced: settingIsOn(settings, 'fencing'),
          // An actor tells everything that its core calls certain.
          judgesAnswers: kind !== 'literal' && settingIsOn(settings, 'answers'),
          exclusiveFromUs: settingSpanUs(settings, 'eventually'),
        },
        1,
      );
    },

    nodeName: (_scenario: Scenario<StorageWorld>, node: number): string => ASKER_NAMES[node] ?? `n${node}`,
    latencyUs: ({ config }: Scenario<StorageWorld>): number => Math.ceil(config.timing.deltaUs / ACCESSES_PER_DELTA),
    actor: (_scenario: Scenario<StorageWorld>, core: SimulatedLeaseCore, desk: Desk<StorageCommand>): StorageActor =>
      new StorageActor(core, desk),
  };
}

export const storageTapeToScript: TapeToScript<StorageCommand, StorageWorld> = {
  settings: ({ nodes, config }: Scenario<StorageWorld>): Settings => ({
    clients: String(nodes),
    delta: formatSpan(config.timing.deltaUs),
    term: formatSpan(config.timing.maxTermUs),
    rate: `${config.timing.rateErrorPpm}ppm`,
    fencing: config.isFenced ? 'yes' : 'no',
    answers: config.judgesAnswers && config.habits.namesAreCertain ? 'yes' : 'no',
    eventually: formatSpan(spanUs(config.exclusiveFromUs)),
  }),
  spares: ['clients'],
  say: sayStorage,
  insist: leaseTapeToScript.insist ?? (() => null),
  ways: ({ config: { habits } }: Scenario<StorageWorld>): Ways[] =>
    [habits.maxTermUs / 4, habits.maxTermUs * 2].map((giveBackUs) => ({ giveBackUs, askAgainUs: Math.floor(habits.maxTermUs / 20) })),
  users: ({ config }: Scenario<StorageWorld>, node: number): number => config.handles[node] ?? 0,
  use: leaseTapeToScript.use,
};

function sayStorage(command: StorageCommand): Said | null {
  switch (command.kind) {
    case 'hint':
    case 'compact':
      return { verb: command.kind, words: [decodeName(command.name, 0, command.name.length) ?? '?'] };
    case 'epoch':
      return { verb: 'epoch', words: command.isWaitedOut ? ['waited'] : [] };
    default:
      return sayLease(command);
  }
}

export interface StorageActorSnapshot {
  readonly leases: Snapshot;
  readonly compactions: number;
}

/** What every lease engine's actor does, and what only stores have. */
class StorageActor implements Actor<StorageEvent> {
  readonly #leases: LeaseActor;
  readonly #desk: Desk<StorageCommand>;
  #compactions = 0;

  constructor(core: LeaseHolder, desk: Desk<StorageCommand>) {
    this.#leases = new LeaseActor(core, desk, { verbs: VERBS, releasesLater: false });
    this.#desk = desk;
  }

  act(verb: string, words: readonly string[]): void {
    const [word = ''] = words;
    switch (verb) {
      case 'compact':
        takesNoMore(verb, words.slice(1));
        this.#desk.command({ kind: 'compact', lease: COMPACTIONS_FROM + ++this.#compactions, name: encodeName(word) });
        return;
      case 'hint':
        takesNoMore(verb, words.slice(1));
        this.#desk.command({ kind: 'hint', name: encodeName(word) });
        return;
      case 'epoch':
        takesNoMore(verb, word === 'waited' ? words.slice(1) : words);
        this.#desk.command({ kind: 'epoch', isWaitedOut: word === 'waited' });
        return;
      default:
        this.#leases.act(verb, words);
    }
  }

  event(event: StorageEvent): void {
    switch (event.kind) {
      case 'voided':
      case 'unreadable':
      case 'epoch-waited':
      case 'compacted':
        return;
      default:
        this.#leases.event(event);
    }
  }

  settling(ways: Ways): void {
    this.#leases.settling(ways);
  }

  get wakeAt(): number {
    return this.#leases.wakeAt;
  }

  wake(): void {
    this.#leases.wake();
  }

  snapshot(): Snapshot {
    return { leases: this.#leases.snapshot(), compactions: this.#compactions };
  }

  restore(snapshot: Snapshot): void {
    const { leases, compactions } = snapshot as unknown as StorageActorSnapshot;
    this.#leases.restore(leases);
    this.#compactions = compactions;
  }
}
