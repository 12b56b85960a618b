/** Why claims came to nothing, and what to do about it. */
import type { ClaimRefusal, DiskStanding } from '../../core/index.ts';
import { quorumOf, TenureError } from '../../kernel/index.ts';

/** A claim that no member has room for, or a block that no space has room for. */
export function noRoom(space: string, why: Exclude<ClaimRefusal, 'overlap'>): TenureError {
  if (why === 'exhausted') {
    const message = `'${space}' has no so many free integers in a row up to 2^53−1: ask for smaller blocks, or use another space`;
    return new TenureError('TENURE_LIMIT', message, { space, limit: 'integers' });
  }
  const message =
    `members keep no more claims in '${space}': this process has too many under way, or the members have too many intervals or spaces. ` +
    'Wait for answers before you claim more, and claim larger blocks';
  return new TenureError('TENURE_LIMIT', message, { space, limit: 'claims' });
}

export function diskFailed(member: string): TenureError {
  const message =
    `member ${member} answers no more claims: its data directory cannot be read or written. ` +
    'Others answer without it, and its process claims as before. Mend the disk, and start the member again';
  return new TenureError('TENURE_DISK_FAILED', message, { service: 'claims', member });
}

/** A member and its disk, as it says. */
export interface MemberDisk {
  readonly id: string;
  readonly disk: DiskStanding;
}

/** Every member has answered, and so few disks are in use that no claim can ever be granted. */
export function notBegun(members: readonly MemberDisk[]): TenureError {
  const list = members.map(({ id, disk }) => `${id} ${disk.phase}`).join(', ');
  const isNew = members.every(({ disk }) => disk.phase === 'blank' || disk.phase === 'founding');
  const what = isNew
    ? 'claims have not begun in this cell: the disk of every member is blank. If it is new, begin once with `tenure bootstrap --claims --yes` or ' +
      "`cell.bootstrap({ only: 'claims' })`. If it is not, its disks were lost: bring them back from a backup"
    : `no claim can be granted: fewer than ${quorumOf(members.length)} of ${members.length} members have a disk that is in use (${list}). ` +
      'Bring the lost disks back from a backup, or mend those that have failed, and start these members again';
  return new TenureError('TENURE_NOT_BEGUN', what, { disks: list });
}

/** If claims have begun somewhere, the others were not waited for. */
export function claimsNotBootstrapped(absent: readonly string[], inUse: readonly string[]): TenureError {
  const [missing, used] = [inUse.length > 0 ? '' : absent.join(', '), inUse.join(', ')];
  const why =
    used === ''
      ? `Absent: ${missing}. Start every member with a data directory, and try again`
      : `In use already: ${used}. They have begun before, and members with blank disks join by themselves`;
  return new TenureError('TENURE_BOOTSTRAP_REFUSED', `claims were not begun. ${why}`, { absent: missing, inUse: used, service: 'claims' });
}
