/** A holder's renewals that wait for answers, and their snapshots. */
import type { BallotTime, MonoUs, VoterSet, WallUs } from '../../../kernel/index.ts';
import type { ReleasingSnapshot } from './releaser.ts';

export interface Renewal {
  readonly lease: number;
  readonly id: number;
  /** The term; a view may shorten the requested one. */
  termUs: number;
  /** The newest proclaim it carries. */
  proclaim: number;
  /** Whether its votes move the deadline on: a gated lease was not let go on by a proclaim. */
  readonly extends: boolean;
  /** The mode that its caller is told of when it is done; null if it is not to be told. */
  becomes: number | null;
  /** Its voters have told of a waiter. */
  isWanted: boolean;
  ballot: BallotTime;
  /** What its next ballot must be above, besides its own: a voter that does not have the lease has gone as high for its name. */
  above: BallotTime;
  startMono: MonoUs;
  startWall: WallUs;
  /** When voters that have not answered are asked again, or the end of the rest before that. */
  until: MonoUs;
  /** Too few have answered in time. Later answers still count. */
  isResting: boolean;
  /** How often that was so: voters are asked again after twice as long each time. */
  unanswered: number;
  /** A voter refuses this ballot for good: it is asked again with another. */
  isRefused: boolean;
  readonly accepted: VoterSet;
  readonly refused: VoterSet;
}

/** All that a holder has. */
export interface HolderSnapshot {
  readonly rows: readonly (readonly [string, number, number, number, number, number, number, number, number])[];
  readonly renewals: readonly (Omit<Renewal, 'id' | 'accepted' | 'refused'> & { name: string; accepted: number[]; refused: number[] })[];
  readonly releases: readonly ReleasingSnapshot[];
}

export function renewalSnapshot({ id: _id, accepted, refused, ...rest }: Renewal, name: string): HolderSnapshot['renewals'][number] {
  return { ...rest, name, accepted: accepted.toArray(), refused: refused.toArray() };
}
