/**
 * The base of every error a user can meet. Each has a stable code, the same in library, command line
 * and HTTP; `docs/errors.md` says for each what happened and what to do.
 */

/** Every code there is. A code, once released, keeps its meaning for ever. */
export const ERROR_CODES = {
  TENURE_BAD_ARGUMENT: 'an argument is of the wrong kind or out of range',
  TENURE_BAD_DURATION: 'a duration cannot be read or is out of range',
  TENURE_BAD_HISTORY: 'a history is not in the documented schema',
  TENURE_BAD_NAME: 'a resource name breaks the rules for names',
  TENURE_BAD_TIMING: 'terms, rate error and round trips do not fit together',
  TENURE_CLOSED: 'the cell or client was closed',
  TENURE_CONFIG_MISMATCH: 'members of one cell disagree about its configuration',
  TENURE_HELD: 'another holds the lease',
  TENURE_INTERNAL: 'Tenure broke one of its own rules; please report it',
  TENURE_LEASE_LOST: 'a lease ended before its holder gave it back',
  TENURE_NO_QUORUM: 'no majority of members could be reached',
  TENURE_SILENT: 'too many members keep their restart silence',
  TENURE_WAIT_TIMEOUT: 'the lease was not free in time',
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

/** An assertion that stays on in production. What fails here stops the member, never the process around it. */
export function invariant(holds: boolean, message: string): asserts holds {
  if (!holds) throw new TenureError('TENURE_INTERNAL', message);
}
