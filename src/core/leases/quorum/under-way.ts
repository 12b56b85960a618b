/** What a holder has under way: renewals and releases that wait for answers. */
import type { BallotTime, MonoUs, NodeId, VoterSet, WallUs } from '../../../kernel/index.ts';
import type { NameTable } from '../../tables/index.ts';
import { textOf } from '../snapshots.ts';
import type { PublicationsSnapshot } from './publications.ts';

export interface Renewal {
  readonly lease: number;
  readonly id: number;
  readonly termUs: number;
  /** The newest proclaim it carries. */
  proclaim: number;
  ballot: BallotTime;
  startMono: MonoUs;
  startWall: WallUs;
  /** The end of the attempt, or of the rest after a failed one. */
  until: MonoUs;
  readonly accepted: VoterSet;
  readonly refused: VoterSet;
}

export interface Releasing {
  readonly lease: number;
  readonly name: Uint8Array;
  readonly voters: readonly NodeId[];
  readonly ballot: BallotTime;
  readonly answered: VoterSet;
  /** The lease has run out by then, heard or not. */
  readonly overAt: MonoUs;
  until: MonoUs;
  /** Until it is sent again; doubled each time. */
  gapUs: number;
}

/** All that a holder has. */
export interface HolderSnapshot {
  readonly published: PublicationsSnapshot;
  readonly rows: readonly (readonly [string, number, number, number, number, number, number, number])[];
  readonly renewals: readonly (Omit<Renewal, 'id' | 'accepted' | 'refused'> & { name: string; accepted: number[]; refused: number[] })[];
  readonly releases: readonly (Omit<Releasing, 'name' | 'voters' | 'answered'> & { name: string; answered: number[] })[];
}

export function renewalSnapshot({ id, accepted, refused, ...rest }: Renewal, names: NameTable): HolderSnapshot['renewals'][number] {
  return { ...rest, name: textOf(names.toBytes(id)), accepted: accepted.toArray(), refused: refused.toArray() };
}

export function releasingSnapshot(releasing: Releasing): HolderSnapshot['releases'][number] {
  const { lease, name, ballot, answered, overAt, until, gapUs } = releasing;
  return { lease, name: textOf(name), ballot, answered: answered.toArray(), overAt, until, gapUs };
}
