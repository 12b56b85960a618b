/** What PostgreSQL and its driver say when something goes wrong, told apart by whether a change may have been committed. */
import { TenureError } from '../../kernel/index.ts';
import { denied, full, storeReplaced, storeUnreachable } from '../failures.ts';
import { Unanswered } from '../gate.ts';

/** The five characters of an error that the server sent; undefined if the connection broke instead. */
function sqlStateOf(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined;
}

/**
 * What the server says only before it has committed anything: bad data, broken constraints, a transaction in the wrong state, rights, names, rollbacks (but not
 * 40003, "completion unknown"), a lack of memory, limits, locks, a statement that was cancelled. After all else a change may have been committed: a server that
 * cannot sync its log says so and stops, and the written part of the log counts when it starts again.
 */
const REFUSALS = /^(?:22|23|25(?!P0[34])|28|3F|40(?!003)|42|53200|54|55|57014)/;
const DISK_FULL = '53100';

function isRefusal(state: string, error: unknown): boolean {
  // A table that cannot grow is an error; a log that cannot is the end of the server. Both are a full disk, and only the first is sure to be none.
  return REFUSALS.test(state) || (state === DISK_FULL && (error as { severity?: unknown }).severity === 'ERROR');
}

/** Of the server. */
export function postgresFailure(url: string, error: unknown): Error {
  if (error instanceof TenureError || error instanceof Unanswered) return error;
  const state = sqlStateOf(error);
  if (state === undefined || !isRefusal(state, error)) return new Unanswered(storeUnreachable(url, error));
  return refusal(url, state, error);
}

/** Of an attempt to connect: whatever it was, nothing was sent. */
export function postgresConnectFailure(url: string, error: unknown): Error {
  if (error instanceof TenureError) return error;
  const state = sqlStateOf(error);
  return state === undefined ? storeUnreachable(url, error) : refusal(url, state, error);
}

function refusal(url: string, state: string, error: unknown): TenureError {
  // No such table, or no such schema: it was there when the store was opened.
  if (state === '42P01' || state === '3F000') return storeReplaced(url, 'its table is gone');
  if (state === '42501' || state.startsWith('28')) return denied(url, error);
  if (state === DISK_FULL || state === '53200') return full(url, error);
  return storeUnreachable(url, error);
}
