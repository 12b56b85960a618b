/** Every duration and bound that a broadcast core is told, in one place. Safety rests on none of them. */
import { BROADCAST_LIMITS, type BroadcastConfig, type BroadcastLimits } from '../../core/index.ts';
import { spanUs, type SpanUs } from '../../kernel/index.ts';

/** The act that begins a group anew waits so long for members that do not answer. */
export const RENEW_US = 5_000_000;
/** An unanswered message is sent again after so long. */
export const RETRY_US: SpanUs = spanUs(500_000);

/** What a client sends travels in smaller frames than what a member sends. */
export const CLIENT_LIMITS: BroadcastLimits = { ...BROADCAST_LIMITS, batchBytes: 60 * 1024 };
export const CLIENT_MESSAGE_BYTES_MAX: number = 56 * 1024;

/** What all members are told alike. */
export const TIMING: Pick<BroadcastConfig, 'window' | 'kept' | 'detector' | 'retryUs' | 'lambda' | 'rttUs'> = {
  /** A member that has lost its memory abstains from so many instances more than the others have seen. */
  window: 8,
  kept: 1024,
  detector: { heartbeatUs: spanUs(100_000), timeoutUs: spanUs(1_000_000) },
  retryUs: RETRY_US,
  lambda: { kind: 'adaptive', max: 64, isOptimistic: true },
  rttUs: 5000,
};
