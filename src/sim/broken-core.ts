/** What is made of a core that throws: a broken invariant of its own is a violation; anything else is a fault of the simulator or of the core's code. */
import { TenureError } from '../kernel/index.ts';
import type { Violation } from '../check/index.ts';

/** The text of the invariant that was broken. Throws what is none. */
export function brokenInvariant(error: unknown): string {
  if (error instanceof TenureError && error.code === 'TENURE_INTERNAL') return `broke an invariant: ${error.message}`;
  throw error;
}

/** `who` was being stepped; null if nobody was. */
export function invariantViolation(error: unknown, who: string | null, at: number): Violation {
  if (who === null) throw error;
  return { property: 'invariant', at, message: `${who} ${brokenInvariant(error)}` };
}
