/**
 * The base of every error a user can meet. Each has a stable code, the same in library, command line
 * and HTTP; `docs/errors.md` says for each what happened and what to do.
 */

/** Every code there is. A code, once released, keeps its meaning for ever. */
export const ERROR_CODES = {
  TENURE_BAD_ARGUMENT: 'an argument is of the wrong kind or out of range',
  TENURE_BAD_CONFIG: 'a config file, a flag or an environment variable cannot be used',
  TENURE_BAD_DURATION: 'a duration cannot be read or is out of range',
  TENURE_BAD_FRAME: 'what came over a connection is not this protocol',
  TENURE_BAD_HISTORY: 'a history is not in the documented schema',
  TENURE_BAD_INTERVAL: 'an interval of integers cannot be claimed',
  TENURE_BAD_NAME: 'a resource name breaks the rules for names',
  TENURE_BAD_TIMING: 'terms, rate error and round trips do not fit together',
  TENURE_BOOTSTRAP_REFUSED: 'not every member is present and silent',
  TENURE_CANNOT_LISTEN: 'the address of this member cannot be listened on',
  TENURE_CLOCK_AHEAD: 'a clock is further off than anyone believes',
  TENURE_CLOCK_RATE: 'a clock runs faster or slower than the cell was told',
  TENURE_CLOCK_SKEW: 'clocks are further apart than the cell was told',
  TENURE_CLOSED: 'the cell or client was closed',
  TENURE_CONFIG_MISMATCH: 'two members of a cell are configured differently',
  TENURE_DATA_DIR: 'a data directory cannot be used',
  TENURE_DATA_DIR_BUSY: 'another process uses the data directory',
  TENURE_DATA_DIR_FOREIGN: 'a data directory belongs to another member or cell',
  TENURE_DISK_FAILED: 'a member cannot keep what it must keep, and votes no more',
  TENURE_DUPLICATE_MEMBER: 'two processes call themselves the same member',
  TENURE_FORGED: 'a process sent a message that it may not send',
  TENURE_FRAME_TOO_LARGE: 'a frame is larger than the limit',
  TENURE_HANDSHAKE_TIMEOUT: 'a connection was opened, but the other side did not finish the handshake in time',
  TENURE_HELD: 'another holds the lease',
  TENURE_HISTORY_FAILED: 'a history file cannot be written any further',
  TENURE_INSECURE: 'without a secret only this machine is served and dialled',
  TENURE_INTERNAL: 'Tenure broke one of its own rules; please report it',
  TENURE_LEASE_LOST: 'a lease ended before its holder gave it back',
  TENURE_LIMIT: 'a limit on how many there may be was reached',
  TENURE_MEMBERS_REFUSED: 'the members of the cell cannot be changed so, or not by this process',
  TENURE_MISSING_PACKAGE: 'an optional package is needed and not installed',
  TENURE_NOT_BEGUN: 'too few members remember what claims or broadcasts go on from',
  TENURE_NO_QUORUM: 'no majority of members could be reached',
  TENURE_POSITION_GONE: 'a message of a log is kept no more',
  TENURE_REMOVED: 'this process is no member of its cell any more',
  TENURE_REPLACED: 'another process has taken the place of this member',
  TENURE_SHORT_TERM: 'a term is short for the round trips there are',
  TENURE_SILENT: 'too many members keep their restart silence',
  TENURE_STALE_DATA: 'data in a store is older than what was seen before',
  TENURE_STORE_CORRUPT: 'a record in a store cannot be read',
  TENURE_STORE_DENIED: 'a store does not let this process in',
  TENURE_STORE_EPOCH: 'a store may have lost writes that it had acknowledged',
  TENURE_STORE_FORMAT: 'a record in a store is of a later version',
  TENURE_STORE_FULL: 'a store has no room',
  TENURE_STORE_PARAMS: 'a store was set up differently, or not at all',
  TENURE_STORE_REPLACED: 'another store is in the place of the one that was opened',
  TENURE_STORE_UNFIT: 'a store does not keep what leases need',
  TENURE_STORE_UNREACHABLE: 'a store does not answer',
  TENURE_UNCERTAIN: 'it is not known whether a message was published',
  TENURE_UNKNOWN_MEMBER: 'a member is not in the list of members',
  TENURE_UNREACHABLE: 'no member of the cell could be reached',
  TENURE_UNSUPPORTED: 'the engine of this cell cannot do that',
  TENURE_UPGRADE_CONFLICT: 'a shared lease cannot be had alone, because of other readers',
  TENURE_VERSION_MISMATCH: 'two sides have no version of the protocol in common',
  TENURE_WAIT_TIMEOUT: 'the lease was not free in time',
  TENURE_WRONG_ADDRESS: 'the address of one member leads to another',
  TENURE_WRONG_CELL: 'the other side belongs to another cell',
  TENURE_WRONG_KEY: 'the other side does not have the key of the incarnation it claims',
  TENURE_WRONG_SECRET: 'the other side does not know the same secret',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export class TenureError extends Error {
  readonly code: ErrorCode;
  /** Facts for programs; what a person needs is in `message`. */
  readonly details: Readonly<Record<string, string | number | boolean>>;

  constructor(code: ErrorCode, message: string, details: Readonly<Record<string, string | number | boolean>> = {}) {
    super(message);
    this.name = 'TenureError';
    this.code = code;
    this.details = details;
  }
}

/** An assertion that stays on in production. A failure stops the member, never the process around it. */
export function invariant(holds: boolean, message: string): asserts holds {
  if (!holds) throw new TenureError('TENURE_INTERNAL', message);
}
