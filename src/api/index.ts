/** The public face of the package. */
export { ERROR_CODES, TenureError, type ErrorCode } from '../kernel/index.ts';
export { Lease } from './lease.ts';
export { LeaseLostError, LeaseService, type AcquireOptions, type HolderAnswer, type HolderInfo, type TryResult } from './lease-service.ts';
