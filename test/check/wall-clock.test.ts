/** Histories by wall clocks: certain about tokens, careful about time. */
import { describe, expect, test } from 'vitest';
import { WallClockReferee, type HistoryRecord } from '../../src/check/index.ts';

const BOUND_US = 100;

function grant(at: number, node: string, token: number, remainingUs: number): HistoryRecord {
  return { at, node, incarnation: 1, kind: 'granted', resource: 'r', request: token, token, remainingUs };
}

function end(at: number, node: string, token: number): HistoryRecord {
  return { at, node, incarnation: 1, kind: 'ended', resource: 'r', token, reason: 'released' };
}

function judge(records: readonly HistoryRecord[]): string[] {
  const referee = new WallClockReferee(BOUND_US);
  const found = records.flatMap((record) => referee.observe(record) ?? []);
  return [...found, ...referee.finish()].map(({ property }) => property);
}

describe('across machines', () => {
  test('an overlap that two clocks within the bound can explain is not told', () => {
    expect(judge([grant(1000, 'a', 1, 500), grant(1500 - 2 * BOUND_US, 'b', 2, 500)])).toEqual([]);
  });

  test('an overlap beyond the bound is', () => {
    expect(judge([grant(1000, 'a', 1, 500), grant(1499 - 2 * BOUND_US, 'b', 2, 500)])).toEqual(['exclusion']);
  });

  test('a hold lasts until it ended, if that was before its deadline', () => {
    expect(judge([grant(1000, 'a', 1, 5000), end(1100, 'a', 1), grant(1200, 'b', 2, 500)])).toEqual([]);
    expect(judge([grant(1000, 'a', 1, 5000), end(3000, 'a', 1), grant(1200, 'b', 2, 500)])).toEqual(['exclusion']);
  });

  test('a renewal makes a hold longer, and a crash ends it', () => {
    const renewed: HistoryRecord = { at: 1400, node: 'a', incarnation: 1, kind: 'renewed', resource: 'r', token: 1, remainingUs: 900 };
    const crashed: HistoryRecord = { at: 1450, node: 'a', incarnation: 1, kind: 'crashed' };
    expect(judge([grant(1000, 'a', 1, 500), renewed, grant(2000, 'b', 2, 500)])).toEqual(['exclusion']);
    expect(judge([grant(1000, 'a', 1, 500), renewed, crashed, grant(2000, 'b', 2, 500)])).toEqual([]);
  });

  test('a later token while an earlier one is long in force is told, whatever came between them', () => {
    expect(judge([grant(1000, 'a', 1, 9000), grant(9900, 'b', 2, 10), grant(9500, 'c', 3, 10)])).toEqual(['exclusion']);
  });

  test('a token given twice is told with certainty', () => {
    expect(judge([grant(1000, 'a', 7, 10), grant(90_000, 'b', 7, 10)])).toEqual(['fencing']);
  });

  test('other resources have nothing to do with it', () => {
    const other: HistoryRecord = { ...grant(1100, 'b', 1, 500), resource: 's' } as HistoryRecord;
    expect(judge([grant(1000, 'a', 1, 500), other])).toEqual([]);
  });
});
