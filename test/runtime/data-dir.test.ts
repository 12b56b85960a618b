/** Data directories on a real disk: whose they are, who uses them, and what survives. */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { incarnation } from '../../src/kernel/index.ts';
import { DataDir, type DataDirOptions, type Disk } from '../../src/runtime/index.ts';
import { written } from '../../src/runtime/lmdb-write.ts';
import { ROOT } from '../support/tree.ts';

function freshDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

let starts = 0;

async function open(path: string, more: Partial<DataDirOptions> = {}): Promise<DataDir> {
  const dir = await DataDir.open({ path, cell: 'test', member: 'a', incarnation: incarnation(1000 + starts++), ...more });
  onTestFinished(() => dir.close().catch(() => undefined));
  return dir;
}

const write = (dir: Disk, key: string, text: string): Promise<boolean> =>
  new Promise((resolve) => {
    dir.write(key, Buffer.from(text), resolve);
  });

const read = (dir: Disk, key: string): Promise<string | null> =>
  new Promise((resolve) => {
    dir.read(key, (_ok, value) => resolve(value === null ? null : Buffer.from(value).toString()));
  });

/** Another process that uses the directory, says so, and stays. */
async function userOf(path: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(ROOT, 'test/runtime/processes/data-dir-user.mjs'), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', reject);
  });
  return child;
}

const gone = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('exit', resolve));

