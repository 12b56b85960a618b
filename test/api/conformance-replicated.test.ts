/** Leases on several stores as one keep what every lease service has to: on three directories, and on a directory, PostgreSQL and Redis. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { program, startPostgres, startRedis, type Server } from '../store/servers.ts';
import { setUpStore, storeDirectory, storePlace } from './storage-places.ts';

const CAN = { ordered: false, watch: true, list: true, cut: true, crash: true };

describe('three directories as one store', () => {
  const directories = Array.from({ length: 3 }, () => storeDirectory());
  const url = `replicated:?${directories.map(({ path }) => `unit=file://${path}?sync=off`).join('&')}`;
  beforeAll(() => setUpStore(url, 'plain', true));
  afterAll(() => directories.forEach(({ remove }) => remove()));
  leaseServiceConformance({
    test: it.concurrent,
    open: async () => storePlace(url, { processes: true, isPlain: true, isSlow: true }),
    can: CAN,
  });
});

describe.skipIf(program('postgres') === null || program('redis-server') === null)('a directory, PostgreSQL and Redis as one store', () => {
  const { path, remove } = storeDirectory();
  const servers: Server[] = [];
  let url = '';
  beforeAll(async () => {
    servers.push(...(await Promise.all([startPostgres(), startRedis()])));
    const [postgres, redis] = servers.map(({ port }) => port);
    url = `replicated:?unit=file://${path}&unit=postgres://postgres@127.0.0.1:${postgres}/postgres&unit=redis://127.0.0.1:${redis}/0`;
    await setUpStore(url, 'plain', true);
  }, 60_000);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    remove();
  });
  leaseServiceConformance({
    test: it.concurrent,
    open: async () => storePlace(url, { processes: true, isPlain: true, isSlow: true }),
    can: CAN,
  });
});
