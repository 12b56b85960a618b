/** Stores in directories: what killed writers, full and vanished disks, damage and wrong settings do to them. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FileStore, type FileStoreOptions } from '../../src/store/index.ts';
import { FileCalls } from '../../src/store/file/calls.ts';
import { DurableFiles } from '../../src/store/file/disk.ts';
import { createIdentity, readIdentity } from '../../src/store/file/identity.ts';
import { fileNameOf, keyOfFileName, Layout } from '../../src/store/file/layout.ts';
import { VersionFiles } from '../../src/store/file/versions.ts';
import { Gate } from '../../src/store/gate.ts';
import { ROOT } from '../support/tree.ts';

/** Of one machine, not synced. */
const LOCAL = { isSynced: false, isOfThisMachine: true };

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

function freshDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-store-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function open(path: string, options: Omit<FileStoreOptions, 'path'> = {}): Promise<FileStore> {
  const store = await FileStore.open({ path, sync: false, ...options });
  onTestFinished(async () => await store.close());
  return store;
}

/** The one life of a key, and the names of its versions. */
function lifeOf(path: string, key: string): { life: string; versions: string[] } {
  const directory = join(path, 'keys', fileNameOf(key));
  const life = join(directory, readdirSync(directory)[0] ?? '');
  return { life, versions: readdirSync(life).sort() };
}

describe('the directory of a store', () => {
  test('keeps one version of a key, and nothing of what was written on the way', async () => {
    const path = freshDir();
    const store = await open(path);
    for (let round = 0; round < 20; round++) await store.swap('k', round === 0 ? null : bytes(String(round - 1)), bytes(String(round)));
    expect(lifeOf(path, 'k').versions).toEqual(['0000000000000020']);
    // While it is open it keeps the files of two versions, to write them again.
    expect(readdirSync(join(path, 'new')).length).toBeLessThan(3);
    await store.close();
    expect(readdirSync(join(path, 'new'))).toEqual([]);
    expect(text(await (await open(path)).read('k'))).toBe('19');
  });

  test('is synced without files that are written again', async () => {
    const path = freshDir();
    const store = await open(path, { sync: true });
    for (let round = 0; round < 3; round++) await store.write('k', bytes(String(round)));
    expect(readdirSync(join(path, 'new'))).toEqual([]);
  });

  test('has files that are written again, and never one that is a version still, whatever is swept', async () => {
    const path = freshDir();
    const store = await open(path);
    const names = Array.from({ length: 12 }, (_, index) => `k${index}`);
    for (let round = 0; round < 40; round++) {
      for (const name of names.filter(() => Math.random() < 0.5)) await store.write(name, bytes(`${name} ${round}`));
      await store.write('last', bytes(String(round)));
      if (round % 5 === 0) for (const draft of readdirSync(join(path, 'new'))) rmSync(join(path, 'new', draft), { recursive: true });
    }
    const other = await open(path);
    for (const name of names) {
      const found = text(await other.read(name));
      expect([found, text(await store.read(name))]).toEqual([found, found]);
      expect(found ?? `${name} 0`).toMatch(new RegExp(`^${name} \\d+$`));
    }
    expect(text(await other.read('last'))).toBe('39');
  });

  test('is read while files are written again: what is read was there', async () => {
    const path = freshDir();
    const writer = await open(path);
    await writer.write('k', bytes('1'));
    let isSlow = true;
    /** Opens a file, and falls asleep before it reads it. */
    class SleepyReader extends DurableFiles {
      override async content(file: string): Promise<Buffer | null> {
        const opened = await openFile(file, 'r');
        if (isSlow) for (let value = 2; value < 5; value++) await writer.write('k', bytes(String(value)));
        isSlow = false;
        const content = await opened.readFile();
        await opened.close();
        return content;
      }
    }
    await writer.write('k', bytes('2'));
    const files = new VersionFiles({ url: 'file:', layout: new Layout(path), disk: new SleepyReader(LOCAL), assure: async () => {} });
    const read = async (): Promise<string | null> => text(await new Gate('file:').ask({}, async (call) => await files.read('k', call)));
    expect(await read()).toBe('4');
    // What is known is looked at again.
    await writer.write('k', bytes('5'));
    expect(await read()).toBe('5');
  });

  test('keeps nothing of a key that was erased', async () => {
    const path = freshDir();
    const store = await open(path);
    await store.swap('k', null, bytes('a'));
    await store.swap('k', bytes('a'), null);
    expect(readdirSync(join(path, 'keys'))).toEqual([]);
    await store.close();
    expect(readdirSync(join(path, 'new'))).toEqual([]);
  });

  test('is swept of what was left there hours ago, and of nothing younger', async () => {
    const path = freshDir();
    await open(path);
    const old = `${(Date.now() - 7_200_000).toString(36)}-00`;
    const young = `${Date.now().toString(36)}-00`;
    for (const name of [old, young, 'of somebody else']) mkdirSync(join(path, 'new', name));
    await open(path);
    expect(readdirSync(join(path, 'new')).sort()).toEqual([young, 'of somebody else'].sort());
  });

  test('is swept without breaking a writer that wakes up after hours', async () => {
    const path = freshDir();
    await open(path);
    class SleepyDisk extends DurableFiles {
      #hasSlept = false;

      override async move(from: string, to: string): Promise<boolean> {
        if (!this.#hasSlept && to.includes('keys')) {
          this.#hasSlept = true;
          vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7_200_000 });
          await open(path);
          vi.useRealTimers();
          expect(readdirSync(join(path, 'new'))).toEqual([]);
        }
        return await super.move(from, to);
      }
    }
    const place = { url: 'file:', layout: new Layout(path), disk: new SleepyDisk(LOCAL), assure: async () => {} };
    const outcome = await new Gate('file:').change({}, async (call) => await new VersionFiles(place).change('k', null, bytes('a'), call));
    expect([outcome, text(await (await open(path)).read('k'))]).toEqual(['won', 'a']);
  });

  test('is named by its keys as far as file names go, and back', () => {
    for (const key of ['a', 'A', '.', '..', 'a/b', 'ä', '~', '%', '\u{1F600}', '_tenure/parameters'])
      expect(keyOfFileName(fileNameOf(key))).toBe(key);
    const names = ['a', 'A', '.', 'a.', 'x'.repeat(255), 'x'.repeat(254), 'Ä'.repeat(127)].map(fileNameOf);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(240);
    expect(keyOfFileName(fileNameOf('x'.repeat(255)))).toBeNull();
  });
});

