/** AbortSignals of callers. One rule everywhere: a call that is given up rejects with the reason of its signal, as it is. */
import { once, type EventEmitter } from 'node:events';
import type { OptionTable } from '../kernel/index.ts';

/** The options of calls that can be given up, and nothing else. */
export interface SignalOnly {
  readonly signal?: AbortSignal;
}

export const SIGNAL_ONLY: OptionTable<SignalOnly> = { signal: 'signal' };

/** Calls `act` when the signal aborts, at most once. Returns a function that takes that back. */
export function onAbort(signal: AbortSignal | undefined, act: (reason: Error) => void): () => void {
  if (!signal) return () => {};
  // A reason can be anything; it is an error unless the caller chose otherwise.
  const listener = (): void => act(signal.reason as Error);
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
