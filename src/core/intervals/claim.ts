/** One claim of a process, the request under way for it, and requests still to be withdrawn. Plain state: the claimant moves it. */
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
  /** Where as many were free, as far as answers to its requests say; -1: from 0 on, since no member knows of a place behind. */
  nextFree: number;
  /** Members that had no room for it anywhere when they were last asked from 0 on. */
  full: readonly number[];
  /** How often a member had no room behind. */
  laps: number;
  /** No block can be had before this integer, as the answers of a sweep from 0 on say; -1 while nothing is swept. */
  sweep: number;
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
  /** The newest generation of each member's disk that an answer to this request told of. */
  readonly known: number[];
  /** Members that refused. */
  nacks: VoterSet;
  refusal: ClaimObjection | null;
  /** The highest start that was heard of; -1 if none. */
  next: number;
  /** Members that refused, and know of no place for it from its start on. */
  hopeless: VoterSet;
  /** By member that refused: where it has room from the request's start on; -1 is nowhere. */
  readonly nexts: number[];
  /** Members that may have kept something of an earlier request for the same claim when this one was made. */
  readonly littered: readonly number[];
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
    laps: 0,
    sweep: -1,
    granted: 0,
    phase: 'asking',
    pending: 0,
    everywhere: true,
  };
}

/** Members that know of no place for it from its start on, whatever of the claim itself they have kept. */
export function hopelessOf({ hopeless, littered }: LeaseAttempt): number {
  return hopeless.toArray().filter((member) => !littered.includes(member)).length;
}

/** Where a majority may have room next: before that, too few have any. Infinity if these answers leave no such place. */
export function sweptTo({ from, nacks, nexts }: LeaseAttempt, hasAcknowledged: (member: number) => boolean, quorum: number): number {
  const starts = nexts.map((next, member) => {
    if (nacks.has(member)) return next < 0 ? Infinity : Math.max(next, from + 1);
    return hasAcknowledged(member) ? from : Infinity;
  });
  return starts.sort((a, b) => a - b)[quorum - 1] as number;
}