describe('a data directory', () => {
  test('gives back nothing of what was erased, in this life and the next', async () => {
    const path = freshDir();
    const first = await open(path);
    await write(first, 'x', 'one');
    await write(first, 'y', 'two');
    expect(await new Promise((resolve) => first.erase('x', resolve))).toBe(true);
    expect(await read(first, 'x')).toBeNull();
    await first.close();
    const second = await open(path);
    expect([await read(second, 'x'), await read(second, 'y')]).toEqual([null, 'two']);
  });

  test('gives back what was written', async () => {
    const path = freshDir();
    const first = await open(path);
    expect(first.isKept).toBe(false);
    expect(await read(first, 'head')).toBeNull();
    expect(await write(first, 'head', 'one')).toBe(true);
    await first.close();
    const second = await open(path);
    expect(second.isKept).toBe(true);
    expect(await read(second, 'head')).toBe('one');
  });

  test('gives each service a part of its own, and tells which of them earlier lives had', async () => {
    const path = freshDir();
    const before = await open(path);
    await write(before, 'x', 'of leases');
    await before.close();
    const first = await open(path, { sections: ['notes'] });
    const notes = first.section('notes');
    expect([first.isKept, notes.isKept]).toEqual([true, false]);
    expect([await read(first, 'x'), await read(notes.disk, 'x')]).toEqual(['of leases', null]);
    await write(notes.disk, 'x', 'of notes');
    await write(first, 'y', 'of leases, too');
    expect(() => first.section('rumours')).toThrow(expect.objectContaining({ code: 'TENURE_INTERNAL' }));
    await first.close();
    const second = await open(path, { sections: ['notes', 'rumours'] });
    const [again, rumours] = [second.section('notes'), second.section('rumours')];
    expect([again.isKept, rumours.isKept]).toEqual([true, false]);
    expect([await read(second, 'x'), await read(again.disk, 'x'), await read(rumours.disk, 'x')]).toEqual(['of leases', 'of notes', null]);
    expect([await read(second, 'y'), await read(again.disk, 'y')]).toEqual(['of leases, too', null]);
    await new Promise((resolve) => again.disk.erase('x', resolve));
    expect([await read(second, 'x'), await read(again.disk, 'x')]).toEqual(['of leases', null]);
  });

  test('serves each start once', async () => {
    const path = freshDir();
    await (await open(path, { incarnation: incarnation(7) })).close();
    await expect(open(path, { incarnation: incarnation(7) })).rejects.toMatchObject({ code: 'TENURE_DATA_DIR' });
    expect((await open(path, { incarnation: incarnation(5) })).isKept).toBe(true);
  });

  test('refuses a start whose incarnation an earlier start had', async () => {
    const path = freshDir();
    const born = incarnation(4242);
    await (await DataDir.open({ path, cell: 'test', member: 'a', incarnation: born })).close();
    await expect(DataDir.open({ path, cell: 'test', member: 'a', incarnation: born })).rejects.toMatchObject({ code: 'TENURE_DATA_DIR' });
  });

  test.each([{ cell: 'other' }, { member: 'b' }])('of another is refused: %o', async (more) => {
    const path = freshDir();
    await (await open(path)).close();
    await expect(open(path, more)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR_FOREIGN', details: { cell: 'test', member: 'a' } });
    await open(path);
  });

  test('serves one process at a time, also one that stands still', async () => {
    const path = freshDir();
    const child = await userOf(path);
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR_BUSY' });
    child.kill('SIGSTOP');
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR_BUSY' });
    child.kill('SIGCONT');
  });

  test('is free again once its process was killed', async () => {
    const path = freshDir();
    const child = await userOf(path);
    child.kill('SIGKILL');
    await gone(child);
    expect((await open(path)).isKept).toBe(true);
  });

  test('serves one handle at a time within a process too', async () => {
    const path = freshDir();
    const first = await open(path);
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR_BUSY' });
    expect(await write(first, 'head', 'still mine')).toBe(true);
  });

  test('on a disk that is full takes nothing more, and can be closed and opened again', async () => {
    const path = freshDir();
    let freeBytes = 1e9;
    const options = { path, cell: 'test', member: 'a', incarnation: incarnation(1000), freeBytes: () => freeBytes };
    const dir = await DataDir.open(options);
    expect(await write(dir, 'head', 'one')).toBe(true);
    freeBytes = 1e6;
    expect(await write(dir, 'head', 'two')).toBe(false);
    await dir.close();
    await expect(DataDir.open(options)).rejects.toMatchObject({
      code: 'TENURE_DATA_DIR',
      message: expect.stringContaining('free') as string,
    });
    expect(await read(await open(path), 'head')).toBe('one');
  });

  test('fails in one place: what the library rejects besides ends no process', async () => {
    const cause = new Error('no space left on device');
    const failed = Object.assign(new Error('commit failed'), { commitError: Promise.reject(cause) });
    await expect(written(Promise.reject(failed))).rejects.toBe(cause);
    await expect(written(Promise.reject(cause))).rejects.toBe(cause);
    expect(await written(Promise.resolve('done'))).toBe('done');
  });

  test('that is a file, or whose file is no database, is an error that names it', async () => {
    const path = freshDir();
    writeFileSync(join(path, 'file'), 'text');
    await expect(open(join(path, 'file'))).rejects.toMatchObject({ code: 'TENURE_DATA_DIR' });
    writeFileSync(join(path, 'data.mdb'), 'x'.repeat(10_000));
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR', message: expect.stringContaining(path) as string });
  });

  test('that was cut short is an error, and the process lives', async () => {
    const path = freshDir();
    const dir = await open(path);
    for (let i = 0; i < 200; i++) await write(dir, `vote/${i}`, 'x'.repeat(200));
    await dir.close();
    truncateSync(join(path, 'data.mdb'), 20_000);
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR', message: expect.stringContaining('cut short') as string });
  });

  // Whoever is root may write everywhere.
  test.skipIf(process.getuid?.() === 0)('that may not be written is an error', async () => {
    const path = freshDir();
    chmodSync(path, 0o500);
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR' });
  });

  test('without the package is an error that says how to install it', async () => {
    vi.doMock('lmdb', () => {
      throw new Error('Cannot find package');
    });
    onTestFinished(() => {
      vi.doUnmock('lmdb');
    });
    await expect(open(freshDir())).rejects.toMatchObject({
      code: 'TENURE_MISSING_PACKAGE',
      message: expect.stringContaining('npm install lmdb') as string,
    });
  });
});

test('a page that would end the process in a signal is found by a process of its own, and refused', async () => {
  const path = freshDir();
  const dir = await open(path);
  for (let i = 0; i < 8; i++) await write(dir, `large/${i}`, 'x'.repeat(9000));
  await dir.close();
  const file = join(path, 'data.mdb');
  const bytes = readFileSync(file);
  const [PAGE, FLAGS_AT, PAGES_AT, OVERFLOW] = [4096, 18, 20, 4];
  for (let page = 2; page * PAGE < bytes.length; page++) {
    // How many pages a large value has stands at its beginning, and is believed when the value is replaced.
    if (bytes.readUInt16LE(page * PAGE + FLAGS_AT) === OVERFLOW && bytes.readUInt32LE(page * PAGE) === page)
      bytes.writeUInt32LE(0xffff_ffff, page * PAGE + PAGES_AT);
  }
  writeFileSync(file, bytes);
  await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR', message: expect.stringMatching(/is damaged/) as unknown });
  expect(readdirSync(path).filter((name) => name.startsWith('trial-'))).toEqual([]);
});
