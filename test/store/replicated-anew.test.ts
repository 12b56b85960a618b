/** Too many units of a replicated store lost what they had, or cannot read it: the store begins anew, by a command and never by itself. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStorage } from '../../src/api/index.ts';
import { decodeMark, encodeMark, MARK_KEY, placeOf, recordKeyOf } from '../../src/core/index.ts';
import { spanUs } from '../../src/kernel/index.ts';
import { beginAnew, connectForRepair } from '../../src/store/by-url.ts';
import { initParameters, openStore, type Store } from '../../src/store/index.ts';

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

function directories(settings: readonly string[] = ['', '', '']): { paths: string[]; units: string[]; url: string } {
  const root = mkdtempSync(join(tmpdir(), 'tenure-anew-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const paths = settings.map((_, index) => join(root, `unit-${index}`));
  for (const path of paths) mkdirSync(path);
  const units = paths.map((path, index) => `file://${path}${settings[index]}`);
  return { paths, units, url: `replicated:?${units.map((unit) => `unit=${unit}`).join('&')}` };
}

async function opened(url: string, create: 'init' | 'never' = 'never'): Promise<Store> {
  const store = await openStore(url, { create });
  onTestFinished(async () => await store.close());
  return store;
}

/** As if the unit had started anew since it was named. */
async function inAnotherEpoch(unit: string): Promise<void> {
  const store = await openStore(unit, { create: 'never' });
  const mark = decodeMark((await store.read(MARK_KEY)) ?? new Uint8Array(0));
  if (mark) await store.write(MARK_KEY, encodeMark({ ...mark, epoch: bytes('earlier') }));
  await store.close();
}

async function damage(unit: string, name: string): Promise<void> {
  const store = await openStore(unit, { create: 'never' });
  await store.write(recordKeyOf(placeOf('value', name).place), bytes('no record'));
  await store.close();
}

const UNREACHABLE = { code: 'TENURE_STORE_UNREACHABLE' };

test.each([
  ['that compare and set', ['', '', '']],
  ['that are plain registers', ['?swap=off', '?swap=off', '?swap=off']],
])('with most units %s in another epoch it answers nobody, says what to do, and begins anew with what they have', async (_, settings) => {
  const { units, url } = directories(settings);
  const before = await opened(url, 'init');
  await before.write('kept', bytes('one'));
  await before.write('erased', bytes('two'));
  await before.write('erased', null);
  const epoch = await before.epoch();
  for (const unit of units.slice(0, 2)) await inAnotherEpoch(unit);
  await expect(openStore(url)).rejects.toMatchObject(UNREACHABLE);
  const medic = await connectForRepair(url);
  onTestFinished(async () => await medic.close());
  await expect(medic.repair(units[0] ?? '')).rejects.toThrow(/tenure store repair --begin-anew/);
  expect(await beginAnew(url)).toEqual({ registers: 2, lost: [] });
  const after = await opened(url);
  expect(text(await after.read('kept'))).toBe('one');
  expect(await after.list('')).toEqual(['kept']);
  expect(await after.write('kept', bytes('three'))).toBe('done');
  // It is another store to whoever used it: nothing that they do counts.
  expect(await after.epoch()).not.toBe(epoch);
  expect(after.mayForget).toBe(true);
  await expect(before.write('kept', bytes('stale'), { timeoutMs: 300 })).rejects.toMatchObject(UNREACHABLE);
  expect(text(await after.read('kept'))).toBe('three');
});

test('nobody takes a lease in it before one observation has passed; who comes after that need not wait', async () => {
  const { units, url } = directories();
  const before = await opened(url, 'init');
  await initParameters(before, { maxTermUs: spanUs(500_000), deltaUs: spanUs(50_000) });
  for (const unit of units.slice(1)) await inAnotherEpoch(unit);
  await beginAnew(url);
  const first = await openStorage(url);
  onTestFinished(async () => await first.close());
  expect(first.silentForMs).toBeGreaterThan(0);
  const lease = await first.acquire('one', { wait: '20s' });
  expect(first.silentForMs).toBe(0);
  await lease.release();
  const second = await openStorage(url);
  onTestFinished(async () => await second.close());
  expect(second.silentForMs).toBe(0);
});

test('a record that most units cannot read is what the others have of it, and gone if nobody has', async () => {
  const { units, url } = directories();
  const store = await opened(url, 'init');
  for (const name of ['one', 'two', 'three']) await store.write(name, bytes(name));
  for (const unit of units.slice(0, 2)) await damage(unit, 'one');
  for (const unit of units) await damage(unit, 'two');
  for (const name of ['one', 'two']) await expect(store.read(name, { timeoutMs: 300 })).rejects.toMatchObject(UNREACHABLE);
  expect(await beginAnew(url)).toEqual({ registers: 2, lost: ['two'] });
  const after = await opened(url);
  expect(await Promise.all(['one', 'two', 'three'].map(async (name) => text(await after.read(name))))).toEqual(['one', null, 'three']);
});

test('it is refused where a majority can be used, a unit is missing or a stranger, or there never was a store; nothing is changed then', async () => {
  const { paths, units, url } = directories();
  await expect(beginAnew(url)).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  const store = await opened(url, 'init');
  await store.write('kept', bytes('one'));
  const [first = '', , third = ''] = paths;
  await damage(units[1] ?? '', 'kept');
  await expect(beginAnew(url)).rejects.toMatchObject({
    code: 'TENURE_STORE_PARAMS',
    message: expect.stringContaining('nothing was changed') as string,
  });
  for (const name of readdirSync(first)) rmSync(join(first, name), { recursive: true });
  renameSync(third, `${third}.away`);
  await expect(beginAnew(url)).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
  renameSync(`${third}.away`, third);
  const strangers = directories();
  await opened(strangers.url, 'init');
  const mixed = `replicated:?unit=${units[0]}&unit=${units[1]}&unit=${strangers.units[0]}`;
  await expect(beginAnew(mixed)).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  // One is wiped and one damaged: two of three cannot read it, and the third has it.
  expect(await beginAnew(url)).toEqual({ registers: 1, lost: [] });
  expect(text(await (await opened(url)).read('kept'))).toBe('one');
});
