/** The history that a process writes of itself: what is in it, who judges it, and what becomes of it when the disk fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect, observe, type Logger } from '../../src/api/index.ts';
import { HISTORY_QUEUE_BYTES_MAX, HistoryFile, StampClock, type HistoryDisk } from '../../src/api/observing/history-file.ts';
import { Observer } from '../../src/api/observing/observer.ts';
import { gatherHistories, parseHistory, withoutTornLine, type HistoryRecord } from '../../src/check/index.ts';
import type { TenureError } from '../../src/kernel/index.ts';
import { tenure } from '../cli/tenure.ts';
import { ROOT } from '../support/tree.ts';
import { realCell } from './real-cell.ts';

const ORIGIN = { cell: 'orders', node: 'a', incarnation: 7 };
const ENTRY = { kind: 'requested', resource: 'x', request: 1 } as const;

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-history-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function historyOf(folder: string, name: string): string {
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('');
}

/** Histories of three processes: a lease goes from one to the other, one is cut off from it by its own signal, one closes while it holds. */
async function threeHistories(): Promise<{ folder: string; files: string[] }> {
  const folder = freshFolder();
  const cell = await realCell();
  const [one, two, three] = await Promise.all(
    ['one', 'two', 'three'].map((name) => cell.client({ name, history: { file: join(folder, 'new/'), clockBound: '3ms' } })),
  );
  const first = await one?.acquire('x');
  const second = two?.acquire('x');
  await vi.waitFor(() => expect(historyOf(join(folder, 'new'), 'two')).toContain('"queued"'), { timeout: 10_000, interval: 10 });
  await expect(three?.acquire('x', { signal: AbortSignal.timeout(700) })).rejects.toMatchObject({ name: 'TimeoutError' });
  await first?.release();
  await second;
  await Promise.all([one?.close(), two?.close(), three?.close()]);
  return { folder: join(folder, 'new'), files: readdirSync(join(folder, 'new')).map((file) => join(folder, 'new', file)) };
}

