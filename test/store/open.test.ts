/** Stores by URL: nobody gets one that does not pass the probe. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MemorySpace, MemoryStore, openStore, probe, qualify, type AccessOptions, type SwapOutcome } from '../../src/store/index.ts';
import { BROKEN_STORES } from './broken-stores.ts';

function freshUrl(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-store-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return `file://${path}`;
}

describe('a store by its URL', () => {
  test('is the same for the same name in memory, and another without one', async () => {
    const [one, two, other] = [await openStore('memory:shared'), await openStore('memory:shared'), await openStore('memory:')];
    await one.write('k', Buffer.from('a'));
    expect(Buffer.from((await two.read('k')) ?? []).toString()).toBe('a');
    expect(await other.read('k')).toBeNull();
  });

  test('is the same for the same directory, with its settings', async () => {
    const url = freshUrl();
    const one = await openStore(`${url}?sync=off`);
    await one.write('k', Buffer.from('a'));
    const two = await openStore(url);
    expect(Buffer.from((await two.read('k')) ?? []).toString()).toBe('a');
    expect(await two.epoch()).toBe(await one.epoch());
    await expect(openStore(`${url}?sync=on`)).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    expect(readdirSync(join(new URL(url).pathname, 'keys'))).toEqual(['k']);
  });

  test.each([
    'nothing',
    'file:relative',
    'file://host/path',
    'file:///tmp?sync=maybe',
    'file:///tmp?mode=777',
    'memory:a?sync=on',
    'ftp://user:secret@host/',
  ])('%s is refused with what is wrong with it', async (url) => {
    const refusal = await openStore(url).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    expect(String(refusal)).not.toContain('secret');
  });
});

describe.each([
  ['pg', 'postgres://127.0.0.1:1/x'],
  ['ioredis', 'redis://127.0.0.1:1/'],
])('without the package %s', (name, url) => {
  test('an error says how to install it', async () => {
    vi.doMock(name, () => {
      throw new Error('Cannot find package');
    });
    onTestFinished(() => {
      vi.doUnmock(name);
    });
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'TENURE_MISSING_PACKAGE',
      message: expect.stringContaining(`npm install ${name}`),
    });
  });
});

describe('the probe', () => {
  test('passes a store that is right, and leaves nothing behind', async () => {
    const space = new MemorySpace();
    const findings = await probe([new MemoryStore(space), new MemoryStore(space)]);
    expect(findings.every(({ wrong }) => wrong === null)).toBe(true);
    expect(findings.length).toBeGreaterThan(6);
    expect(space.records.size).toBe(0);
  });

  test.each(['a swap that ignores its condition', 'a swap in two steps'])('turns away %s', async (name) => {
    const store = BROKEN_STORES[name]?.(new MemorySpace()) ?? new MemoryStore();
    await expect(qualify(store)).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
  });

  test('turns away a store that tells several at once that they have won, though one has', async () => {
    class Flatterer extends MemoryStore {
      #underWay = 0;

      override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
        this.#underWay++;
        const outcome = await super.swap(key, seen, next, options);
        const isAlone = this.#underWay === 1;
        await new Promise((resolve) => setImmediate(resolve));
        this.#underWay--;
        return isAlone ? outcome : 'won';
      }
    }
    await expect(qualify(new Flatterer())).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT', message: expect.stringContaining('5 won') });
  });

  test('says that a store does not answer, not that it is unfit', async () => {
    class Silent extends MemoryStore {
      override async swap(
        _key: string,
        _seen: Uint8Array | null,
        _next: Uint8Array | null,
        _options?: AccessOptions,
      ): Promise<SwapOutcome> {
        return 'unknown';
      }
    }
    await expect(qualify(new Silent())).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
  });
});
