/** What a core of interval leases is built with. */
import type { Step } from '../contract.ts';
import type { IntervalEvent } from './contract.ts';
import type { IntervalMessage } from './messages.ts';

/** What one member keeps, at most. A claimant that asks for more is refused and told so. */
export interface IntervalLimits {
  /** Claims that are not decided, as far as the member knows; each claimant has a share. What dead claimants left behind is folded first. */
  readonly open: number;
  readonly spaces: number;
  /** Open claims, and intervals that are taken: it takes one however many integers it has. */
  readonly entries: number;
  /** Processes whose withdrawn claims it remembers. */
  readonly claimants: number;
}

export const INTERVAL_LIMITS: IntervalLimits = { open: 65_536, spaces: 65_536, entries: 1_048_576, claimants: 16_384 };

export interface IntervalLeaseConfig {
  /** Nodes from 0 on accept, and may claim; all others only claim. */
  readonly members: number;
  /** How long a round trip takes, the flush included. */
  readonly rttUs: number;
  /** `literal`: refused requests are recorded as well, as in Figure 2, and nothing is withdrawn. */
  readonly variant?: 'product' | 'literal' | undefined;
  /** Which mechanism handles lost disks: generations (rule 26), or an outer core that says `begin`. */
  readonly disks?: 'generations' | 'told' | undefined;
  readonly limits?: IntervalLimits | undefined;
  /** Places that a member makes known on its disk at first; twice as many whenever they do not suffice. */
  readonly placesMin?: number | undefined;
  /** How many pieces a page of a copy has. */
  readonly piecesPerPage?: number | undefined;
}

export const INTERVAL_PLACES_MIN = 16;
export const PIECES_PER_PAGE = 256;
/** Claims of one process that are under way at once. */
export const CLAIMS_MAX = 4096;
/** Withdrawals that one process goes on sending. Beyond that the oldest is given up: its integers are a gap. */
export const WITHDRAWALS_MAX = 256;

export type IntervalStep = Step<IntervalMessage, IntervalEvent>;
