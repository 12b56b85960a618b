/**
 * The exit codes of every command, in one place, and which error ends in which. They follow sysexits(3) where it
 * has a word, so that a script can tell "no member answers" from "another process has it". `docs/cli.md` explains them.
 */
import type { ErrorCode, TenureError } from '../kernel/index.ts';

export const EXIT = {
  ok: 0,
  /** `tenure holder`: the lease has no holder. */
  free: 1,
  /** A safety or liveness violation was found. */
  violation: 2,
  /** A campaign never reached something that must happen sometimes, or a search ended before it had seen everything. */
  unreached: 3,
  usage: 64,
  /** The requested position was there once, and is not kept any more. */
  gone: 66,
  /** No majority of the members can be reached, or too many keep silent. */
  noQuorum: 69,
  internal: 70,
  /** The system could not do it this time, and may the next: a disk is full, a name does not resolve yet. */
  notNow: 71,
  /** A lease ended before it was given back. */
  leaseLost: 73,
  /** Another holds the lease, and waiting was not wanted. */
  conflict: 75,
  waitTimedOut: 76,
  notAllowed: 77,
  badConfig: 78,
  /** As a shell says it: the command was found but cannot be run. */
  cannotRun: 126,
  /** As a shell says it: there is no such command. */
  notFound: 127,
} as const;

/** A code that is added without its exit code does not compile. */
const EXIT_OF: Readonly<Record<ErrorCode, number>> = {
  TENURE_BAD_ARGUMENT: EXIT.usage,
  TENURE_BAD_CONFIG: EXIT.badConfig,
  TENURE_BAD_DURATION: EXIT.usage,
  TENURE_BAD_FRAME: EXIT.badConfig,
  TENURE_BAD_HISTORY: EXIT.usage,
  TENURE_BAD_INTERVAL: EXIT.usage,
  TENURE_BAD_NAME: EXIT.usage,
  TENURE_BAD_TIMING: EXIT.badConfig,
  TENURE_BOOTSTRAP_REFUSED: EXIT.notAllowed,
  TENURE_CANNOT_LISTEN: EXIT.badConfig,
  TENURE_CLOCK_AHEAD: EXIT.noQuorum,
  TENURE_CLOCK_RATE: EXIT.noQuorum,
  TENURE_CLOCK_SKEW: EXIT.noQuorum,
  TENURE_CLOSED: EXIT.noQuorum,
  TENURE_CONFIG_MISMATCH: EXIT.badConfig,
  TENURE_DATA_DIR: EXIT.badConfig,
  TENURE_DATA_DIR_BUSY: EXIT.badConfig,
  TENURE_DATA_DIR_FOREIGN: EXIT.badConfig,
  TENURE_DISK_FAILED: EXIT.internal,
  TENURE_DUPLICATE_MEMBER: EXIT.badConfig,
  TENURE_FORGED: EXIT.notAllowed,
  TENURE_FRAME_TOO_LARGE: EXIT.usage,
  TENURE_HANDSHAKE_TIMEOUT: EXIT.noQuorum,
  TENURE_HELD: EXIT.conflict,
  TENURE_HISTORY_FAILED: EXIT.badConfig,
  TENURE_INSECURE: EXIT.notAllowed,
  TENURE_INTERNAL: EXIT.internal,
  TENURE_LEASE_LOST: EXIT.leaseLost,
  TENURE_LIMIT: EXIT.noQuorum,
  TENURE_MEMBERS_REFUSED: EXIT.notAllowed,
  TENURE_MISSING_PACKAGE: EXIT.badConfig,
  TENURE_NOT_BEGUN: EXIT.noQuorum,
  TENURE_NO_QUORUM: EXIT.noQuorum,
  TENURE_POSITION_GONE: EXIT.gone,
  TENURE_REMOVED: EXIT.badConfig,
  TENURE_REPLACED: EXIT.badConfig,
  TENURE_SHORT_TERM: EXIT.badConfig,
  TENURE_SILENT: EXIT.noQuorum,
  TENURE_STALE_DATA: EXIT.noQuorum,
  TENURE_STORE_CORRUPT: EXIT.badConfig,
  TENURE_STORE_DENIED: EXIT.notAllowed,
  TENURE_STORE_EPOCH: EXIT.noQuorum,
  TENURE_STORE_FORMAT: EXIT.badConfig,
  TENURE_STORE_FULL: EXIT.noQuorum,
  TENURE_STORE_PARAMS: EXIT.badConfig,
  TENURE_STORE_REPLACED: EXIT.badConfig,
  TENURE_STORE_UNFIT: EXIT.badConfig,
  TENURE_STORE_UNREACHABLE: EXIT.noQuorum,
  TENURE_UNCERTAIN: EXIT.noQuorum,
  TENURE_UNKNOWN_MEMBER: EXIT.badConfig,
  TENURE_UNSUPPORTED: EXIT.badConfig,
  TENURE_UNREACHABLE: EXIT.noQuorum,
  TENURE_UPGRADE_CONFLICT: EXIT.conflict,
  TENURE_VERSION_MISMATCH: EXIT.badConfig,
  TENURE_WAIT_TIMEOUT: EXIT.waitTimedOut,
  TENURE_WRONG_ADDRESS: EXIT.badConfig,
  TENURE_WRONG_CELL: EXIT.badConfig,
  TENURE_WRONG_KEY: EXIT.notAllowed,
  TENURE_WRONG_SECRET: EXIT.notAllowed,
};

/** An error that may pass is no bad configuration, whatever its code: the supervisor of the process starts it again. */
export function exitCodeOf({ code, details }: Pick<TenureError, 'code' | 'details'>): number {
  return details['mayPass'] === true ? EXIT.notNow : EXIT_OF[code];
}
