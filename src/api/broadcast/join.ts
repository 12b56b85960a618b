/** `joinBroadcast`: be a member of a group for the sake of its log. The group is a cell like any other: its clients use `connect`. */
import { nodeOf, type Cell } from '../cell/cell.ts';
import { joinCell } from '../cell/join.ts';
import type { JoinOptions } from '../cell/options.ts';
import { checkOptions, type OptionTable } from '../../kernel/index.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import { BROADCAST } from './kind.ts';
import { BroadcastLog, MAIN_LOG } from './log.ts';

export interface JoinBroadcastOptions extends Omit<
  JoinOptions,
  'maxTerm' | 'rateError' | 'replication' | 'engine' | 'keepVotes' | 'onView' | 'view'
> {
  /** The name of the log: main. */
  readonly log?: string;
}

const JOIN_BROADCAST_OPTIONS: OptionTable<JoinBroadcastOptions> = {
  cell: 'any',
  members: 'any',
  self: 'text',
  log: 'text',
  listen: 'text',
  clientSecret: 'bytes',
  secret: 'bytes',
  consensus: 'any',
  dataDir: 'any',
  succession: 'any',
  logger: 'object',
  history: 'any',
};

/** A log with the member that this process is. */
export class JoinedLog extends BroadcastLog {
  /** What else this process can do as a member. */
  readonly cell: Cell;

  /** Made by `joinBroadcast`. */
  constructor(name: string, cell: Cell) {
    const { services, alive } = nodeOf(cell);
    super(name, services, alive);
    this.cell = cell;
  }

  /**
   * Begins the log of a brand-new group; or begins it anew where so many members have lost their memory that it stands still. All members must be there. Messages that only those knew are lost.
   * Throws TENURE_BOOTSTRAP_REFUSED.
   */
  async bootstrap(options: SignalOnly = {}): Promise<void> {
    return this.cell.bootstrap({ ...checkOptions('bootstrap', options, SIGNAL_ONLY), only: 'broadcast' });
  }

  close(): Promise<void> {
    return this.cell.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Be a member: take part in ordering messages, publish and read. Resolves once others can dial in; `ready()` waits until this member takes its full part. */
export async function joinBroadcast(options: JoinBroadcastOptions): Promise<JoinedLog> {
  const { log = MAIN_LOG, ...others } = checkOptions('joinBroadcast', options, JOIN_BROADCAST_OPTIONS);
  const cell = await joinCell(others);
  try {
    const joined = new JoinedLog(log, cell);
    // It takes part from here on, whether this process ever publishes or not.
    nodeOf(cell).services.of(BROADCAST);
    return joined;
  } catch (error) {
    await cell.close();
    throw error;
  }
}
