/** The referee of ranked registers: what Properties 4 and 5 of Chockler & Malkhi allow, and what they do not. */
import { describe, expect, it } from 'vitest';
import { asItIs, RankedReferee, type HistoryRecord } from '../../src/check/index.ts';

let at = 0;
const base = (incarnation: number): { at: number; node: number; incarnation: number; register: string } => ({
  at: ++at,
  node: incarnation,
  incarnation,
  register: 'k',
});
const read = (by: number, op: number, rank: number): HistoryRecord => ({ ...base(by), kind: 'asked', op, action: 'read', ballot: rank });
const write = (by: number, op: number, rank: number, value: string): HistoryRecord => ({
  ...base(by),
  kind: 'asked',
  op,
  action: 'write',
  ballot: rank,
  value,
});
const found = (by: number, op: number, value: string | null): HistoryRecord => ({ ...base(by), kind: 'committed', op, value });
const committed = (by: number, op: number): HistoryRecord => ({ ...base(by), kind: 'committed', op });
const aborted = (by: number, op: number): HistoryRecord => ({ ...base(by), kind: 'aborted', op });

/** What is objected to, with the referee told anew what it remembers before each record. */
function judged(...records: readonly HistoryRecord[]): (string | undefined)[] {
  let referee = new RankedReferee();
  const objections: (string | undefined)[] = [];
  for (const record of records) {
    const memory = referee.snapshot(asItIs(record.at));
    referee = new RankedReferee();
    referee.restore(memory);
    const violation = referee.observe(record);
    if (violation) objections.push(violation.property);
  }
  return objections;
}

describe('Property 4', () => {
  it('lets a read see the committed write of a lower rank, or a higher one', () => {
    expect(judged(write(1, 1, 1, 'a'), committed(1, 1), read(2, 1, 2), found(2, 1, 'a'))).toEqual([]);
    expect(judged(write(1, 1, 1, 'a'), committed(1, 1), write(2, 1, 3, 'b'), read(3, 1, 4), found(3, 1, 'b'))).toEqual([]);
  });

  it('objects to a read that does not see it, whichever of the two is first', () => {
    expect(judged(write(1, 1, 1, 'a'), committed(1, 1), read(2, 1, 2), found(2, 1, null))).toEqual(['P4']);
    expect(judged(write(1, 1, 1, 'a'), read(2, 1, 2), found(2, 1, null), committed(1, 1))).toEqual(['P4']);
  });

  it('asks nothing of reads with lower ranks, and nothing for writes that did not commit', () => {
    expect(judged(write(1, 1, 5, 'a'), committed(1, 1), read(2, 1, 4), found(2, 1, null))).toEqual([]);
    expect(judged(write(1, 1, 1, 'a'), read(2, 1, 2), found(2, 1, null), aborted(1, 1))).toEqual([]);
  });

  it('orders ranks of the same count by incarnation', () => {
    expect(judged(write(1, 1, 1, 'a'), committed(1, 1), read(2, 1, 1), found(2, 1, null))).toEqual(['P4']);
    expect(judged(write(2, 1, 1, 'a'), committed(2, 1), read(1, 1, 1), found(1, 1, null))).toEqual([]);
  });

  it('objects to a value that nobody wrote', () => {
    expect(judged(read(1, 1, 1), found(1, 1, 'z'))).toEqual(['P4']);
  });
});

describe('Property 5', () => {
  it('lets a write abort that has met a higher rank, and no other', () => {
    expect(judged(read(2, 1, 2), write(1, 1, 1, 'a'), aborted(1, 1))).toEqual([]);
    expect(judged(write(1, 1, 1, 'a'), aborted(1, 1))).toEqual(['P5']);
    expect(judged(write(1, 1, 1, 'a'), aborted(1, 1), read(2, 1, 2))).toEqual(['P5']);
  });
});
