/** What a node says of itself and of others when something is wrong, and what to do about it. */
import type { DiskFailure } from '../../core/index.ts';
import { formatDuration, spanUs, TenureError, type SpanUs } from '../../kernel/index.ts';
import type { Membership } from './membership.ts';

export function closed(): TenureError {
  return new TenureError('TENURE_CLOSED', 'this cell was closed; join or connect again');
}

/** Why a member cannot go by what its data directory holds. `aheadUsMax`: how far ahead of its own clock this member believes a token to be. */
export function diskFailureError(why: DiskFailure, aheadUsMax: SpanUs): TenureError {
  const explain = (code: 'TENURE_DISK_FAILED' | 'TENURE_CLOCK_AHEAD', what: string): TenureError =>
    new TenureError(code, `this member votes no more: ${what}`);
  if (why === 'unreadable')
    return explain('TENURE_DISK_FAILED', 'its data directory cannot be read or written. Mend the disk, and start it again');
  if (why === 'senseless')
    return explain('TENURE_DISK_FAILED', 'what its data directory holds makes no sense. Delete the directory, and start it again');
  return explain(
    'TENURE_CLOCK_AHEAD',
    `its data directory knows of tokens more than ${formatDuration(aheadUsMax)} ahead of this machine's clock. If the clock is behind, ` +
      'set it and start the member again. If it is right, the directory was poisoned: move it away and start the member anew',
  );
}

/** A client sent no message of this protocol, or a message that no client may send. */
export function forged(client: string): TenureError {
  return new TenureError(
    'TENURE_FORGED',
    `client ${client} sent what is no message, or none that it may send: it was closed. Find out what runs there`,
    { client },
  );
}

/** To the process that was replaced. */
export function memberReplaced(id: string): TenureError {
  return new TenureError(
    'TENURE_REPLACED',
    `another process has been started as member ${id}, and the other members have noted it: this one votes no more and has closed its connections. ` +
      'End this process; if the other one is the mistake, end that one and start this one anew',
    { id },
  );
}

/** To a process that is no member any more. */
export function memberRemoved(id: string, epoch: number): TenureError {
  return new TenureError(
    'TENURE_REMOVED',
    `this process is ${id}, which is no member of its cell any more (view ${epoch}): it votes no more. Stop it; to use it again, add it (tenure members add)`,
    { id, epoch },
  );
}

/** Of services beside leases. */
export function membersMoved(): TenureError {
  return new TenureError(
    'TENURE_UNSUPPORTED',
    'the members of this cell have changed since it was set up, and claims and broadcast are for the members of before: use a cell of their own for them',
  );
}

/** A change of the members of a cell, some of which are too old for it. */
export function tooOldToChange(members: readonly string[]): TenureError {
  const ids = members.join(', ');
  const message = `the members of this cell cannot change while ${ids} is of a version that knows no such thing: upgrade ${ids} first`;
  return new TenureError('TENURE_UNSUPPORTED', message, { members: ids });
}

/** A service beside leases that is in use, and would lose its members. */
export function countsOnMembers(service: string): TenureError {
  const message = `${service} has begun in this cell, and keeps the members that the cell was set up with: it would be over with others. Leave them, or say that it may end (dropServices, --drop-services)`;
  return new TenureError('TENURE_UNSUPPORTED', message, { service });
}

/** A member that counts members otherwise than its cell does. */
export function wrongNumber(id: string, here: number, there: number): TenureError {
  return new TenureError(
    'TENURE_CONFIG_MISMATCH',
    `${id} is member ${there} of its cell and was started as member ${here}: give it the view of the cell (tenure members ls --json) or a data directory, or start it with members that it is not among`,
    { field: 'members', here: String(here), there: String(there), id },
  );
}

/** To peers that still talk to it. */
export function talksToReplaced(id: string): TenureError {
  return new TenureError(
    'TENURE_REPLACED',
    `the process at the address of member ${id} has been replaced by another, and its votes do not count: end it, or correct the address of ${id}`,
    { id },
  );
}

/** What a member waits for that is not noted yet, and what to do. */
export function waitsToBeNoted(missing: readonly number[], membership: Pick<Membership, 'idOf'>): string {
  const ids = missing.map((member) => membership.idOf(member) ?? '').join(', ');
  return `waits for other members to note this start of it; not yet: ${ids}. Start those that are down, or see why they cannot be reached`;
}

/** A term with fewer round trips in it leaves too little room for renewals. */
export const TRIPS_A_TERM = 10;

export function shortTerm(termUs: number, rttUs: number): TenureError {
  const [term, rtt] = [formatDuration(spanUs(termUs)), formatDuration(spanUs(rttUs))];
  return new TenureError(
    'TENURE_SHORT_TERM',
    `a term of ${term} was asked for and round trips take ${rtt}: renewals may come too late. Ask for at least ${TRIPS_A_TERM} round trips`,
    { termUs, rttUs },
  );
}

/** A member that a client could not reach. */
export interface Unreached {
  readonly id: string;
  readonly address: string;
  /** What the last attempt met; null if none has ended yet. */
  readonly why: string | null;
}

export function cellUnreachable(cell: string, members: readonly Unreached[], timeoutUs: SpanUs): TenureError {
  const reasons = members.map(({ id, address, why }) => `${id} (${address}): ${why ?? 'no answer yet'}`).join('; ');
  return new TenureError(
    'TENURE_UNREACHABLE',
    `no member of cell ${cell} was reached within ${formatDuration(timeoutUs)}. ${reasons}. Start them, or correct their addresses`,
    { unreached: members.map(({ id }) => id).join(', '), reasons },
  );
}