describe('a history', () => {
  test('has all that happened to the leases of its process, and several are judged together', async () => {
    const { files } = await threeHistories();
    const kindsOf = (name: string): string[] => {
      const file = files.find((path) => path.includes(`/${name}-`)) ?? '';
      return parseHistory(readFileSync(file, 'utf8')).records.map(({ kind }) => kind);
    };
    // An attempt that a busy machine keeps from a majority stands in line for a moment, also for a free name.
    const [first, ...rest] = kindsOf('one').filter((kind) => kind !== 'queued');
    expect([first, ...new Set(rest)]).toEqual(['requested', 'granted', 'renewed', 'ended']);
    // On a busy machine it may have been renewed before it was given back.
    expect(kindsOf('two').filter((kind) => kind !== 'renewed')).toEqual(['requested', 'queued', 'granted', 'ended']);
    expect(kindsOf('three').filter((kind) => kind !== 'queued')).toEqual(['requested', 'abandoned']);
    const { code, stdout } = tenure(['check', ...files]);
    expect(stdout).toMatch(/^\d+ records, 0 violations\nnot judged, .*overlaps shorter than twice the clock bound of 3ms/);
    expect(code).toBe(0);
  });

  test('that was tampered with is found out', async () => {
    const { files } = await threeHistories();
    const file = files.find((path) => path.includes('/two-')) ?? '';
    const { header, records } = parseHistory(readFileSync(file, 'utf8'));
    // As if it had been granted while the other held it.
    const early = records.map((record): HistoryRecord => ({ ...record, at: record.at - 400_000 }));
    writeFileSync(file, [JSON.stringify(header), ...early.map((record) => JSON.stringify(record)), ''].join('\n'));
    const { code, stdout } = tenure(['check', ...files]);
    expect(stdout).toMatch(/1 violations\n {2}exclusion: /);
    expect(code).toBe(2);
    expect(tenure(['check', ...files, '--clock-bound', '10s'])).toMatchObject({ code: 0 });
  });

  test('goes to a file that was not there before', async () => {
    const file = join(freshFolder(), 'h.jsonl');
    writeFileSync(file, 'precious');
    const members = { a: '127.0.0.1:1' };
    await expect(connect({ cell: 'x', members, history: file })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT', details: { file } });
    await expect(connect({ cell: 'x', members, history: join(file, 'below') })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    expect(readFileSync(file, 'utf8')).toBe('precious');
  });

  test('cut off anywhere by a crash is read up to there, with a word', () => {
    const line = '{"at":5,"node":"a","incarnation":1,"kind":"requested","resource":"x","request":1}\n';
    const head = '{"tenure-history":1,"clock":"wall"}\n';
    for (let cut = 0; cut <= line.length; cut++) {
      const text = head + line + line.slice(0, cut);
      expect(parseHistory(withoutTornLine(text)).records).toHaveLength(cut < line.length - 1 ? 1 : 2);
    }
    expect(tenure(['check', '-'], `${head}${line}{"at":6,"no`).stdout).toContain('1 records, 0 violations\nthe last line of - is torn');
    expect(tenure(['check', '-'], `${head}{"at":6,"no\n${line}`)).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/-: line 2 is not JSON/) as unknown,
    });
  });

  test('of a process that was killed is judged with those of others', async () => {
    const folder = freshFolder();
    const cell = await realCell();
    const { cell: name, members, clientSecret } = cell.options;
    const options = { cell: name, members, clientSecret, name: 'victim', history: { file: folder, clockBound: '3ms' } };
    const script = join(ROOT, 'test/api/processes/holder.mjs');
    const victim = spawn(process.execPath, [script, JSON.stringify(options), 'x', '500'], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(victim.stdout, 'data');
    const written = (): readonly HistoryRecord[] => {
      const [file = ''] = readdirSync(folder);
      return parseHistory(withoutTornLine(readFileSync(join(folder, file), 'utf8'))).records;
    };
    while (written().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    victim.kill('SIGKILL');
    const next = await cell.client({ history: { file: folder, clockBound: '3ms' } });
    await next.using('x', () => undefined);
    await next.close();
    const { code, stdout } = tenure(['check', ...readdirSync(folder).map((file) => join(folder, file))]);
    expect(stdout).toMatch(/^\d+ records, 0 violations\n/);
    expect(code).toBe(0);
  });

  test('accuses nobody of what a crashed process did not live to write', () => {
    const told = (node: string, records: object[]): ReturnType<typeof parseHistory> => ({
      header: { 'tenure-history': 1, clock: 'wall', clockBoundUs: 0 },
      records: records.map((record) => ({ node, incarnation: 1, resource: 'x', ...record }) as HistoryRecord),
    });
    const crashed = told('a', [{ at: 10, kind: 'granted', request: 1, token: 1, remainingUs: 1000 }]);
    const next = told('b', [{ at: 20, kind: 'granted', request: 1, token: 2, remainingUs: 1000 }]);
    const { records, header } = gatherHistories([crashed, next]);
    expect(header.clockBoundUs).toBe(0);
    // Of the bounds the largest counts; where one states none, nobody vouches for the whole.
    expect(gatherHistories([crashed, { ...next, header: { ...next.header, clockBoundUs: 7 } }]).header.clockBoundUs).toBe(7);
    expect(gatherHistories([crashed, { ...next, header: { 'tenure-history': 1, clock: 'wall' } }]).header.clockBoundUs).toBeUndefined();
    const simulated = { ...next, header: { 'tenure-history': 1, clock: 'true' } } as const;
    expect(() => gatherHistories([simulated, next])).toThrow(expect.objectContaining({ code: 'TENURE_BAD_HISTORY' }));
    expect(records.map(({ node, kind, at }) => `${at} ${String(node)} ${kind}`)).toEqual([
      '10 a granted',
      '10 a crashed',
      '20 b granted',
      '20 b crashed',
    ]);
  });
});

/** A disk on which writes end when the test says so. */
class SlowDisk implements HistoryDisk {
  readonly writes: { bytes: Uint8Array; done: (error: Error | null, written: number) => void }[] = [];
  isClosed = false;

  write(bytes: Uint8Array, done: (error: Error | null, written: number) => void): void {
    this.writes.push({ bytes, done });
  }

  close(done: (error: Error | null) => void): void {
    this.isClosed = true;
    done(null);
  }
}

describe('a disk', () => {
  test('that is full ends the history with one error, and nothing else', async () => {
    const disk = new SlowDisk();
    const failures: TenureError[] = [];
    const history = new HistoryFile('h.jsonl', disk, ORIGIN, (error) => failures.push(error));
    history.append(ENTRY);
    const closing = history.close();
    disk.writes[0]?.done(new Error('ENOSPC: no space left on device'), 0);
    await closing;
    for (let more = 0; more < 3; more++) history.append(ENTRY);
    expect(failures).toMatchObject([
      { code: 'TENURE_HISTORY_FAILED', details: { file: 'h.jsonl', why: 'ENOSPC: no space left on device' } },
    ]);
    expect(history).toMatchObject({ records: 0, dropped: 4 });
    expect(disk.isClosed).toBe(true);
  });

  test('that is too slow ends the history when too much waits for it', () => {
    const disk = new SlowDisk();
    const failures: TenureError[] = [];
    const history = new HistoryFile('h.jsonl', disk, ORIGIN, (error) => failures.push(error));
    const entry = { ...ENTRY, resource: 'x'.repeat(255) };
    let told = 0;
    for (; failures.length === 0; told++) history.append(entry);
    expect(failures).toMatchObject([{ code: 'TENURE_HISTORY_FAILED' }]);
    expect(told * 255).toBeLessThan(HISTORY_QUEUE_BYTES_MAX);
    expect(told * 400).toBeGreaterThan(HISTORY_QUEUE_BYTES_MAX);
  });

  test('that takes a part at a time gets the rest, in order', async () => {
    const disk = new SlowDisk();
    const history = new HistoryFile('h.jsonl', disk, ORIGIN, (error) => expect.unreachable(error.message));
    history.append(ENTRY);
    const closing = history.close();
    const whole = Buffer.from(disk.writes[0]?.bytes ?? []).toString();
    disk.writes[0]?.done(null, 10);
    expect(Buffer.from(disk.writes[1]?.bytes ?? []).toString()).toBe(whole.slice(10));
    disk.writes[1]?.done(null, whole.length - 10);
    await closing;
    expect(history).toMatchObject({ records: 1, dropped: 0 });
  });

  test('that fails is logged and told, and what is observed goes on', async () => {
    const logged: object[] = [];
    const say = (fields: object): void => void logged.push(fields);
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: say };
    const told: string[] = [];
    onTestFinished(observe('tenure:history:failed', ({ error }) => told.push(error.code)));
    const disk = new SlowDisk();
    const observer = new Observer(
      { ...ORIGIN, logger, history: 'h' },
      (_file, origin, failed) => new HistoryFile('h', disk, origin, failed),
    );
    observer.leases.requested('x', 1, 'exclusive');
    const closing = observer.close();
    disk.writes[0]?.done(new Error('EIO: i/o error'), 0);
    await closing;
    observer.leases.refused('x', 1, 'held', 10);
    expect(told).toEqual(['TENURE_HISTORY_FAILED']);
    expect(logged).toMatchObject([{ cell: 'orders', node: 'a', code: 'TENURE_HISTORY_FAILED' }]);
    expect(observer.counters()).toMatchObject({ requests: 1, historyRecords: 0, historyDropped: 2 });
  });
});

