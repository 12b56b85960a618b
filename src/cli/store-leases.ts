/** Leases in a store, for commands: it is opened in the time that was given, or there is an error that says why not. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaseStorage } from '../api/index.ts';
import { openStorage } from '../api/storage/open.ts';
import { TenureError } from '../kernel/index.ts';
import { shownUrl } from '../store/by-url.ts';
import type { CellFlags } from './config.ts';
import { connectLimit, noteOfPatience } from './connection.ts';
import type { LeaseOptions, OpenedLeases } from './opened-leases.ts';

/** A server that is not there may be about to start. */
const RETRY_MS = 100;

export async function inStore(url: string, flags: CellFlags, options: LeaseOptions): Promise<OpenedLeases> {
  const shown = shownUrl(url);
  const note = noteOfPatience(`looking for the store ${shown} …`);
  try {
    const storage = await opened(url, shown, flags, options);
    return {
      client: storage,
      maxTermMs: storage.maxTermMs,
      place: 'store',
      unsure:
        storage.engine === 'plain'
          ? 'plain registers do not tell for certain who holds a lease, only that nobody does'
          : 'the store did not answer in time to be sure',
      viewEpoch: () => null,
      waiters: async () => await Promise.resolve(null),
      cutOff: async (name) => await cutOff(storage, name),
      settled: async () => {},
      // A command that asks a store that does not answer waits until it does.
      ready: async () => {},
    };
  } finally {
    note.clear();
  }
}

async function opened(url: string, shown: string, flags: CellFlags, { signal, name }: LeaseOptions): Promise<LeaseStorage> {
  const { text, ms } = connectLimit(flags);
  const timeout = AbortSignal.timeout(ms);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  let away: TenureError | null = null;
  for (;;) {
    try {
      return await openStorage(url, { signal: either, timeoutMs: ms, ...(name === undefined ? {} : { name }) });
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw away ?? late(shown, text, error);
      if (!isAway(error) || isDirectory(url)) throw error;
      away = error;
      await sleep(RETRY_MS);
    }
  }
}

/** A directory that is not there will not come by itself. */
function isDirectory(url: string): boolean {
  return url.startsWith('file:');
}

function isAway(error: unknown): error is TenureError {
  return error instanceof TenureError && error.code === 'TENURE_STORE_UNREACHABLE';
}

function late(shown: string, limit: string, cause: unknown): TenureError {
  const error = new TenureError('TENURE_STORE_UNREACHABLE', `the store ${shown} did not answer within ${limit}`, { url: shown });
  error.cause = cause;
  return error;
}

/** A holder does not keep the store from answering. While it is silent for its epoch, it does answer. */
async function cutOff(storage: LeaseStorage, name: string): Promise<TenureError | null> {
  if (storage.silentForMs > 0) return null;
  const { holder, certain } = await storage.holder(name);
  if (holder !== null || certain) return null;
  return new TenureError('TENURE_STORE_UNREACHABLE', `the store ${storage.url} did not answer while '${name}' was waited for`);
}
