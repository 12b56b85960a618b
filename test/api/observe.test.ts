/** What a cell tells of itself: counters, diagnostics channels and the log. Most of it on virtual time. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BUCKETS_MS, joinCell, observe, type Logger, type TenureChannel, type TenureEvents } from '../../src/api/index.ts';
import { CHANNELS } from '../../src/api/observing/diagnostics.ts';
import { Histogram } from '../../src/api/observing/counters.ts';
import { Log } from '../../src/api/observing/logging.ts';
import { Observer } from '../../src/api/observing/observer.ts';
import { shortTerm } from '../../src/api/cell/failures.ts';
import { testCell, type TestCell } from '../../src/api/testing.ts';
import { TenureError } from '../../src/kernel/index.ts';
import { MemoryHub } from '../../src/transport/index.ts';
import { freePorts, realCell } from './real-cell.ts';

const ORIGIN = { cell: 'orders', node: 'a', incarnation: 1 };

async function virtual(options = {}): Promise<TestCell> {
  const cell = await testCell({ maxTerm: '4s', ...options });
  onTestFinished(() => cell.close());
  return cell;
}

function heardOn<K extends TenureChannel>(name: K): TenureEvents[K][] {
  const events: TenureEvents[K][] = [];
  onTestFinished(observe(name, (event) => events.push(event)));
  return events;
}

/** Cells in memory from here on measure round trips of `us`. */
function farAway(): { us: number } {
  const rtt = { us: 0 };
  const make = Reflect.get(MemoryHub.prototype, 'transport');
  const spy = vi.spyOn(MemoryHub.prototype, 'transport').mockImplementation(function (this: MemoryHub, node) {
    const made = make.call(this, node);
    const stats = made.peerStats.bind(made);
    made.peerStats = (peer) => {
      const told = stats(peer);
      return told && { ...told, rttUs: rtt.us };
    };
    return made;
  });
  onTestFinished(() => spy.mockRestore());
  return rtt;
}

