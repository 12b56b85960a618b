/** What the state of a quorum core looks like when it is written down. */
import type { BallotTime } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { Watchers } from './watchers.ts';

export interface CoreSnapshot {
  readonly census: Snapshot;
  readonly acceptor: Snapshot;
  readonly watchers: ReturnType<Watchers['snapshot']>;
  readonly ballots: BallotTime;
  readonly rttUs: number;
  readonly trust: Snapshot;
  readonly proposer: Snapshot;
  readonly holder: Snapshot;
  readonly asking: Snapshot;
  readonly views: Snapshot;
}
