/** A cell of real processes' parts: three members and clients over TCP on this machine, by the real clock. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LeaseLostError } from '../../src/api/index.ts';
import { MAX_TERM_MS, realCell } from './real-cell.ts';

const code = (expected: string): unknown => expect.objectContaining({ code: expected });

describe('a lease', () => {
  test('is held by one at a time, and its token rises', async () => {
    const cell = await realCell();
    const [one, two] = await Promise.all([cell.client(), cell.client()]);
    const first = await one.acquire('orders/7');
    const refused = await two.tryAcquire('orders/7');
    expect(refused).toMatchObject({ ok: false, reason: 'held', holder: { incarnation: one.incarnation, token: first.token } });
    expect(refused.ok ? 0 : refused.remainingMsMax).toBeGreaterThan(0);
    expect(refused.ok ? 0 : refused.remainingMsMax).toBeLessThanOrEqual(MAX_TERM_MS * 1.5);
    expect(await two.holder('orders/7')).toMatchObject({ certain: true, holder: { token: first.token } });
    const waiting = two.acquire('orders/7');
    await first.release();
    const second = await waiting;
    expect(second.token).toBeGreaterThan(first.token);
    expect([first.valid, second.valid]).toEqual([false, true]);
    await second.release();
    expect(await one.holder('orders/7')).toMatchObject({ certain: true, holder: null });
  });

  test('is renewed by itself for as long as it is held', async () => {
    const cell = await realCell();
    const client = await cell.client();
    const lease = await client.acquire('kept');
    await sleep(MAX_TERM_MS * 2.2);
    expect(lease.valid).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    expect(lease.deadline).toBeGreaterThan(performance.now());
    await lease.release();
  });

  test('is lost when no majority is left, and says so before it is too late', async () => {
    const cell = await realCell();
    const client = await cell.client();
    const lease = await client.acquire('doomed');
    const aborted = new Promise<boolean>((resolve) => {
      lease.signal.addEventListener('abort', () => resolve(lease.valid), { once: true });
    });
    await Promise.all([cell.members.get('a')?.close(), cell.members.get('b')?.close()]);
    expect(await aborted).toBe(true);
    expect(lease.signal.reason).toMatchObject({ code: 'TENURE_LEASE_LOST' });
    await expect(client.tryAcquire('other')).rejects.toMatchObject({ code: 'TENURE_NO_QUORUM', details: { unreached: 'a, b' } });
    expect(client.state).toBe('no-quorum');
    await lease.release();
    expect(lease.valid).toBe(false);
  });

  test('survives the restart of one member, which keeps silent at first', async () => {
    const cell = await realCell();
    const client = await cell.client();
    const lease = await client.acquire('steady');
    await cell.members.get('b')?.close();
    const again = await cell.join('b');
    expect(['silent', 'no-quorum']).toContain(again.state);
    await again.ready();
    expect(lease.valid).toBe(true);
    await lease.release();
  });
});

describe('using', () => {
  test('runs the work under the lease, gives its result, and gives the lease back', async () => {
    const cell = await realCell();
    const client = await cell.client();
    const result = await client.using('reports/nightly', async (lease) => {
      expect(lease.valid).toBe(true);
      await sleep(1);
      return lease.token;
    });
    expect(result).toBeGreaterThan(0);
    expect((await client.tryAcquire('reports/nightly')).ok).toBe(true);
  });

  test("lets the work's own error out, and the lease is given back", async () => {
    const cell = await realCell();
    const client = await cell.client();
    const error = new Error('mine');
    await expect(client.using('x', () => Promise.reject(error))).rejects.toBe(error);
    expect((await client.tryAcquire('x')).ok).toBe(true);
  });

  test('tells when the lease was lost though the work succeeded, with what it returned', async () => {
    const cell = await realCell();
    const client = await cell.client();
    const work = client.using('x', async () => {
      await Promise.all([...cell.members.values()].map((member) => member.close()));
      await sleep(MAX_TERM_MS * 1.2);
      return 'done anyway';
    });
    const error = await work.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error).toMatchObject({ code: 'TENURE_LEASE_LOST', result: 'done anyway' });
  });
});

/** What a busy machine may spoil now and then is tried so often. */
const ROUNDS_MAX = 8;

