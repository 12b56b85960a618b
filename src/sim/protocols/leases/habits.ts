/** Parts of all worlds of lease engines: keys of members, and users that do nothing unusual. */
import { encodeName, hashName } from '../../../kernel/index.ts';

export interface QuorumHabits {
  readonly handles: number;
  readonly resources: readonly { readonly text: string; readonly bytes: Uint8Array }[];
  readonly maxTermUs: number;
  /** A term that every member grants, where they differ. */
  readonly sureTermUs?: number;
  /** Leases are left to run out: no renewal, no release. */
  readonly lapseOnly: boolean;
  /** Until the world heals holders renew with every use, for a moment only, and have something new to say with every other. */
  readonly restless?: boolean;
  /** Until the world heals leases are not renewed, many are short or held for a moment only, and the next is asked for at once. */
  readonly hasty?: boolean;
  /** No user waits for a lease before the world heals. */
  readonly impatient?: boolean;
  /** A user that asks waits for terms before it changes its mind. */
  readonly patient?: boolean;
  /** No user wants anything before the world heals; then every user wants the same name at the same instant. */
  readonly rush: boolean;
  /** No user waits then: a user that is refused tries again, all after the same pause. */
  readonly trying: boolean;
  readonly livenessUs: number;
  /** Whether the engine can tell of changes. */
  readonly watches: boolean;
  /** Whether it can give a lease back as of a later time (P5). */
  readonly releasesLater: boolean;
  /** For how long a member that was started again keeps silent, unless its votes were kept. */
  readonly silenceUs: number;
  /** Not the first process on its node. */
  readonly restarted: boolean;
  /** Members begin silent, and some of them bootstrap the cell as long as no user has asked for anything: that is what brand-new means. */
  readonly bootstraps: boolean;
  readonly isMember: boolean;
  readonly opened: { asked: boolean };
  /** What only the quorum engine has: lists, questions to members. */
  readonly extras: boolean;
  /** Holders change their metadata; unless told otherwise, where there are extras. */
  readonly speaks?: boolean;
  /** Whether a lease can be renewed at all. */
  readonly renews: boolean;
  /** One lease is wanted before the world heals, early and for a moment only. */
  readonly brief: boolean;
  /** Leases are numbered as after billions of others. */
  readonly wideNumbers?: boolean;
  /** Whether what learners believe goes into the history. */
  readonly tellsBeliefs: boolean;
  /** Every user asks for the holders of names, all the time, until the world heals; and many leases are short, so that votes run out meanwhile. */
  readonly curious?: boolean;
  /** Clocks leave the bound: every node compares its own with the clocks of so many members. */
  readonly compares?: { readonly members: number; readonly rateErrorPpm: number } | undefined;
}

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
