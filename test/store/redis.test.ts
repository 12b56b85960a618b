/** A store in Redis, against real servers that are started here, stopped, killed and started again. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { storeConformance, type StorePlace } from '../../src/store/conformance.ts';
import { openStore, type OpenStoreOptions, type Store } from '../../src/store/index.ts';
import { Proxy } from './proxy.ts';
import { program, startRedis, type Server } from './servers.ts';

const isMissing = program('redis-server') === null;
if (isMissing) console.warn('Redis is not installed: its store is not tested');

let spaces = 0;
const freshSpace = (): string => `s${spaces++}`;
const urlOf = ({ port }: { port: number }, space: string, more = ''): string => `redis://127.0.0.1:${port}/0?space=${space}${more}`;

async function open(url: string, options?: OpenStoreOptions): Promise<Store> {
  const store = await openStore(url, options);
  onTestFinished(async () => await store.close());
  return store;
}

async function tell({ port }: Server, ...command: [string, ...string[]]): Promise<void> {
  const redis = new Redis(port, '127.0.0.1');
  const [name, ...args] = command;
  await redis.call(name, ...args);
  redis.disconnect();
}

const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

describe.skipIf(isMissing)('redis: (a server is needed)', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startRedis(['--appendonly', 'yes']);
  });
  afterAll(async () => await server.stop());

  const place = async (): Promise<StorePlace> => {
    const proxy = await Proxy.to(server.port);
    const url = urlOf(proxy, freshSpace());
    return {
      store: async () => await openStore(url),
      restart: async () => await server.restart(),
      stall: async () => await server.stall(),
      resume: async () => await server.resume(),
      loseAnswer: () => proxy.loseAnswer(),
      close: async () => await proxy.close(),
    };
  };

  describe('as it comes', () => {
    storeConformance({
      test,
      open: place,
      can: { swap: true, list: true, restart: true, stall: true, cut: true },
    });
  });

  test('a server that started anew is another epoch, also if it has lost nothing', async () => {
    const space = freshSpace();
    const store = await open(urlOf(server, space));
    const [epoch, identity] = [await store.epoch(), await store.identity()];
    await store.write('k', Buffer.from('a'));
    // While its disk is busy a server keeps what it has acknowledged in its memory. This has it written before the kill.
    await tell(server, 'config', 'set', 'appendfsync', 'always');
    await tell(server, 'set', 'flushed', 'yes');
    await server.restart();
    const again = await open(urlOf(server, space));
    expect(await again.epoch()).not.toBe(epoch);
    expect(await again.identity()).toBe(identity);
  });

  test('a space that was flushed or deleted is not the store any more', async () => {
    const gone = { code: 'TENURE_STORE_REPLACED' };
    for (const deed of ['flushall', 'del']) {
      const space = freshSpace();
      const store = await open(urlOf(server, space));
      await store.write('k', Buffer.from('a'));
      await tell(server, deed, ...(deed === 'del' ? [`{${space}}:identity`, `{${space}}:registers`, `{${space}}:index`] : []));
      await expect(store.read('k')).rejects.toMatchObject(gone);
      await expect(store.swap('k', null, Buffer.from('b'))).rejects.toMatchObject(gone);
      await expect(store.list('k')).rejects.toMatchObject(gone);
      await open(urlOf(server, space));
      await expect(store.write('k', Buffer.from('b'))).rejects.toMatchObject(gone);
    }
  });

  test('spaces are apart', async () => {
    const [one, two] = [await open(urlOf(server, freshSpace())), await open(urlOf(server, freshSpace()))];
    await one.write('k', Buffer.from('a'));
    expect(await two.read('k')).toBeNull();
  });

  test('what was promised of its writes is checked', async () => {
    await expect(open(urlOf(server, freshSpace(), '&replicas=none'))).rejects.toMatchObject({
      code: 'TENURE_STORE_UNFIT',
      message: expect.stringContaining('appendfsync'),
    });
  });

  test('a user that may not is told so', async () => {
    await tell(server, 'acl', 'setuser', 'reader', 'on', '>secret', '~*', '+@read', '+info', '+ping', '+select', '+client');
    const url = `redis://reader:secret@127.0.0.1:${server.port}/0?space=${freshSpace()}`;
    await expect(open(url)).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
    await expect(open(url.replace('secret', 'guess'), { timeoutMs: 2000 })).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
  });

  test('a server that is full keeps what is there; one that throws away what it likes is refused', async () => {
    const space = freshSpace();
    const store = await open(urlOf(server, space));
    await store.write('k', Buffer.from('kept'));
    onTestFinished(async () => {
      await tell(server, 'config', 'set', 'maxmemory', '0');
      await tell(server, 'config', 'set', 'maxmemory-policy', 'noeviction');
    });
    await tell(server, 'config', 'set', 'maxmemory', '100kb');
    await expect(store.write('k', Buffer.from('more'))).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
    await expect(store.swap('other', null, Buffer.from('more'))).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
    expect([text(await store.read('k')), await store.read('other')]).toEqual(['kept', null]);
    await tell(server, 'config', 'set', 'maxmemory', '1gb');
    await tell(server, 'config', 'set', 'maxmemory-policy', 'allkeys-lru');
    await expect(open(urlOf(server, space))).rejects.toMatchObject({
      code: 'TENURE_STORE_UNFIT',
      message: expect.stringContaining('maxmemory-policy'),
    });
  });

  test('a replica is refused', async () => {
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(server.port)]);
    onTestFinished(async () => await replica.stop());
    await expect(open(urlOf(replica, freshSpace()))).rejects.toMatchObject({
      code: 'TENURE_STORE_UNFIT',
      message: expect.stringContaining('replica'),
    });
  });

  test('nobody there is told at once, without the password', async () => {
    const refusal: unknown = await openStore('redis://u:secret@127.0.0.1:1/0').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'TENURE_STORE_UNREACHABLE', message: expect.stringContaining('ECONNREFUSED') });
    expect(String(refusal)).not.toContain('secret');
    for (const odd of ['?space=a%20b', '?replicas=two', '?sync=on']) {
      await expect(openStore(`redis://127.0.0.1:1/0${odd}`)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    }
  });
});

describe.skipIf(isMissing)('redis: with every write synced (a server is needed)', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  });
  afterAll(async () => await server.stop());

  storeConformance({
    test,
    open: async () => {
      const url = urlOf(server, freshSpace(), '&replicas=none');
      return { store: async () => await openStore(url), restart: async () => await server.restart(), close: async () => {} };
    },
    can: { swap: true, list: true, restart: true },
  });

  test('the epoch and all that was acknowledged outlive a server that is killed', async () => {
    const space = freshSpace();
    const store = await open(urlOf(server, space, '&replicas=none'));
    const epoch = await store.epoch();
    await store.write('k', Buffer.from('a'));
    await server.restart();
    const again = await open(urlOf(server, space, '&replicas=none'));
    expect([await again.epoch(), text(await again.read('k'))]).toEqual([epoch, 'a']);
  });
});

describe.skipIf(isMissing)('redis: that keeps nothing (a server is needed)', () => {
  test('says that it is another store after it was killed, and lets nobody take what was held for free', async () => {
    const server = await startRedis();
    onTestFinished(async () => await server.stop());
    const url = urlOf(server, 's');
    const store = await open(url);
    await store.write('k', Buffer.from('held'));
    await server.restart();
    const refusals = new Set<string>();
    while (refusals.size < 2) {
      const outcome = await store.swap('k', null, Buffer.from('mine')).catch((error: unknown) => (error as { code: string }).code);
      // Until the driver has noticed, the change goes to the one that was killed.
      expect(outcome).toMatch(/^unknown$|^TENURE_STORE_(?:UNREACHABLE|EPOCH|REPLACED)$/);
      if (outcome === 'TENURE_STORE_EPOCH' || outcome === 'TENURE_STORE_REPLACED') refusals.add(outcome);
      if (outcome === 'TENURE_STORE_EPOCH') await store.epoch();
    }
    expect([...refusals]).toEqual(['TENURE_STORE_EPOCH', 'TENURE_STORE_REPLACED']);
  });
});
