/** Leases on storage on a stage: clients p, q, … of one shared unit. The script says when an access takes effect and when it is answered. */
import { encodeName, spanUs, TenureError } from '../../../kernel/index.ts';
import { deriveStorageTiming, literalTiming, type Snapshot, type StorageCommand, type StorageEvent } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { formatSpan, type Ways } from '../../stage/actions.ts';
import { settingCount, settingIsOn, settingPpm, settingSpanUs, settingWord } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { ASKER_NAMES, takesNoMore, unknownVerb } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import { LeaseActor, nameText, sayLease } from '../leases/actor.ts';
import type { LeaseHolder } from '../leases/handle-user.ts';
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

/** `store`: plain registers, or with compare-and-set (swap). */
const SHARED_DEFAULTS: Settings = { ...DEFAULTS, store: 'plain' };

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

const SHARED_VERBS = [
  'acquire NODE NAME TERM [wait SPAN] [keep] [shared] [saying TEXT]',
  ...VERBS.slice(1, -1),
  'sync NODE NAME TEXT',
  'fetch NODE NAME',
  ...VERBS.slice(-1),
];

/** Requests that only stores know have numbers of their own, apart from the numbers of other requests. */
const ASKED_FROM = 1_000_000;
/** Where all goes well an access takes this part of δ. */
const ACCESSES_PER_DELTA = 4;

export type StorageStaging = Staging<StorageCommand, StorageEvent, StorageWorld, SimulatedLeaseCore>;

export function storageStaging({ kind: kinds, renewal }: StorageVariant): StorageStaging {
  const shares = kinds === 'either';
  return {
    defaults: shares ? SHARED_DEFAULTS : DEFAULTS,
    verbs: shares ? SHARED_VERBS : VERBS,

    scenario(settings: Settings): Scenario<StorageWorld> {
      const kind = kinds === 'either' ? settingWord(settings, 'store', ['plain', 'swap'] as const) : kinds;
      const nodes = settingCount(settings, 'clients', 1, ASKER_NAMES.length);
      const maxTermUs = settingSpanUs(settings, 'term');
      const input = { deltaUs: settingSpanUs(settings, 'delta'), maxTermUs, rateErrorPpm: settingPpm(settings, 'rate') };
      const timing = kind === 'literal' ? literalTiming(input, renewal) : deriveStorageTiming(input);
      const pollUs = spanUs(settingSpanUs(settings, 'poll'));
      return calmScenario(
        nodes,
        maxTermUs,
        {
          kind,
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
            shares,
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
      new StorageActor(core, desk, shares),
  };
}

export const storageTapeToScript: TapeToScript<StorageCommand, StorageWorld> = {
  settings: ({ nodes, config }: Scenario<StorageWorld>): Settings => ({
    ...(config.habits.shares === true ? { store: config.kind } : {}),
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
      return { verb: command.kind, words: [nameText(command.name)] };
    case 'fetch':
      return { verb: 'fetch', words: [nameText(command.name)] };
    case 'sync':
      return { verb: 'sync', words: [nameText(command.name), nameText(command.data)], about: command.lease };
    case 'epoch':
      return { verb: 'epoch', words: command.isWaitedOut ? ['waited'] : [] };
    default:
      return sayLease(command);
  }
}

export interface StorageActorSnapshot {
  readonly leases: Snapshot;
  readonly asked: number;
  readonly syncs: readonly (readonly [number: number, resource: string, token: number])[];
  readonly fetches: readonly (readonly [number: number, resource: string])[];
}

/** What every lease engine's actor does, and what only stores have. */
class StorageActor implements Actor<StorageEvent> {
  readonly #leases: LeaseActor;
  readonly #desk: Desk<StorageCommand>;
  readonly #shares: boolean;
  #asked = 0;
  /** Data that is under way, and reads of it. */
  #syncs = new Map<number, readonly [resource: string, token: number]>();
  #fetches = new Map<number, string>();

  constructor(core: LeaseHolder, desk: Desk<StorageCommand>, shares: boolean) {
    this.#leases = new LeaseActor(core, desk, { verbs: shares ? SHARED_VERBS : VERBS, releasesLater: false, shares });
    this.#shares = shares;
    this.#desk = desk;
  }

  act(verb: string, words: readonly string[]): void {
    const [word = ''] = words;
    switch (verb) {
      case 'compact':
        takesNoMore(verb, words.slice(1));
        this.#desk.command({ kind: 'compact', lease: this.#number(), name: encodeName(word) });
        return;
      case 'hint':
        takesNoMore(verb, words.slice(1));
        this.#desk.command({ kind: 'hint', name: encodeName(word) });
        return;
      case 'epoch':
        takesNoMore(verb, word === 'waited' ? words.slice(1) : words);
        this.#desk.command({ kind: 'epoch', isWaitedOut: word === 'waited' });
        return;
      case 'sync':
      case 'fetch':
        if (!this.#shares) throw unknownVerb(verb, VERBS);
        if (verb === 'sync') this.#sync(words);
        else this.#fetch(words);
        return;
      default:
        this.#leases.act(verb, words);
    }
  }

  #sync(words: readonly string[]): void {
    const { lease, name, token } = this.#leases.leaseOf('sync', words);
    const [, text] = words;
    if (text === undefined || text === 'lease') throw new TenureError('TENURE_BAD_ARGUMENT', 'sync needs a name and a text');
    const number = this.#number();
    this.#syncs.set(number, [name, token]);
    this.#desk.command({ kind: 'sync', lease, name: encodeName(name), data: encodeName(text), number });
  }

  #fetch([name = '', ...more]: readonly string[]): void {
    takesNoMore('fetch', more);
    const query = this.#number();
    this.#fetches.set(query, name);
    this.#desk.record({ kind: 'fetching', query, resource: name });
    this.#desk.command({ kind: 'fetch', lease: query, name: encodeName(name) });
  }

  #number(): number {
    return ASKED_FROM + ++this.#asked;
  }

  /** Whether the event is about data, and no lease. */
  #ofData(event: StorageEvent): boolean {
    if (event.kind === 'fetched') {
      const resource = this.#fetches.get(event.lease);
      this.#fetches.delete(event.lease);
      if (resource === undefined || event.outcome !== 'found') return true;
      this.#desk.record({ kind: 'fetched', query: event.lease, resource, ...(event.data && { token: event.data.token }) });
      return true;
    }
    if (event.kind !== 'sync-failed' && event.kind !== 'proclaimed') return false;
    const [resource, token] = this.#syncs.get(event.number) ?? [];
    this.#syncs.delete(event.number);
    if (event.kind === 'sync-failed') return true;
    if (resource === undefined || token === undefined) return false;
    this.#desk.record({ kind: 'synced', resource, token });
    return true;
  }

  event(event: StorageEvent): void {
    if (this.#ofData(event)) return;
    switch (event.kind) {
      case 'sync-failed':
      case 'fetched':
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
    const syncs = [...this.#syncs].map(([number, [resource, token]]) => [number, resource, token] as const);
    return { leases: this.#leases.snapshot(), asked: this.#asked, syncs, fetches: [...this.#fetches] };
  }

  restore(snapshot: Snapshot): void {
    const { leases, asked, syncs, fetches } = snapshot as unknown as StorageActorSnapshot;
    this.#leases.restore(leases);
    this.#asked = asked;
    this.#syncs = new Map(syncs.map(([number, resource, token]) => [number, [resource, token]]));
    this.#fetches = new Map(fetches);
  }
}
