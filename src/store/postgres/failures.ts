/** What PostgreSQL and its driver say when something goes wrong, told apart by whether a change may have been committed. */
import { TenureError } from '../../kernel/index.ts';
import { denied, full, storeReplaced, storeUnreachable } from '../failures.ts';
import { Unanswered } from '../gate.ts';

/** The five characters of an error that the server sent; undefined if the connection broke instead. */
function sqlStateOf(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined;
}

/** Of the server: it refused, so nothing was committed. Except where it was ending the connection at that moment. */
export function postgresFailure(url: string, error: unknown): Error {
  if (error instanceof TenureError || error instanceof Unanswered) return error;
  const state = sqlStateOf(error);
  if (state === undefined) return new Unanswered(storeUnreachable(url, error));
  if (/^(?:08|57P)/.test(state)) return new Unanswered(storeUnreachable(url, error));
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
  if (state === '53100' || state === '53200') return full(url, error);
  return storeUnreachable(url, error);
}
