/**
 * What a data directory says is written is on the disk, as far as a process can see to it: the library is not told to
 * leave flushing to the system, no answer comes before the library's own, and where system calls can be traced, each
 * answer comes after a flush. Whether the disk keeps what it was made to flush, no test of a process can show.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Lmdb from 'lmdb';
import { afterAll, expect, test, vi } from 'vitest';
import { incarnation } from '../../src/kernel/index.ts';
import { DataDir } from '../../src/runtime/index.ts';
import { ROOT } from '../support/tree.ts';

const opened: object[] = [];
const databases: { getStats(): { lastTxnId: number } }[] = [];
const puts: Promise<unknown>[] = [];

vi.mock('lmdb', async (importOriginal) => {
  const lmdb = await importOriginal<typeof Lmdb>();
  return {
    ...lmdb,
    open: (options: object): unknown => {
      opened.push(options);
      const db = (lmdb.open as (options: object) => { put: (...args: unknown[]) => Promise<unknown> })(options);
      const put = db.put.bind(db);
      db.put = (...args) => {
        const written = put(...args);
        puts.push(written);
        return written;
      };
      databases.push(db as unknown as (typeof databases)[number]);
      return db;
    },
  };
});

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function freshDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-'));
  folders.push(folder);
  return folder;
}

test('the library flushes with every transaction, and an answer waits for it', async () => {
  const dir = await DataDir.open({ path: freshDir(), cell: 'test', member: 'a', incarnation: incarnation(1000) });
  const options = opened.at(-1) ?? {};
  for (const flag of ['noSync', 'noMetaSync', 'mapAsync', 'overlappingSync']) expect(options).not.toHaveProperty(flag, true);
  // Its default is to answer before it has flushed, wherever that is thought safe.
  expect(options).toHaveProperty('overlappingSync', false);

  const order: string[] = [];
  const told = new Promise<void>((resolve) => {
    dir.write('key', Buffer.from('value'), () => {
      order.push('told');
      resolve();
    });
  });
  await puts.at(-1)?.then(() => order.push('flushed'));
  await told;
  expect(order).toEqual(['flushed', 'told']);
  await dir.close();
});

test('what one turn writes is one transaction, and so one flush, however much it is', async () => {
  const dir = await DataDir.open({ path: freshDir(), cell: 'test', member: 'a', incarnation: incarnation(1001) });
  const transactions = (): number => databases.at(-1)?.getStats().lastTxnId ?? NaN;
  const before = transactions();
  const write = (i: number): Promise<boolean> => new Promise((resolve) => dir.write(`key/${i}`, Buffer.from(`value ${i}`), resolve));
  const half = Array.from({ length: 100 }, (_, i) => write(i));
  // The turn lasts: a thread of the library that has begun to write has the time to be done.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await Promise.all([...half, ...Array.from({ length: 100 }, (_, i) => write(100 + i))]);
  expect(transactions()).toBe(before + 1);
  await dir.close();
});

const canTrace = process.platform === 'linux' && spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0;

test.skipIf(!canTrace && !process.env['CI'])(
  'between a write and its answer the data is flushed, and after it the page that makes it count',
  () => {
    const folder = freshDir();
    const log = join(folder, 'trace');
    const writer = join(ROOT, 'test/runtime/processes/data-dir-writer.mjs');
    const calls = 'trace=openat,write,pwrite64,pwritev,fsync,fdatasync,msync';
    const traced = spawnSync('strace', ['-f', '-o', log, '-e', calls, process.execPath, writer, join(folder, 'data')], {
      encoding: 'utf8',
    });
    expect(traced.stderr).toBe('');
    const lines = readFileSync(log, 'utf8').split('\n');
    // What is written to a file opened like that is on the disk when the call returns.
    const [, synchronous = 'none'] = lines.map((line) => /data\.mdb".*O_DSYNC.*= (\d+)$/.exec(line)).find((found) => found !== null) ?? [];
    const isFlush = (line: string): boolean => /\b(?:fdatasync|fsync|msync)(?:\(| resumed>).*= 0$/.test(line);
    const betweenMarks = (which: string): string[] =>
      lines.slice(
        lines.findIndex((line) => line.includes(`"ASKED ${which}"`)),
        lines.findIndex((line) => line.includes(`"TOLD ${which}"`)),
      );
    for (let i = 0; i < 3; i++) {
      const between = betweenMarks(String(i));
      const flushed = between.findIndex(isFlush);
      const counts = between.findIndex((line) => line.includes(`pwrite64(${synchronous},`));
      expect(flushed).toBeGreaterThan(0);
      expect(counts).toBeGreaterThan(flushed);
    }
    // Two hundred records of two services, all of one turn.
    expect(betweenMarks('MANY').filter(isFlush)).toHaveLength(1);
  },
);
