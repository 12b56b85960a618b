/** Which cgroup a person wants around a command (`--cgroup`), and whether it can be had. */
import { TenureError } from '../../kernel/index.ts';
import { Cgroup } from './cgroup.ts';

/** Below ours if that can be done, none, or below this one. */
export type CgroupWish = 'auto' | 'off' | `/${string}`;

export const CGROUP_HELP =
  'a cgroup of its own, which also ends processes that leave the process group: auto (if that can be done), off, or below this folder';

/** A cgroup that is asked for by name is tried at once: a user that waits long for a lease does not want to hear of it then. */
export function readCgroupWish(text: string): CgroupWish {
  if (text === 'auto' || text === 'off') return text;
  if (!isPath(text))
    throw new TenureError('TENURE_BAD_ARGUMENT', `--cgroup ${text}: give auto, off, or the folder of a cgroup: /sys/fs/cgroup/…`);
  try {
    Cgroup.below(text).remove();
  } catch (error) {
    throw cannotEnclose(text, error);
  }
  return text;
}

/** The cgroup with the command in it, or why there is none. */
export type Enclosure =
  | { readonly kind: 'cgroup'; readonly cgroup: Cgroup }
  /** A process that leaves the process group is out of reach. */
  | { readonly kind: 'none'; readonly why: string }
  | { readonly kind: 'refused'; readonly error: TenureError };

export function enclose(pid: number, wish: CgroupWish): Enclosure {
  if (wish === 'off') return { kind: 'none', why: '--cgroup off' };
  try {
    return { kind: 'cgroup', cgroup: Cgroup.around(pid, wish === 'auto' ? undefined : wish) };
  } catch (error) {
    return wish === 'auto' ? { kind: 'none', why: messageOf(error) } : { kind: 'refused', error: cannotEnclose(wish, error) };
  }
}

function cannotEnclose(wish: string, error: unknown): TenureError {
  return new TenureError('TENURE_BAD_CONFIG', `--cgroup ${wish}: ${messageOf(error)}`);
}

function isPath(text: string): text is `/${string}` {
  return text.startsWith('/');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
