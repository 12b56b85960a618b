/** What it means that a lease was lost. */
import { TenureError } from '../../kernel/index.ts';

/** The lease ran out while the work under it went on and, in its own eyes, succeeded. */
export class LeaseLostError extends TenureError {
  /** What the work returned. */
  readonly result: unknown;

  constructor(name: string, result: unknown) {
    super(
      'TENURE_LEASE_LOST',
      `the lease on '${name}' was lost before the work under it was done: someone else may have worked at the same time`,
    );
    this.result = result;
  }
}

export function lost({ name }: { readonly name: string }, how: string): TenureError {
  return new TenureError('TENURE_LEASE_LOST', `the lease on '${name}' ${how}`);
}
