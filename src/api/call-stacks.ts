/**
 * Errors with the stack of the call that they end. Most are made where an answer comes in, or a cell is closed, and their own stacks tell of
 * sockets and timers. The reader of a log wants to know which `await` of the program failed.
 */
import { TenureError } from '../kernel/index.ts';

/** The same error, made anew where it is thrown: in an async function, its stack goes on with whatever awaits that. Others, such as reasons of signals, are left as they are. */
export function atCaller(error: unknown): unknown {
  if (!(error instanceof TenureError) || error.constructor !== TenureError) return error;
  const { code, message, details, cause } = error;
  const own = new TenureError(code, message, details);
  if (cause !== undefined) own.cause = cause;
  return own;
}

/**
 * Rejects the promise that `resolve` belongs to, with an error or what one is promised of, for a call that is no async function because it is made too often. The error is made within a
 * reaction of that promise, and by then the promise has its reader: that is what engines follow to the frames that await.
 */
export function failAtCaller(resolve: (failing: Promise<never>) => void, error: unknown): void {
  const failing = Promise.resolve()
    .then(() => error)
    .then((found): never => {
      throw atCaller(found);
    });
  resolve(failing);
}
