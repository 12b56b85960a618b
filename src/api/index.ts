/** The public face of the package. */
export { ERROR_CODES, TenureError, type ErrorCode } from '../kernel/index.ts';
export { connect, joinCell, type Cell, type CellState } from './cell.ts';
export { Lease } from './lease.ts';
export { LeaseLostError, type AcquireOptions, type HolderAnswer, type HolderInfo, type TryResult } from './lease-service.ts';
export type { MemberStatus } from './member-calls.ts';
export type { ConnectOptions, JoinOptions } from './options.ts';
export type { Change, Watch } from './watch.ts';
