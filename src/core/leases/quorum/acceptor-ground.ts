/** What an acceptor is built on, and what its state looks like when it is written down. */
import type { BallotTime, MonoUs } from '../../../kernel/index.ts';
import type { Boot, Snapshot } from '../../contract.ts';
import type { NameTable } from '../../tables/index.ts';
import type { Succession } from '../succession.ts';
import type { View } from '../views.ts';
import type { QuorumConfig, QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import type { QuorumRules } from './rules.ts';
import type { Watchers } from './watchers.ts';

/** What `snapshot` makes and `restore` takes. */
export interface AcceptorSnapshot {
  readonly bundles: Snapshot;
  readonly rows: Snapshot;
  readonly promises: Snapshot;
  readonly queues: Snapshot;
  readonly voting: Snapshot;
  readonly ledger: Snapshot;
  readonly floors: readonly number[];
  readonly clock: BallotTime;
  readonly sweepAt: MonoUs;
  readonly sweepFrom: number;
  readonly votes: number;
  readonly changes: Snapshot;
  readonly sending: number;
  readonly moded: Snapshot;
  readonly handOvers: Snapshot;
  readonly views: Snapshot;
}

/** What an acceptor is built on. */
export interface AcceptorGround {
  readonly config: QuorumConfig;
  readonly boot: Boot;
  readonly names: NameTable;
  readonly watchers: Watchers;
  readonly sign: (vote: QuorumMessage, print: number) => void;
  readonly succession: Succession | null;
  readonly rules: QuorumRules;
  /** This member is in another view: the rest of the node follows. */
  readonly followed: (view: View, step: QuorumStep) => void;
}
