/** What a Redis server can do to a store without being stopped: refuse half of a change, follow another server and lead again. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../src/store/index.ts';
import { program, startRedis, type Server } from './servers.ts';

const urlOf = ({ port }: Server, who = ''): string => `redis://${who}127.0.0.1:${port}/0?space=attacked`;
const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

async function open(url: string): Promise<Store> {
  const store = await openStore(url);
  onTestFinished(async () => await store.close());
  return store;
}

function admin({ port }: Server): Redis {
  const redis = new Redis(port, '127.0.0.1');
  onTestFinished(() => redis.disconnect());
  return redis;
}

/** Waits until a server says so of itself. */
async function says(redis: Redis, what: string): Promise<void> {
  while (!(await redis.info('replication')).includes(what)) await new Promise((resolve) => setImmediate(resolve));
}

describe.skipIf(program('redis-server') === null)('redis: (a server is needed)', () => {
  const servers: Server[] = [];
  beforeAll(async () => void servers.push(...(await Promise.all([startRedis(), startRedis()]))));
  afterAll(async () => await Promise.all(servers.map(async (server) => await server.stop())));

  test('a change that was refused has not happened, also where only its second half was', async () => {
    const [server] = servers as [Server];
    const redis = admin(server);
    await redis.call('acl', 'setuser', 'half', 'on', '>secret', '~*', '&*', '+@all');
    const [half, whole] = [await open(urlOf(server, 'half:secret@')), await open(urlOf(server))];
    await half.write('kept', Buffer.from('a'));
    for (const command of ['zadd', 'hset']) {
      await redis.call('acl', 'setuser', 'half', `-${command}`);
      await expect(half.swap('new', null, Buffer.from('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
      expect(await whole.read('new')).toBeNull();
      await redis.call('acl', 'setuser', 'half', `+${command}`);
    }
    await redis.call('acl', 'setuser', 'half', '-hdel');
    await expect(half.swap('kept', Buffer.from('a'), null)).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
    expect([text(await whole.read('kept')), await whole.list('kept')]).toEqual(['a', ['kept']]);
    await redis.call('acl', 'setuser', 'half', '+hdel', '-zrem');
    expect(await half.swap('kept', Buffer.from('a'), null)).toBe('won');
    expect(await whole.read('kept')).toBeNull();
  });

  test('a server that followed another and leads again is in another epoch, though it never stopped and the connection lasted', async () => {
    const [first, second] = servers as [Server, Server];
    const [leads, follows] = [admin(first), admin(second)];
    await follows.call('replicaof', '127.0.0.1', String(first.port));
    await says(follows, 'master_link_status:up');
    const store = await open(urlOf(first));
    await store.write('held', Buffer.from('by one'));
    const epoch = await store.epoch();
    // The other takes over, without the last write; and then it is the first one's turn again.
    await follows.call('replicaof', 'no', 'one');
    await follows.call('hdel', '{attacked}:registers', 'held');
    await leads.call('replicaof', '127.0.0.1', String(second.port));
    await says(leads, 'master_link_status:up');
    await expect(store.read('held')).rejects.toMatchObject({ code: 'TENURE_STORE_EPOCH' });
    await leads.call('replicaof', 'no', 'one');
    const moved = { code: 'TENURE_STORE_EPOCH' };
    await expect(store.read('held')).rejects.toMatchObject(moved);
    await expect(store.swap('held', null, Buffer.from('by two'))).rejects.toMatchObject(moved);
    expect(await store.epoch()).not.toBe(epoch);
    expect(await store.swap('held', null, Buffer.from('by two'))).toBe('won');
  });
});
