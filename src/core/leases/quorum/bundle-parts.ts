/** What the parts of a holder's bundles know of each other: rows, rounds and repair. */
import type { MonoUs, NodeId, VoterSet, WallUs } from '../../../kernel/index.ts';
import type { BundleDigest } from './bundle-digest.ts';
import type { QuorumStep } from './config.ts';

/** What a round looks like to the rows that it renews. */
export interface BulkRound {
  readonly startMono: MonoUs;
  readonly startWall: WallUs;
  readonly termUs: number;
  /** Voters that have renewed the bundle they were asked for. */
  readonly answered: VoterSet;
}

/** A bundle at one voter, as its holder knows it. */
export interface BundleShare {
  readonly voter: NodeId;
  /** 0 if it has none there. */
  number: number;
  readonly digest: BundleDigest;
  /** Entries that this node removed since it asked: the voter's answer describes the bundle as it was before. */
  readonly taken: BundleDigest;
  /** Rounds in a row in which the voter had something else in it. */
  misses: number;
}

/** The voters that answered a round, and the voters that were heard of. */
export interface RoundEnd {
  readonly answered: VoterSet;
  readonly heard: VoterSet;
}

/** Rounds, to the rows. */
export interface RoundsView {
  readonly isOn: boolean;
  shareOf(termMs: number, voter: NodeId): BundleShare | undefined;
  shareFor(termMs: number, voter: NodeId, number: number): BundleShare | null;
  count(termMs: number, leases: 1 | -1): void;
  lastOf(termMs: number): RoundEnd | null;
  isTiredOf(termMs: number): boolean;
  want(termMs: number, step: QuorumStep): void;
}

/** The rows of one holder, to rounds and repair. */
interface BulkRows {
  readonly idLimit: number;
  each(termMs: number, visit: (id: number) => void): void;
  isOf(termMs: number, id: number): boolean;
  lastsUntil(id: number, endUs: number): boolean;
  mayExtend(id: number): boolean;
  isQuorum(id: number, among: VoterSet | null): boolean;
  isBehind(id: number, endUs: number): boolean;
  dueAt(id: number): MonoUs;
  lookAgain(id: number): void;
  missing(id: number, heard: VoterSet): readonly NodeId[];
  leaveAt(id: number, voter: NodeId): void;
  forgetAll(): void;
  holds(lease: number, name: Uint8Array): boolean;
  leaseOf(id: number): number;
}

/** One of the two holders of a node. */
export interface BulkHolder {
  readonly bundled: BulkRows;
  readonly renewals: {
    /** True if the next round is to look at it: no agenda does. */
    extendInBulk(id: number, round: BulkRound, step: QuorumStep): boolean;
    join(id: number, voters: readonly NodeId[], step: QuorumStep): void;
  };
}
