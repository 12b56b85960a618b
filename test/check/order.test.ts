/** Order of waiters: who began after another stood in line is served after it. */
import { describe, expect, it } from 'vitest';
import { OrderReferee } from '../../src/check/index.ts';
import { judge, start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);

describe('the order referee', () => {
  it('accepts those who are served in the order in which they came to stand in line', () => {
    const records = [
      a.requested('r', 1),
      a.queued('r', 1),
      b.requested('r', 1),
      b.queued('r', 1),
      a.granted('r', 5, 1, 1),
      b.granted('r', 6, 1, 1),
    ];
    expect(verdicts(new OrderReferee(), records)).toEqual([]);
  });

  it('rejects a grant to one that began when another stood in line', () => {
    const [violation] = judge(new OrderReferee(), [a.requested('r', 1), a.queued('r', 1), b.requested('r', 1), b.granted('r', 5, 1, 1)]);
    expect(violation?.message).toBe(
      'node 2#1 was granted "r" with token 5, though its request 1 began at 30µs and request 1 of node 1#1 stands in line since 20µs',
    );
  });

  it('accepts either order of two that began before one of them stood in line', () => {
    const records = [a.requested('r', 1), b.requested('r', 1), a.queued('r', 1), b.granted('r', 5, 1, 1), a.granted('r', 6, 1, 1)];
    expect(verdicts(new OrderReferee(), records)).toEqual([]);
  });

  it('forgets those who gave up, crashed, or wait for something else', () => {
    const gaveUp = [a.requested('r', 1), a.queued('r', 1), b.requested('r', 1), a.abandoned('r', 1), b.granted('r', 5, 1, 1)];
    expect(verdicts(new OrderReferee(), gaveUp)).toEqual([]);
    const crashed = [a.requested('r', 1), a.queued('r', 1), b.requested('r', 1), a.crashed(), b.granted('r', 5, 1, 1)];
    expect(verdicts(new OrderReferee(), crashed)).toEqual([]);
    const other = [a.requested('q', 1), a.queued('q', 1), b.requested('r', 1), b.granted('r', 5, 1, 1)];
    expect(verdicts(new OrderReferee(), other)).toEqual([]);
  });

  it('does not judge what the clocks cannot tell apart', () => {
    const records = [a.requested('r', 1), a.queued('r', 1), b.requested('r', 1), b.granted('r', 5, 1, 1)];
    expect(verdicts(new OrderReferee(5), records)).toEqual([]);
    expect(verdicts(new OrderReferee(4), records)).toEqual(['order@40']);
  });
});
