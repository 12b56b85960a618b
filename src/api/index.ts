/** The public face of the package. */
export { ERROR_CODES, TenureError, type ErrorCode } from '../kernel/index.ts';
export type { Cell, CellState } from './cell.ts';
export { connect, joinCell } from './join.ts';
export { BUCKETS_MS, type CellCounters, type HistogramSnapshot, type PeerCounters } from './counters.ts';
export { observe, type Origin, type TenureChannel, type TenureEvents } from './diagnostics.ts';
export type { HistoryOptions } from './history-file.ts';
export type { Logger } from './logging.ts';
export {
  Election,
  Leadership,
  type CampaignOptions,
  type ElectionGround,
  type ElectionOptions,
  type Leader,
  type Sighting,
} from './election.ts';
export { parseEngine } from './engine-options.ts';
export type { EngineOptions, FleaseOptions, PaxosLeaseOptions } from './engine.ts';
export { Lease } from './lease.ts';
export { LeaseLostError } from './lease-errors.ts';
export type { HolderAnswer, HolderInfo, ListedLease, Listing, TryResult, AcquireOptions } from './lease-service.ts';
export type { Change, Watch, WatchOptions } from './watch.ts';
export type { MemberStatus } from './member-calls.ts';
export type { ConnectOptions, JoinOptions } from './options.ts';
