/**
 * What one member keeps for its clients, at most. Each limit is what a client may have that is alone; with others it is divided by
 * their number. A client that came first keeps its entries, and yet there is room for the next client, however many are greedy: in all there
 * are never more than the limit times 1 + 1/2 + … + 1/clients, which is ten times the limit for sixteen thousand clients. A client that
 * asks for more is refused and told so; nothing is dropped in silence.
 */

/** Metadata of a lease. */
export const META_BYTES_MAX = 1024;
/** Prefixes that a member keeps for one process, however few others there are. A process opens no more watches than that. */
export const WATCHES_MAX = 1000;

export interface MemberLimits {
  /** Requests that stand in line. */
  readonly waiters: number;
  /** Prefixes that are watched. */
  readonly watches: number;
  /** Leases, in units: see `lease-room.ts`. */
  readonly leases: number;
  /** Readers and slots of one name, of all clients: each look at the name takes as long as it has votes. */
  readonly sharing: number;
}

export const MEMBER_LIMITS: MemberLimits = {
  waiters: 131_072,
  watches: 65_536,
  leases: 33_554_432,
  sharing: 16_384,
};

/** How many of something one of so many clients may have; at least one. */
export function shareOf(limit: number, clients: number): number {
  return Math.max(1, Math.floor(limit / clients));
}
