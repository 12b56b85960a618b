/** Leases on real stores keep what every lease service has to: in memory, in directories, in PostgreSQL and in Redis. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { program, startEtcd, startPostgres, startRedis, type Server } from '../store/servers.ts';
import { runProcess } from './run-process.ts';
import { setUpStore, storeDirectory, storePlace } from './storage-places.ts';

/** Tests wait for each other's terms to end; side by side, those of all stores, they wait at the same time. */
const AT_ONCE = { concurrent: true };
vi.setConfig({ maxConcurrency: 12 });

const STORAGE = { ordered: false, watch: true, list: true, cut: true };

/** Neither a lease that is held nor the store's connections keep it from its end. */
function claimLeaving(url: () => string): void {
  it('a process that has nothing more to do ends', async () => {
    const { child, said } = runProcess('storage-leaver.mjs', url(), 'left');
    const ended = once(child, 'exit');
    expect(Number(await said)).toBeGreaterThan(0);
    expect(await ended).toEqual([0, null]);
  });
}

describe.each(['compare-and-set', 'plain'] as const)('a store in memory, with %s', AT_ONCE, (engine) => {
  const url = `memory:conformance-${engine}`;
  beforeAll(() => setUpStore(url, engine));
  leaseServiceConformance({
    test: it,
    open: async () => storePlace(url, { processes: false, isPlain: engine === 'plain' }),
    can: STORAGE,
  });
});

describe.each([
  ['compare-and-set', ''],
  ['compare-and-set, not synced', '?sync=off'],
  ['plain registers', '?swap=off'],
])('a directory, %s', AT_ONCE, (_, settings) => {
  const { path, remove } = storeDirectory();
  const url = `file://${path}${settings}`;
  beforeAll(() => setUpStore(url));
  afterAll(remove);
  claimLeaving(() => url);
  leaseServiceConformance({
    test: it,
    open: async () => storePlace(url, { processes: true, isPlain: settings.includes('swap=off') }),
    can: { ...STORAGE, crash: true },
  });
});

describe('a file of sectors', AT_ONCE, () => {
  const { path, remove } = storeDirectory();
  // One machine reads its own caches.
  const url = `block://${path}/leases?bytes=${2 ** 40}&direct=off`;
  beforeAll(() => setUpStore(url));
  afterAll(remove);
  claimLeaving(() => url);
  leaseServiceConformance({
    test: it,
    open: async () => storePlace(url, { processes: true, isPlain: true }),
    can: { ...STORAGE, watch: false, list: false, crash: true },
  });
});

/** The URL of a server that is there for all tests of this block. */
function served(start: () => Promise<Server>, urlOf: (port: number) => string): () => string {
  let server: Server | undefined;
  let url = '';
  beforeAll(async () => {
    server = await start();
    url = urlOf(server.port);
    await setUpStore(url);
  }, 60_000);
  afterAll(() => server?.stop());
  return () => url;
}

describe.skipIf(program('postgres') === null)('PostgreSQL', AT_ONCE, () => {
  const url = served(startPostgres, (port) => `postgres://postgres@127.0.0.1:${port}/postgres`);
  claimLeaving(url);
  leaseServiceConformance({
    test: it,
    open: async () => storePlace(url(), { processes: true }),
    can: { ...STORAGE, crash: true },
  });
});

describe.skipIf(program('etcd') === null)('etcd', AT_ONCE, () => {
  const url = served(startEtcd, (port) => `etcd://127.0.0.1:${port}/leases`);
  claimLeaving(url);
  leaseServiceConformance({
    test: it,
    open: async () => storePlace(url(), { processes: true }),
    can: { ...STORAGE, crash: true },
  });
});

describe.skipIf(program('redis-server') === null)('Redis', AT_ONCE, () => {
  const url = served(startRedis, (port) => `redis://127.0.0.1:${port}/0`);
  claimLeaving(url);
  leaseServiceConformance({
    test: it,
    open: async () => storePlace(url(), { processes: true }),
    can: { ...STORAGE, crash: true },
  });
});
