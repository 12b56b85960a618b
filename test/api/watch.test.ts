/** Watches on virtual time: how they begin, what a gap means, and readers that are slow. */
import { describe, expect, test } from 'vitest';
import type { Change, Watch } from '../../src/api/index.ts';
import { testCell, type TestCell } from '../../src/api/testing.ts';

/** Reads a watch in words; what it says next may still be waited for. */
class Reader {
  readonly #cell: TestCell;
  readonly #watch: Watch;
  #next: Promise<IteratorResult<Change, undefined>> | undefined;

  constructor(cell: TestCell, watch: Watch) {
    this.#cell = cell;
    this.#watch = watch;
  }

  async one(): Promise<string> {
    this.#next ??= this.#watch.next();
    const { value } = await this.#next;
    this.#next = undefined;
    return value ? wordOf(value) : 'end';
  }

  /** All that it says without being waited for. */
  async all(): Promise<string[]> {
    const words: string[] = [];
    for (;;) {
      this.#next ??= this.#watch.next();
      const isThere = await Promise.race([this.#next.then(() => true), this.#cell.advance(10).then(() => false)]);
      if (!isThere) return words;
      words.push(await this.one());
    }
  }
}

function wordOf(change: Change): string {
  if (change.kind !== 'change') return change.kind;
  return change.holder
    ? `${change.name}: ${Buffer.from(change.meta ?? []).toString() || change.holder.incarnation}`
    : `${change.name} free`;
}

describe('a watch', () => {
  test('begins with what is held, each time one begins', async () => {
    const cell = await testCell();
    const [one, two] = [await cell.client(), await cell.client()];
    await one.acquire('a/1', { meta: 'one' });
    await one.acquire('b');
    for (let round = 0; round < 2; round++) {
      expect(await new Reader(cell, two.watch('a/')).all()).toEqual(['a/1: one', 'current']);
    }
    expect(await new Reader(cell, two.watch('nothing')).all()).toEqual(['current']);
    await cell.close();
  });

  test('tells of the end of what it found at its beginning, though the holder died without a word', async () => {
    const cell = await testCell({ maxTerm: '2s' });
    const [one, two] = [await cell.client(), await cell.client()];
    await one.acquire('a', { meta: 'one' });
    const reader = new Reader(cell, two.watch('a', { exact: true }));
    expect(await reader.all()).toEqual(['a: one', 'current']);
    cell.crash(one);
    await cell.advance('6s');
    expect(await reader.one()).toBe('a free');
    await cell.close();
  });

  test('tells anew what is held after a gap', async () => {
    const cell = await testCell({ maxTerm: '2s' });
    const [one, two] = [await cell.client(), await cell.client()];
    await one.acquire('a', { meta: 'one' });
    const reader = new Reader(cell, two.watch());
    expect(await reader.all()).toEqual(['a: one', 'current']);
    cell.cutOff(two);
    expect(await reader.one()).toBe('gap');
    await one.acquire('b', { meta: 'b of one' });
    await cell.advance('3s');
    await cell.mend(two);
    await cell.advance('3s');
    const words = await reader.all();
    expect(words.at(-1)).toBe('current');
    // Some may be told twice: as news, and as what is held.
    expect([...new Set(words.slice(words.lastIndexOf('gap') + 1))].toSorted()).toEqual(['a: one', 'b: b of one', 'current']);
    await cell.close();
  });

  test('that is not read tells of a gap instead of keeping everything', async () => {
    const cell = await testCell();
    const [one, two] = [await cell.client(), await cell.client()];
    const watch = two.watch('n/');
    expect((await watch.next()).value?.kind).toBe('current');
    const lease = await one.acquire('n/1');
    for (let i = 0; i < 10_001; i += 100) await Promise.all(Array.from({ length: 100 }, (_, j) => lease.proclaim(`value ${i + j}`)));
    for (let i = 0; i < 5100; i++) await (await one.acquire('n/2')).release();
    let count = 0;
    for (let kind = ''; kind !== 'gap'; count++) kind = (await watch.next()).value?.kind ?? '';
    expect(count).toBeLessThanOrEqual(10_001);
    const after: string[] = [];
    while (after.at(-1) !== 'current') after.push(wordOf((await watch.next()).value as Change));
    expect(after).toContain('n/1: value 10099');
    await cell.close();
  });

  test('that is given up before it began is refused, and one that is left forgets what it had', async () => {
    const cell = await testCell();
    const client = await cell.client();
    const reason = new Error('mine');
    expect(() => client.watch('', { signal: AbortSignal.abort(reason) })).toThrow(reason);
    expect(() => client.watch('x'.repeat(300))).toThrow(expect.objectContaining({ code: 'TENURE_BAD_NAME' }));
    expect(() => client.watch('', { exact: true })).toThrow(expect.objectContaining({ code: 'TENURE_BAD_NAME' }));
    const controller = new AbortController();
    const watch = client.watch('', { signal: controller.signal });
    await cell.advance(10);
    controller.abort(reason);
    await expect(watch.next()).rejects.toBe(reason);
    expect(await watch.next()).toEqual({ done: true, value: undefined });
    await cell.close();
  });
});
