/**
 * What the cores of atomic broadcast are built with. One core of a member is one log: all names of a cell share it, so that they share a failure detector, batches, flushes and
 * the way back of a member that has lost its memory. A name costs nothing, and messages of different names have an order, too.
 */
import { invariant, type SpanUs } from '../../kernel/index.ts';
import type { ConsensusKeeps } from '../consensus/config.ts';
import type { DetectorTiming } from '../consensus/failure-detector.ts';
import type { LambdaChoice } from '../consensus/interval-size.ts';

/** Which consensus decides what the next batch is. */
export type BroadcastConsensus = 'fast-ct' | 'chandra-toueg';

/** No message is larger than this: it travels in one frame, with its batch around it. */
export const MESSAGE_BYTES_MAX: number = 512 * 1024;
/** No batch is larger than this, whatever the limits say: a batch, and a page of the log with at least one batch, fit into a frame. */
export const BATCH_BYTES_MAX: number = 768 * 1024;

/** Bounds of a core's memory. Members of one group have the same `retain…`, since it decides which messages are known as delivered already. */
export interface BroadcastLimits {
  /** A batch takes more messages until it has so many bytes. */
  readonly batchBytes: number;
  /** While a batch of its own is under way, a leader begins another only for so many bytes: messages that come meanwhile travel together. */
  readonly pipelinedBytes: number;
  /** So many bytes of this process's own messages may wait for their positions. Beyond that, publishing is refused until there is room. */
  readonly ownBytes: number;
  /** So many bytes of other processes' messages wait at the leader for a batch. Beyond that the leader drops messages, and their publishers send them again. */
  readonly poolBytes: number;
  /** The log is kept up to so many bytes, and so many instances of consensus. */
  readonly retainBytes: number;
  readonly retainInstances: number;
  /** Clients whose requests a member remembers; the client heard longest ago is forgotten first. */
  readonly clients: number;
}

export const BROADCAST_LIMITS: BroadcastLimits = {
  batchBytes: 128 * 1024,
  pipelinedBytes: 16 * 1024,
  ownBytes: 8 * 1024 * 1024,
  poolBytes: 64 * 1024 * 1024,
  retainBytes: 64 * 1024 * 1024,
  retainInstances: 16_384,
  clients: 16_384,
};

export interface BroadcastConfig {
  /** Nodes 0 to `members` − 1; all others are clients. */
  readonly members: number;
  readonly consensus: BroadcastConsensus;
  readonly keeps: ConsensusKeeps;
  /** By this name readers know the publisher; at most 255 bytes of UTF-8. */
  readonly from: string;
  /** So many instances of consensus are under way at once. */
  readonly window: number;
  /** So many decisions are kept for members that are a little behind; those further behind copy the log. */
  readonly kept: number;
  readonly detector: DetectorTiming;
  /** After how long an unanswered message is sent again. */
  readonly retryUs: SpanUs;
  /** How many instances a FAST leader leases at once. */
  readonly lambda: LambdaChoice;
  /** How long a round trip takes, the flush included. */
  readonly rttUs: number;
  readonly limits?: BroadcastLimits | undefined;
}

export interface BroadcastClientConfig {
  readonly members: number;
  readonly from: string;
  /** After so long without an answer another member is asked. */
  readonly retryUs: SpanUs;
  readonly limits?: BroadcastLimits | undefined;
}

export function checkBroadcastConfig({ members, window, kept, limits = BROADCAST_LIMITS }: BroadcastConfig): void {
  invariant(
    members >= 1 && window >= 1 && kept >= window,
    'a group has members, a window, and decisions are kept for at least as many instances',
  );
  const { batchBytes, retainInstances } = limits;
  invariant(batchBytes >= 1 && batchBytes <= BATCH_BYTES_MAX, 'a batch fits into a frame');
  invariant(retainInstances >= 1, 'the log keeps at least one instance');
}
