/** Interval sets, against a plain Set of integers. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { IntervalSet } from '../../src/kernel/index.ts';

const LAST = 40;
const interval = fc
  .tuple(fc.integer({ min: 0, max: LAST }), fc.integer({ min: 0, max: 12 }))
  .map(([start, more]) => [start, Math.min(LAST, start + more)] as const);
const step = fc.record({ remove: fc.boolean(), interval });
const steps = fc.array(step, { maxLength: 20 });

type Step = { remove: boolean; interval: readonly [number, number] };

function build(all: readonly Step[]): { set: IntervalSet; model: Set<number> } {
  const set = new IntervalSet();
  const model = new Set<number>();
  for (const {
    remove,
    interval: [start, end],
  } of all) {
    if (remove) set.remove(start, end);
    else set.add(start, end);
    for (let i = start; i <= end; i++) {
      if (remove) model.delete(i);
      else model.add(i);
    }
  }
  return { set, model };
}

/** The runs of consecutive integers of a set. */
function runsOf(model: ReadonlySet<number>): [number, number][] {
  const runs: [number, number][] = [];
  for (const integer of [...model].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === integer) last[1] = integer;
    else runs.push([integer, integer]);
  }
  return runs;
}

describe('an interval set', () => {
  it('is the set of the integers put in and not taken out, written as few intervals as possible', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { set, model } = build(all);
        expect([...set]).toEqual(runsOf(model));
        expect(set.pieces).toBe(runsOf(model).length);
        expect(set.count).toBe(model.size);
        for (let i = -1; i <= LAST + 1; i++) expect(set.has(i)).toBe(model.has(i));
      }),
      { numRuns: 1000 },
    );
  });

  it('knows what overlaps it and what it covers', () => {
    fc.assert(
      fc.property(steps, interval, (all, [start, end]) => {
        const { set, model } = build(all);
        const asked = Array.from({ length: end - start + 1 }, (_, i) => start + i);
        expect(set.overlaps(start, end)).toBe(asked.some((i) => model.has(i)));
        expect(set.covers(start, end)).toBe(asked.every((i) => model.has(i)));
      }),
      { numRuns: 1000 },
    );
  });

  it('finds the first gap', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: -2, max: LAST + 2 }), (all, from) => {
        const { set, model } = build(all);
        let gap = from;
        while (model.has(gap)) gap++;
        expect(set.firstGap(from)).toBe(gap);
      }),
      { numRuns: 1000 },
    );
  });

  it('can be copied by its intervals', () => {
    fc.assert(
      fc.property(steps, (all) => {
        expect([...new IntervalSet(build(all).set)]).toEqual([...build(all).set]);
      }),
    );
  });

  it('overlaps what it contains, what contains it, and what shares an end; not what only touches', () => {
    const set = new IntervalSet([[10, 20]]);
    expect(
      [
        [12, 15],
        [5, 25],
        [20, 30],
        [1, 10],
        [10, 20],
      ].map(([s, e]) => set.overlaps(s as number, e as number)),
    ).toEqual([true, true, true, true, true]);
    expect(
      [
        [21, 30],
        [1, 9],
      ].map(([s, e]) => set.overlaps(s as number, e as number)),
    ).toEqual([false, false]);
  });

  it('does not cover a stretch with a hole', () => {
    const set = new IntervalSet([
      [1, 4],
      [6, 9],
    ]);
    expect(set.covers(1, 9)).toBe(false);
    set.add(5, 5);
    expect(set.covers(1, 9)).toBe(true);
  });

  it('makes one of intervals that touch', () => {
    expect([
      ...new IntervalSet([
        [1, 2],
        [5, 6],
        [3, 4],
      ]),
    ]).toEqual([[1, 6]]);
  });

  it('holds up to the last safe integers', () => {
    const { MAX_SAFE_INTEGER: max, MIN_SAFE_INTEGER: min } = Number;
    const set = new IntervalSet([[max - 1, max]]);
    expect(set.firstGap(max)).toBeNull();
    expect(set.firstGap(max - 2)).toBe(max - 2);
    set.add(min, max - 2);
    expect([...set]).toEqual([[min, max]]);
    set.remove(min, min);
    set.remove(max, max);
    expect([...set]).toEqual([[min + 1, max - 1]]);
    expect(set.firstGap(0)).toBe(max);
  });

  it('is empty at first, and after it was cleared', () => {
    const set = new IntervalSet();
    expect([...set]).toEqual([]);
    set.add(1, 3);
    set.clear();
    expect([...set]).toEqual([]);
    expect([set.count, set.has(1), set.overlaps(1, 3), set.firstGap()]).toEqual([0, false, false, 0]);
  });

  it.each([
    [2, 1],
    [0.5, 1],
    [0, 1.5],
    [NaN, 1],
    [0, Infinity],
    [0, 2 ** 53],
  ])('refuses [%d, %d]', (start, end) => {
    const set = new IntervalSet();
    for (const method of ['add', 'remove', 'overlaps', 'covers'] as const) {
      expect(() => set[method](start, end)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    }
    expect(set.pieces).toBe(0);
  });

  it('finds the first run of free integers, the first overlap, what touches, and what ends later', () => {
    fc.assert(
      fc.property(steps, interval, fc.integer({ min: 1, max: 9 }), (all, [start, end], size) => {
        const { set, model } = build(all);
        const runs = runsOf(model);
        let free = start;
        while (Array.from({ length: size }, (_, i) => free + i).some((integer) => model.has(integer))) free++;
        expect(set.firstRun(start, size)).toBe(free);
        expect(set.firstOverlap(start, end)).toEqual(runs.find(([from, to]) => from <= end && start <= to) ?? null);
        expect(set.touching(start, end)).toEqual(runs.filter(([from, to]) => from <= end + 1 && start <= to + 1));
        expect([...set.endingFrom(start)]).toEqual(runs.filter(([, to]) => to >= start));
      }),
      { numRuns: 1000 },
    );
  });

  it('looks no further than it is told for a run, and then takes the end', () => {
    const set = new IntervalSet(Array.from({ length: 100 }, (_, i) => [i * 3, i * 3] as const));
    expect(set.firstRun(0, 2)).toBe(1);
    expect(set.firstRun(0, 3)).toBe(298);
    set.remove(150, 150);
    expect(set.firstRun(0, 3)).toBe(148);
    expect(set.firstRun(0, 3, 10)).toBe(298);
  });

  it('has no run behind the last safe integer', () => {
    const set = new IntervalSet([[Number.MAX_SAFE_INTEGER - 3, Number.MAX_SAFE_INTEGER]]);
    expect(set.firstRun(Number.MAX_SAFE_INTEGER - 10, 8)).toBe(null);
    expect(set.firstRun(Number.MAX_SAFE_INTEGER - 10, 7)).toBe(Number.MAX_SAFE_INTEGER - 10);
  });
});
