/** What goes wrong with any store, in words that say what to do. Each kind of store turns its own errors into these. */
import { TenureError } from '../kernel/index.ts';

export function newEpoch(url: string): TenureError {
  return new TenureError(
    'TENURE_STORE_EPOCH',
    `the store ${url} has started anew and may have lost what it had acknowledged: nothing in it counts before its new epoch was asked for`,
    { url },
  );
}

export function unsupportedByStore(url: string, what: string): TenureError {
  return new TenureError('TENURE_UNSUPPORTED', `the store ${url} cannot ${what}`, { url });
}

export function storeReplaced(url: string, why: string): TenureError {
  return new TenureError('TENURE_STORE_REPLACED', `${url} is no longer the store that was opened: ${why}`, { url });
}

export function unfit(url: string, why: string): TenureError {
  return new TenureError('TENURE_STORE_UNFIT', `the store ${url} is not fit to hold leases: ${why}`, { url, why });
}

export function conflicting(url: string, why: string): TenureError {
  return new TenureError('TENURE_STORE_PARAMS', `the store ${url} was set up differently: ${why}`, { url });
}

export function storeUnreachable(url: string, cause: unknown): TenureError {
  return caused(new TenureError('TENURE_STORE_UNREACHABLE', `the store ${url} cannot be reached: ${wordsOf(cause)}`, { url }), cause);
}

export function denied(url: string, cause: unknown): TenureError {
  return caused(new TenureError('TENURE_STORE_DENIED', `the store ${url} does not let us in: ${wordsOf(cause)}`, { url }), cause);
}

export function full(url: string, cause: unknown): TenureError {
  return caused(new TenureError('TENURE_STORE_FULL', `the store ${url} has no room: ${wordsOf(cause)}`, { url }), cause);
}

/** Some errors (a refused connection to several addresses) have no message of their own. */
function wordsOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(wordsOf).join('; ');
  if (cause instanceof Error) return cause.message === '' ? cause.name : cause.message;
  return String(cause);
}

function caused(error: TenureError, cause: unknown): TenureError {
  error.cause = cause;
  return error;
}
