/** Why a member cannot go by what its data directory holds, and what to do about it. */
import type { DiskFailure } from '../../core/index.ts';
import { formatDuration, TenureError, type SpanUs } from '../../kernel/index.ts';

/** `aheadUsMax`: how far ahead of its own clock this member believes a token to be. */
export function diskFailure(why: DiskFailure, aheadUsMax: SpanUs): TenureError {
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
