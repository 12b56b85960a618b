/** `tenure store`: setting up and examining stores from the command line. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { encodeLeaseRecord } from '../../src/core/index.ts';
import { incarnation } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import { tenure } from './tenure.ts';

function freshUrl(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-store-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return `file://${path}`;
}

describe('tenure store init', () => {
  test('sets up once, answers the same again, and refuses anything else', () => {
    const url = freshUrl();
    const init = (...args: string[]) => tenure(['store', 'init', url, '--json', ...args]);
    const first = JSON.parse(init('--delta', '50ms', '--max-term', '5s', '--rate-error', '0.01').stdout) as Record<string, unknown>;
    expect(first).toMatchObject({ url, created: true, swap: true, deltaUs: 50_000, maxTermUs: 5_000_000, rateErrorPpm: 10_000 });
    expect(JSON.parse(init().stdout)).toEqual({ ...first, created: false });
    const refused = init('--delta', '60ms');
    expect([refused.code, JSON.parse(refused.stderr)]).toEqual([78, expect.objectContaining({ code: 'TENURE_STORE_PARAMS' })]);
  });

  test('sets up plain registers, which nobody else does', () => {
    const url = `${freshUrl()}?swap=off`;
    expect(tenure(['store', 'doctor', url])).toMatchObject({ code: 78, stderr: expect.stringContaining('tenure store init') });
    expect(tenure(['store', 'init', url])).toMatchObject({ code: 0, stdout: expect.stringContaining('plain registers') });
    expect(tenure(['store', 'doctor', url, '--for', '50ms'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('plain registers'),
    });
  });

  test('sets up plain leases on a store that could do better, if that is asked for', () => {
    const url = freshUrl();
    expect(JSON.parse(tenure(['store', 'init', url, '--plain', '--json']).stdout)).toMatchObject({
      created: true,
      swap: true,
      plain: true,
    });
    expect(tenure(['store', 'init', url])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('was set up before (plain registers)'),
    });
    expect(tenure(['store', 'compact', url])).toMatchObject({ code: 78, stderr: expect.stringContaining('(TENURE_UNSUPPORTED)') });
  });

  test.each([
    [['store', 'init', 'nonsense'], 64],
    [['store', 'init', 'file:///no/such/directory'], 69],
    [['store', 'init', freshUrl, '--delta', 'soon'], 64],
    [['store', 'init', freshUrl, '--rate-error', 'x'], 64],
    [['store', 'init', 'redis://127.0.0.1:1/'], 69],
    [['store', 'doctor', 'postgres://127.0.0.1:1/'], 69],
    [['store', 'doctor', freshUrl, '--connections', '0'], 64],
    [['store', 'doctor', freshUrl, '--for', 'x'], 64],
    [['store', 'compact'], 64],
    [['store', 'compact', freshUrl], 78],
    [['store', 'compact', 'redis://127.0.0.1:1/'], 69],
    [['store', 'nothing'], 64],
  ] as const)('%j ends with %i', (args, code) => {
    const ended = tenure(args.map((arg) => (typeof arg === 'string' ? arg : arg())));
    expect([ended.code, ended.stdout]).toEqual([code, '']);
  });
});

describe('tenure store doctor', () => {
  test('tells all it found as JSON, and how the delta of the store does', () => {
    const url = freshUrl();
    tenure(['store', 'init', url, '--delta', '2s', '--max-term', '1m']);
    const { code, stdout } = tenure(['store', 'doctor', url, '--for', '300ms', '--connections', '3', '--json']);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as { checks: { wrong: string | null }[]; accessMs: { count: number } };
    expect(report).toMatchObject({
      url,
      kind: 'file',
      can: { swap: true, list: true, watch: false },
      isFit: true,
      contest: { connections: 3, violations: [] },
      parameters: { deltaUs: 2_000_000 },
    });
    expect(report.checks.every(({ wrong }) => wrong === null)).toBe(true);
    expect(report.accessMs.count).toBeGreaterThan(10);
  });
});

describe('tenure store compact', () => {
  async function writeRecords(url: string): Promise<void> {
    const store = await openStore(url);
    const record = { owner: incarnation(7), lease: 1, seq: 1, termUs: 1_000_000, meta: null, isGrounded: true };
    await store.write('free', encodeLeaseRecord('free', { ...record, token: 17, isHeld: false }));
    await store.write('held', encodeLeaseRecord('held', { ...record, token: 23, isHeld: true }));
    await store.close();
  }

  test('erases what was given back, and says what it has left', async () => {
    const url = freshUrl();
    await writeRecords(url);
    const compact = (...args: string[]) => tenure(['store', 'compact', url, ...args]);
    expect(compact()).toEqual({ code: 0, stdout: `${url}: 1 of 2 records erased (1 held); new tokens are above 17\n`, stderr: '' });
    const { code, stdout } = compact('--json');
    const found = { url, records: 1, erased: 0, held: 1, changed: 0, unreadable: [], floor: 17 };
    expect([code, JSON.parse(stdout)]).toEqual([0, found]);
  });

  test('names records that cannot be read, and ends with 78', async () => {
    const url = freshUrl();
    const store = await openStore(url);
    await store.write('odd', Buffer.from('what is this'));
    await store.close();
    expect(tenure(['store', 'compact', url])).toEqual({
      code: 78,
      stdout: `${url}: 0 of 1 records erased (1 cannot be read)\n`,
      stderr: "the record of 'odd' cannot be read and was left as it is\n",
    });
  });

  test('refuses plain registers', () => {
    const url = `${freshUrl()}?swap=off`;
    tenure(['store', 'init', url]);
    const refused = tenure(['store', 'compact', url, '--json']);
    expect([refused.code, JSON.parse(refused.stderr)]).toEqual([78, expect.objectContaining({ code: 'TENURE_UNSUPPORTED' })]);
  });
});
