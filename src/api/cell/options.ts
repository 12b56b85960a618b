/** What `joinCell` and `connect` are told, and what holds where they are not. */
import type { Duration, OptionTable } from '../../kernel/index.ts';
import type { BroadcastConsensus, SuccessionMode } from '../../core/index.ts';
import type { Secret } from '../../transport/index.ts';
import type { EngineOptions } from '../engines/index.ts';
import type { HistoryOptions } from '../observing/history-file.ts';
import type { Logger } from '../observing/logging.ts';
import type { CellView } from './told-view.ts';

export interface ConnectOptions {
  /** The name of the cell: members and clients of another are turned away. */
  readonly cell: string;
  /** Every member and its address. The ids are fixed; addresses may change and are looked up at every attempt. */
  readonly members: Readonly<Record<string, string>>;
  /** What proves that a client belongs here. Without one, only this machine is served. */
  readonly clientSecret?: Secret;
  /** The members' secret. A client that gives it, in place of the clients', may also bootstrap the cell. */
  readonly secret?: Secret;
  /** Tells people which client this is. */
  readonly name?: string;
  /** How long `connect` tries to reach a member: 30s. */
  readonly timeout?: Duration;
  /** Which protocol grants leases, the same for all members: 'quorum'. A client need not be told; a client that is told another protocol than the members is refused. */
  readonly engine?: EngineOptions;
  /** Where to log, in pino's shape; nowhere unless told otherwise. */
  readonly logger?: Logger;
  /** A file for the history of this process, which `tenure check` judges; or a directory. */
  readonly history?: string | HistoryOptions;
}

export interface JoinOptions extends Omit<ConnectOptions, 'name' | 'secret' | 'timeout'> {
  /** Which of the members this is. */
  readonly self: string;
  /** Where to listen; its address among the members unless told otherwise. */
  readonly listen?: string;
  /** What proves that a member belongs here; not the clients' secret. */
  readonly secret?: Secret;
  /** The longest term of any lease, the same for all members: 15s. A member that starts keeps silent about as long. */
  readonly maxTerm?: Duration;
  /**
   * How far the rate of any clock may be off, the same for all members: 0.1, which covers clocks that NTP or chrony slews. A smaller one makes
   * silences and votes shorter, and is your word for every clock of the cell.
   */
  readonly rateError?: number;
  /** How many members vote on a name; all of them unless told otherwise. */
  readonly replication?: number;
  /**
   * When this member, started anew, takes the place of its earlier life. `majority`, the default: once a majority of the members, and every other
   * that it can reach, have noted it. `strict`: once so many have noted it that every quorum its earlier life can reach finds out; it then needs
   * more than a majority to be up. For platforms that may run two processes of one member at once.
   */
  readonly succession?: SuccessionMode;
  /** Which consensus orders broadcast messages, the same for all members: 'fast-ct'. */
  readonly consensus?: BroadcastConsensus;
  /**
   * Stores a view: called whenever this member goes to another one, and a change of the cell waits until enough members have stored it. Once it resolves,
   * every later start of this member must be given that view, or a later one, as `view`. A member with a `dataDir` keeps views there, and needs none of this.
   */
  readonly onView?: (view: CellView) => Promise<void> | void;
  /** The last view that `onView` was told, as its `text`: where the cell has changed its members or terms since it was set up. */
  readonly view?: string;
  /** A directory of this member alone. It keeps tokens rising across restarts; needs the package `lmdb`. */
  readonly dataDir?: string;
  /** Keeps every vote in `dataDir` as well, before it is given: a restart then need not be silent. Costs a disk write for each new lease. */
  readonly keepVotes?: boolean;
}

const OF_BOTH: OptionTable<Omit<ConnectOptions, 'name' | 'timeout'>> = {
  cell: 'any',
  members: 'any',
  clientSecret: 'bytes',
  secret: 'bytes',
  engine: 'any',
  logger: 'object',
  history: 'any',
};

export const CONNECT_OPTIONS: OptionTable<ConnectOptions> = { ...OF_BOTH, name: 'text', timeout: 'any' };

export const JOIN_OPTIONS: OptionTable<JoinOptions> = {
  ...OF_BOTH,
  self: 'text',
  listen: 'text',
  maxTerm: 'any',
  rateError: 'number',
  replication: 'any',
  succession: 'any',
  consensus: 'any',
  onView: 'any',
  view: 'text',
  dataDir: 'any',
  keepVotes: 'boolean',
};

export const VIEW = 1;
export const SUCCESSION: SuccessionMode = 'majority';
export const CONNECT_TIMEOUT = '30s';