interface Line {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

function writingTo(lines: Line[]): Logger {
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

describe('counters', () => {
  test('tell how long was waited and held, and who had to queue', async () => {
    const cell = await virtual();
    const [one, two] = [await cell.client(), await cell.client()];
    const first = await one.acquire('x');
    const waiting = two.acquire('x');
    await cell.advance('3s');
    expect(two.counters()).toMatchObject({ requests: 1, grants: 0, waiting: 1, held: 0 });
    await first.release();
    const second = await waiting;
    expect(one.counters()).toMatchObject({ requests: 1, grants: 1, releases: 1, queuedGrants: 0, losses: 0 });
    expect(one.counters().renewals).toBeGreaterThanOrEqual(1);
    expect(one.counters().holdMs.sumMs).toBeCloseTo(3000, -1.5);
    expect(two.counters()).toMatchObject({ grants: 1, queuedGrants: 1, held: 1, waiting: 0, waitMs: { count: 1 } });
    expect(two.counters().waitMs.sumMs).toBeGreaterThan(3000);
    await second.release();
    expect(await one.tryAcquire('x')).toMatchObject({ ok: true });
    expect(await two.tryAcquire('x')).toMatchObject({ ok: false });
    await expect(two.acquire('x', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(two.counters().refusals).toMatchObject({ held: 1, cancelled: 0 });
  });

  test('tell of what was lost, and of the attempts before', async () => {
    const cell = await virtual();
    const client = await cell.client();
    await client.acquire('x');
    cell.cutOff(client);
    await cell.advance('5s');
    const { losses, renewalFailures, holdMs, state, held } = client.counters();
    expect({ losses, state, held }).toEqual({ losses: 1, state: 'no-quorum', held: 0 });
    expect(renewalFailures).toBeGreaterThan(1);
    expect(holdMs.count).toBe(1);
  });

  test('tell of a silence while it lasts and after', async () => {
    const cell = await virtual({ silent: true });
    await cell.advance('1s');
    expect(cell.member('a').counters().silenceMs).toBeCloseTo(1000, -1);
    await cell.advance('9s');
    const { silenceMs, state } = cell.member('a').counters();
    expect(state).toBe('ready');
    // Four seconds, stretched by the default rate error.
    expect(silenceMs).toBeGreaterThanOrEqual(4888);
    expect(silenceMs).toBeLessThan(4990);
  });

  test('tell of stalls', async () => {
    const cell = await virtual();
    const stalls = heardOn('tenure:cell:stall');
    const client = await cell.client();
    await client.acquire('x');
    cell.stall(client, '3s');
    await cell.advance('4s');
    const { clocks } = client.counters();
    expect(clocks.stalls).toBeGreaterThanOrEqual(1);
    expect(clocks.stallMsMax).toBeGreaterThan(1000);
    expect(stalls).toContainEqual(expect.objectContaining({ kind: 'stall', ms: clocks.stallMsMax }));
  });

  test('tell of each peer: connection, round trip, offset and messages', async () => {
    const cell = await realCell();
    const client = await cell.client();
    await client.ready();
    await client.using('x', () => undefined);
    // A quorum has answered; the third member and the first pongs may take a moment longer.
    let counters = client.counters();
    while (counters.peers.some(({ messagesIn, rttMs }) => messagesIn === 0 || rttMs === null)) {
      await new Promise((resolve) => setImmediate(resolve));
      counters = client.counters();
    }
    expect(counters.peers).toMatchObject(['a', 'b', 'c'].map((id) => ({ id, connected: true, dropped: 0, reconnects: 0 })));
    for (const { messagesOut, rttMs, clockOffsetMs } of counters.peers) {
      expect(messagesOut).toBeGreaterThan(0);
      expect(rttMs).toBeGreaterThan(0);
      expect(Math.abs(clockOffsetMs ?? NaN)).toBeLessThan(1000);
    }
    // Plain: what is sent to another thread or written as JSON is the same.
    expect(structuredClone(counters)).toEqual(counters);
    expect(JSON.parse(JSON.stringify(counters))).toEqual(counters);
  });

  test('have histograms whose buckets include those before', () => {
    const histogram = new Histogram();
    for (const ms of [0.1, 0.25, 3, 70_000]) histogram.add(ms * 1000);
    const { buckets, count, sumMs } = histogram.snapshot();
    expect(buckets.map(({ leMs }) => leMs)).toEqual(BUCKETS_MS);
    expect(buckets.map((bucket) => bucket.count)).toEqual(BUCKETS_MS.map((leMs) => (leMs < 5 ? 2 : 3)));
    expect(count).toBe(4);
    expect(sumMs).toBeCloseTo(70_003.35);
  });
});

describe('diagnostics channels', () => {
  test('tell the life of a lease, in order', async () => {
    const cell = await virtual();
    const told: string[] = [];
    for (const name of Object.keys(CHANNELS) as TenureChannel[]) {
      onTestFinished(observe(name, (event) => 'name' in event && told.push(`${event.node} ${name.slice('tenure:lease:'.length)}`)));
    }
    const [one, two] = [await cell.client(), await cell.client()];
    const first = await one.acquire('x');
    await two.tryAcquire('x');
    await cell.advance('2s');
    await first.release();
    await two.acquire('x');
    cell.cutOff(two);
    await cell.advance('5s');
    const [a, b] = ['client-1', 'client-2'];
    expect(told.filter((line, i) => line !== told[i - 1])).toEqual([
      `${a} requested`,
      `${a} granted`,
      `${b} requested`,
      `${b} refused`,
      `${a} renewed`,
      `${a} released`,
      `${b} requested`,
      `${b} granted`,
      `${b} renewal-failed`,
      `${b} lost`,
    ]);
  });

  test('say of a grant what it is', async () => {
    const cell = await virtual();
    const [grants, releases] = [heardOn('tenure:lease:granted'), heardOn('tenure:lease:released')];
    const client = await cell.client();
    const lease = await client.acquire('x', { term: '2s' });
    await lease.release();
    const shared = { incarnation: client.incarnation, name: 'x', token: lease.token };
    expect(grants).toEqual([expect.objectContaining({ ...shared, termMs: 2000, queued: false })]);
    expect(grants[0]?.remainingMs).toBeGreaterThan(1900);
    expect(releases).toEqual([expect.objectContaining(shared)]);
  });

  test('tell of states and peers', async () => {
    const cell = await virtual();
    const [states, peers] = [heardOn('tenure:cell:state'), heardOn('tenure:cell:peer')];
    const client = await cell.client();
    cell.crash(cell.member('a'));
    await cell.advance('1s');
    const who = client.incarnation;
    expect(states.filter(({ incarnation }) => incarnation === who).map(({ state }) => state)).toEqual(['degraded', 'ready', 'degraded']);
    expect(peers.filter(({ incarnation, connected }) => incarnation === who && !connected)).toMatchObject([{ peer: 'a' }]);
  });

  test('warn when a term is shorter than ten round trips, and not again before it was long enough', async () => {
    const rtt = farAway();
    const heard = heardOn('tenure:cell:short-term');
    const cell = await virtual();
    const client = await cell.client();
    const warnings: TenureError[] = [];
    client.on('warning', (warning) => warnings.push(warning));
    const lease = await client.acquire('x', { term: '1s' });
    const seen: number[] = [];
    for (const us of [99_000, 101_000, 102_000, 90_000, 103_000]) {
      rtt.us = us;
      await cell.advance('2s');
      seen.push(warnings.length);
    }
    await lease.release();
    expect(seen).toEqual([0, 1, 1, 1, 2]);
    expect(warnings.map(({ code, details }) => [code, details])).toEqual(
      [101_000, 103_000].map((rttUs) => ['TENURE_SHORT_TERM', { termUs: 1_000_000, rttUs }]),
    );
    const told = heard.filter(({ incarnation }) => incarnation === client.incarnation);
    expect(told.map(({ termMs, rttMs }) => [termMs, rttMs])).toEqual([101, 103].map((rttMs) => [1000, rttMs]));
  });
});

describe('the log', () => {
  const refusal = (code: 'TENURE_WRONG_SECRET' | 'TENURE_WRONG_CELL', details = {}): TenureError => new TenureError(code, 'no', details);

  test('has a refused peer once, until the reason changes or it is welcome', () => {
    const lines: Line[] = [];
    const log = new Log(writingTo(lines), {});
    for (let again = 0; again < 3; again++) log.refusal('b', refusal('TENURE_WRONG_SECRET'));
    expect(lines).toHaveLength(1);
    log.refusal('b', refusal('TENURE_WRONG_CELL'));
    log.refusal('c', refusal('TENURE_WRONG_CELL'));
    expect(lines).toHaveLength(3);
    log.welcome('b');
    log.refusal('b', refusal('TENURE_WRONG_CELL'));
    log.refusal('c', refusal('TENURE_WRONG_CELL'));
    expect(lines).toHaveLength(4);
  });

  test('has a term that is too short', () => {
    const lines: Line[] = [];
    const warning = shortTerm(999_000, 100_000);
    new Observer({ ...ORIGIN, logger: writingTo(lines) }).shortTerm(warning, 999_000, 100_000);
    const { message } = warning;
    expect(lines).toEqual([{ level: 'warn', fields: expect.objectContaining({ termMs: 999, rttMs: 100 }) as object, message }]);
  });

  test('knows a peer that dials in again from another port', () => {
    const lines: Line[] = [];
    const log = new Log(writingTo(lines), {});
    for (const port of [1, 2, 3]) log.refusal(`10.0.0.9:${port}`, refusal('TENURE_WRONG_SECRET', { id: 'b' }));
    log.refusal('10.0.0.9:4', refusal('TENURE_WRONG_SECRET', { id: 'c' }));
    expect(lines).toHaveLength(2);
    log.welcome('b');
    log.refusal('10.0.0.9:5', refusal('TENURE_WRONG_SECRET', { id: 'b' }));
    expect(lines).toHaveLength(3);
  });

  test('of pino is taken as it is, and has each line with the cell and the node', async () => {
    const stream = new PassThrough();
    const logger = pino({ level: 'debug' }, stream);
    const [port] = await freePorts(1);
    const member = await joinCell({ cell: 'orders', members: { a: `127.0.0.1:${port}` }, self: 'a', maxTerm: '200ms', logger });
    await member.ready();
    await member.using('x', () => undefined);
    await member.close();
    const lines = String(stream.read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: number; cell: string; node: string; msg: string });
    expect(new Set(lines.map(({ cell, node }) => `${cell} ${node}`))).toEqual(new Set(['orders a']));
    expect(lines.map(({ level, msg }) => [level, msg.split(/[:;]/)[0]])).toEqual([
      [30, expect.stringMatching(/^silent for 2\d\d ms$/)],
      [30, 'a majority is connected'],
      [30, 'the restart silence is over'],
      [30, 'all members are connected'],
      [20, 'lease granted'],
      [20, 'lease released'],
      [30, 'left the cell'],
    ]);
  });

  test('makes nothing of a level that is off, and a warning of a logger that throws', async () => {
    const lines: Line[] = [];
    expect(new Log({ ...writingTo(lines), isLevelEnabled: (level) => level !== 'debug' }, {}).wants('debug')).toBe(false);
    const broken = (): never => {
      throw new Error('the disk of the log is full');
    };
    const warned = once(process, 'warning');
    new Log({ debug: broken, info: broken, warn: broken, error: broken }, {}).say('info', {}, 'x');
    expect(await warned).toMatchObject([{ message: 'the disk of the log is full' }]);
  });
});
