/** A store in etcd, against a real server that is started here, stalled, killed and started again. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { storeConformance, type StorePlace } from '../../src/store/conformance.ts';
import { openStore, type OpenStoreOptions, type Store } from '../../src/store/index.ts';
import { Proxy } from './proxy.ts';
import { program, startEtcd, type Server } from './servers.ts';

const isMissing = program('etcd') === null;
if (isMissing) console.warn('etcd is not installed: its store is not tested');

let spaces = 0;
const freshSpace = (): string => `s${spaces++}`;
const urlOf = ({ port }: { port: number }, space: string, more = ''): string => `etcd://127.0.0.1:${port}/${space}${more}`;

async function open(url: string, options?: OpenStoreOptions): Promise<Store> {
  const store = await openStore(url, options);
  onTestFinished(async () => await store.close());
  return store;
}

const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();
const base64 = (value: string): string => Buffer.from(value).toString('base64');

describe.skipIf(isMissing)('etcd: (a server is needed)', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startEtcd();
  }, 60_000);
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

  storeConformance({ test, open: place, can: { swap: true, list: true, restart: true, stall: true, cut: true } });

  test('a server that started anew is the same store in the same epoch: it forgets nothing', async () => {
    const store = await open(urlOf(server, freshSpace()));
    const [epoch, identity] = [await store.epoch(), await store.identity()];
    await store.write('k', Buffer.from('a'));
    await server.restart();
    expect([await store.epoch(), await store.identity(), text(await store.read('k'))]).toEqual([epoch, identity, 'a']);
  });

  test('a space that was emptied is not the store any more', async () => {
    const space = freshSpace();
    const store = await open(urlOf(server, space));
    await store.write('k', Buffer.from('a'));
    const body = JSON.stringify({ key: base64(`${space}/`), range_end: base64(`${space}0`) });
    await fetch(`http://127.0.0.1:${server.port}/v3/kv/deleterange`, { method: 'POST', body });
    await expect(store.read('k')).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    await expect(store.write('k', Buffer.from('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    await expect(store.swap('k', null, Buffer.from('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    await expect(open(urlOf(server, space), { create: 'never' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  });

  test('an address where nobody is is passed over, and nothing is sent twice', async () => {
    const store = await open(`etcd://127.0.0.1:1/${freshSpace()}?also=127.0.0.1:${server.port}`);
    expect(await store.swap('k', null, Buffer.from('a'))).toBe('won');
    expect(text(await store.read('k'))).toBe('a');
    const nowhere = openStore(`etcd://127.0.0.1:1/${freshSpace()}`);
    await expect(nowhere).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
  });

  test('a URL that cannot name a space or a server is refused', async () => {
    for (const url of ['etcd:///leases', 'etcd://127.0.0.1/a b', 'etcd://127.0.0.1/x?prefix=y', 'etcd://127.0.0.1/x?also=:80']) {
      await expect(openStore(url)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    }
  });
});
