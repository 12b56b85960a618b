/** What a quorum core is built with. Commands and events are the same for every lease engine. */
import type { HashKey } from '../../../kernel/index.ts';
import type { Step } from '../../contract.ts';
import type { LeaseCommand, LeaseEvent } from '../contract.ts';
import type { MemberLimits } from '../limits.ts';
import type { SuccessionMode } from '../succession.ts';
import type { QuorumMessage } from './messages.ts';
import type { Timing } from '../timing.ts';
import type { View } from '../views.ts';

export interface QuorumConfig {
  /** Stable 32-bit hashes of the members' ids, in the order of their node numbers. */
  readonly memberKeys: readonly number[];
  /** The view that the caller knows of at the start of this node; the first view, of all these members, unless told otherwise. */
  readonly view?: View | undefined;
  /** False: that view is not stored; the next start of this node may know of none. */
  readonly isViewStored?: boolean | undefined;
  /** Members have numbers below this, whichever there are; the numbers of `memberKeys` unless told otherwise. */
  readonly memberNumbers?: number | undefined;
  /** Where a view is stored that a member adopts: on its own disk if it has one, unless told otherwise; or by its caller. */
  readonly viewsKeptBy?: 'disk' | 'caller' | undefined;
  /** How many members vote on a resource; all of them unless told otherwise. */
  readonly replication?: number;
  readonly timing: Timing;
  /** Metadata of a lease, at most. */
  readonly metaBytesMax?: number;
  /** How finely acceptors remember how high their ballots went. */
  readonly floorBuckets?: number;
  /** How finely they remember when votes began; a power of two. */
  readonly changeBuckets?: number;
  /** What a member keeps on its own disk; nothing unless told otherwise. */
  readonly keeps?: Keeps;
  /** For tables whose keys others choose: secret, and another one in every process. Worlds that must be the same every time have none. */
  readonly hashKey?: HashKey | undefined;
  /** What a member keeps for its clients. */
  readonly limits?: MemberLimits | undefined;
  /** How a started member takes the place of its earlier life. Without it, the operator ensures that there is one process per member. */
  readonly succession?: SuccessionMode;
  /** Places for votes that a member makes known on its disk at first; twice as many whenever they do not suffice. */
  readonly placesMin?: number;
  /** Whether kept leases are renewed in bundles; each by itself unless told otherwise. */
  readonly bundles?: boolean;
  /** How many leases a page of a listing has. */
  readonly leasesPerPage?: number;
}

/** `floor`: how high its tokens went. `votes`: that, and every vote, so that a restart need not be silent. */
export type Keeps = 'nothing' | 'floor' | 'votes';

export const FLOOR_BUCKETS = 4096;
/** How finely acceptors remember when votes began: at 100,000 grants a second a bucket has one in 10 ms, and a question takes one. */
export const CHANGE_BUCKETS = 1024;
export const PLACES_MIN = 16;
export const LEASES_PER_PAGE = 256;

export type QuorumCommand = LeaseCommand;
export type QuorumEvent = LeaseEvent;
export type QuorumStep = Step<QuorumMessage, LeaseEvent>;