describe('stamps', () => {
  test('keep to the wall clock, finer, and never go back', () => {
    let [mono, wall] = [0, 1_000_000_000];
    const clock = new StampClock(
      () => mono,
      () => Math.floor(wall / 1000) * 1000,
    );
    const pass = (us: number): number => {
      mono += us;
      wall += us;
      return clock.now();
    };
    expect([pass(300), pass(300)]).toEqual([1_000_000_300, 1_000_000_600]);
    // Sleep, or a step forward: with it.
    wall += 5_000_000;
    expect(Math.abs(pass(1000) - wall)).toBeLessThan(1000);
    // A step back: slower, until they agree again.
    wall -= 100_000;
    let last = clock.now();
    for (let step = 0; step < 2000; step++) {
      const next = pass(1000);
      expect(next).toBeGreaterThan(last);
      last = next;
    }
    expect(Math.abs(last - wall)).toBeLessThan(3000);
  });

  test('are not led astray when the process is stopped between the two clocks', () => {
    let us = 1_000_000_000;
    let stop = 0;
    const clock = new StampClock(
      () => us,
      () => {
        us += stop;
        stop = 0;
        return Math.floor(us / 1000) * 1000;
      },
    );
    stop = 5000;
    clock.now();
    us += 300;
    expect(Math.abs(clock.now() - us)).toBeLessThan(1000);
  });
});
