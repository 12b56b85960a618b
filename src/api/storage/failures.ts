/** Why a store has refused a request for a lease, why a lease was lost, and what to do next. */
import { READERS_MAX, type Unreadable } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import type { Refused } from '../leases/requests.ts';

export const NOT_RENEWED = 'ran out: the store did not answer in time to renew it';

export function storageClosed(): TenureError {
  return new TenureError('TENURE_CLOSED', 'this storage was closed; open it again');
}

/** The circumstances of a refused request. */
interface Circumstances {
  readonly url: string;
  /** Why the last access failed, if one did. */
  readonly lastFailure: TenureError | null;
  /** Why the record of the name is none. */
  readonly unreadable: Unreadable | undefined;
}

export function explainStorageRefusal(name: string, { reason }: Refused, { url, lastFailure, unreadable }: Circumstances): TenureError {
  switch (reason) {
    case 'timeout':
      return new TenureError('TENURE_WAIT_TIMEOUT', `'${name}' was not free in time; wait longer, or ask holder() who has it`, { name });
    case 'held':
    case 'queued':
    case 'contended':
      return new TenureError('TENURE_HELD', `'${name}' is held or wanted by another: wait for it, or ask holder() who has it`, { name });
    case 'no-room':
      return new TenureError('TENURE_LIMIT', `'${name}' has as many readers as its record has room for`, {
        limit: 'readers of a name',
        max: READERS_MAX,
      });
    case 'unreadable':
      return unreadableRecord(url, name, unreadable);
    case 'cancelled':
      return new TenureError('TENURE_CLOSED', `the request for '${name}' was cancelled`, { name });
    default:
      return notReached(`the store ${url} does not answer in time for '${name}'`, name, lastFailure);
  }
}

export function unreadableRecord(url: string, name: string, unreadable: Unreadable | undefined): TenureError {
  return unreadable === 'format'
    ? new TenureError('TENURE_STORE_FORMAT', `a later version of Tenure wrote the record of '${name}' in ${url}: upgrade this one`, {
        name,
      })
    : new TenureError(
        'TENURE_STORE_CORRUPT',
        `the record of '${name}' in ${url} is damaged, or none of this engine; it is not taken for free`,
        {
          name,
        },
      );
}

/** Newer data was seen here before. */
export function staleData(url: string, name: string): TenureError {
  const message = `the store ${url} has data of '${name}' that is older than what this process has seen: a late write of an earlier holder has landed over it`;
  return new TenureError('TENURE_STALE_DATA', message, { name });
}

export function dataNotReached(url: string, name: string, lastFailure: TenureError | null): TenureError {
  return notReached(`the store ${url} did not answer in time for the data of '${name}'`, name, lastFailure);
}

/** `refused`: it was not written, and will not be. */
export function syncFailure(url: string, name: string, refused: boolean, lastFailure: TenureError | null): TenureError {
  if (refused) return new TenureError('TENURE_LEASE_LOST', `the lease on '${name}' ends too soon: the data was not stored`, { name });
  return notReached(`the store ${url} did not say whether it has the data of '${name}': it may have it, now or later`, name, lastFailure);
}

/** The holder is unknown. `silentMs`: how long the store is not trusted, because it may have lost writes. */
export function unsureOfHolder(url: string, name: string, lastFailure: TenureError | null, silentMs: number): TenureError {
  if (silentMs > 0) {
    const message = `the store ${url} may have lost writes: for another ${Math.ceil(silentMs)} ms nobody knows who holds '${name}'`;
    return new TenureError('TENURE_STORE_UNREACHABLE', message, { name });
  }
  return notReached(
    `the store ${url} did not answer in time to know who holds '${name}', or it changed hands meanwhile`,
    name,
    lastFailure,
  );
}

/** A store that does not let us in, is full, or is another by now says more than that it does not answer. */
function notReached(what: string, name: string, lastFailure: TenureError | null): TenureError {
  const said = lastFailure?.code ?? 'TENURE_STORE_UNREACHABLE';
  const isTelling = said.startsWith('TENURE_STORE_') && said !== 'TENURE_STORE_EPOCH';
  const code = isTelling ? said : 'TENURE_STORE_UNREACHABLE';
  const why =
    lastFailure === null
      ? 'If it answers, its accesses take longer than delta: tenure store doctor measures them'
      : `The last failure: ${lastFailure.message}`;
  const error = new TenureError(code, `${what}. ${why}`, { name });
  error.cause = lastFailure ?? undefined;
  return error;
}
