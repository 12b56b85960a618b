/** A store in a bucket, against Ceph's radosgw: the store as a store, and leases on it. `npm run test:s3` runs this, and nothing else does. */
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { createServer, request as httpRequest, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { storeConformance, type StorePlace } from '../../src/store/conformance.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { setUpStore, storePlace } from '../api/storage-places.ts';
import { ACCESS_KEY, SECRET_KEY, startRadosgw, type Radosgw } from './radosgw.ts';

let server: Radosgw;
let client: S3Client;
let spaces = 0;
const freshSpace = (): string => `s${spaces++}`;

function urlOf({ port }: { port: number }, space: string, more = ''): string {
  return `s3://${ACCESS_KEY}:${SECRET_KEY}@leases/${space}?endpoint=http://127.0.0.1:${port}${more}`;
}

beforeAll(async () => {
  server = await startRadosgw();
  const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
  client = new S3Client({ endpoint: `http://127.0.0.1:${server.port}`, region: 'us-east-1', forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: 'leases' }));
}, 240_000);
afterAll(async () => {
  client.destroy();
  await server.stop();
});

/** Between a store and the real server: it loses the answer of a write when told to, or ignores the conditions of writes, as some servers do. */
class Middleman {
  readonly port: number;
  readonly #http: HttpServer;
  #losesNext = false;

  private constructor(http: HttpServer) {
    this.#http = http;
    this.port = (http.address() as AddressInfo).port;
  }

  static async begin(ignoresConditions = false): Promise<Middleman> {
    const http = createServer((asked, answer) => void middleman.#pass(asked, answer, ignoresConditions));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const middleman = new Middleman(http);
    return middleman;
  }

  loseAnswer(): void {
    this.#losesNext = true;
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections();
    await new Promise((closed) => this.#http.close(closed));
  }

  async #pass(asked: IncomingMessage, answer: ServerResponse, ignoresConditions: boolean): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of asked) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const isWrite = asked.method === 'PUT' || asked.method === 'DELETE';
    if (ignoresConditions && asked.method === 'PUT') {
      const [, Bucket = '', ...path] = new URL(asked.url ?? '', 'http://x').pathname.split('/');
      await client.send(new PutObjectCommand({ Bucket, Key: path.join('/'), Body: body }));
      answer.writeHead(200, { etag: '"written"' }).end();
      return;
    }
    const { url: path, method, headers } = asked;
    const onward = httpRequest({ host: '127.0.0.1', port: server.port, path, method, headers }, (told) => {
      if (isWrite && this.#losesNext) {
        this.#losesNext = false;
        asked.socket.destroy();
        return;
      }
      answer.writeHead(told.statusCode ?? 500, told.headers);
      told.pipe(answer);
    });
    onward.on('error', () => asked.socket.destroy());
    onward.end(body);
  }
}

async function place(more = ''): Promise<StorePlace> {
  const proxy = await Middleman.begin();
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

test('a server that takes conditions and ignores them is found out, and used as plain registers', async () => {
  const proxy = await Middleman.begin(true);
  onTestFinished(async () => await proxy.close());
  const url = urlOf(proxy, freshSpace());
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
