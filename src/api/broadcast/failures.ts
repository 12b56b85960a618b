/** Why a log cannot be published to or read, and what to do about it. */
import { TenureError } from '../../kernel/index.ts';

export function messageTooLarge(bytes: number, bytesMax: number): TenureError {
  const message = `a message of ${bytes} bytes cannot be published: ${bytesMax} is the limit. Publish where the rest can be found`;
  return new TenureError('TENURE_LIMIT', message, { limit: 'message', bytes, bytesMax });
}

export function tooManyWait(bytesMax: number): TenureError {
  const message = `more than ${bytesMax} bytes wait to be published by this process already: await what publish returns before you publish more`;
  return new TenureError('TENURE_LIMIT', message, { limit: 'waiting', bytesMax });
}

export function uncertain(): TenureError {
  const message =
    'it is not known whether this message was published: no answer came for so long that the log has dropped the place where it would be, or the ' +
    'members have begun the log anew meanwhile. It is not sent again, and it is delivered once at most';
  return new TenureError('TENURE_UNCERTAIN', message);
}

export function positionGone(name: string, from: number, first: number): TenureError {
  const message =
    `position ${from} of the log '${name}' is kept no more: the first that is kept is ${first}. ` +
    "Start from a snapshot that is newer, or from 'first' or 'next' if a gap does not matter";
  return new TenureError('TENURE_POSITION_GONE', message, { name, from, first });
}

/** The group was begun anew since that position was read. */
export function epochGone(name: string, from: number, epoch: number, now: number): TenureError {
  const message =
    `position ${from} of the log '${name}' is of epoch ${epoch}, and the members have begun anew since, in epoch ${now}: messages may be lost, and ` +
    "positions do not mean the same. Start from a snapshot of this epoch, or from 'first'";
  return new TenureError('TENURE_POSITION_GONE', message, { name, from, epoch, now });
}

/** Fewer than a majority remember the decisions. */
export function logStopped(forgetful: readonly string[], members: number): TenureError {
  const list = forgetful.join(', ');
  const isNew = forgetful.length === members;
  const what = isNew
    ? 'broadcast has not begun in this cell, or all its members have lost their memory: nobody remembers any message. '
    : `broadcast has stopped: ${list} ${forgetful.length === 1 ? 'has' : 'have'} lost what they had voted for, and the others are no majority. `;
  const next = isNew
    ? "Begin it once with `tenure bootstrap --broadcast --yes` or `cell.bootstrap({ only: 'broadcast' })`"
    : 'Bring back their data directories, if there are any; or begin anew with `tenure bootstrap --broadcast --yes`: what only they knew is lost then';
  return new TenureError('TENURE_NOT_BEGUN', what + next, { service: 'broadcast', without: list });
}

export function logDiskFailed(member: string): TenureError {
  const message =
    `member ${member} takes no part in broadcast any more: its data directory cannot be read or written. ` +
    'The others go on without it. Mend the disk, and start the member again';
  return new TenureError('TENURE_DISK_FAILED', message, { service: 'broadcast', member });
}

/** If some members go on with their memory, the others were not waited for. */
export function broadcastNotBegun(absent: readonly string[], barred: readonly string[]): TenureError {
  const [missing, going] = [barred.length > 0 ? '' : absent.join(', '), barred.join(', ')];
  const why =
    going === ''
      ? `Absent: ${missing}. Start every member, and try again`
      : `In a group that goes on: ${going}. Members that have lost their memory join it by themselves`;
  return new TenureError('TENURE_BOOTSTRAP_REFUSED', `broadcast was not begun. ${why}`, {
    absent: missing,
    inUse: going,
    service: 'broadcast',
  });
}

export function keepIsForMembers(): TenureError {
  return new TenureError(
    'TENURE_UNSUPPORTED',
    'only a member keeps a state for readers that are behind: do it in the process of a member',
    {
      service: 'broadcast',
    },
  );
}
