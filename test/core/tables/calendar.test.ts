/** The calendar: every id comes back once, not more than a width early, in order of buckets, a few at a time if asked. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { Calendar } from '../../../src/core/tables/index.ts';

const WIDTH = 100;

function takeAll(calendar: Calendar, nowUs: number): number[] {
  const ids: number[] = [];
  expect(calendar.take(nowUs, (id) => ids.push(id))).toBe(false);
  return ids;
}

type Act = { due: number; count: number } | { now: number; limit: number };
type Entry = { id: number; bucket: number };
type Model = { entries: Entry[]; nextId: number };

/** Does to calendar and model the same; answers with what the calendar did and what it should have. */
function play(calendar: Calendar, model: Model, act: Act): { did: unknown; meant: unknown } {
  if ('due' in act) {
    for (let i = 0; i < act.count; i++) {
      calendar.schedule(model.nextId, act.due);
      model.entries.push({ id: model.nextId++, bucket: Math.floor(act.due / WIDTH) });
    }
    return { did: calendar.count, meant: model.entries.length };
  }
  const ids: number[] = [];
  const isMore = calendar.take(act.now, (id) => ids.push(id), act.limit);
  const ready = model.entries.filter(({ bucket }) => bucket <= Math.floor(act.now / WIDTH));
  ready.sort((a, b) => a.bucket - b.bucket || a.id - b.id);
  const taken = ready.slice(0, act.limit).map(({ id }) => id);
  model.entries = model.entries.filter(({ id }) => !taken.includes(id));
  return { did: { ids, isMore }, meant: { ids: taken, isMore: ready.length > taken.length } };
}

describe('a calendar', () => {
  it('visits what a sorted list would, whatever the horizon', () => {
    const time = fc.oneof(fc.integer({ min: -500, max: 5000 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
    const act: fc.Arbitrary<Act> = fc.oneof(
      fc.record({ due: time, count: fc.constantFrom(1, 1, 5, 40) }),
      fc.record({ now: time, limit: fc.constantFrom(0, 1, 7, Infinity) }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60, size: 'max' }), (acts) => {
        const calendar = new Calendar(WIDTH);
        const model: Model = { entries: [], nextId: 1 };
        for (const one of acts) {
          const { did, meant } = play(calendar, model, one);
          expect(did).toEqual(meant);
          expect(calendar.nextDueUs).toBe(Math.min(Infinity, ...model.entries.map(({ bucket }) => bucket * WIDTH)));
        }
      }),
    );
  });

  it('visits an id no more than a width early', () => {
    const calendar = new Calendar(WIDTH);
    calendar.schedule(1, 299);
    expect(takeAll(calendar, 199)).toEqual([]);
    expect(takeAll(calendar, 200)).toEqual([1]);
  });

  it('visits an id that its visitor puts off once only, and again when the next bucket begins', () => {
    const calendar = new Calendar(WIDTH);
    calendar.schedule(1, 250);
    const visits: number[] = [];
    const visit = (nowUs: number) => (id: number) => {
      visits.push(nowUs);
      if (nowUs < 250) calendar.schedule(id, 250);
    };
    expect(calendar.take(210, visit(210))).toBe(false);
    expect(calendar.take(299, visit(299))).toBe(false);
    expect(calendar.nextDueUs).toBe(300);
    expect(calendar.take(300, visit(300))).toBe(false);
    expect(visits).toEqual([210, 300]);
  });

  it('goes on after a visitor that throws', () => {
    const calendar = new Calendar(WIDTH);
    calendar.schedule(1, 0);
    calendar.schedule(2, 0);
    expect(() =>
      calendar.take(0, () => {
        throw new Error('mine');
      }),
    ).toThrow('mine');
    calendar.schedule(3, 0);
    expect(takeAll(calendar, 0)).toEqual([2, 3]);
  });

  it('keeps nothing for what is never due and refuses what is no time', () => {
    const calendar = new Calendar(WIDTH);
    calendar.schedule(1, Infinity);
    expect(calendar.nextDueUs).toBe(Infinity);
    expect(() => calendar.schedule(1, Number.NaN)).toThrow(RangeError);
    expect(() => new Calendar(0)).toThrow(RangeError);
  });

  it('takes five bytes an entry and gives them back', () => {
    const calendar = new Calendar(10_000);
    const count = 1_000_000;
    for (let id = 0; id < count; id++) calendar.schedule(id, (id * 7919) % 1_000_000);
    expect(calendar.bytes / count).toBeLessThan(5);
    let sum = 0;
    calendar.take(2_000_000, (id) => (sum += id));
    expect(sum).toBe((count * (count - 1)) / 2);
    expect(calendar.bytes).toBeLessThan(600_000);
  });
});
