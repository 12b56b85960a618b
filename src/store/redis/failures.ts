/** What Redis and its driver say when something goes wrong, told apart by whether a change may have taken effect. */
import { TenureError } from '../../kernel/index.ts';
import { denied, full, storeUnreachable } from '../failures.ts';
import { Unanswered } from '../gate.ts';

/** The server answered with an error: a script that is refused has done nothing. */
export function redisFailure(url: string, error: unknown): Error {
  if (error instanceof TenureError || error instanceof Unanswered) return error;
  if (!(error instanceof Error) || error.name !== 'ReplyError') return new Unanswered(storeUnreachable(url, error));
  if (/^(?:NOAUTH|WRONGPASS|NOPERM|DENIED)\b|invalid password|invalid username|can't run this command/i.test(error.message))
    return denied(url, error);
  if (/^(?:OOM|MISCONF)\b/.test(error.message)) return full(url, error);
  return storeUnreachable(url, error);
}

/** Before anything was sent. */
export function redisConnectFailure(url: string, error: unknown): TenureError {
  const told = redisFailure(url, error);
  return told instanceof Unanswered ? told.why : told instanceof TenureError ? told : storeUnreachable(url, told);
}
