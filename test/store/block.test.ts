/** Registers at fixed places of a file: the suite, and what is particular to sectors. A loop device is tried where this machine has one to give. */
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdtemp, open as openFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sectorOf } from '../../src/store/block/layout.ts';
import { storeConformance, type StorePlace } from '../../src/store/conformance.ts';
import { initParameters, openStore, readParameters, defaultParameters, type Store } from '../../src/store/index.ts';

const BYTES = 16 * 1024 * 1024;
/** A file with holes, so large that no two of the suite's names, which it draws, share a sector. */
const SPARSE_BYTES = 2 ** 40;
const SECTOR = 4096;

async function directory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), 'tenure-block-'));
}

/** Whether files here can be written past the caches of the machine. */
async function isDirectHere(): Promise<boolean> {
  const path = await directory();
  try {
    await (await openFile(join(path, 'f'), constants.O_RDWR | constants.O_CREAT | constants.O_DIRECT)).close();
    return true;
  } catch {
    return false;
  } finally {
    await rm(path, { recursive: true });
  }
}

const isDirect = await isDirectHere();
if (!isDirect) console.warn('the temporary directory knows no O_DIRECT: block stores are tested without');
const MODES = isDirect ? ['', '&direct=off'] : ['&direct=off'];

async function made(settings: string, bytes = BYTES): Promise<{ url: string; path: string; remove: () => Promise<void> }> {
  const folder = await directory();
  const path = join(folder, 'leases');
  const url = `block://${path}?bytes=${bytes}${settings}`;
  await (await openStore(url, { create: 'init' })).close();
  return { url, path, remove: async () => await rm(folder, { recursive: true, force: true }) };
}

describe.each(MODES)('block:, a file%s', (settings) => {
  storeConformance({
    test,
    open: async (): Promise<StorePlace> => {
      const { url, remove } = await made(settings, SPARSE_BYTES);
      return { store: async () => await openStore(url), close: remove };
    },
  });
});

test('many that open it at the same moment all find it fit, though some of their probes share a place', async () => {
  const { url, remove } = await made('&direct=off');
  onTestFinished(remove);
  const stores = await Promise.all(Array.from({ length: 150 }, async () => await openStore(url)));
  await Promise.all(stores.map(async (store) => await store.close()));
  expect(stores).toHaveLength(150);
});

/** A device on a file, if this machine lets us make one. */
function loopDevice(file: string): string | null {
  try {
    return execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

test('block: on a loop device, where there is one', async () => {
  const folder = await directory();
  await writeFile(join(folder, 'disk'), Buffer.alloc(BYTES));
  const device = loopDevice(join(folder, 'disk'));
  onTestFinished(async () => {
    if (device !== null) execFileSync('losetup', ['--detach', device]);
    await rm(folder, { recursive: true, force: true });
  });
  if (device === null) {
    console.warn('no loop device can be made here: block: is tested on files only');
    return;
  }
  const url = `block://${device}`;
  const [one, other] = [await openStore(url, { create: 'init' }), await openStore(url)];
  expect(await one.write('k', Buffer.from('a'))).toBe('done');
  expect(Buffer.from((await other.read('k')) ?? []).toString()).toBe('a');
  await Promise.all([one.close(), other.close()]);
});

async function opened(settings = MODES[0] ?? ''): Promise<{ store: Store; url: string; path: string }> {
  const { url, path, remove } = await made(settings);
  const store = await openStore(url);
  onTestFinished(async () => {
    await store.close();
    await remove();
  });
  return { store, url, path };
}

test('a place that nobody has set up is refused: nothing is created but by the explicit act', async () => {
  const folder = await directory();
  onTestFinished(async () => await rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'blank'), Buffer.alloc(BYTES));
  const url = `block://${join(folder, 'blank')}?direct=off`;
  await expect(openStore(url)).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  await expect(openStore(`block://${join(folder, 'none')}?direct=off`)).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
  await writeFile(join(folder, 'photo'), Buffer.alloc(BYTES, 7));
  const taken = `block://${join(folder, 'photo')}?direct=off`;
  await expect(openStore(taken, { create: 'init' })).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
  const small = `block://${join(folder, 'small')}?direct=off&bytes=65536`;
  await expect(openStore(small, { create: 'init' })).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
});

test('a file that was made anew is not the store any more', async () => {
  const { store, url, path } = await opened();
  await writeFile(path, Buffer.alloc(BYTES));
  await (await openStore(url, { create: 'init' })).close();
  await expect(store.read('k')).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
  await expect(store.write('k', Buffer.from('a'))).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
});

test('a sector that is another name’s is never taken for free, and is left as it is', async () => {
  const { store } = await opened();
  const sectors = BYTES / SECTOR;
  const twin = Array.from({ length: 100_000 }, (_, i) => `n${i}`).find((name) => sectorOf(name, sectors) === sectorOf('k', sectors)) ?? '';
  await store.write('k', Buffer.from('a'));
  await expect(store.read(twin)).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
  await expect(store.write(twin, Buffer.from('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
  expect(Buffer.from((await store.read('k')) ?? []).toString()).toBe('a');
});

test('names stay where they are when the file or device becomes longer, and a shorter one is refused', async () => {
  const { store, url, path } = await opened('&direct=off');
  await store.write('k', Buffer.from('a'));
  await truncate(path, 2 * BYTES);
  const other = await openStore(url);
  onTestFinished(async () => await other.close());
  expect(Buffer.from((await other.read('k')) ?? []).toString()).toBe('a');
  await truncate(path, BYTES - SECTOR);
  await expect(openStore(url)).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
});

test('a file has as many sectors as were asked for when it was made, and keeps them', async () => {
  const { url, path } = await opened('&direct=off');
  expect((await stat(path)).size).toBe(BYTES);
  const longer = url.replace(`bytes=${BYTES}`, `bytes=${2 * BYTES}`);
  await expect(openStore(longer, { create: 'init' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
});

test('a damaged sector is refused', async () => {
  const { store, path } = await opened('&direct=off');
  await store.write('k', Buffer.from('abc'));
  const file = await openFile(path, 'r+');
  await file.write(Buffer.from('x'), 0, 1, sectorOf('k', BYTES / SECTOR) * SECTOR + 14);
  await file.close();
  await expect(store.read('k')).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
});

test('parameters have a place of their own', async () => {
  const { store } = await opened();
  await initParameters(store, defaultParameters('block'));
  expect(await readParameters(store)).toMatchObject({ deltaUs: 250_000 });
});

test.each(['block://host/x', 'block:///', 'block:///x?bytes=-1', 'block:///x?direct=perhaps', 'block:///x?sync=off'])(
  '%s cannot name a store',
  async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  },
);
