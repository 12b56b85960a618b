/** A store out of several: it keeps the contract, survives the loss of a minority of its units, and says which ones are missing. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openStorage } from '../../src/api/index.ts';
import { spanUs } from '../../src/kernel/index.ts';
import { connectForRepair } from '../../src/store/by-url.ts';
import { storeConformance, type StorePlace } from '../../src/store/conformance.ts';
import { initParameters, openStore, type Store } from '../../src/store/index.ts';
import { program, startPostgres, startRedis, type Server } from './servers.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const act of cleanUps.splice(0).reverse()) await act();
});

function threeDirectories(settings: readonly string[] = ['', '', '']): { paths: string[]; url: string; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), 'tenure-replicated-'));
  const paths = settings.map((_, index) => join(root, `unit-${index}`));
  for (const path of paths) mkdirSync(path);
  const units = paths.map((path, index) => `unit=file://${path}${settings[index]}`);
  return { paths, url: `replicated:?${units.join('&')}`, remove: () => rmSync(root, { recursive: true, force: true }) };
}

async function place(url: string, remove: () => void): Promise<StorePlace> {
  await (await openStore(url, { create: 'init' })).close();
  return { store: async () => await openStore(url), close: async () => remove() };
}

/** Opened, and closed after the test. */
async function opened(url: string, create: 'init' | 'never' = 'never'): Promise<Store> {
  const store = await openStore(url, { create });
  cleanUps.push(() => store.close());
  return store;
}

function directories(settings?: readonly string[]): ReturnType<typeof threeDirectories> {
  const made = threeDirectories(settings);
  cleanUps.push(made.remove);
  return made;
}

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

describe.each([
  ['that compare and set', ['', '', '']],
  ['of plain registers, and one that compares and sets', ['?swap=off', '', '?swap=off']],
])('three directories %s', { concurrent: true }, (_, settings) => {
  storeConformance({
    test: test.sequential,
    open: async () => {
      const { url, remove } = threeDirectories(settings);
      return await place(url, remove);
    },
    can: { list: true },
  });
});

describe.skipIf(program('postgres') === null || program('redis-server') === null)('a directory, PostgreSQL and Redis', () => {
  let servers: Server[] = [];
  let url = '';
  const { paths, remove } = threeDirectories();
  beforeAll(async () => {
    servers = await Promise.all([startPostgres(), startRedis()]);
    const [postgres, redis] = servers.map(({ port }) => port);
    url = `replicated:?unit=file://${paths[0]}&unit=postgres://postgres@127.0.0.1:${postgres}/postgres&unit=redis://127.0.0.1:${redis}/0`;
    await (await openStore(url, { create: 'init' })).close();
  }, 60_000);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    remove();
  });
  storeConformance({ test, open: async () => ({ store: async () => await openStore(url), close: async () => {} }), can: { list: true } });

  test('a server that dies is missed by nobody', async () => {
    const store = await opened(url);
    await store.write('kept', bytes('before'));
    await servers[1]?.stop();
    expect(await store.write('kept', bytes('during'))).toBe('done');
    expect(text(await store.read('kept'))).toBe('during');
  });
});

