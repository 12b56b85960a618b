/** The public face of the package. */
export { ERROR_CODES, TenureError, type ErrorCode } from '../kernel/index.ts';
