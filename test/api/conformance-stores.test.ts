/** Leases on real stores keep what every lease service has to: in memory, in directories, in PostgreSQL and in Redis. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { program, startEtcd, startPostgres, startRedis, type Server } from '../store/servers.ts';
import { runProcess } from './run-process.ts';
import { setUpStore, storeDirectory, storePlace } from './storage-places.ts';

// What runs side by side here waits most of the time.
vi.setConfig({ maxConcurrency: 16 });

/** Tests wait for terms to end; side by side they wait at the same time, and so do stores, which have nothing in common. */
const STORAGE = { ordered: false, watch: true, list: true, cut: true };

/** Neither a lease that is held nor the store's connections keep it from its end. */
function claimLeaving(url: () => string): void {
  it.concurrent('a process that has nothing more to do ends', async () => {
    const { child, said } = runProcess('storage-leaver.mjs', url(), 'left');
    const ended = once(child, 'exit');
    expect(Number(await said)).toBeGreaterThan(0);
    expect(await ended).toEqual([0, null]);
  });
}

interface StoreServer {
  readonly isThere: boolean;
  readonly url: () => string;
}

/** A server that all tests of this file find running: one that starts later would keep them waiting. */
function served(name: string, start: () => Promise<Server>, urlOf: (port: number) => string): StoreServer {
  const isThere = program(name) !== null;
  let server: Server | undefined;
  let url = '';
  beforeAll(async () => {
    if (!isThere) return;
    server = await start();
    url = urlOf(server.port);
    await setUpStore(url);
  }, 60_000);
  afterAll(() => server?.stop());
  return { isThere, url: () => url };
}

describe.concurrent.each(['compare-and-set', 'plain'] as const)('a store in memory, with %s', (engine) => {
  const url = `memory:conformance-${engine}`;
  beforeAll(() => setUpStore(url, engine));
  leaseServiceConformance({
    test: it.concurrent,
    open: async () => storePlace(url, { processes: false, isPlain: engine === 'plain' }),
    can: STORAGE,
  });
});

describe.concurrent.each([
  ['compare-and-set', ''],
  ['compare-and-set, not synced', '?sync=off'],
  ['plain registers', '?swap=off'],
])('a directory, %s', (_, settings) => {
  const { path, remove } = storeDirectory();
  const url = `file://${path}${settings}`;
  beforeAll(() => setUpStore(url));
  afterAll(remove);
  claimLeaving(() => url);
  leaseServiceConformance({
    test: it.concurrent,
    open: async () => storePlace(url, { processes: true, isPlain: settings.includes('swap=off') }),
    can: { ...STORAGE, crash: true },
  });
});

describe.concurrent('a file of sectors', () => {
  const { path, remove } = storeDirectory();
  // One machine reads its own caches.
  const url = `block://${path}/leases?bytes=${2 ** 40}&direct=off`;
  beforeAll(() => setUpStore(url));
  afterAll(remove);
  claimLeaving(() => url);
  leaseServiceConformance({
    test: it.concurrent,
    open: async () => storePlace(url, { processes: true, isPlain: true }),
    can: { ...STORAGE, watch: false, list: false, crash: true },
  });
});

/** Each test has several clients, and each client several connections. */
const CONNECTIONS = 'max_connections=500';

describe.concurrent.each([
  {
    name: 'PostgreSQL',
    ...served(
      'postgres',
      () => startPostgres([CONNECTIONS]),
      (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    ),
  },
  { name: 'etcd', ...served('etcd', startEtcd, (port) => `etcd://127.0.0.1:${port}/leases`) },
  { name: 'Redis', ...served('redis-server', startRedis, (port) => `redis://127.0.0.1:${port}/0`) },
])('$name', ({ isThere, url }) => {
  describe.skipIf(!isThere)('leases on it', () => {
    claimLeaving(url);
    leaseServiceConformance({
      test: it.concurrent,
      open: async () => storePlace(url(), { processes: true }),
      can: { ...STORAGE, crash: true },
    });
  });
});
