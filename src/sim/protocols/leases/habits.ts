/** What all worlds of lease engines are made of: keys of members, and users who do nothing unusual. */
import { encodeName, hashName } from '../../../kernel/index.ts';
import type { QuorumHabits } from './user.ts';

/** Few, so that names share them, and snapshots are quickly made. */
export const WORLD_CHANGE_BUCKETS = 16;

export function memberKeysOf(members: number): number[] {
  return Array.from({ length: members }, (_, member) => hashName(encodeName(`m${member}`), 0, 2));
}

export function plainHabits(maxTermUs: number, silenceUs: number): QuorumHabits {
  return {
    handles: 0,
    resources: [],
    maxTermUs,
    silenceUs,
    livenessUs: 0,
    lapseOnly: false,
    rush: false,
    trying: false,
    watches: true,
    releasesLater: false,
    extras: false,
    renews: true,
    brief: false,
    tellsBeliefs: false,
    restarted: false,
    bootstraps: false,
    isMember: false,
    opened: { asked: false },
  };
}
