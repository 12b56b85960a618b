/** What a waiting room is told of leases by an acceptor that has one vote for everything. */
import { ballotTime } from '../../src/kernel/index.ts';
import type { Taken } from '../../src/core/leases/quorum/line.ts';
import type { LeaseView } from '../../src/core/leases/quorum/waiting-room.ts';

export const ALL_TAKEN: Taken = { hasWriter: true, hasReaders: false, hasSlots: false, freeSlots: () => 0 };
export const NONE_TAKEN: Taken = { hasWriter: false, hasReaders: false, hasSlots: false, freeSlots: (slots) => slots };

export function heldUntil(instant: number): LeaseView {
  return {
    taken: () => ALL_TAKEN,
    nextExpiry: () => instant,
    isReader: () => false,
    freeSlots: () => new Uint8Array(0),
    toldClock: () => ballotTime(0),
  };
}
