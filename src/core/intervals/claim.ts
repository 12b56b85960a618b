/** One claim of a process, the request that is under way for it, and what is still to be withdrawn. Plain state: the claimant moves it. */
import type { MonoUs, VoterSet } from '../../kernel/index.ts';
import type { NackReason } from './messages.ts';

/** What the caller wants: this very interval, or any block of this size. */
export interface Wanted {
  readonly claim: number;
  readonly space: string;
  /** Of a `claim` command; null for `next`. */
  readonly from: number | null;
  readonly size: number;
}

export interface IntervalClaim extends Wanted {
  attempts: number;
  /** Refusals since there was last no room behind: twice as many blocks are tried each time. */
  spread: number;
  /** The counter of the request under way; 0 while it rests, and when it is decided. */
  counter: number;
  /** When a block is asked for again. */
  restsUntil: MonoUs;
  /** Where as many were free, as far as answers to its requests say; -1: from 0 on, since nobody knows of a place behind. */
  nextFree: number;
  /** Members that had no room for it anywhere when they were last asked from 0 on. */
  full: readonly number[];
  /** The counter of the request that was granted; 0 if none was. */
  granted: number;
  phase: 'asking' | 'resting' | 'decided';
  /** Withdrawals of its requests that are not answered everywhere. */
  pending: number;
  everywhere: boolean;
}

interface ClaimObjection {
  readonly why: NackReason;
  readonly overlapFrom: number;
  readonly overlapTo: number;
}

/** A request, LEASE(from, to), that is under way. */
export interface LeaseAttempt {
  readonly claim: number;
  readonly space: string;
  readonly counter: number;
  readonly from: number;
  readonly to: number;
  /** The generation of the disk that acknowledged it, by member; 0 is no ACK. */
  readonly acks: number[];
  /** Members that refused. */
  nacks: VoterSet;
  refusal: ClaimObjection | null;
  /** The highest start that was heard of; -1 if none. */
  next: number;
  /** Members that refused, and know of no place for it from its start on. */
  hopeless: VoterSet;
  /** Only a mutant counts messages. */
  messages: number;
  resendAt: MonoUs;
  resends: number;
}

/** A request that was given up: every member is told until it has answered. */
export interface Withdrawal {
  readonly claim: number;
  readonly space: string;
  readonly counter: number;
  readonly from: number;
  readonly to: number;
  /** Members that have not answered. */
  readonly missing: VoterSet;
  resendAt: MonoUs;
  resends: number;
}

export function beginClaim(wanted: Wanted): IntervalClaim {
  return {
    ...wanted,
    attempts: 0,
    spread: 0,
    counter: 0,
    restsUntil: 0 as MonoUs,
    nextFree: 0,
    full: [],
    granted: 0,
    phase: 'asking',
    pending: 0,
    everywhere: true,
  };
}
