/** The short way of a writer that knows what it wrote last: it looks at its own file, not at the names in the directory. */
import { linkSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { FileCalls } from '../../src/store/file/calls.ts';
import { FileStore } from '../../src/store/index.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

function freshDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-store-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function open(path: string): Promise<FileStore> {
  const store = await FileStore.open({ path, sync: false });
  onTestFinished(async () => await store.close());
  return store;
}

/** The versions of the key `k`. */
function versionsIn(path: string): string[] {
  const directory = join(path, 'keys', 'k');
  return readdirSync(join(directory, readdirSync(directory)[0] ?? '')).sort();
}

test('a swap on what one wrote last reads no directory, and leaves one version', async () => {
  const path = freshDir();
  const store = await open(path);
  await store.swap('k', null, bytes('1'));
  await store.swap('k', bytes('1'), bytes('2'));
  await store.swap('k', bytes('2'), bytes('3'));
  const looks = vi.spyOn(FileCalls.prototype, 'readdir');
  onTestFinished(() => looks.mockRestore());
  for (let round = 3; round < 10; round++) expect(await store.swap('k', bytes(String(round)), bytes(String(round + 1)))).toBe('won');
  expect(looks).not.toHaveBeenCalled();
  expect(versionsIn(path)).toEqual(['0000000000000010']);
});

test('one whose last version was deleted fills a hole and has lost, though another file has the name of that version', async () => {
  const path = freshDir();
  const [maker, others, sleeper] = [await open(path), await open(path), await open(path)];
  await maker.swap('k', null, bytes('1'));
  expect(text(await sleeper.read('k'))).toBe('1');
  await maker.swap('k', bytes('1'), bytes('2'));
  // So that it has another file to write to than the one that is deleted now.
  for (const next of ['a', 'b', 'c']) await maker.write('other', bytes(next));
  for (const next of [3, 4]) expect(await others.swap('k', bytes(String(next - 1)), bytes(String(next)))).toBe('won');
  // It links version 2 once more, finds that there is a 4, and leaves its file behind.
  expect(await sleeper.swap('k', bytes('1'), bytes('asleep'))).toBe('lost');
  expect(versionsIn(path)).toEqual(['0000000000000002', '0000000000000004']);
  expect(await maker.swap('k', bytes('2'), bytes('mine'))).toBe('lost');
  expect(text(await others.read('k'))).toBe('4');
});

test('one whose last version was deleted has lost, though a backup has linked that file', async () => {
  const path = freshDir();
  const [maker, others] = [await open(path), await open(path)];
  await maker.write('k', bytes('1'));
  await maker.swap('k', bytes('1'), bytes('2'));
  for (const next of ['a', 'b', 'c']) await maker.write('other', bytes(next));
  const directory = join(path, 'keys', 'k');
  linkSync(join(directory, readdirSync(directory)[0] ?? '', versionsIn(path)[0] ?? ''), join(path, 'backup'));
  for (const next of [3, 4]) expect(await others.swap('k', bytes(String(next - 1)), bytes(String(next)))).toBe('won');
  expect(await maker.swap('k', bytes('2'), bytes('mine'))).toBe('lost');
  expect(text(await others.read('k'))).toBe('4');
});

test('a file that this process itself has left in a hole is not taken for its last version either', async () => {
  const path = freshDir();
  const [maker, others] = [await open(path), await open(path)];
  /** Swaps, but falls asleep before its file is written. */
  const asleep = async (seen: string, next: string): Promise<{ outcome: Promise<string>; wake: () => void }> => {
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const write = vi.spyOn(FileCalls.prototype, 'write');
    const began = new Promise<void>((resolve) => {
      write.mockImplementationOnce(async function (this: FileCalls, file, content) {
        resolve();
        await woken;
        await this.write(file, content);
      });
    });
    const outcome = maker.swap('k', bytes(seen), bytes(next));
    await began;
    write.mockRestore();
    return { outcome, wake };
  };
  for (const next of ['a', 'b', 'c', 'd']) await maker.write('other', bytes(next));
  await maker.write('k', bytes('1'));
  await maker.swap('k', bytes('1'), bytes('2'));
  const early = await asleep('2', 'early');
  expect(await maker.swap('k', bytes('2'), bytes('3'))).toBe('won');
  const late = await asleep('3', 'late');
  for (const next of [4, 5]) expect(await others.swap('k', bytes(String(next - 1)), bytes(String(next)))).toBe('won');
  // It links version 3 once more, where the own file was.
  early.wake();
  expect(await early.outcome).toBe('lost');
  // The own file of version 3 is written again, for something else.
  for (const next of ['e', 'f', 'g']) await maker.write('other', bytes(next));
  late.wake();
  expect(await late.outcome).toBe('lost');
  expect(text(await others.read('k'))).toBe('5');
});
