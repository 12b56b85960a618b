/** Fences of two numbers: in memory, in a folder that many processes use, and as SQL. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { Fence } from '../../src/api/fences/fence.ts';
import { fenceStatements } from '../../src/api/fences/fence-sql.ts';
import { FencedFile } from '../../src/api/fences/fenced-file.ts';
import { Random } from '../../src/kernel/index.ts';

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fence-'));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('a fence', () => {
  test('lets readers pass in any order, and no writer after somebody above it', () => {
    const fence = new Fence();
    expect([fence.write(10), fence.read(13), fence.read(12), fence.write(12), fence.write(13)]).toEqual([true, true, true, false, true]);
    expect([fence.read(12), fence.read(13), fence.read(20), fence.write(19), fence.write(20)]).toEqual([false, true, true, false, true]);
    expect(fence.marks).toEqual({ wrote: 20, seen: 20 });
  });

  test('goes on from marks that were kept', () => {
    const fence = new Fence({ wrote: 5, seen: 9 });
    expect([fence.read(4), fence.read(5), fence.write(8), fence.write(9)]).toEqual([false, true, false, true]);
  });

  test.each([0, -1, 1.5, NaN, Infinity, '7' as never])('takes no token %s', (token) => {
    expect(() => new Fence().write(token)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    expect(() => new Fence().read(token)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
  });
});

describe('a fenced file', () => {
  test('is whole, and refuses what comes late', async () => {
    const file = new FencedFile(join(newFolder(), 'x'));
    expect(await file.read(3)).toBeNull();
    expect(await file.write(2, 'too late')).toBe(false);
    expect(await file.write(4, 'first')).toBe(true);
    expect(Buffer.from((await file.read(4)) ?? []).toString()).toBe('first');
    expect(await file.write(5, '')).toBe(true);
    expect(await file.read(5)).toEqual(new Uint8Array(0));
    await expect(file.read(4)).rejects.toMatchObject({ code: 'TENURE_LEASE_LOST' });
    expect(await file.marks()).toEqual({ wrote: 5, seen: 5 });
  });

  test('keeps a few versions, and no drafts', async () => {
    const folder = newFolder();
    const file = new FencedFile(folder);
    for (let token = 1; token <= 30; token++) await file.write(token, String(token));
    expect(readdirSync(folder).length).toBeLessThanOrEqual(9);
    expect(readdirSync(folder).filter((name) => name.startsWith('draft'))).toEqual([]);
  });

  test('refuses a process that stood still while others went on, also where its version was just cleared away', async () => {
    const folder = newFolder();
    const file = new FencedFile(folder);
    await file.write(1, 'one');
    const late = file.write(2, 'two');
    // It has seen the first version and writes its draft of the second. Meanwhile others write on: the second is made, and cleared away again.
    while (!readdirSync(folder).some((name) => name.startsWith('draft-'))) await setImmediate();
    for (let version = 3; version <= 10; version++)
      writeFileSync(join(folder, `v-${version}`), `${JSON.stringify({ wrote: version, seen: version, isEmpty: false })}\n${version}`);
    expect(existsSync(join(folder, 'v-2'))).toBe(false);
    expect(await late).toBe(false);
    expect(String(Buffer.from((await file.read(20)) ?? []))).toBe('10');
  });

  test('says what it cannot read', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'v-1'), 'something else');
    await expect(new FencedFile(folder).read(1)).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
  });

  test('many at once: what is written last has the highest token, and each was admitted in an order that a fence allows', async () => {
    const folder = newFolder();
    const random = new Random(7);
    const tokens = Array.from({ length: 40 }, (_, i) => i + 1).sort(() => random.below(3) - 1);
    const outcomes = await Promise.all(
      tokens.map(async (token) => ({ token, done: await new FencedFile(folder).write(token, String(token)) })),
    );
    const highest = Math.max(...outcomes.filter(({ done }) => done).map(({ token }) => token));
    expect(highest).toBe(40);
    expect(Buffer.from((await new FencedFile(folder).read(40)) ?? []).toString()).toBe('40');
  });
});

test('the statements of a fence are plain, and their table is a plain name', () => {
  const { create, write, read } = fenceStatements('my_fences');
  for (const statement of [create, write, read]) expect(statement).toContain('my_fences');
  expect(write).toContain('f.seen <= $2');
  expect(read).toContain('f.wrote <= $2');
  expect(() => fenceStatements('x; DROP TABLE y')).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
});