describe('waiting', () => {
  test('is served in the order in which it began', async () => {
    const cell = await realCell();
    const folder = mkdtempSync(join(tmpdir(), 'tenure-queue-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const files = Array.from({ length: 6 }, (_, i) => join(folder, `${i}.jsonl`));
    const clients = await Promise.all(files.map((file) => cell.client({ history: file })));
    const holder = await cell.client();
    // A waiter that a busy machine keeps from answering is overtaken, and may be: now and then. On virtual time the order is exact.
    for (let round = 1, isInOrder = false; !isInOrder; round++) {
      const name = `queue/${round}`;
      const first = await holder.acquire(name);
      const served: number[] = [];
      const waits = [];
      for (const [i, client] of clients.entries()) {
        waits.push(
          client.using(name, () => {
            served.push(i);
          }),
        );
        const isQueued = (line: string): boolean => line.includes('"queued"') && line.includes(`"${name}"`);
        const lines = (): string[] => readFileSync(files[i] as string, 'utf8').split('\n');
        await vi.waitFor(() => expect(lines().some(isQueued)).toBe(true), { timeout: 5000, interval: 10 });
      }
      await first.release();
      await Promise.all(waits);
      expect(served.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
      isInOrder = served.every((client, i) => client === i);
      expect(isInOrder || round < ROUNDS_MAX, `served in the order ${served.join(', ')}`).toBe(true);
    }
  });

  test('ends when it is aborted, and nothing comes of it later', async () => {
    const cell = await realCell();
    const [one, two] = await Promise.all([cell.client(), cell.client()]);
    const lease = await one.acquire('x');
    const controller = new AbortController();
    const waiting = two.acquire('x', { signal: controller.signal });
    await sleep(20);
    controller.abort(new Error('changed my mind'));
    await expect(waiting).rejects.toThrow('changed my mind');
    await lease.release();
    await sleep(50);
    expect(await one.holder('x')).toMatchObject({ holder: null });
    await expect(two.acquire('x', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('ends after the time it was given', async () => {
    const cell = await realCell();
    const [one, two] = await Promise.all([cell.client(), cell.client()]);
    await one.acquire('x');
    await expect(two.acquire('x', { wait: '50ms' })).rejects.toEqual(code('TENURE_WAIT_TIMEOUT'));
  });
});

describe('several leases', () => {
  test('are taken all or none', async () => {
    const cell = await realCell();
    const [one, two] = await Promise.all([cell.client(), cell.client()]);
    const held = await one.acquire('b');
    await expect(two.acquireAll(['c', 'a', 'b', 'a'], { wait: '50ms' })).rejects.toEqual(code('TENURE_WAIT_TIMEOUT'));
    expect(await one.holder('a')).toMatchObject({ holder: null });
    await held.release();
    const all = await two.acquireAll(['c', 'a', 'b', 'a']);
    expect(all.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    await Promise.all(all.map((lease) => lease.release()));
  });

  test('never wait for each other in a circle', async () => {
    const cell = await realCell();
    const [one, two] = await Promise.all([cell.client(), cell.client()]);
    for (let round = 0; round < 10; round++) {
      const pairs = await Promise.all([
        one.acquireAll(['x', 'y']).then(async (leases) => Promise.all(leases.map((lease) => lease.release()))),
        two.acquireAll(['y', 'x']).then(async (leases) => Promise.all(leases.map((lease) => lease.release()))),
      ]);
      expect(pairs).toHaveLength(2);
    }
  });
});

describe('a watch', () => {
  test('tells of grants and ends, and of a gap when a member is lost', async () => {
    const cell = await realCell();
    const [one, two] = await Promise.all([cell.client(), cell.client()]);
    // Members that come up later are a gap too: this test wants the one it makes.
    while (two.state !== 'ready') await once(two, 'state');
    const watch = two.watch('orders/');
    expect(await watch.next()).toMatchObject({ value: { kind: 'current' } });
    const lease = await one.acquire('orders/1');
    await one.acquire('other/1');
    expect(await watch.next()).toMatchObject({ value: { kind: 'change', name: 'orders/1', holder: { token: lease.token } } });
    await lease.release();
    expect(await watch.next()).toMatchObject({ value: { kind: 'change', name: 'orders/1', holder: null } });
    await cell.members.get('c')?.close();
    expect(await watch.next()).toMatchObject({ value: { kind: 'gap' } });
    await watch.return();
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });
});

describe('closing', () => {
  test('gives everything back and ends what waits', async () => {
    const cell = await realCell();
    const [one, two, three] = await Promise.all([cell.client(), cell.client(), cell.client()]);
    await one.acquire('x');
    const lease = await two.acquire('y');
    const waiting = two.acquire('x').catch((error: unknown) => error);
    await Promise.all([two.close(), two.close()]);
    expect(await waiting).toEqual(code('TENURE_CLOSED'));
    expect(lease.valid).toBe(false);
    expect((await three.tryAcquire('y')).ok).toBe(true);
    await expect(two.acquire('z')).rejects.toEqual(code('TENURE_CLOSED'));
    await lease.release();
  });
});

describe('bad input', () => {
  test.each([
    ['an empty name', '', 'TENURE_BAD_NAME'],
    ['a name of 10 KB', 'n'.repeat(10_240), 'TENURE_BAD_NAME'],
    ['a control character in a name', 'a\u0007b', 'TENURE_BAD_NAME'],
    ['a reserved name', '_tenure/x', 'TENURE_BAD_NAME'],
  ])('%s is refused', async (_what, name, expected) => {
    const cell = await realCell(1);
    await expect(cell.members.get('a')?.acquire(name)).rejects.toEqual(code(expected));
  });

  test('a term above the longest, or metadata above the limit, is refused', async () => {
    const cell = await realCell(1);
    const member = cell.members.get('a');
    await expect(member?.acquire('x', { term: '2s' })).rejects.toEqual(code('TENURE_BAD_ARGUMENT'));
    await expect(member?.acquire('x', { meta: 'm'.repeat(2000) })).rejects.toEqual(code('TENURE_BAD_ARGUMENT'));
    expect((await member?.tryAcquire('x'))?.ok).toBe(true);
  });

  test('a client with the wrong secret is told so, and nobody else is disturbed', async () => {
    const cell = await realCell();
    await expect(cell.client({ clientSecret: 'not the secret of clients' })).rejects.toEqual(code('TENURE_WRONG_SECRET'));
    await expect(cell.client({ cell: 'another' })).rejects.toEqual(code('TENURE_WRONG_CELL'));
    const client = await cell.client();
    expect((await client.tryAcquire('x')).ok).toBe(true);
  });
});