describe('a directory that another process sets up at the same time', () => {
  test('is the store that the other has made of it', async () => {
    const path = freshDir();
    const [url, layout, wishes] = [`file://${path}`, new Layout(path), { swap: undefined, sync: false }];
    const theirs = await createIdentity(url, layout, wishes, false);
    // As if it had been there only after we had looked for it.
    expect(await createIdentity(url, layout, wishes, false)).toEqual(theirs);
    expect(await createIdentity(url, layout, { swap: false, sync: false }, false)).toEqual(theirs);
    writeFileSync(join(path, 'more'), '');
    expect(await createIdentity(url, layout, wishes, false)).toEqual(theirs);
  });

  test('is not taken for damaged because its first records come meanwhile', async () => {
    const path = freshDir();
    await (await open(path)).write('x', bytes('one'));
    const layout = new Layout(path);
    const [aside, { keys }] = [join(path, 'aside'), layout];
    renameSync(layout.identity, aside);
    Object.defineProperty(layout, 'keys', {
      get: () => {
        renameSync(aside, layout.identity);
        return keys;
      },
    });
    expect(await readIdentity(`file://${path}`, layout)).toMatchObject({ keeping: 'versions' });
  });
});

describe('a writer that was asleep', () => {
  /** A disk on which one step waits for something else to happen first. */
  class SleepyDisk extends DurableFiles {
    readonly #before: 'name' | 'settle';
    readonly #meanwhile: () => Promise<void>;

    constructor(before: 'name' | 'settle', meanwhile: () => Promise<void>) {
      super(LOCAL);
      this.#before = before;
      this.#meanwhile = meanwhile;
    }

    override async name(path: string, as: string): Promise<boolean> {
      if (this.#before === 'name') await this.#meanwhile();
      return await super.name(path, as);
    }

    override async syncDirectory(directory: string): Promise<void> {
      if (this.#before === 'settle') await this.#meanwhile();
      await super.syncDirectory(directory);
    }
  }

  /** Swaps `1` for `mine`, and falls asleep before that step until others have done their part. */
  async function sleeper(before: 'name' | 'settle', meanwhile: (store: FileStore) => Promise<void>): Promise<[string, FileStore]> {
    const path = freshDir();
    const store = await open(path);
    await store.write('k', bytes('1'));
    let hasSlept = false;
    const disk = new SleepyDisk(before, async () => {
      if (!hasSlept) await meanwhile(store);
      hasSlept = true;
    });
    const asleep = new VersionFiles({ url: 'file:', layout: new Layout(path), disk, assure: async () => {} });
    onTestFinished(async () => await asleep.close());
    const outcome = await new Gate('file:').change({}, async (call) => await asleep.change('k', bytes('1'), bytes('mine'), call));
    return [outcome, store];
  }

  const others = (count: number) => async (store: FileStore) => {
    for (let value = 2; value < 2 + count; value++) await store.write('k', bytes(String(value)));
  };

  test.each([1, 2, 5, 100])('since before %i others wrote has lost, also where it fills the hole they left', async (count) => {
    const [outcome, store] = await sleeper('name', others(count));
    expect([outcome, text(await store.read('k'))]).toEqual(['lost', String(1 + count)]);
    expect(await store.swap('k', bytes(String(1 + count)), bytes('next'))).toBe('won');
    expect(text(await store.read('k'))).toBe('next');
  });

  test('since before too many others wrote does not know, and has changed nothing', async () => {
    const [outcome, store] = await sleeper('name', others(150));
    expect([outcome, text(await store.read('k'))]).toEqual(['unknown', '151']);
  });

  test('while the key was erased and made anew has lost, and the new life does not see it', async () => {
    const [outcome, store] = await sleeper('name', async (awake) => {
      await awake.write('k', null);
      await awake.write('k', bytes('new'));
    });
    expect([outcome, text(await store.read('k'))]).toEqual(['lost', 'new']);
  });

  test('while the key was erased has lost', async () => {
    const [outcome, store] = await sleeper('name', async (awake) => void (await awake.write('k', null)));
    expect([outcome, await store.read('k')]).toEqual(['lost', null]);
  });

  test('before a life that ended like it began swaps on what is there now', async () => {
    const [outcome, store] = await sleeper('name', async (awake) => {
      await awake.write('k', bytes('2'));
      await awake.write('k', bytes('1'));
    });
    expect([outcome, text(await store.read('k'))]).toEqual(['won', 'mine']);
  });

  test.each([1, 2, 99])('after it had won, with %i others since, has won', async (count) => {
    const [outcome, store] = await sleeper('settle', others(count));
    expect([outcome, text(await store.read('k'))]).toEqual(['won', String(1 + count)]);
  });

  test('after it had won does not know it any more when too many came since, or the key was erased', async () => {
    expect((await sleeper('settle', others(150)))[0]).toBe('unknown');
    expect((await sleeper('settle', async (awake) => void (await awake.write('k', null))))[0]).toBe('unknown');
  });
});

describe('processes on one directory', () => {
  interface Counting {
    readonly child: ChildProcess;
    readonly self: string;
    won: number;
    /** Tries that it told of, and did not live to tell what came of them. */
    open: number;
    /** Tries that were overtaken so often, or took so long, that nobody knows. */
    unknown: number;
  }

  function count(path: string, self: string): Counting {
    const child = spawn(process.execPath, [join(ROOT, 'test/store/processes/counter.mjs'), path, self], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const counting: Counting = { child, self, won: 0, open: 0, unknown: 0 };
    createInterface({ input: child.stdout }).on('line', (line) => {
      counting.open += line.startsWith('try') ? 1 : -1;
      if (line.startsWith('won')) counting.won++;
      if (line.startsWith('unknown')) counting.unknown++;
    });
    return counting;
  }

  test('raise a counter exactly while they are killed at any moment', async () => {
    const path = freshDir();
    const store = await open(path);
    const all: Counting[] = [];
    let alive: Counting[] = Array.from({ length: 6 }, (_, index) => count(path, `p${index}`));
    const gone = async ({ child }: Counting): Promise<unknown> => new Promise((resolve) => child.once('close', resolve));
    for (let kills = 0; kills < 24; kills++) {
      const victim = alive[kills % alive.length];
      if (!victim) throw new Error('nobody to kill');
      // So long it is at work; then at whatever step it happens to be.
      while (victim.won < 3) await new Promise((resolve) => setTimeout(resolve, 1 + (kills % 5)));
      victim.child.kill('SIGKILL');
      await gone(victim);
      all.push(victim);
      alive = alive.map((one) => (one === victim ? count(path, `p${kills + 6}`) : one));
    }
    for (const one of alive) one.child.kill('SIGKILL');
    await Promise.all(alive.map(gone));
    all.push(...alive);
    const { count: total, landed } = JSON.parse(text(await store.read('counter')) ?? '') as {
      count: number;
      landed: Record<string, number>;
    };
    expect(total).toBe(Object.values(landed).reduce((sum, one) => sum + one, 0));
    for (const { self, won, open: unheard, unknown } of all) {
      expect(landed[self] ?? 0).toBeGreaterThanOrEqual(won);
      expect(landed[self] ?? 0).toBeLessThanOrEqual(won + unheard + unknown);
      expect(unheard).toBeLessThanOrEqual(1);
    }
    expect(total).toBeGreaterThan(24 * 3);
    await store.swap('counter', await store.read('counter'), bytes('over'));
    expect(lifeOf(path, 'counter').versions).toHaveLength(1);
  });
});

describe('processes that create and erase one key', () => {
  test('are never two that have it', async () => {
    const path = freshDir();
    await open(path);
    const [count, rounds] = [5, 60];
    const plain = join(path, '..', `${basename(path)}-count`);
    writeFileSync(plain, '0');
    onTestFinished(() => rmSync(plain));
    const children = Array.from({ length: count }, (_, index) =>
      spawn(process.execPath, [join(ROOT, 'test/store/processes/mutex.mjs'), path, plain, `p${index}`, String(rounds)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    );
    const codes = await Promise.all(children.map(async (child) => await new Promise((resolve) => child.once('exit', resolve))));
    expect(codes).toEqual(Array.from({ length: count }, () => 0));
    expect(readFileSync(plain, 'utf8')).toBe(String(count * rounds));
    expect(readdirSync(join(path, 'keys'))).toEqual([]);
  });
});

describe('what is wrong with a directory is told by name', () => {
  test('one that is not there, is not empty, or was never set up', async () => {
    const path = freshDir();
    await expect(open(join(path, 'none'))).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    await expect(open(path, { create: 'never' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    await expect(open(path, { swap: false })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    writeFileSync(join(path, 'letters.txt'), '');
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
    const file = join(path, 'letters.txt');
    await expect(open(file)).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
  });

  test('one that is kept in another way than was asked for', async () => {
    const path = freshDir();
    await open(path);
    await expect(open(path, { swap: false })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    await expect(open(path, { sync: true })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    const other = freshDir();
    await open(other, { swap: false, create: 'init' });
    await expect(open(other, { swap: true })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
  });

  test.each([true, false])('one that vanishes, or is replaced by another (swap: %s)', async (swap) => {
    const path = freshDir();
    const store = await open(path, { swap, create: 'init' });
    await store.write('k', bytes('a'));
    renameSync(path, `${path}-away`);
    onTestFinished(() => rmSync(`${path}-away`, { recursive: true, force: true }));
    await expect(store.read('k')).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    await expect(store.write('k', bytes('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    mkdirSync(path);
    await expect(store.read('k')).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    const change = swap ? store.swap('k', null, bytes('b')) : store.write('k', bytes('b'));
    await expect(change).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    await open(path, { swap, create: 'init' });
    await expect(store.read('k')).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    await expect(store.write('k', bytes('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
    await expect(store.epoch()).rejects.toMatchObject({ code: 'TENURE_STORE_REPLACED' });
  });

  test('one whose identity is gone while its records are there', async () => {
    const path = freshDir();
    await (await open(path)).write('k', bytes('a'));
    rmSync(join(path, 'tenure.store'));
    await expect(open(path)).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
  });

  test('a record that was cut, changed, moved to another key, or is of a later version', async () => {
    const path = freshDir();
    const store = await open(path);
    for (const key of ['k', 'other']) await store.write(key, bytes(`value of ${key}`));
    const { life, versions } = lifeOf(path, 'k');
    const file = join(life, versions[0] ?? '');
    const whole = readFileSync(file);
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(35) ^ 1, 35);
    const later = Buffer.from(whole);
    later.writeUInt8(9, 4);
    const other = lifeOf(path, 'other');
    const cases: [Buffer, string][] = [
      [damaged, 'TENURE_STORE_CORRUPT'],
      [whole.subarray(0, 30), 'TENURE_STORE_CORRUPT'],
      [Buffer.alloc(0), 'TENURE_STORE_CORRUPT'],
      [Buffer.from('not a record of Tenure at all'), 'TENURE_STORE_CORRUPT'],
      [readFileSync(join(other.life, other.versions[0] ?? '')), 'TENURE_STORE_CORRUPT'],
      [later, 'TENURE_STORE_FORMAT'],
    ];
    // Whoever wrote a version knows what is in it.
    const reader = await open(path);
    for (const [content, code] of cases) {
      writeFileSync(file, content);
      await expect(reader.read('k')).rejects.toMatchObject({ code });
      await expect(store.swap('k', null, bytes('free?'))).rejects.toMatchObject({ code });
      await expect(store.write('k', bytes('free?'))).rejects.toMatchObject({ code });
      expect(await reader.list('')).toEqual(['k', 'other']);
    }
    writeFileSync(file, whole);
    expect(text(await store.read('k'))).toBe('value of k');
    truncateSync(join(path, 'tenure.store'), 20);
    await expect(store.identity()).rejects.toMatchObject({ code: 'TENURE_STORE_CORRUPT' });
  });
});

describe('calls to the file system', () => {
  test('are made at once on this machine, and by threads where another may be behind it', async () => {
    const path = join(freshDir(), 'made');
    const made = new FileCalls(true).mkdir(path);
    expect(readdirSync(path)).toEqual([]);
    await made;
    const calls = new FileCalls(false);
    expect(calls.isAtOnce).toBe(false);
    expect(await calls.readdir(path)).toEqual([]);
  });

  test('are made by threads for a while after one that was slow', async () => {
    const path = freshDir();
    const calls = new FileCalls(true);
    let nowMs = 1000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 30));
    await calls.readdir(path);
    clock.mockImplementation(() => nowMs);
    expect(calls.isAtOnce).toBe(false);
    expect(await calls.readdir(path)).toEqual([]);
    nowMs += 1000;
    expect(calls.isAtOnce).toBe(true);
    clock.mockRestore();
  });

  test('leave the event loop its turns, however many come one after another', async () => {
    const path = freshDir();
    const calls = new FileCalls(true);
    let nowMs = 1000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 0.01));
    let hasHadTurn = false;
    setImmediate(() => (hasHadTurn = true));
    for (let reads = 0; reads < 2000 && !hasHadTurn; reads++) await calls.readdir(path);
    clock.mockRestore();
    expect(hasHadTurn).toBe(true);
  });
});

describe('a file system that is full', () => {
  test('refuses changes and keeps what is there', async ({ skip }) => {
    const mount = mkdtempSync(join(tmpdir(), 'tenure-full-'));
    const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', mount]).status === 0;
    onTestFinished(() => {
      if (isMounted) spawnSync('umount', [mount]);
      rmSync(mount, { recursive: true, force: true });
    });
    skip(!isMounted, 'a small tmpfs cannot be mounted here');
    const store = await open(mount, { sync: true });
    expect(await store.write('k', bytes('kept'))).toBe('done');
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 64; index++) await store.write(`fill ${index}`, new Uint8Array(65_536));
    };
    await expect(fill()).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
    writeFileSync(join(mount, 'rest'), '');
    expect(() => writeFileSync(join(mount, 'rest'), Buffer.alloc(262_144))).toThrow('ENOSPC');
    await expect(store.write('k', bytes('more'))).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
    await expect(store.swap('k', bytes('kept'), bytes('more'))).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
    await expect(store.swap('new', null, bytes('more'))).rejects.toMatchObject({ code: 'TENURE_STORE_FULL' });
    expect([text(await store.read('k')), await store.read('new')]).toEqual(['kept', null]);
    rmSync(join(mount, 'rest'));
    await store.write('fill 0', null);
    expect(await store.swap('k', bytes('kept'), bytes('more'))).toBe('won');
    await store.close();
    expect(readdirSync(join(mount, 'new'))).toEqual([]);
  });
});

describe('a directory of somebody else', () => {
  test('is told as such', () => {
    const path = freshDir();
    const script = `
      import('${ROOT}/dist/store/index.js').then(async ({ FileStore }) => {
        const store = await FileStore.open({ path: '${path}' });
        await store.write('k', Buffer.from('a'));
        process.setuid(65534);
        console.log(Buffer.from(await store.read('k')).toString());
        console.log(await store.write('k', Buffer.from('b')).catch(({ code }) => code));
        console.log(await store.swap('k', Buffer.from('a'), Buffer.from('b')).catch(({ code }) => code));
      });`;
    const isRoot = process.getuid?.() === 0;
    if (!isRoot) return;
    spawnSync('chmod', ['755', path]);
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(stderr + stdout).toBe('a\nTENURE_STORE_DENIED\nTENURE_STORE_DENIED\n');
  });
});
