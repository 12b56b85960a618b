/** AbortSignals of callers. One rule everywhere: a call that is given up rejects with the reason of its signal, as it is. */
import { once, type EventEmitter } from 'node:events';

/** Calls `act` when the signal aborts, at most once; what it returns takes that back. */
export function onAbort(signal: AbortSignal | undefined, act: (reason: unknown) => void): () => void {
  if (!signal) return () => {};
  const listener = (): void => act(signal.reason);
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Waits for the next event of that name. */
export async function nextEvent(emitter: EventEmitter, name: string, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  try {
    await once(emitter, name, signal ? { signal } : {});
  } catch (error) {
    // Node wraps the reason in an error of its own.
    signal?.throwIfAborted();
    throw error;
  }
}
