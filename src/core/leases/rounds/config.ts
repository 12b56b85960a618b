/** What a core that asks twice is built with. Commands and events are the same for every lease engine. */
import type { HashKey } from '../../../kernel/index.ts';
import type { Step } from '../../contract.ts';
import type { LeaseEvent } from '../contract.ts';
import type { MemberLimits } from '../limits.ts';
import type { RoundMessage } from './messages.ts';
import type { RoundTiming } from './timing.ts';

export interface RoundConfig {
  readonly engine: 'flease' | 'paxoslease';
  /** Flease's three: without renewal, with it, and with clocks that only roughly agree. PaxosLease has one. */
  readonly algorithm: 2 | 3 | 4;
  /** Stable 32-bit hashes of the members' ids, in the order of their node numbers. */
  readonly memberKeys: readonly number[];
  readonly replication?: number;
  readonly timing: RoundTiming;
  /** For tables whose keys others choose; see `QuorumConfig`. */
  readonly hashKey?: HashKey | undefined;
  /** What a member keeps for its clients. */
  readonly limits?: MemberLimits | undefined;
}

export type RoundStep = Step<RoundMessage, LeaseEvent>;
