/** Judges a core that throws: a broken invariant of the core is a violation; any other error is a fault of the simulator or of the core's code, and is thrown on. */
import { TenureError } from '../kernel/index.ts';
import type { Violation } from '../check/index.ts';

/** The text of the broken invariant. Throws any other error on. */
export function brokenInvariant(error: unknown): string {
  if (error instanceof TenureError && error.code === 'TENURE_INTERNAL') return `broke an invariant: ${error.message}`;
  throw error;
}

/** `who` names the process whose step it was; null outside of steps. */
export function invariantViolation(error: unknown, who: string | null, at: number): Violation {
  if (who === null) throw error;
  return { property: 'invariant', at, message: `${who} ${brokenInvariant(error)}` };
}
