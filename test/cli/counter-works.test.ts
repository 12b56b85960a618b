/** How `bench/counter.mjs` judges whether two processes worked at once: a judge that sees nothing would be worth nothing. */
import { expect, it } from 'vitest';
import { inOrder, overlapsOf, worksIn, type Work } from '../../bench/parts/works.mjs';

function judged(...journals: readonly (readonly [text: string, killedAt: bigint | null])[]): { overlaps: number; works: Work[] } {
  const works = inOrder(journals.flatMap(([text, killedAt]) => worksIn(text, killedAt)));
  return { overlaps: overlapsOf(works), works };
}

it('processes that worked one after the other did not meet', () => {
  const { overlaps, works } = judged(
    ['from 1 10 900 7\nwrote 1 20\nfrom 3 50 900 9\nwrote 3 60\n', null],
    ['from 2 30 900 8\nwrote 2 40\n', null],
  );
  expect(overlaps).toBe(0);
  expect(works.map(({ token }) => token)).toEqual([7, 8, 9]);
});

it('one that begins before another has written has met it', () => {
  expect(judged(['from 1 10 900 7\nwrote 1 40\n', null], ['from 2 30 900 8\nwrote 2 60\n', null]).overlaps).toBe(1);
});

it('one that met another but the last before it has met it, too', () => {
  const long = ['from 1 10 900 7\nwrote 1 100\n', null] as const;
  expect(judged(long, ['from 2 20 900 8\nwrote 2 30\n', null], ['from 3 40 900 9\nwrote 3 50\n', null]).overlaps).toBe(2);
});

it('one that was killed at work worked until it was killed, unless its lease ended before', () => {
  const next = ['from 2 50 900 8\nwrote 2 60\n', null] as const;
  expect(judged(['from 1 10 900 7\n', 70n], next)).toMatchObject({ overlaps: 1, works: [{ isCut: true }, { isCut: false }] });
  expect(judged(['from 1 10 900 7\n', 30n], next).overlaps).toBe(0);
  expect(judged(['from 1 10 40 7\n', 70n], next).overlaps).toBe(0);
});

it('one that left without having done anything met nobody', () => {
  expect(judged(['from 1 10 900 7\nleft 1 800\n', null], ['from 2 50 900 8\nwrote 2 60\n', null]).overlaps).toBe(0);
});
