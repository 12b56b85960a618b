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
  TENURE_INTERNAL: 'Tenure broke one of its own rules; please report it',
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
