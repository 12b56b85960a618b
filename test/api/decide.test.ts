/** `storage.decide`: one value for a key, whoever proposes, on stores that compare and set, on plain registers, and on several units. */
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openStorage, type LeaseStorage } from '../../src/api/index.ts';
import { StoreDecisions } from '../../src/api/storage/decisions.ts';
import { spanUs, TenureError } from '../../src/kernel/index.ts';
import { initParameters, openStore } from '../../src/store/index.ts';
import { storeDirectory } from './storage-places.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const act of cleanUps.splice(0).reverse()) await act();
});

async function setUp(url: string): Promise<string> {
  const store = await openStore(url, { create: 'init' });
  await initParameters(store, { deltaUs: spanUs(100_000), maxTermUs: spanUs(3_000_000) });
  await store.close();
  return url;
}

async function opened(url: string): Promise<LeaseStorage> {
  const storage = await openStorage(url);
  cleanUps.push(() => storage.close());
  return storage;
}

function folder(): string {
  const { path, remove } = storeDirectory();
  cleanUps.push(remove);
  return path;
}

function units(settings: string): { url: string; paths: string[] } {
  const root = folder();
  const paths = ['a', 'b', 'c'].map((name) => join(root, name));
  for (const path of paths) mkdirSync(path);
  return { url: `replicated:?${paths.map((path) => `unit=file://${path}${settings}`).join('&')}`, paths };
}

const text = (value: Uint8Array): string => Buffer.from(value).toString();

describe.each([
  ['a store that compares and sets', () => `file://${folder()}`],
  ['plain registers', () => `file://${folder()}?swap=off`],
  ['three units that compare and set', () => units('').url],
  ['three units of plain registers', () => units('?swap=off').url],
])('on %s', (_, makeUrl) => {
  test('all get the same value, one that somebody proposed, and later proposals change nothing', async () => {
    const url = await setUp(makeUrl());
    const storages = await Promise.all(['one', 'two', 'three'].map(() => opened(url)));
    const answers = await Promise.all(storages.map(async (storage, index) => text(await storage.decide('owner', `proposal ${index}`))));
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^proposal [012]$/);
    const late = await opened(url);
    expect(text(await late.decide('owner', 'too late'))).toBe(answers[0]);
    expect(text(await late.decide('x'.repeat(255), 'another key'))).toBe('another key');
  });
});

test('a decision survives the loss of a unit', async () => {
  const { url, paths } = units('');
  await setUp(url);
  const first = await opened(url);
  expect(text(await first.decide('owner', 'first'))).toBe('first');
  renameSync(paths[0] ?? '', `${paths[0]}.away`);
  const second = await opened(url);
  expect(text(await second.decide('owner', 'second'))).toBe('first');
});

test('what cannot be decided is refused, and what is not decided in time says so', async () => {
  const { url, paths } = units('');
  await setUp(url);
  const storage = await opened(url);
  await expect(storage.decide('', 'value')).rejects.toMatchObject({ code: 'TENURE_BAD_NAME' });
  await expect(storage.decide('key', '')).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  await expect(storage.decide('key', new Uint8Array(65_537))).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  for (const path of paths.slice(0, 2)) renameSync(path, `${path}.away`);
  await expect(storage.decide('key', 'value', { wait: '300ms' })).rejects.toMatchObject({ code: 'TENURE_WAIT_TIMEOUT' });
  const reason = new Error('enough');
  await expect(storage.decide('key', 'value', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test('a process that cannot have the lease of the leader rests between two tries, and says what keeps it from leading', async () => {
  const url = await setUp(`file://${folder()}?swap=off`);
  const store = await openStore(url);
  cleanUps.push(() => store.close());
  const damaged = new TenureError('TENURE_STORE_CORRUPT', 'the record of the lease is damaged');
  let tries = 0;
  const acquire = async (): Promise<never> => {
    tries++;
    return await Promise.reject(damaged);
  };
  const decisions = new StoreDecisions({ store, acquire });
  cleanUps.push(() => decisions.close());
  const late = await decisions.decide('key', 'value', { wait: '300ms' }).catch((error: unknown) => error);
  expect(late).toMatchObject({ code: 'TENURE_WAIT_TIMEOUT', message: expect.stringContaining(damaged.message), cause: damaged });
  expect(tries).toBeGreaterThan(0);
  // Without a rest there are thousands; a busy machine has fewer of both.
  expect(tries).toBeLessThan(10);
});