describe('units', () => {
  test('a unit that is gone is missed by nobody', async () => {
    const { paths, url } = directories();
    const store = await opened(url, 'init');
    await store.write('a', bytes('one'));
    renameSync(paths[0] ?? '', `${paths[0]}.away`);
    expect(await store.write('a', bytes('two'))).toBe('done');
    const other = await opened(url);
    expect(text(await other.read('a'))).toBe('two');
    renameSync(`${paths[0]}.away`, paths[0] ?? '');
    renameSync(paths[1] ?? '', `${paths[1]}.away`);
    expect(text(await other.read('a'))).toBe('two');
  });

  test('with two of three gone nothing is answered, nothing hangs, and the error names them', async () => {
    const { paths, url } = directories();
    const store = await opened(url, 'init');
    await store.write('a', bytes('one'));
    for (const path of paths.slice(0, 2)) renameSync(path, `${path}.away`);
    const refusal = { code: 'TENURE_STORE_UNREACHABLE', message: expect.stringContaining('2 of its 3 units are missing') as string };
    await expect(store.read('a', { timeoutMs: 300 })).rejects.toMatchObject(refusal);
    await expect(store.write('a', bytes('two'), { timeoutMs: 300 })).rejects.toMatchObject(refusal);
    const error = await store.read('a', { timeoutMs: 300 }).catch((thrown: unknown) => thrown as { message: string });
    expect((error as { message: string }).message).toContain(paths[0]);
    expect((error as { message: string }).message).toContain(paths[1]);
    await expect(openStore(url)).rejects.toMatchObject(refusal);
    for (const path of paths.slice(0, 2)) renameSync(`${path}.away`, path);
    expect(text(await store.read('a'))).toBe('one');
  });

  test('with two of three gone no lease is granted, a request ends in its time, and its error names them', async () => {
    const { paths, url } = directories();
    const store = await opened(url, 'init');
    await initParameters(store, { deltaUs: spanUs(100_000), maxTermUs: spanUs(2_000_000) });
    const storage = await openStorage(url);
    cleanUps.push(() => storage.close());
    await (await storage.acquire('before')).release();
    for (const path of paths.slice(1)) renameSync(path, `${path}.away`);
    for (const wait of ['1s', 0]) {
      const error = await storage.acquire('during', { wait }).catch((thrown: unknown) => thrown as { code: string; message: string });
      expect(error).toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
      for (const path of paths.slice(1)) expect((error as { message: string }).message).toContain(path);
    }
    for (const path of paths.slice(1)) renameSync(`${path}.away`, path);
    await (await storage.acquire('after', { wait: '20s' })).release();
  });

  test('a unit that was wiped counts no more until it is repaired, while others go on', async () => {
    const { paths, url } = directories(['', '?swap=off', '']);
    const [wiped = ''] = paths;
    const store = await opened(url, 'init');
    await store.write('a', bytes('one'));
    await store.write(`long/${'x'.repeat(240)}`, bytes('two'));
    for (const name of readdirSync(wiped)) rmSync(join(wiped, name), { recursive: true });
    expect(await store.write('b', bytes('three'))).toBe('done');
    const medic = await connectForRepair(url);
    cleanUps.push(() => medic.close());
    const before = await medic.unitReports();
    expect(before.map(({ standing }) => standing)).toEqual(['unmarked', 'whole', 'whole']);
    expect(await medic.repair(`file://${wiped}`)).toBe(3);
    expect((await medic.unitReports()).map(({ standing }) => standing)).toEqual(['whole', 'whole', 'whole']);
    renameSync(paths[2] ?? '', `${paths[2]}.away`);
    const other = await opened(url);
    expect(text(await other.read('a'))).toBe('one');
    expect(text(await other.read('b'))).toBe('three');
    expect(await other.list('long/')).toHaveLength(1);
    expect(text(await store.read('b'))).toBe('three');
  });

  test('nothing is repaired from too few units, nor what is whole: no mark is touched, and it is said at once', async () => {
    const { paths, url } = directories();
    const store = await opened(url, 'init');
    await store.write('a', bytes('one'));
    for (const path of paths.slice(0, 2)) for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
    const medic = await connectForRepair(url);
    cleanUps.push(() => medic.close());
    for (const path of paths.slice(0, 2)) {
      await expect(medic.repair(`file://${path}`)).rejects.toMatchObject({
        code: 'TENURE_STORE_UNREACHABLE',
        message: expect.stringContaining('2 of its 3 units are missing') as string,
      });
    }
    expect(await medic.repair(`file://${paths[2]}`)).toBe(0);
    expect((await medic.unitReports()).map(({ standing }) => standing)).toEqual(['unmarked', 'unmarked', 'whole']);
  });

  test('whoever names other units is refused', async () => {
    const { paths, url } = directories();
    await opened(url, 'init');
    const more = directories().paths;
    const [a, b] = paths;
    const refusal = { code: 'TENURE_STORE_PARAMS', message: expect.stringContaining(String(a)) as string };
    await expect(openStore(`replicated:?unit=file://${a}&unit=file://${b}&unit=file://${more[0]}`)).rejects.toMatchObject(refusal);
    for (const [odd, why] of [
      [`replicated:?unit=file://${a}`, /from 3 to 9 units/],
      [`replicated:?unit=file://${a}&unit=file://${a}&unit=file://${b}`, /twice/],
      [`replicated:?unit=file://${a}&unit=file://${b}&unit=${encodeURIComponent(url)}`, /cannot be a unit/],
      [`${url}&other=1`, /unknown setting other/],
    ] as const) {
      await expect(openStore(odd)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT', message: expect.stringMatching(why) as string });
    }
  });

  test('what nobody has set up is not used, and what is in use is not set up again', async () => {
    const { paths, url } = directories();
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'TENURE_STORE_PARAMS',
      message: expect.stringContaining('tenure store init') as string,
    });
    const store = await opened(url, 'init');
    await store.write('a', bytes('one'));
    const [wiped = ''] = paths;
    for (const name of readdirSync(wiped)) rmSync(join(wiped, name), { recursive: true });
    await expect(openStore(url, { create: 'init' })).rejects.toMatchObject({
      code: 'TENURE_STORE_PARAMS',
      message: expect.stringContaining('tenure store repair') as string,
    });
  });
});
