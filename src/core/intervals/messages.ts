/**
 * What claimants and acceptors of interval leases say to each other, and what members say about their disks. Messages are plain data: an answer
 * that waits for a write is kept as it will be sent.
 */
import type { Incarnation } from '../../kernel/index.ts';

/** A claim is known by the process that made it and by its number there (rule 17), never by node or range. */
export type ClaimKey = {
  readonly incarnation: Incarnation;
  readonly counter: number;
};

/** LEASE(s, e). Claims of this incarnation up to `closed` are decided, and their withdrawals were answered by this acceptor. */
export type LeaseRequest = ClaimKey & {
  readonly kind: 'lease';
  readonly space: string;
  readonly from: number;
  readonly to: number;
  readonly closed: number;
};

/** The claim was given up for good. Frees the permission for that claim, and nothing else. */
export type WithdrawRequest = ClaimKey & {
  readonly kind: 'withdraw';
  readonly space: string;
  readonly from: number;
  readonly to: number;
  readonly closed: number;
};

/** `limit`: the acceptor keeps no more for this claimant, or in all. */
export type NackReason = 'overlap' | 'limit';

/** What an acceptor says to a claimant. */
export type AcceptorAnswer =
  | (ClaimKey & { readonly kind: 'ack' })
  | (ClaimKey & {
      readonly kind: 'nack';
      readonly why: NackReason;
      /** The first taken piece of the request. Of a limit: none, and both are 0. */
      readonly overlapFrom: number;
      readonly overlapTo: number;
      /** The first integer from the request's own start on with as many free integers behind it; -1 if there is none. */
      readonly next: number;
    })
  | (ClaimKey & { readonly kind: 'withdrawn' });

/** ACKs and NACKs tell which generations of disks their sender knows, by member (rule 26). */
export type GenerationsTold = { readonly generations: readonly number[] };

export type ClaimMessage = LeaseRequest | WithdrawRequest | (AcceptorAnswer & GenerationsTold);

/** A piece of a space, as a member copies it to another. The claim of integers taken for good is 0 and 0. */
export type CopiedPiece = ClaimKey & { readonly space: string; readonly from: number; readonly to: number };

/** Where a copy goes on: from this integer of this space, and then the spaces after it in order. '' is before all. */
export type CopyCursor = { readonly space: string; readonly from: number };

/**
 * How far the disk of a member is. `blank`: it begins when a majority of others has copied its permissions to it, or by a bootstrap. `founding`: a bootstrap is
 * under way. `failed`: it cannot be read or written, and this member answers no request any more.
 */
export type DiskPhase = 'reading' | 'blank' | 'founding' | 'joining' | 'ready' | 'failed';

/** While a disk joins: how many others have noted its generation and copied to it, of how many that are needed. */
export type DiskStanding = {
  readonly phase: DiskPhase;
  readonly generation: number;
  readonly noted: number;
  readonly copied: number;
  readonly needed: number;
};

/** What members say about their disks. */
export type DiskMessage =
  /** From a member whose disk is not in use yet, by its process: asks what others know of it. */
  | { readonly kind: 'hello'; readonly asker: number }
  /** From a member whose disk is in use: the generations it knows, and by which act its disk began, with which disks (none: it was copied). `asker` is 0 if it was not asked. */
  | ({
      readonly kind: 'known';
      readonly asker: number;
      readonly founding: number;
      readonly start: number;
      readonly disks: readonly number[];
    } & GenerationsTold)
  /** The sender's disk is of this generation. */
  | { readonly kind: 'note'; readonly generation: number }
  | ({ readonly kind: 'noted'; readonly generation: number } & GenerationsTold)
  | ({ readonly kind: 'copy'; readonly generation: number } & CopyCursor)
  /** The answer to the `copy` with the same cursor. `next` is null on the last page. */
  | ({
      readonly kind: 'page';
      readonly generation: number;
      readonly pieces: readonly CopiedPiece[];
      readonly next: CopyCursor | null;
    } & CopyCursor &
      GenerationsTold)
  /**
   * Are all disks blank? `founding` is the process that asks. Each act has two rounds, and no two acts of a process have the same. In the second,
   * `start` is the generation in which all disks are to begin, above all that any of them knows of; in the first it is 0.
   */
  | { readonly kind: 'found'; readonly founding: number; readonly round: number; readonly start: number }
  | FoundedAnswer
  | { readonly kind: 'begin'; readonly founding: number; readonly start: number; readonly disks: readonly number[] }
  | BegunAnswer
  /** From any process: how far is this member's disk? */
  | { readonly kind: 'look' }
  | ({ readonly kind: 'standing' } & DiskStanding);

/** `disk` tells disks of one member apart: a lost disk does not come back. `start`: the highest generation it knows of or is promised to. */
export type FoundedAnswer = {
  readonly kind: 'founded';
  readonly founding: number;
  readonly round: number;
  readonly isReady: boolean;
  readonly disk: number;
  readonly start: number;
};

export type BegunAnswer = { readonly kind: 'begun'; readonly founding: number; readonly start: number };

/** Messages that a member sends only once their records are stored. The generations it knows are added then. */
export type HeldMessage = AcceptorAnswer | { readonly kind: 'noted'; readonly generation: number } | FoundedAnswer | BegunAnswer;

export type IntervalMessage = ClaimMessage | DiskMessage;
