/** What a consensus core is built with. */
import { invariant, type SpanUs } from '../../kernel/index.ts';
import type { DetectorTiming } from './failure-detector.ts';

/**
 * `chandra-toueg` is [CT96]: rounds from 0, each with the coordinator after the last one's; with the shortcut, member 0 proposes in round 0 without asking. `fast` begins
 * each instance with a FAST round, led by the leader that has the lease of the instance; NORMAL rounds follow.
 */
export type ConsensusMode = { readonly kind: 'chandra-toueg'; readonly shortcut: boolean } | { readonly kind: 'fast' };

/**
 * `disk`: what a member voted is on its disk before it says so. `memory`: it is not; a restarted member abstains from all it may have voted in. `crash-stop`: the papers' model, in
 * which no crashed member comes back.
 */
export type ConsensusKeeps = 'disk' | 'memory' | 'crash-stop';

export interface ConsensusConfig {
  /** Nodes 0 to `members` − 1. */
  readonly members: number;
  readonly mode: ConsensusMode;
  readonly keeps: ConsensusKeeps;
  /** How many instances may be open at once: no member sends anything for instance k before it knows the decisions of all up to k − window. */
  readonly window: number;
  /** So many decisions are kept for members that are behind; at least as many as the window has instances. */
  readonly kept: number;
  readonly detector: DetectorTiming;
  /**
   * An outer core keeps the decisions in a log of its own. When this life begins, all up to `decided` are, and all up to `logged` are in that log on the disk; the command `logged` tells of more.
   * Members then keep only their votes: the place of an instance on the disk is used again once the log has that instance.
   */
  readonly outerLog?: { readonly decided: number; readonly logged: number } | undefined;
  /** After how long an unanswered message is sent again. Null where channels lose nothing, as in the papers. */
  readonly retryUs: SpanUs | null;
}

export function checkConsensusConfig({ members, window, kept, keeps, retryUs }: ConsensusConfig): void {
  invariant(members >= 1 && window >= 1, 'a consensus has members and a window');
  invariant(kept >= window, 'decisions are kept for at least as many instances as are open');
  // Without repetition decisions are believed however far ahead they are: on a disk they would take the places of votes.
  invariant(retryUs !== null || keeps === 'crash-stop', 'only members that never come back need not repeat anything');
}

/** The first NORMAL round: below it, rounds are FAST and led by the member of that number. */
export function firstNormal({ mode, members }: ConsensusConfig): number {
  return mode.kind === 'fast' ? members : 0;
}
