/** Leases on servers that are killed, stand still, or are another by now. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, type TestContext } from 'vitest';
import { openStorage, type LeaseStorage, type StorageOptions } from '../../src/api/index.ts';
import { program, startPostgres, startRedis, type Server } from '../store/servers.ts';
import { storeDirectory } from './storage-places.ts';

const SHORT: StorageOptions = { maxTerm: '3s', delta: '100ms' };
const AT_ONCE = { concurrent: true };

type Finishing = Pick<TestContext, 'onTestFinished'>;

async function running({ onTestFinished }: Finishing, start: () => Promise<Server>): Promise<Server> {
  const server = await start();
  onTestFinished(async () => await server.stop());
  return server;
}

async function open({ onTestFinished }: Finishing, url: string, options: StorageOptions = {}): Promise<LeaseStorage> {
  const storage = await openStorage(url, options);
  onTestFinished(async () => await storage.close());
  return storage;
}

describe.skipIf(program('redis-server') === null)('Redis', AT_ONCE, () => {
  test('a server that started anew is not trusted: nothing is taken before what was held is over, and then all goes on', async (context) => {
    const server = await running(context, () => startRedis(['--appendonly', 'yes', '--appendfsync', 'always']));
    const url = `redis://127.0.0.1:${server.port}/0`;
    const one = await open(context, url, SHORT);
    const other = await open(context, url);
    // The first user of a store that may have forgotten waits, and so does the second, which came before that was over.
    expect(Math.min(one.silentForMs, other.silentForMs)).toBeGreaterThan(1000);
    const lease = await one.acquire('x');
    expect(one.silentForMs).toBe(0);
    await other.acquire('y');
    expect((await open(context, url)).silentForMs).toBe(0);
    await server.restart();
    const waiting = other.acquire('x');
    const late = await open(context, url);
    expect(late.silentForMs).toBeGreaterThan(1000);
    await lease.release();
    const next = await waiting;
    expect(next.token).toBeGreaterThan(lease.token);
    expect(other.silentForMs).toBe(0);
  });

  test('a server that stands still costs nobody its lease if it goes on in time, and is unreachable until then', async (context) => {
    const server = await running(context, () => startRedis(['--appendonly', 'yes', '--appendfsync', 'always']));
    const storage = await open(context, `redis://127.0.0.1:${server.port}/0?replicas=none`, SHORT);
    const lease = await storage.acquire('x');
    await server.stall();
    await expect(storage.tryAcquire('y')).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    await server.resume();
    await sleep(3500);
    expect(lease.valid).toBe(true);
    expect((await storage.tryAcquire('y')).ok).toBe(true);
  });
});

describe.skipIf(program('postgres') === null)('PostgreSQL', AT_ONCE, () => {
  test('a server that is killed and comes back has forgotten nothing: who held goes on, who waits waits on', async (context) => {
    const server = await running(context, startPostgres);
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    const options: StorageOptions = { maxTerm: '12s', delta: '100ms' };
    const one = await open(context, url, options);
    const lease = await one.acquire('x');
    const other = await open(context, url);
    const waiting = other.acquire('x');
    await server.restart();
    await sleep(2000);
    expect([lease.valid, other.silentForMs]).toEqual([true, 0]);
    await lease.release();
    expect((await waiting).token).toBeGreaterThan(lease.token);
  });
});

test.concurrent('a directory that was wiped is another store, and nothing is granted in it', async (context) => {
  const { path, remove } = storeDirectory();
  context.onTestFinished(remove);
  const storage = await open(context, `file://${path}?sync=off`, SHORT);
  const lease = await storage.acquire('x');
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
  await expect(storage.tryAcquire('y')).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
  expect(lease.valid).toBe(true);
  await expect(storage.elect('y').leader()).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
});
