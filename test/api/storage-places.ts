/** Places to hold leases on storage against the suite of lease services: on virtual time, and on real stores. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasePlace } from '../../src/api/conformance.ts';
import { openStorage, type LeaseStorage, type StorageEngineName } from '../../src/api/index.ts';
import { testStorage } from '../../src/api/testing.ts';
import { deriveStorageTiming, takeOverUs } from '../../src/core/index.ts';
import { spanUs, TenureError } from '../../src/kernel/index.ts';
import { initParameters, noteWaitedOut, openStore, type Store } from '../../src/store/index.ts';
import { runProcess, type RunningProcess } from './run-process.ts';

/** δ is long enough that a busy machine is no reason for void attempts, and Δ that it is none to lose a lease. */
const PARAMETERS = { deltaUs: spanUs(100_000), maxTermUs: spanUs(7_000_000), rateErrorPpm: 100_000 };
const MAX_TERM_MS = PARAMETERS.maxTermUs / 1000;

/** One operation is a dozen accesses to units. */
const SLOW_PARAMETERS = { ...PARAMETERS, deltaUs: spanUs(150_000) };

function traitsOf(parameters: typeof PARAMETERS): Pick<LeasePlace, 'maxTermMs' | 'takeOverMs' | 'unreachableCode'> {
  return {
    maxTermMs: parameters.maxTermUs / 1000,
    takeOverMs: takeOverUs(deriveStorageTiming(parameters)) / 1000 + 2000,
    unreachableCode: 'TENURE_STORE_UNREACHABLE',
  };
}

const TRAITS = traitsOf(PARAMETERS);

export async function virtualStorage(engine: StorageEngineName): Promise<LeasePlace> {
  const storage = await testStorage({ engine, delta: '100ms', maxTerm: MAX_TERM_MS });
  const known = (client: unknown): LeaseStorage => client as LeaseStorage;
  return {
    ...TRAITS,
    isUnsureOfOthers: engine === 'plain',
    client: () => storage.client(),
    pass: (ms) => storage.advance(ms),
    cutOff: (client) => storage.cutOff(known(client)),
    mend: (client) => storage.mend(known(client)),
    async holder(name, termMs) {
      const client = await storage.client();
      const { token } = await client.acquire(name, { term: termMs });
      return { token, crash: () => storage.crash(client) };
    },
    close: () => storage.close(),
  };
}

/** A store that can be cut off: no access is answered from then on. */
function severable(store: Store): { store: Store; isCut: boolean } {
  const late = async (timeoutMs = 5000): Promise<TenureError> => {
    await sleep(timeoutMs);
    return new TenureError('TENURE_STORE_UNREACHABLE', 'cut off');
  };
  const severed = { store, isCut: false };
  severed.store = new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        const isAccess = ['read', 'write', 'swap', 'list', 'epoch'].includes(String(property));
        const { timeoutMs } = (args.at(-1) ?? {}) as { timeoutMs?: number };
        if (isAccess && severed.isCut) throw await late(timeoutMs);
        const answer: unknown = await Reflect.apply(value, target, args);
        if (isAccess && severed.isCut) throw await late(timeoutMs);
        return answer;
      };
    },
  });
  return severed;
}

/** A place on a store that is there for many tests. With `processes`, holders are processes of their own. */
export function storePlace(
  url: string,
  { processes, isPlain = false, isSlow = false }: { processes: boolean; isPlain?: boolean; isSlow?: boolean },
): LeasePlace {
  const clients = new Map<unknown, { storage: LeaseStorage; store: Store; severed: { isCut: boolean } }>();
  const holders: RunningProcess[] = [];
  const place: LeasePlace = {
    ...traitsOf(isSlow ? SLOW_PARAMETERS : PARAMETERS),
    isUnsureOfOthers: isPlain,
    // More than are asked about at once. On plain registers each has more to write and to wait for; a directory is synced on a disk that other tests use as well.
    listLength: isSlow ? 20 : processes || isPlain ? 80 : 700,
    async client() {
      const store = await openStore(url);
      const severed = severable(store);
      const storage = await openStorage(severed.store);
      clients.set(storage, { storage, store, severed });
      return storage;
    },
    pass: (ms) => sleep(ms),
    cutOff: (client) => cut(client, true),
    mend: (client) => cut(client, false),
    async close() {
      for (const { child } of holders) child.kill('SIGKILL');
      await Promise.all(
        [...clients.values()].map(async ({ storage, store }) => {
          await storage.close();
          await store.close();
        }),
      );
    },
  };
  const cut = (client: unknown, isCut: boolean): void => {
    const found = clients.get(client);
    if (found) found.severed.isCut = isCut;
  };
  if (!processes) return place;
  return {
    ...place,
    async holder(name, termMs) {
      const holder = runProcess('storage-holder.mjs', url, name, String(termMs));
      holders.push(holder);
      return { token: Number(await holder.said), crash: () => void holder.child.kill('SIGKILL') };
    },
  };
}

/** Sets a store up for the tests: parameters, and an epoch that need not be waited out. */
export async function setUpStore(url: string, engine: StorageEngineName = 'compare-and-set', isSlow = false): Promise<void> {
  const store = await openStore(url, { create: 'init' });
  try {
    await initParameters(store, {
      ...(isSlow ? SLOW_PARAMETERS : PARAMETERS),
      ...(store.can.swap && engine === 'plain' ? { isPlain: true } : {}),
    });
    await noteWaitedOut(store, await store.epoch());
  } finally {
    await store.close();
  }
}

export function storeDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'tenure-leases-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
