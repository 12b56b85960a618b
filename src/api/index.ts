/** The public face of the package. */
export { ERROR_CODES, TenureError, type ErrorCode } from '../kernel/index.ts';
export type { Cell, CellState } from './cell/cell.ts';
export { connect, joinCell } from './cell/join.ts';
export { BUCKETS_MS, type CellCounters, type HistogramSnapshot, type PeerCounters } from './observing/counters.ts';
export { observe, type Origin, type TenureChannel, type TenureEvents } from './observing/diagnostics.ts';
export type { HistoryOptions } from './observing/history-file.ts';
export type { Logger } from './observing/logging.ts';
export {
  Election,
  Leadership,
  type CampaignOptions,
  type ElectionGround,
  type ElectionOptions,
  type Leader,
  type Sighting,
} from './elections/election.ts';
export { parseEngine } from './engines/index.ts';
export type { EngineOptions, FleaseOptions, PaxosLeaseOptions } from './engines/engine.ts';
export { Lease } from './leases/lease.ts';
export { LeaseLostError } from './leases/errors.ts';
export type { HolderAnswer, HolderInfo, ListedLease, Listing, TryResult, AcquireOptions } from './leases/service.ts';
export type { Change, Watch, WatchOptions } from './watches/watch.ts';
export type { MemberStatus } from './cell/member-calls.ts';
export type { ConnectOptions, JoinOptions } from './cell/options.ts';
