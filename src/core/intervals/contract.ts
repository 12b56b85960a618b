/** What the core of interval leases can be told to do, and what it says. Spaces go by name; integers are from 0 to 2^53−1. */
import { encodeName, TenureError, type Interval } from '../../kernel/index.ts';
import type { DiskStanding, NackReason } from './messages.ts';

/** `claim` is a number the caller picks, never twice in one incarnation. Throws TENURE_BAD_INTERVAL and TENURE_BAD_NAME. */
export type IntervalCommand =
  /** lease(from, to): both ends are included. */
  | { readonly kind: 'claim'; readonly claim: number; readonly space: string; readonly from: number; readonly to: number }
  /** So many integers that no other process gets, wherever they are; asked for again and again, elsewhere, until they are had. */
  | { readonly kind: 'next'; readonly claim: number; readonly space: string; readonly size: number }
  /** Gives up a claim that was not answered yet: nothing comes of it any more, and it is withdrawn. */
  | { readonly kind: 'call-off'; readonly claim: number }
  /** The one-shot act by which the disks of all members begin, all blank; for at most so long. Members, and clients that know their secret, can do it. */
  | { readonly kind: 'bootstrap'; readonly waitUs: number }
  /** A member can be reached again: requests it has not answered are sent now, not when due. */
  | { readonly kind: 'reached'; readonly member: number }
  /** Asks each member once how far its disk is: `standing` for each that answers. */
  | { readonly kind: 'look' }
  /** Where an outer core sees to lost disks (`disks: 'told'`): this blank disk may be used, and these integers are taken. */
  | { readonly kind: 'begin'; readonly taken: readonly { readonly space: string; readonly from: number; readonly to: number }[] }
  /** Round trips take this long, the flush included: patience and back-off follow, nothing that safety rests on. */
  | { readonly kind: 'retime'; readonly rttUs: number };

/** `exhausted`: there are no so many free integers in a row up to 2^53−1. */
export type ClaimRefusal = NackReason | 'exhausted';

export type IntervalEvent =
  /** From here on these integers are this process's, for ever; `attempts` requests were made for them. */
  | {
      readonly kind: 'granted';
      readonly claim: number;
      readonly space: string;
      readonly from: number;
      readonly to: number;
      readonly attempts: number;
    }
  | {
      readonly kind: 'refused';
      readonly claim: number;
      readonly space: string;
      readonly why: ClaimRefusal;
      /** The taken part of the request, as the first acceptor that refused says; null where that is not why. */
      readonly overlap: Interval | null;
      /** Where as many integers may be free, from the request's start on; null if unknown. */
      readonly next: number | null;
      readonly attempts: number;
    }
  /**
   * Nothing of this claim is left at any member but the granted integers. It comes after `granted` or `refused`, and is the only answer to a claim that
   * was called off. `everywhere` is false if some member was not reached for so long that its withdrawal was given up: there the claim stays for good.
   */
  | { readonly kind: 'cleared'; readonly claim: number; readonly everywhere: boolean }
  /** Of a member: how far its disk is. */
  | ({ readonly kind: 'disk' } & DiskStanding)
  /** The answer of a member to `look`. */
  | ({ readonly kind: 'standing'; readonly member: number } & DiskStanding)
  /** `begun`: every member's disk was blank, and a majority has begun. Else these members are absent, or in use already. */
  | { readonly kind: 'bootstrapped'; readonly begun: boolean; readonly absent: readonly number[]; readonly inUse: readonly number[] };

export const INTEGER_MAX: number = Number.MAX_SAFE_INTEGER;

/** Throws TENURE_BAD_INTERVAL unless these are the ends of an interval that can be claimed. */
export function checkInterval(from: number, to: number): void {
  if (isInterval(from, to)) return;
  throw new TenureError('TENURE_BAD_INTERVAL', `[${from}, ${to}] cannot be claimed: both ends are integers from 0 to 2^53−1, in order`);
}

export function isInterval(from: number, to: number): boolean {
  return Number.isSafeInteger(from) && Number.isSafeInteger(to) && from >= 0 && from <= to;
}

/** Throws TENURE_BAD_INTERVAL unless a block may have so many integers. */
export function checkBlockSize(size: number): void {
  if (Number.isSafeInteger(size) && size > 0) return;
  throw new TenureError('TENURE_BAD_INTERVAL', `a block of ${size} cannot be claimed: it has from 1 to 2^53−1 integers`);
}

/** Throws TENURE_BAD_NAME unless it is the name of a space. */
export function checkSpace(space: string): void {
  encodeName(space);
}
