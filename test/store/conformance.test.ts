/** The conformance suite on stores without a server, and the suite itself on stores that are broken. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { storeConformance, type StoreConformanceOptions, type StorePlace } from '../../src/store/conformance.ts';
import { FileStore, MemorySpace, MemoryStore, type FileStoreOptions } from '../../src/store/index.ts';
import { BROKEN_STORES } from './broken-stores.ts';

type Can = NonNullable<StoreConformanceOptions['can']>;

function memoryPlace(make: (space: MemorySpace) => MemoryStore): StorePlace {
  const space = new MemorySpace();
  return {
    store: async () => make(space),
    restart: async () => space.loseAll(),
    close: async () => {},
  };
}

async function directory(options: Omit<FileStoreOptions, 'path'>): Promise<StorePlace> {
  const path = mkdtempSync(join(tmpdir(), 'tenure-store-'));
  await (await FileStore.open({ path, create: 'init', ...options })).close();
  return {
    store: async () => await FileStore.open({ path, create: 'never', ...options }),
    close: async () => rmSync(path, { recursive: true, force: true }),
  };
}

const EVERYTHING: Can = { swap: true, list: true, watch: true, restart: true };

describe('memory:', () => {
  storeConformance({ test, open: async () => memoryPlace((space) => new MemoryStore(space)), can: EVERYTHING });
});

describe('file:, compare-and-set', () => {
  storeConformance({ test, open: async () => await directory({}), can: { swap: true, list: true } });
});

describe('file:, compare-and-set, not synced', () => {
  storeConformance({ test, open: async () => await directory({ sync: false }), can: { swap: true, list: true } });
});

describe('file:, plain registers', () => {
  storeConformance({ test, open: async () => await directory({ swap: false }), can: { list: true } });
});

/** What of the suite a store fails. A test that waits for ever for what does not come has failed as well. */
async function failuresOf(open: () => Promise<StorePlace>, patienceMs: number): Promise<string[]> {
  const tests: { name: string; body: () => Promise<void> }[] = [];
  storeConformance({ test: (name, body) => void tests.push({ name, body }), open, can: EVERYTHING });
  const failed: string[] = [];
  for (const { name, body } of tests) {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error('no end')), patienceMs)));
    await Promise.race([body(), patience]).catch(() => failed.push(name));
    clearTimeout(timer);
  }
  return failed;
}

describe('the suite', () => {
  test('fails no store that keeps the contract', async () => {
    expect(await failuresOf(async () => memoryPlace((space) => new MemoryStore(space)), 30_000)).toEqual([]);
  });

  test.each(Object.entries(BROKEN_STORES))('finds out %s', async (_, make) => {
    expect((await failuresOf(async () => memoryPlace(make), 2000)).length).toBeGreaterThan(0);
  });
});
