/** Claims of members and clients: what is granted is granted once, what is given up is withdrawn, and every end has its error. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { CLAIMS } from '../../src/api/claims/kind.ts';
import type { Block } from '../../src/api/index.ts';
import { openTestCell, type TestCell } from '../../src/api/testing/test-cell.ts';

function cellWithDisks(): Promise<TestCell> {
  return openTestCell({ keepVotes: true });
}

function code(error: string): unknown {
  return expect.objectContaining({ code: error });
}

async function outcome<T>(promise: Promise<T>): Promise<T | { code: string }> {
  return promise.catch((error: { code: string }) => error);
}

describe('claims', () => {
  test('are granted once, to members and clients alike, and refused with what overlaps', async () => {
    await using cell = await cellWithDisks();
    const [a, client] = [cell.member('a'), await cell.client()];
    expect(await a.claims('orders').claim(100, 199)).toEqual({ ok: true, from: 100, to: 199 });
    const refused = await client.claims('orders').claim(150, 160);
    expect(refused).toEqual({ ok: false, reason: 'overlap', overlap: { from: 150, to: 160 }, nextFree: 200 });
    expect(await client.claims('orders').claim(200, 200)).toEqual({ ok: true, from: 200, to: 200 });
    // Another space is another set of integers.
    expect(await client.claims('bills').claim(150, 160)).toMatchObject({ ok: true });
  });

  test('of a refused range leave nothing behind: what was free in it can be had', async () => {
    await using cell = await cellWithDisks();
    const [a, b] = [cell.member('a').claims('s'), cell.member('b').claims('s')];
    await a.claim(10, 19);
    expect(await b.claim(0, 100)).toMatchObject({ ok: false });
    await cell.advance('1s');
    expect(await a.claim(20, 100)).toMatchObject({ ok: true });
    expect(await a.claim(0, 9)).toMatchObject({ ok: true });
  });

  test('next gives blocks that nobody else gets', async () => {
    await using cell = await cellWithDisks();
    const spaces = [...cell.memberIds.map((id) => cell.member(id)), await cell.client()].map((one) => one.claims('s'));
    const blocks: Block[] = [];
    for (let round = 0; round < 5; round++) blocks.push(...(await Promise.all(spaces.map((space) => space.next(10)))));
    const integers = new Set(blocks.flatMap(({ from }) => Array.from({ length: 10 }, (_, i) => from + i)));
    expect(integers.size).toBe(blocks.length * 10);
    for (const { from, to } of blocks) expect(to - from + 1).toBe(10);
  });

  test('of blocks that one process wants at once are one claim, whose parts are theirs; of those that leave it is a gap', async () => {
    await using cell = await cellWithDisks();
    const a = cell.member('a');
    const signals = new AbortController();
    const first = a.claims('s').next(1);
    const rest = [3, 4, 5].map((size, i) => outcome(a.claims('s').next(size, i === 1 ? { signal: signals.signal } : {})));
    await Promise.resolve();
    signals.abort(new Error('enough'));
    expect(await first).toEqual({ from: 0, to: 0 });
    const [three, four, five] = (await Promise.all(rest)) as [Block, unknown, Block];
    expect(four).toEqual(new Error('enough'));
    expect([three.to - three.from, five.to - five.from]).toEqual([2, 4]);
    expect(five.from).toBeGreaterThan(three.to);
    expect(a.counters()).toMatchObject({ claims: 2, claimsGranted: 2, claimsRefused: 0 });
  });

  test('of blocks that are too large together are made one by one', async () => {
    await using cell = await cellWithDisks();
    const space = cell.member('a').claims('s');
    await space.claim(100, Number.MAX_SAFE_INTEGER);
    const blocks = await Promise.all([10, 60, 30, 50].map((size) => outcome(space.next(size))));
    expect(blocks.map((block) => ('code' in block ? block.code : block.to - block.from + 1))).toEqual([10, 60, 30, 'TENURE_LIMIT']);
  });

  test('survive the crash of every member, one after the other', async () => {
    await using cell = await cellWithDisks();
    await cell.member('a').claims('s').claim(0, 9);
    for (const id of cell.memberIds) await cell.restart(id);
    expect(await (await cell.client()).claims('s').claim(5, 5)).toMatchObject({ ok: false, overlap: { from: 5, to: 5 } });
  });

  test.each([
    ['a space without a name', '', 0, 1, 'TENURE_BAD_NAME'],
    ['ends in the wrong order', 's', 2, 1, 'TENURE_BAD_INTERVAL'],
    ['a fraction', 's', 0.5, 1, 'TENURE_BAD_INTERVAL'],
    ['a negative integer', 's', -1, 1, 'TENURE_BAD_INTERVAL'],
    ['an integer that is not safe', 's', 0, 2 ** 53, 'TENURE_BAD_INTERVAL'],
  ])('of %s are errors', async (_what, space, from, to, wanted) => {
    await using cell = await cellWithDisks();
    expect(await outcome((async () => cell.member('a').claims(space).claim(from, to))())).toEqual(code(wanted));
  });

  test.each([0, -1, 1.5, 2 ** 53, Number.NaN])('of blocks of %d are errors', async (size) => {
    await using cell = await cellWithDisks();
    expect(await outcome(cell.member('a').claims('s').next(size))).toEqual(code('TENURE_BAD_INTERVAL'));
    expect(() => cell.member('a').claims('s').ids({ blockMax: size })).toThrow(code('TENURE_BAD_INTERVAL'));
  });

  test('of a block that is nowhere free are TENURE_LIMIT', async () => {
    await using cell = await cellWithDisks();
    const space = cell.member('a').claims('s');
    await space.claim(1, Number.MAX_SAFE_INTEGER);
    expect(await space.next(1)).toEqual({ from: 0, to: 0 });
    expect(await outcome(space.next(1))).toMatchObject({ code: 'TENURE_LIMIT', details: { limit: 'integers' } });
  });

  test('are called off by their signal, and withdrawn', async () => {
    await using cell = await cellWithDisks();
    const [a, b] = [cell.member('a'), cell.member('b')];
    for (const id of ['b', 'c']) cell.cutOff(cell.member(id));
    const signals = new AbortController();
    const waiting = outcome(a.claims('s').claim(0, 9, { signal: signals.signal }));
    await cell.advance('100ms');
    signals.abort(new Error('enough'));
    expect(await waiting).toEqual(new Error('enough'));
    for (const id of ['b', 'c']) await cell.mend(cell.member(id));
    await cell.advance('30s');
    expect(await b.claims('s').claim(0, 9)).toMatchObject({ ok: true });
    expect(await outcome(a.claims('s').next(1, { signal: signals.signal }))).toEqual(new Error('enough'));
  });

  test('that wait end with TENURE_CLOSED when the cell is closed, and are withdrawn', async () => {
    await using cell = await cellWithDisks();
    const [a, b] = [cell.member('a'), cell.member('b')];
    for (const id of ['b', 'c']) cell.cutOff(cell.member(id));
    const waiting = outcome(a.claims('s').claim(0, 9));
    const source = a.claims('s').ids();
    const id = outcome(source.next());
    await cell.advance('50ms');
    const closing = a.close();
    await cell.advance('1s');
    await closing;
    expect(await waiting).toEqual(code('TENURE_CLOSED'));
    expect(await id).toEqual(code('TENURE_CLOSED'));
    expect(() => a.claims('s')).toThrow(code('TENURE_CLOSED'));
    await cell.restart('a');
    await cell.mend(b);
    // Only a has heard of it, and it is not among what a keeps.
    expect(await b.claims('s').claim(0, 9)).toMatchObject({ ok: true });
  });

  test('that were refused are withdrawn before a closed cell is left, also at a member that is away for a moment', async () => {
    await using cell = await cellWithDisks();
    const [a, b, c] = [cell.member('a'), cell.member('b'), cell.member('c')];
    cell.cutOff(c);
    await a.claims('s').claim(0, 9);
    await cell.mend(c);
    // Only c finds nothing wrong with it, and keeps it until it is withdrawn.
    const client = await cell.client();
    expect(await client.claims('s').claim(5, 15)).toMatchObject({ ok: false });
    cell.cutOff(c);
    const closing = client.close();
    await cell.advance('100ms');
    await cell.mend(c);
    await cell.advance('1s');
    await closing;
    cell.crash(b);
    expect(await a.claims('s').claim(10, 15)).toMatchObject({ ok: true });
  });
});

describe('a cell without claims', () => {
  test('says of a member without a data directory which it is', async () => {
    await using cell = await openTestCell({});
    const refused = { code: 'TENURE_UNSUPPORTED', details: { service: 'claims', member: 'b' } };
    expect(await outcome(cell.member('b').claims('s').claim(0, 1))).toMatchObject(refused);
    expect(await outcome(cell.member('b').claims('s').ids().next())).toMatchObject(refused);
  });

  test('tells clients which members lack them', async () => {
    await using cell = await openTestCell({});
    const client = await cell.client();
    expect(await outcome(client.claims('s').next(1))).toMatchObject({ code: 'TENURE_UNSUPPORTED', details: { members: 'a, b, c' } });
  });

  test('can be without the service at all', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [] });
    expect(await outcome(cell.member('a').claims('s').next(1))).toMatchObject({ code: 'TENURE_UNSUPPORTED' });
    expect(await cell.member('a').status()).toMatchObject([{ claims: null }, { claims: null }, { claims: null }]);
  });
});

describe('ids', () => {
  test('are unique across sources, and blocks grow with demand', async () => {
    await using cell = await cellWithDisks();
    const sources = cell.memberIds.map((id) => cell.member(id).claims('s').ids());
    const seen = new Set<number>();
    for (let round = 0; round < 1000; round++) for (const source of sources) seen.add((await source.next()).value as number);
    expect(seen.size).toBe(3000);
    expect(cell.member('a').counters().claims).toBeLessThan(20);
  });

  test('end with return, and with the signal', async () => {
    await using cell = await cellWithDisks();
    const source = cell.member('a').claims('s').ids();
    let count = 0;
    for await (const id of source) {
      expect(id).toBe(count);
      if (++count === 40) break;
    }
    expect(await source.next()).toEqual({ value: undefined, done: true });
    expect(source.take()).toBeUndefined();
    const signals = new AbortController();
    const other = cell.member('a').claims('s').ids({ signal: signals.signal });
    await other.next();
    signals.abort(new Error('enough'));
    expect(await outcome(other.next())).toEqual(new Error('enough'));
    expect(await other.next()).toEqual({ value: undefined, done: true });
    expect(await outcome(cell.member('a').claims('s').ids({ signal: signals.signal }).next())).toEqual(new Error('enough'));
  });

  test('leave no listener behind on the signal', async () => {
    await using cell = await cellWithDisks();
    const { signal } = new AbortController();
    const claims = cell.member('a').claims('s');
    for (let i = 0; i < 3; i++) {
      for await (const id of claims.ids({ signal })) if (id >= 0) break;
      await claims.next(1, { signal });
      await claims.claim(1_000_000 + i, 1_000_000 + i, { signal });
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('are taken without waiting while there are some at hand', async () => {
    await using cell = await cellWithDisks();
    const source = cell.member('a').claims('s').ids({ blockMax: 4 });
    expect(source.take()).toBeUndefined();
    expect((await source.next()).value).toBe(0);
    expect([source.take(), source.take(), source.take()]).toEqual([1, 2, 3]);
    expect(source.take()).toBeUndefined();
    expect((await source.next()).value).toBe(4);
  });

  test('are given to calls that wait at the same time, each its own', async () => {
    await using cell = await cellWithDisks();
    const source = cell.member('a').claims('s').ids({ blockMax: 5 });
    const ids = await Promise.all(Array.from({ length: 23 }, () => source.next()));
    expect(new Set(ids.map(({ value }) => value)).size).toBe(23);
  });
});

describe('disks of members', () => {
  test('are in use in a new test cell, and the status says so', async () => {
    await using cell = await cellWithDisks();
    const ready = { phase: 'ready', generation: 1 };
    expect((await cell.member('a').status()).map(({ claims }) => claims)).toMatchObject([ready, ready, ready]);
    expect((await (await cell.client()).status()).map(({ claims }) => claims)).toMatchObject([null, null, null].map(() => ready));
  });

  test('of a single member are a cell, too', async () => {
    await using cell = await openTestCell({ members: 1, keepVotes: true });
    expect(await cell.member('a').claims('s').next(2)).toEqual({ from: 0, to: 1 });
  });

  test('that are all blank begin by a bootstrap, never by themselves, and claims say so meanwhile', async () => {
    await using cell = await openTestCell({ keepVotes: true, silent: true });
    const a = cell.member('a');
    const waiting = outcome(a.claims('s').claim(0, 9));
    await cell.advance('10s');
    expect(await waiting).toMatchObject({ code: 'TENURE_NOT_BEGUN', details: { disks: 'a blank, b blank, c blank' } });
    const client = await cell.client();
    await client.bootstrap({ only: 'claims' });
    expect(await a.claims('s').claim(0, 9)).toMatchObject({ ok: true });
    expect(await outcome(client.bootstrap({ only: 'claims' }))).toMatchObject({
      code: 'TENURE_BOOTSTRAP_REFUSED',
      details: { absent: '', inUse: 'a, b, c' },
    });
  });

  test('begin with the leases of a brand-new cell', async () => {
    await using cell = await openTestCell({ keepVotes: true, silent: true });
    await cell.member('b').bootstrap();
    expect(await cell.member('a').claims('s').next(3)).toEqual({ from: 0, to: 2 });
  });

  test('do not begin while a member is absent, which is named', async () => {
    await using cell = await openTestCell({ keepVotes: true, silent: true });
    cell.crash(cell.member('c'));
    const refused = outcome(cell.member('a').bootstrap({ only: 'claims' }));
    await cell.advance('10s');
    expect(await refused).toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED', details: { absent: 'c', inUse: '' } });
  });

  test('have a number of their own among the services', () => {
    expect(CLAIMS).toMatchObject({ number: 1, name: 'claims', disk: 'needed', isForClients: true });
  });
});
