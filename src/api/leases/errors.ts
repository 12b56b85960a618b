/** The errors that tell of a lost lease. */
import { TenureError } from '../../kernel/index.ts';

/** Which of its holder's own conditions ended a lease. */
export type EarlyEnd = 'maxHold' | 'renewWhile' | 'after';

const HOW: Record<EarlyEnd, string> = {
  maxHold: 'was held for as long as its maxHold allows',
  renewWhile: 'was renewed no more because renewWhile did not say to go on',
  after: 'was given back as of now',
};

/** The lease ran out while the work under it went on and, in its own eyes, succeeded. */
export class LeaseLostError extends TenureError {
  /** What the work returned. */
  readonly result: unknown;

  /** `ended`: what its holder had said about its end, if that ended it. */
  constructor(name: string, result: unknown, ended?: EarlyEnd) {
    super(
      'TENURE_LEASE_LOST',
      `the lease on '${name}' ${ended === undefined ? 'was lost' : HOW[ended]} before the work under it was done: someone else may have worked at the same time`,
      ended === undefined ? {} : { ended },
    );
    this.result = result;
  }
}

export function lost({ name }: { readonly name: string }, how: string): TenureError {
  return new TenureError('TENURE_LEASE_LOST', `the lease on '${name}' ${how}`);
}

/** Its holder had said when it is to end. */
export function endedEarly({ name }: { readonly name: string }, ended: EarlyEnd, what = ''): TenureError {
  return new TenureError('TENURE_LEASE_LOST', `the lease on '${name}' ${HOW[ended]}${what}`, { ended });
}
