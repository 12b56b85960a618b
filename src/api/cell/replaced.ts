/** Words about members of which another process has taken the place, and about those that wait to take it. */
import { TenureError } from '../../kernel/index.ts';

/** To the process that was replaced. */
export function replaced(id: string): TenureError {
  return new TenureError(
    'TENURE_REPLACED',
    `another process has been started as member ${id}, and the other members have noted it: this one votes no more and has closed its connections. ` +
      'End this process; if the other one is the mistake, end that one and start this one anew',
    { id },
  );
}

/** To whoever still talks to it. */
export function talksToReplaced(id: string): TenureError {
  return new TenureError(
    'TENURE_REPLACED',
    `the process at the address of member ${id} has been replaced by another, and its votes do not count: end it, or correct the address of ${id}`,
    { id },
  );
}

/** What a member waits for that is not noted yet, and what to do. */
export function waitsToBeNoted(missing: readonly number[], memberIds: readonly string[]): string {
  const ids = missing.map((member) => memberIds[member] ?? '').join(', ');
  return `waits for other members to note this start of it; not yet: ${ids}. Start those that are down, or see why they cannot be reached`;
}
