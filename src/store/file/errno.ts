/** Errors of the file system, told apart by whether the access may have taken effect, and turned into Tenure's. */
import { TenureError } from '../../kernel/index.ts';
import { denied, full, storeUnreachable } from '../failures.ts';
import { Unanswered } from '../gate.ts';

/** The system refused: nothing happened. Other errors (EIO, ESTALE …) may come after the fact from a file server. */
const REFUSALS: ReadonlySet<string> = new Set([
  'EACCES',
  'EDQUOT',
  'EEXIST',
  'EISDIR',
  'EMFILE',
  'EMLINK',
  'ENAMETOOLONG',
  'ENFILE',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'ENOTEMPTY',
  'EPERM',
  'EROFS',
  'EXDEV',
]);

function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(errnoOf(error));
}

/** What a caller is told of an error that is no part of the protocol. */
export function fileFailure(url: string, error: unknown): Error {
  if (error instanceof TenureError || error instanceof Unanswered) return error;
  switch (errnoOf(error)) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return denied(url, error);
    case 'ENOSPC':
    case 'EDQUOT':
      return full(url, error);
    default:
      return storeUnreachable(url, error);
  }
}

/** The same of a step with which a change takes effect. */
export function afterTheFact(url: string, error: unknown): Error {
  const told = fileFailure(url, error);
  return told instanceof TenureError && !REFUSALS.has(errnoOf(error)) ? new Unanswered(told) : told;
}
