/** A store in a bucket, against Ceph's radosgw: the store as a store, and leases on it. `npm run test:s3` runs this, and nothing else does. */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { createServer, request as httpRequest, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { storeConformance, type StorePlace } from '../../src/store/conformance.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { setUpStore, storePlace } from '../api/storage-places.ts';
import { Proxy } from './proxy.ts';
import { ACCESS_KEY, SECRET_KEY, startRadosgw, type Radosgw } from './radosgw.ts';

let server: Radosgw;
let spaces = 0;
const freshSpace = (): string => `s${spaces++}`;

function urlOf({ port }: { port: number }, space: string, more = ''): string {
  return `s3://${ACCESS_KEY}:${SECRET_KEY}@leases/${space}?endpoint=http://127.0.0.1:${port}${more}`;
}

beforeAll(async () => {
  server = await startRadosgw();
  const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
  const client = new S3Client({ endpoint: `http://127.0.0.1:${server.port}`, region: 'us-east-1', forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: 'leases' }));
  client.destroy();
}, 240_000);
afterAll(async () => await server.stop());

async function place(more = ''): Promise<StorePlace> {
  const proxy = await Proxy.to(server.port);
  const url = urlOf(proxy, freshSpace(), more);
  await (await openStore(url, { create: 'init' })).close();
  return {
    store: async () => await openStore(url),
    stall: async () => server.stall(),
    resume: async () => server.resume(),
    loseAnswer: () => proxy.loseAnswer(),
    close: async () => await proxy.close(),
  };
}

describe('s3:, with conditional writes', () => {
  storeConformance({ test, open: async () => await place(), can: { swap: true, list: true, stall: true, cut: true } });
});

describe('s3:, plain registers', () => {
  storeConformance({ test, open: async () => await place('&swap=off'), can: { list: true } });
});

describe('leases in a bucket', () => {
  let url = '';
  beforeAll(async () => {
    url = urlOf(server, 'service');
    await setUpStore(url);
  });
  leaseServiceConformance({
    test: it.concurrent,
    open: async () => storePlace(url, { processes: true }),
    can: { ordered: false, watch: true, list: true, cut: true, crash: true },
  });
});

/** Passes everything on to the real server but the conditions: what some servers do. */
async function forgetful(): Promise<{ port: number; end: () => void }> {
  const proxy: HttpServer = createServer((asked, answer) => {
    const { 'if-match': _match, 'if-none-match': _none, ...headers } = asked.headers;
    const onward = httpRequest({ host: '127.0.0.1', port: server.port, path: asked.url, method: asked.method, headers }, (told) => {
      answer.writeHead(told.statusCode ?? 500, told.headers);
      told.pipe(answer);
    });
    asked.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { port: (proxy.address() as AddressInfo).port, end: () => proxy.closeAllConnections() };
}

test('a server that takes conditions and ignores them is found out, and used as plain registers', async () => {
  const { port, end } = await forgetful();
  onTestFinished(end);
  const url = urlOf({ port }, freshSpace());
  await expect(openStore(url)).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  const store: Store = await openStore(url, { create: 'init' });
  expect(store.can).toEqual({ swap: false, list: true, watch: false });
  await store.write('k', Buffer.from('a'));
  expect(Buffer.from((await store.read('k')) ?? []).toString()).toBe('a');
  await store.close();
});

test('a bucket that is not there, and a wrong secret, are told apart', async () => {
  const nowhere = urlOf(server, 'x').replace('@leases', '@nowhere');
  await expect(openStore(nowhere)).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
  const wrong = urlOf(server, 'x').replace(`:${SECRET_KEY}@`, ':wrong@');
  await expect(openStore(wrong)).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
});
